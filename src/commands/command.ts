/**
 * What a command is: one declarative record. Dispatch, COMMAND, COMMAND DOCS and the reference page come from
 * it. A handler knows no transport: it gets arguments and returns a reply as data.
 */
import type { Run } from '../ids/run.ts'
import type { Arguments } from './arguments.ts'
import type { CommandContext } from './context.ts'

/**
 * A reply as data. number and bigint: an integer; string and Uint8Array: a bulk string; null: nil;
 * boolean: RESP3's, or 1 and 0; array: an array. The rest are the classes below.
 */
export type Reply =
  | number
  | bigint
  | string
  | Uint8Array
  | null
  | boolean
  | SimpleString
  | MapReply
  | SetReply
  | VerbatimText
  | Issued
  | IssuedTexts
  | EncodedReply
  | Invalidating
  | readonly Reply[]

/** `+OK` and its like. */
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
 * An id as an integer reply. Apart from other integers, because a client that cannot hold it must get it in
 * another form or not at all (UNSAFE), never rounded.
 */
export class Issued {
  readonly id: bigint
  constructor(id: bigint) {
    this.id = id
  }
}

/**
 * Ids as an array of strings. They become text only as they are sent: an answer of thousands takes several turns of the
 * event loop, and no memory but for its runs.
 */
export class IssuedTexts {
  readonly runs: readonly Run[]
  readonly count: number
  /** The text of an id; undefined: its decimal digits. */
  readonly text: ((id: bigint) => string) | undefined
  constructor(runs: readonly Run[], text: ((id: bigint) => string) | undefined) {
    this.runs = runs
    this.count = runs.reduce((sum, run) => sum + run.count, 0)
    this.text = text
  }
}

/** A whole reply, as another node has encoded it for this client. */
export class EncodedReply {
  readonly bytes: Uint8Array
  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }
}

/** A reply, and behind it a push that has the client drop these names from its cache. */
export class Invalidating {
  readonly reply: Reply
  readonly names: readonly Uint8Array[]
  constructor(reply: Reply, names: readonly Uint8Array[]) {
    this.reply = reply
    this.names = names
  }
}

/** `+OK`. */
export const ok = Object.freeze(new SimpleString('OK'))

/** Hands out the ids that are the whole answer to a frame, without asking the handler each time. */
export interface DirectIssuer {
  /** See `Issuer.take`: 0 sends the frame to the handler. */
  take(count: number, run: Run): number
  /** See `Issuer.nextIsSafe`. */
  nextIsSafe(): boolean
}

/** What Redis's COMMAND calls flags. */
export type CommandFlag =
  | 'write'
  | 'readonly'
  | 'fast'
  | 'admin'
  | 'loading'
  | 'stale'
  | 'noscript'
  | 'no_auth'

/** Redis's ACL categories, as far as they apply. */
export type CommandGroup = 'generic' | 'string' | 'connection' | 'server' | 'cluster' | 'id'

/** One argument, as COMMAND DOCS shows it. */
export type ArgumentDoc = {
  readonly name: string
  readonly type: 'key' | 'string' | 'integer' | 'pattern' | 'pure-token' | 'oneof' | 'block'
  /** The word that stands before it, or that it is. */
  readonly token?: string
  readonly optional?: boolean
  readonly multiple?: boolean
  readonly arguments?: readonly ArgumentDoc[]
}

/** One command, or one subcommand. */
export type Command = {
  /** Lower case. For a subcommand the word after the container's: `setname`. */
  readonly name: string
  /** Redis's arity: the number of words with the command's own; negative: at least that many. */
  readonly arity: number
  readonly flags: readonly CommandFlag[]
  /** Where the names of generators stand: first, last, step; 0, 0, 0 when there are none. */
  readonly keys: readonly [first: number, last: number, step: number]
  /** What a user needs to be allowed. `connection`: nothing. */
  readonly permission: 'connection' | 'issue' | 'read' | 'manage' | 'admin'
  readonly group: CommandGroup
  /** One sentence for COMMAND DOCS and the reference page. */
  readonly summary: string
  /** What the reply is, for the reference page. */
  readonly reply: string
  /** Longer text for the reference page: what differs from Redis, errors. */
  readonly notes?: string
  readonly arguments?: readonly ArgumentDoc[]
  readonly subcommands?: readonly Command[]
  /**
   * Answers. Throws or rejects with a FahaoError for the caller to see. Containers of subcommands have none,
   * except where the bare word is a command too: COMMAND.
   * `args` excludes the command's own word (and the subcommand's).
   */
  readonly handler?: (context: CommandContext, args: Arguments) => Reply | Promise<Reply>
  /**
   * If the answer to these arguments is one integer id of a generator already open, that generator: the
   * transport may then answer this frame, and the same frame again, straight from it.
   */
  readonly direct?: (context: CommandContext, args: Arguments) => DirectIssuer | undefined
  /**
   * How much work these arguments ask for, where that may be much, so that the transport spreads it: 1 is an id in a
   * run of many. Throws as `handler`.
   */
  readonly work?: (args: Arguments) => bigint
  /**
   * Whether these arguments only draw ids and have a short answer, so that the handler may start while others of
   * the same connection of which that is true wait for theirs: ids are drawn in the order in which handlers start.
   */
  readonly overlaps?: (context: CommandContext, args: Arguments) => boolean
}
