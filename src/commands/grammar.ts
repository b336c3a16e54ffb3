/**
 * Redis's grammar: makes a command of an operation. The words of a request become its arguments: positions first, then tokens
 * with their values, each once and in any order. Its answer becomes a reply.
 */
import { FahaoError } from '../base/errors.ts'
import { type Argument, mostOf } from '../operations/argument.ts'
import type { Limits } from '../operations/context.ts'
import { checkedCount } from '../operations/drawing.ts'
import { type GeneratorOperation, notesOf, type Operation } from '../operations/operation.ts'
import { type Arguments, givenTwice, notInteger, syntaxError } from './arguments.ts'
import { type ArgumentDoc, type Command, MapReply, ok, type Reply } from './command.ts'
import { type CommandContext, operationContext } from './context.ts'
import { demandNameRecorded } from './recording.ts'

/** The commands of these operations. */
export function commandsOf(operations: readonly Operation[]): Command[] {
  return operations.map(commandOf)
}

/** What a command with a grammar of its own takes of an operation. */
export function factsOf({ name, permission, change }: GeneratorOperation<never, unknown>) {
  return { name, permission, ...(change && { change: { event: change } }) }
}

/** The command of an operation, or the subcommand. */
export function commandOf(operation: Omit<Operation, 'http'>): Command {
  const { name, permission, effect, anyNode, change, summary, reply } = operation
  const notes = notesOf(operation, (_, { word }) => wordsOf(word)[0] ?? word, 'nil')
  const documented = Object.values(operation.args).map(argumentDoc)
  const words = documented.map(({ optional, token, type }) =>
    optional ? 0 : token === undefined || type === 'pure-token' ? 1 : 2,
  )
  // Redis finds no key in a place that may hold another word, so that a name there is checked by its value.
  const optionalName = Object.entries(operation.args).find(
    ([, { reading, optional }]) => optional && reading.as === 'key',
  )?.[0]
  const path = name.split('|')
  const least = words.reduce<number>((sum, count) => sum + count, path.length)
  const read = reader(operation)
  return {
    name: path.at(-1)!,
    arity: words.includes(0) ? -least : least,
    flags: [permission === 'admin' ? 'admin' : effect],
    ...(documented[0]?.type === 'key' && !documented[0].optional && { keys: [1, 1, 1] }),
    ...(anyNode && { anyNode }),
    permission,
    ...(change && { change: { event: change, objects: (args) => [args.text(0)] } }),
    group: 'id',
    summary,
    reply,
    ...(notes !== undefined && { notes }),
    ...(documented.length > 0 && { arguments: documented }),
    handler(context, args) {
      const values = read(args, context.server)
      if (optionalName !== undefined) demandNamed(context, name, values[optionalName])
      const answer = operation.run(operationContext(context), values as never)
      return answer instanceof Promise ? answer.then(replied) : replied(answer)
    },
  }

  function replied(answer: unknown): Reply {
    const { replied: part } = operation
    return part === 'OK' ? ok : replyOf(part === undefined ? answer : part(answer))
  }
}

function demandNamed(context: CommandContext, command: string, generator: unknown): void {
  if (typeof generator === 'string') demandNameRecorded(context, command, generator)
}

const types = { key: 'key', text: 'string', pattern: 'pattern', flag: 'pure-token' } as const

function argumentDoc({ word, reading: { as }, optional, ...shown }: Argument): ArgumentDoc {
  const [token, name = token!.toLowerCase()] = wordsOf(word)
  const type = shown.type ?? (as in types ? types[as as keyof typeof types] : 'integer')
  return { name, type, ...(token !== undefined && { token }), ...(optional && { optional }) }
}

/** The token of an argument, and the name of its value. */
function wordsOf(word: string): readonly [token: string | undefined, name?: string] {
  const [first, second] = word.split(' ')
  return first === word.toLowerCase() ? [undefined, first] : second === undefined ? [first] : [first, second]
}

/** Reads the words of a request. The errors are Redis's. */
function reader({
  args,
  unknown,
}: Pick<Operation, 'args' | 'unknown'>): (words: Arguments, limits: Limits) => Record<string, unknown> {
  const all = Object.entries(args).map(([name, argument]) => {
    return { name, argument, token: wordsOf(argument.word)[0] }
  })
  const positional = all.filter(({ token }) => token === undefined)
  const byToken = new Map(all.filter(({ token }) => token !== undefined).map((each) => [each.token, each]))
  const required = [...byToken.values()].filter(
    ({ argument }) => argument.optional === undefined && argument.missing !== false,
  )
  return (words, limits) => {
    const values: Record<string, unknown> = {}
    let index = 0
    for (const { name, argument } of positional) {
      // What follows an optional one are tokens, each with its value.
      if (argument.optional && words.length % 2 === 0) continue
      values[name] = valueAt(words, index++, argument, '', limits)
    }
    while (index < words.length) {
      const token = words.token(index++)
      const { name, argument } = byToken.get(token) ?? refuse(unknown)
      const isFlag = argument.reading.as === 'flag'
      if (!isFlag && index === words.length) throw syntaxError()
      if (values[name] !== undefined) throw givenTwice(token)
      values[name] = isFlag || valueAt(words, index++, argument, token, limits)
    }
    for (const { name, argument } of required)
      if (values[name] === undefined) refuse(argument.missing || undefined)
    return values
  }
}

function refuse(reason: string | undefined): never {
  throw reason === undefined ? syntaxError() : new FahaoError('ERR', reason)
}

function valueAt(
  words: Arguments,
  index: number,
  { reading }: Argument,
  token: string,
  limits: Limits,
): unknown {
  switch (reading.as) {
    case 'pattern':
      return words.pattern(index)
    case 'integer':
      return words.integer(index)
    case 'count':
      return checkedCount(words.integer(index), mostOf(reading.max, limits), token)
    case 'number': {
      const value = safeInteger(words, index)
      const refusal = reading.refusal?.(value)
      if (refusal === undefined) return value
      throw new FahaoError('ERR', refusal)
    }
    case 'natural': {
      const value = safeInteger(words, index)
      if (value < 0) throw notInteger()
      return value
    }
    default:
      return words.text(index)
  }
}

function safeInteger(words: Arguments, index: number): number {
  const value = Number(words.integer(index))
  if (Number.isSafeInteger(value)) return value
  throw notInteger()
}

/** An answer as a reply: of an object a map, of an object within one its JSON, of true 1, of a fraction a text. */
export function replyOf(answer: unknown, isWithin = false): Reply {
  if (answer === null || answer === undefined) return null
  if (typeof answer === 'boolean') return answer ? 1 : 0
  if (typeof answer === 'number') return Number.isInteger(answer) ? answer : String(answer)
  if (Array.isArray(answer)) return answer.map((each) => replyOf(each, isWithin))
  if (typeof answer !== 'object') return answer as bigint | string
  if (isWithin) return JSON.stringify(answer)
  return new MapReply(Object.entries(answer).map(([name, value]) => [name, replyOf(value, true)]))
}
