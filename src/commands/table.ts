/** Every command by name, and how a request finds its record. */
import { FahaoError } from '../base/errors.ts'
import type { Command } from './command.ts'

/** Looks up commands. */
export class CommandTable {
  readonly #byName: ReadonlyMap<string, Command>

  constructor(commands: readonly Command[]) {
    this.#byName = new Map(commands.map((command) => [command.name, command]))
  }

  /** Every command, by name. */
  all(): readonly Command[] {
    return [...this.#byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** The command of this name in lower case, without looking at subcommands. */
  get(name: string): Command | undefined {
    return this.#byName.get(name)
  }
}

/** Redis's answer to a wrong number of arguments; `name` is `get` or `client|kill`. */
export function wrongArity(name: string): FahaoError {
  return new FahaoError('ERR', `wrong number of arguments for '${name}' command`)
}
