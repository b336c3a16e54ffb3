/**
 * Commands for callers inside this process. A transport that is not Redis's asks by the same words as a Redis client, and
 * gets the reply as plain data.
 *
 * Invariants
 *  1. A command runs only if the permissions of its caller allow it and every generator that it names. They are checked
 *     before the handler, so a request that is refused draws no id. Refusals and changes are in the audit trail.
 *  2. Ids are charged to the namespaces of the caller's user.
 *  3. A command for a generator of another leader is sent there, if the table is that of a node that forwards.
 *  4. Commands start in the order of the calls.
 */
import type { Catalogue, Generator } from '../catalogue/catalogue.ts'
import type { Definition } from '../catalogue/definition.ts'
import { listedPart } from '../catalogue/generator-lists.ts'
import { MeteredCatalogue } from '../catalogue/metered-catalogue.ts'
import { decimalText } from '../ids/id-text.ts'
import type { Run } from '../ids/run.ts'
import {
  EncodedReply,
  Invalidating,
  Issued,
  IssuedRuns,
  IssuedTexts,
  MapReply,
  RepliesOf,
  type Reply,
  SetReply,
  SimpleString,
  VerbatimText,
} from './command.ts'
import type { ClientSession, CommandContext, ServerView } from './context.ts'
import { demandRecorded } from './recording.ts'
import type { CommandTable, ResolvedRequest } from './table.ts'

/** A reply as plain data: every integer is a bigint, every text a string, nil is null. */
export type PlainReply = bigint | string | null | readonly PlainReply[] | ReadonlyMap<string, PlainReply>

/** Ids that were issued together, in the order of their issue. */
export type IssuedIds = {
  readonly count: number
  /** About how much memory they take, in bytes. */
  readonly heldBytes: number
  /** The id at `index`, from 0, as its text. Fast in ascending order. */
  at(index: number): string
}

/** What callers share. */
export type InProcessOptions = {
  /** In a cluster, the commands of a node that forwards. */
  readonly table: CommandTable
  /** The generators of the node, not metered. */
  readonly catalogue: Catalogue
  readonly server: ServerView
  /** Reads the reply that another node has encoded. Throws the error that it holds. */
  readonly decode: (reply: EncodedReply) => PlainReply
}

const issuing = 'id.next'
/** About what an id takes as a string in an array, and what a run of ids takes. */
const textBytes = 40
const runBytes = 64

/** The commands of a node, for callers inside this process. */
export class InProcess {
  readonly #options: InProcessOptions

  constructor(options: InProcessOptions) {
    this.#options = options
  }

  /** The caller of this session: one object for each connection. */
  caller(session: ClientSession): Caller {
    return new Caller(session, this.#options)
  }
}

/** One caller. */
export class Caller {
  readonly session: ClientSession
  readonly #options: InProcessOptions
  readonly #context: CommandContext

  constructor(session: ClientSession, options: InProcessOptions) {
    const { catalogue, server } = options
    this.session = session
    this.#options = options
    this.#context = {
      session,
      server,
      catalogue: new MeteredCatalogue(catalogue, server.meters, () => session.access.user),
    }
  }

  /** Carries out a command by its words. Rejects with the FahaoError that a Redis client would receive. */
  async run(...words: readonly string[]): Promise<PlainReply> {
    const { command, args } = this.#permitted(words)
    return this.#plain(await command.handler!(this.#context, args))
  }

