/** Rules of users and tokens as arguments: `on`, `~order*`, `+@issue`, `-@admin`. */
import type { Command } from 'commander'
import { UsageError } from './exit-codes.ts'

/** Adds the argument `[rules...]`. A rule may begin with a minus sign, as an option does; with two it may not. */
export function addRules(command: Command): Command {
  return command
    .allowUnknownOption()
    .argument('[rules...]', 'rules, from left to right', (rule: string, before: readonly string[] = []) => {
      if (rule.startsWith('--')) throw new UsageError(`unknown option '${rule}'; --help lists the options`)
      return [...before, rule]
    })
}
