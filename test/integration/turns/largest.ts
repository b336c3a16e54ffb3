/** The largest requests that the records of commands and of HTTP operations allow. */
import type { ArgumentDoc, Command } from '../../../src/commands/command.ts'
import { takesWords } from '../../../src/commands/table.ts'
import { type RawReply, ReplyError } from '../../launch/raw-reply.ts'
import type { CommandRow, HttpRow } from '../../unit/docs/permissions.ts'

const largeInteger = '1000'

/** What fills the arguments. */
export type Filling = {
  /** How many words a request has, where it may have any number. */
  readonly words: number
  /** Whether each option is sent by itself too, where the command takes all of them together. */
  readonly apart: boolean
  /** The name of a generator; another one for each index. */
  readonly name: (index: number) => string
  /** A glob that takes long to match, and one that matches every name. */
  readonly patterns: readonly [string, string]
}

/**
 * Sends requests with as many words as the command takes: with its first argument that may be repeated, and with all of its
 * options; with each by itself where the command refuses them together.
 */
export async function sendLargest(
  { name, command }: CommandRow,
  filling: Filling,
  send: (request: readonly string[]) => Promise<RawReply>,
): Promise<void> {
  const words = name.split('|')
  const fill = (documented: readonly ArgumentDoc[], pattern: string) =>
    fitted(command, words, documented, { ...filling, pattern })
  const all = command.arguments ?? []
  const plain = all.filter(({ optional }) => !optional)
  const options = all.filter(({ optional }) => optional)
  const sent = new Set<string>()
  let sendsApart = filling.apart
  const sendNew = async (request: readonly string[]) => {
    const text = request.join(' ')
    if (sent.has(text)) return
    sent.add(text)
    if ((await send(request)) instanceof ReplyError) sendsApart = true
  }
  for (const documented of [plain, all])
    for (const pattern of filling.patterns) await sendNew(fill(documented, pattern))
  if (sendsApart) for (const option of options) await sendNew(fill([...plain, option], filling.patterns[0]))
}

function fitted(
  command: Command,
  words: readonly string[],
  documented: readonly ArgumentDoc[],
  filling: WithPattern,
): string[] {
  const own = words.length - 1
  let request = [...words, ...documented.flatMap((each) => wordsOf(each, filling, 0))]
  const repeated = documented.find(({ multiple }) => multiple) ?? (command.arguments ? undefined : filler)
  if (repeated !== undefined && command.arity < 0) {
    for (let index = 1; request.length < filling.words; index++)
      request.push(...wordsOf(repeated, filling, index))
    request = request.slice(0, filling.words)
  }
  while (!takesWords(command, request.length - own) && request.length < 8)
    request.push(filling.name(request.length))
  return request
}

type WithPattern = Filling & { readonly pattern: string }

/** For records that document no arguments and take any number. */
const filler: ArgumentDoc = { name: 'word', type: 'string' }

function wordsOf(argument: ArgumentDoc, filling: WithPattern, index: number): string[] {
  const token = argument.token === undefined ? [] : [argument.token]
  switch (argument.type) {
    case 'pure-token':
      return token
    case 'oneof':
      return [...token, ...wordsOf(argument.arguments![index % argument.arguments!.length]!, filling, index)]
    case 'block':
      return [...token, ...argument.arguments!.flatMap((each) => wordsOf(each, filling, index))]
    case 'integer':
      return [...token, largeInteger]
    case 'pattern':
      return [...token, filling.pattern]
    default:
      return [...token, filling.name(index)]
  }
}

/** The path, query and body of a request for an operation: with its largest page, and with a pattern that takes long. */
export function largestOperation(
  { method, path, query, parameters = [], body }: HttpRow,
  { name, patterns }: Filling,
): { readonly method: string; readonly url: string; readonly body: unknown }[] {
  const url = path.replaceAll(/\{\w+\}/g, encodeURIComponent(name(0)))
  const page = parameters.includes('limit') ? ['limit=1000'] : []
  const match = parameters.includes('match') ? [`match=${encodeURIComponent(patterns[0].slice(0, 256))}`] : []
  const queries = new Set([[], page, match, [...page, ...match]].map((each) => each.join('&')))
  return [...queries].map((each) => ({ method, url: url + (each === '' ? query : `?${each}`), body }))
}
