/** Finds the command of a request by its first word, or its first two; refuses unknown words and wrong numbers of words. */
import { FahaoError } from '../base/errors.ts'
import { Arguments } from './arguments.ts'
import type { Command } from './command.ts'

/** The command of a request whose number of words is right. */
export type ResolvedRequest = {
  /** The command, or the subcommand. It has a handler. */
  readonly command: Command
  /** `get`, or `client|list`. */
  readonly name: string
  readonly args: Arguments
}

const lenient = new TextDecoder('utf-8')
/** How much of a request an error message repeats, in characters, as in Redis. */
const quotedMax = 128

/** Looks up commands. */
export class CommandTable {
  readonly #byName: ReadonlyMap<string, Command>
  readonly #refusals: ReadonlyMap<string, string>

  /** @param refusals the errors of Redis's commands that have no meaning here, by `name` or `name|subcommand`. */
  constructor(commands: readonly Command[], refusals: ReadonlyMap<string, string> = new Map()) {
    this.#byName = new Map(commands.map((command) => [command.name, command]))
    this.#refusals = refusals
  }

  /** Every command, by name. */
  all(): readonly Command[] {
    return [...this.#byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** The command of this name in lower case, without looking at subcommands. */
  get(name: string): Command | undefined {
    return this.#byName.get(name)
  }

  /** The command of a request. ERR, in Redis's words: unknown command or subcommand, wrong number of words. */
  resolve(words: readonly Uint8Array[]): ResolvedRequest {
    const word = lenient.decode(words[0]).toLowerCase()
    const command = this.#byName.get(word)
    if (command === undefined) throw this.#unknown(words)
    if (command.subcommands === undefined || (words.length === 1 && command.handler !== undefined)) {
      checkArity(command, word, words.length)
      return { command, name: word, args: new Arguments(words.slice(1)) }
    }
    checkArity(command, word, words.length)
    const second = lenient.decode(words[1])
    const subcommand = findSubcommand(command, second)
    if (subcommand === undefined) throw this.#unknownSubcommand(word, second)
    const name = `${word}|${subcommand.name}`
    checkArity(subcommand, name, words.length)
    return { command: subcommand, name, args: new Arguments(words.slice(2)) }
  }

  #unknownSubcommand(container: string, word: string): FahaoError {
    const refusal = this.#refusals.get(`${container}|${word.toLowerCase()}`)
    if (refusal !== undefined) return new FahaoError('ERR', refusal)
    const shown = oneLine(word.slice(0, quotedMax))
    return new FahaoError('ERR', `unknown subcommand '${shown}'. Try ${container.toUpperCase()} HELP.`)
  }

  #unknown(words: readonly Uint8Array[]): FahaoError {
    const word = lenient.decode(words[0]!.subarray(0, quotedMax))
    const refusal = this.#refusals.get(word.toLowerCase())
    if (refusal !== undefined) return new FahaoError('ERR', refusal)
    let beginning = ''
    for (const argument of words.slice(1)) {
      if (beginning.length >= quotedMax) break
      const shown = lenient.decode(argument.subarray(0, quotedMax - beginning.length))
      beginning += `'${shown}' `
    }
    return new FahaoError('ERR', oneLine(`unknown command '${word}', with args beginning with: ${beginning}`))
  }
}

/** The subcommand of this name in either case. */
export function findSubcommand(command: Command, name: string): Command | undefined {
  const wanted = name.toLowerCase()
  return command.subcommands?.find((subcommand) => subcommand.name === wanted)
}

/** Whether a command accepts this many words, its own included. */
export function takesWords(command: Command, words: number): boolean {
  return command.arity >= 0 ? words === command.arity : words >= -command.arity
}

/** The names of generators in a request of `args.length` + 1 words. Copies: a reply may need them later. */
export function keysIn(command: Command, args: Arguments): Uint8Array[] {
  const found: Uint8Array[] = []
  eachKey(command, args, (index) => found.push(args.bytes(index)))
  return found
}

/** Calls `use` with the index of each argument that names a generator. */
export function eachKey({ keys }: Command, args: Arguments, use: (index: number) => void): void {
  if (keys === undefined) return
  const [first, last, step] = keys
  const end = last < 0 ? args.length + last : last - 1
  for (let index = first - 1; index <= end; index += step) use(index)
}

/** Redis's answer to a wrong number of arguments; `name` is `get` or `client|kill`. */
export function wrongArity(name: string): FahaoError {
  return new FahaoError('ERR', `wrong number of arguments for '${name}' command`)
}

function checkArity(command: Command, name: string, words: number): void {
  if (!takesWords(command, words)) throw wrongArity(name)
}

/** An error is one line on the wire, also if the request has line breaks. */
function oneLine(text: string): string {
  return text.replaceAll(/[\r\n]/g, ' ')
}
