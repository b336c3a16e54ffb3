/**
 * A Redis command: one declarative record. Dispatch, COMMAND, COMMAND DOCS and the reference page come from it. A
 * handler uses no transport: it receives arguments and returns a reply as data. To add a command, write its record in the
 * file of its family (`strings.ts`, `generic.ts`, …) and list the family in `all.ts`.
 */
import type { ChangeEvent } from '../audit/audit-entry.ts'
import type { IdRun } from '../ids/run.ts'
import type { IssuedTexts } from '../operations/issued-texts.ts'
import type { Arguments } from './arguments.ts'
import type { CommandContext } from './context.ts'

/**
 * A reply as data. number and bigint: an integer; string and Uint8Array: a bulk string; null: nil;
 * array, and IssuedTexts: an array. The rest are the classes below.
 */
export type Reply =
  | number
  | bigint
  | string
  | Uint8Array
  | null
  | SimpleString
  | MapReply
  | SetReply
  | VerbatimText
  | Issued
  | IssuedTexts
  | IssuedRuns
  | EncodedReply
  | Invalidating
  | RepliesOf
  | readonly Reply[]

/** A simple string: `+OK`. */
export class SimpleString {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** A map: RESP3's, or a flat array of keys and values. */
export class MapReply {
  readonly entries: readonly (readonly [Reply, Reply])[]
  constructor(entries: readonly (readonly [Reply, Reply])[]) {
    this.entries = entries
  }
}

/** A set: RESP3's, or an array. */
export class SetReply {
  readonly items: readonly Reply[]
  constructor(items: readonly Reply[]) {
    this.items = items
  }
}

/** Text for people: RESP3's verbatim string (`txt`), or a bulk string. */
export class VerbatimText {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/**
 * An id as an integer reply. Unlike other integers, it must reach a client that cannot hold it in another form or not at
 * all (UNSAFE), never rounded.
 */
export class Issued {
  readonly id: bigint
  constructor(id: bigint) {
    this.id = id
  }
}

/** Ids as an array of runs: of each an array of the first id and the stride as strings, and the count. */
export class IssuedRuns {
  readonly runs: readonly IdRun[]
  constructor(runs: readonly IdRun[]) {
    this.runs = runs
  }
}

/** A whole reply, as another node has encoded it for this client. */
export class EncodedReply {
  readonly bytes: Uint8Array
  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }
}

/** A reply, followed by a push that makes the client drop these names from its cache. */
export class Invalidating {
  readonly reply: Reply
  readonly names: readonly Uint8Array[]
  constructor(reply: Reply, names: readonly Uint8Array[]) {
    this.reply = reply
    this.names = names
  }
}

/** An array of the replies to requests, which run now: EXEC. */
export class RepliesOf {
  /** The number of requests. */
  readonly count: number
  /** The bytes of the requests. */
  readonly requests: Buffer
  constructor(count: number, requests: Buffer) {
    this.count = count
    this.requests = requests
  }
}

/** `+OK`. */
export const ok = Object.freeze(new SimpleString('OK'))

/** The flags of Redis's COMMAND. */
export type CommandFlag =
  | 'write'
  | 'readonly'
  | 'fast'
  | 'admin'
  | 'loading'
  | 'stale'
  | 'noscript'
  | 'no_auth'

/** The groups of Redis's commands that apply here. */
export type CommandGroup = 'generic' | 'string' | 'connection' | 'transactions' | 'server' | 'cluster' | 'id'

/** One argument, as COMMAND DOCS shows it. */
export type ArgumentDoc = {
  readonly name: string
  readonly type: 'key' | 'string' | 'integer' | 'pattern' | 'pure-token' | 'oneof' | 'block'
  /** The word before it, or the argument itself. */
  readonly token?: string
  readonly optional?: boolean
  readonly multiple?: boolean
  /** Each of several has the token before it. */
  readonly repeatsToken?: true
  readonly arguments?: readonly ArgumentDoc[]
}

/** An argument that is one of these tokens, as COMMAND DOCS shows it; `Arguments.oneOf` reads it. */
export function oneOf(name: string, ...tokens: readonly string[]): ArgumentDoc {
  const choices = tokens.map((token) => ({ name: token.toLowerCase(), type: 'pure-token', token }) as const)
  return { name, type: 'oneof', arguments: choices }
}

/** What the audit trail records of a command that has succeeded. */
export type RecordedChange = {
  readonly event: ChangeEvent
  /** What was changed, an entry each; default: the names of generators in the request. Never a secret. */
  readonly objects?: (args: Arguments, command: Command) => readonly string[]
}

/** One command, or one subcommand. */
export type Command = {
  /** Lower case. For a subcommand the word after the container's: `setname`. */
  readonly name: string
  /** Redis's arity: the number of words with the command's own; negative: at least that many. */
  readonly arity: number
  readonly flags: readonly CommandFlag[]
  /**
   * The positions of the names of generators, or of pools: first, last, step; of a subcommand counted from its own word.
   * Absent: a request names none.
   */
  readonly keys?: readonly [first: number, last: number, step: number]
  /** Every node answers it, whatever generator it names and whichever node leads that. Only for what draws no id. */
  readonly anyNode?: true
  /** The permission that a user needs. `connection`: none. */
  readonly permission: 'connection' | 'issue' | 'read' | 'check' | 'manage' | 'admin'
  /** Absent: the command changes nothing that the audit trail records. */
  readonly change?: RecordedChange
  readonly group: CommandGroup
  /** One sentence for COMMAND DOCS and the reference page. */
  readonly summary: string
  /** The form of the reply, for the reference page. */
  readonly reply: string
  /** Longer text for the reference page: what differs from Redis, errors. */
  readonly notes?: string
  readonly arguments?: readonly ArgumentDoc[]
  readonly subcommands?: readonly Command[]
  /**
   * Carries the command out. Throws or rejects with the FahaoError that the client receives. Containers of subcommands
   * have none, except COMMAND, which is a command itself.
   * `args` excludes the command's own word (and the subcommand's).
   */
  readonly handler?: (context: CommandContext, args: Arguments) => Reply | Promise<Reply>
  /**
   * The work of these arguments, if it may be much, so that the transport spreads it over turns: 1 is an id in a run of
   * many. Throws as `handler`.
   */
  readonly work?: (args: Arguments) => bigint
  /**
   * For a request that a transaction queues, on a node of a cluster: throws or rejects with the error that refuses it here,
   * MOVED or CROSSSLOT. Its result is the slot of the leader that it depends on, if it depends on one.
   */
  readonly placed?: (
    context: CommandContext,
    args: Arguments,
  ) => number | undefined | Promise<number | undefined>
  /**
   * Whether the handler may start while other such requests of the connection wait for their replies. Only for what draws ids
   * of one generator, its first argument, or changes that one alone, and has a short reply: requests for one name keep their
   * order.
   */
  readonly overlaps?: (context: CommandContext, args: Arguments) => boolean
}
