/** Options of a generator as flags: from the same schema as ID.CREATE, HTTP and the config file. */
import { type Command, Option } from 'commander'
import { generatorOptions, optionNames } from '../catalogue/options.ts'
import { hyphenated } from '../node/config-schema.ts'

/** Gives `command` a flag for each option of a generator. */
export function addGeneratorFlags(command: Command): Command {
  for (const name of optionNames) {
    const description = generatorOptions.shape[name].meta()?.description ?? ''
    command.addOption(new Option(`--${hyphenated(name)} <value>`, description).helpGroup('Generator:'))
  }
  return command
}

/** The options that were given, as HTTP takes them. */
export function givenGeneratorOptions(command: Command): Record<string, string | number> {
  const values = command.opts() as Record<string, string>
  return Object.fromEntries(
    optionNames
      .filter((name) => values[name] !== undefined)
      // A node is a number in JSON; everything else may be text.
      .map((name) => [name, name === 'node' ? numberOf(values[name]!) : values[name]!]),
  )
}

function numberOf(text: string): number | string {
  return /^\d{1,9}$/.test(text) ? Number(text) : text
}
