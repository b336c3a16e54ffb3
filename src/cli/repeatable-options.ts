/** Options that are given several times: some take a list so; of the others one value would be ignored. */
import type { Command, Option } from 'commander'

const repeatable = new WeakSet<Option>()

/** Makes an option repeatable: its value is what `add` makes of each text, and of what was given before. Default: a list. */
export function repeated<Value = readonly string[]>(
  option: Option,
  add: (given: string, before: Value | undefined) => Value = listed as typeof add,
): Option {
  repeatable.add(option)
  return option.argParser(add)
}

function listed(given: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), given]
}

/** Whether the option takes one value, so that it may be given once. */
export function takesOneValue(option: Option): boolean {
  return !option.isBoolean() && !repeatable.has(option)
}

/** Lets `command` and its subcommands refuse an option that takes one value and is given twice. */
export function refuseRepeats(command: Command): void {
  for (const option of command.options.filter(takesOneValue)) {
    let isGiven = false
    command.on(`option:${option.name()}`, () => {
      if (isGiven) command.error(`error: option '${option.flags}' is given twice; give it once`)
      isGiven = true
    })
  }
  for (const each of command.commands) refuseRepeats(each)
}