  /** Issues `count` ids, all or none, as ID.NEXT does. Each becomes a text when it is read. Rejects as `run` does. */
  async issue(name: string, count: number): Promise<IssuedIds> {
    const { command, args } = this.#permitted([
      issuing,
      name,
      ...(count === 1 ? [] : ['COUNT', String(count)]),
    ])
    const reply = await command.handler!(this.#context, args)
    if (reply instanceof IssuedTexts) return idsOf(reply)
    const texts = [this.#plain(reply)].flat() as readonly string[]
    return { count: texts.length, heldBytes: texts.length * textBytes, at: (index) => texts[index]! }
  }

  /**
   * Issues `count` ids that follow one another, all or none, as INCRBY does; returns the first. WRONGTYPE unless the
   * generator is `contiguous`. Rejects as `run` does.
   */
  async issueBlock(name: string, count: number): Promise<bigint> {
    const last = (await this.run('incrby', name, String(count))) as bigint
    return last - BigInt(count) + 1n
  }

  /** Throws unless the caller may run this command: NOAUTH, NOPERM. */
  demand(...words: readonly string[]): void {
    this.#permitted(words)
  }

  #permitted(words: readonly string[]): ResolvedRequest {
    const request = this.#options.table.resolve(words.map((word) => Buffer.from(word)))
    this.session.lastCommand = request.name
    demandRecorded(this.session.access, this.#context, request)
    return request
  }

  /**
   * Takes the next id of a generator that is open here, as ID.NEXT, without a promise. False: nothing was taken, and `run`
   * finds out why, or waits. Throws QUOTA.
   */
  takeOne(name: string, into: Run): boolean {
    const { access } = this.session
    if (!access.unrestricted && !(access.allows(issuing) && access.reaches(name))) return false
    return this.#context.catalogue.find(name)?.take(1, into) === 1
  }

  /** The generator, if it is open here. The permissions of the caller do not matter. */
  find(name: string): Generator | undefined {
    return this.#options.catalogue.find(name)
  }

  /** Whether there is a generator. The permissions of the caller do not matter: `demand` what it does with the answer. */
  exists(name: string): Promise<boolean> {
    return this.#options.catalogue.exists(name)
  }

  /** The definition of a generator. NOGENERATOR, UNAVAILABLE. The permissions of the caller do not matter, as in `exists`. */
  async definition(name: string): Promise<Definition> {
    const { catalogue } = this.#options
    return catalogue.find(name)?.definition ?? (await catalogue.current(name)).definition
  }

  /** The number below which all ids belong to earlier incarnations. Rejects as `definition` does. */
  async floor(name: string): Promise<bigint> {
    return (await this.#options.catalogue.current(name)).floor
  }

  /**
   * The generators of a page that the caller may see, as ID.LIST lists them, and the name after which the next page
   * begins; undefined: there are no more. Rejects with NOAUTH, NOPERM, UNAVAILABLE.
   */
  async list(page: { readonly after?: string; readonly limit: number }): Promise<{
    readonly found: readonly { readonly name: string; readonly definition: Definition }[]
    readonly next: string | undefined
  }> {
    this.demand('ID.LIST')
    const { catalogue, server } = this.#context
    const { access, signal } = this.session
    return listedPart(catalogue, server.turns, { access, signal, after: page.after }, page.limit)
  }

  /**
   * Opens a generator to draw from, as ID.NEXT does: one that matches `auto-create` is created. Rejects with NOAUTH, NOPERM,
   * NOGENERATOR, UNAVAILABLE.
   */
  async open(name: string): Promise<Generator> {
    this.demand(issuing, name)
    return this.#context.catalogue.find(name) ?? (await this.#context.catalogue.open(name))
  }

  #plain(reply: Reply): PlainReply {
    if (typeof reply === 'bigint' || typeof reply === 'string' || reply === null) return reply
    if (typeof reply === 'number') return BigInt(reply)
    if (reply instanceof Uint8Array) return Buffer.from(reply).toString()
    if (reply instanceof SimpleString || reply instanceof VerbatimText) return reply.text
    if (reply instanceof Issued) return reply.id
    if (reply instanceof IssuedTexts) return textsOf(reply)
    if (reply instanceof IssuedRuns)
      return reply.runs.map(({ first, stride, count }) => [String(first), String(stride), BigInt(count)])
    if (reply instanceof EncodedReply) return this.#options.decode(reply)
    if (reply instanceof Invalidating) return this.#plain(reply.reply)
    if (reply instanceof MapReply)
      return new Map(reply.entries.map(([key, value]) => [String(this.#plain(key)), this.#plain(value)]))
    // EXEC alone replies so, and the transactions of callers hold no request.
    if (reply instanceof RepliesOf) return []
    const items: readonly Reply[] = reply instanceof SetReply ? reply.items : reply
    return items.map((item) => this.#plain(item))
  }
}

function idsOf({ runs, text = decimalText }: IssuedTexts): IssuedIds {
  let run = 0
  /** How many ids are before that run. */
  let before = 0
  return {
    count: runs.reduce((sum, { count }) => sum + count, 0),
    heldBytes: runs.length * runBytes,
    at(index) {
      if (index < before) run = before = 0
      while (index - before >= runs[run]!.count) before += runs[run++]!.count
      return text.text(runs[run]!.at(index - before))
    },
  }
}

function textsOf({ runs, text = decimalText }: IssuedTexts): string[] {
  const texts: string[] = []
  for (const run of runs) for (let index = 0; index < run.count; index++) texts.push(text.text(run.at(index)))
  return texts
}
