/** Requests that no honest client sends, made from the records of the commands: a new command is covered by its record. */
import type { ArgumentDoc, Command } from '../../../src/commands/command.ts'

/** One word of a request. */
export type Word = string | Uint8Array

/** A request, and the command that it is for. */
export type HostileRequest = {
  /** `get`, or `client|kill`. */
  readonly command: string
  readonly words: readonly Word[]
}

/** Names and values that a command may not take at their face. */
export const hostileWords: readonly Word[] = [
  Uint8Array.of(0xb6, 0xa9),
  '',
  'x'.repeat(300),
  'a\0b',
  'a\r\nb',
  '{',
  '*',
  '0',
  '-1',
  '1.5',
  '1e3',
  '9007199254740991',
  '9007199254740992',
  '9223372036854775807',
  '9223372036854775808',
  '-9223372036854775808',
  '9'.repeat(400),
  'COUNT',
]

/** Every hostile request to the commands: each argument in turn, and too few and too many of them. */
export function* hostileRequests(
  commands: readonly Command[],
  names: readonly string[],
): Iterable<HostileRequest> {
  for (const command of commands) {
    if (command.handler !== undefined) yield* requestsTo(command.name, [command.name], command, names)
    for (const subcommand of command.subcommands ?? []) {
      const name = `${command.name}|${subcommand.name}`
      yield* requestsTo(name, [command.name, subcommand.name], subcommand, names)
    }
  }
}

function* requestsTo(
  command: string,
  start: readonly string[],
  { arguments: wanted = [] }: Command,
  names: readonly string[],
): Iterable<HostileRequest> {
  const shapes = [wanted.filter(({ optional }) => optional !== true), wanted]
  for (const shape of shapes) {
    const whole: Word[] = [...start, ...shape.flatMap(wordsFor)]
    yield { command, words: whole }
    for (let length = start.length; length < whole.length; length++) {
      yield { command, words: whole.slice(0, length) }
    }
    for (let at = start.length; at < whole.length; at++) {
      for (const word of [...hostileWords, ...names]) yield { command, words: whole.with(at, word) }
    }
    yield { command, words: [...whole, 'extra'] }
    yield { command, words: [...whole, ...Array<Word>(100).fill(hostileWords[0]!)] }
  }
}

/** What an honest client would send for an argument: the first alternative of several. */
function wordsFor(argument: ArgumentDoc): string[] {
  const { type, token, arguments: parts = [] } = argument
  if (type === 'pure-token') return [token ?? argument.name]
  const before = token === undefined ? [] : [token]
  if (type === 'oneof') return [...before, ...wordsFor(parts[0]!)]
  if (type === 'block') return [...before, ...parts.flatMap(wordsFor)]
  return [...before, type === 'key' ? 'target' : type === 'integer' ? '1' : 'word']
}
