/**
 * Reads the requests of one connection: those that the client sends, and those of a transaction while it runs.
 *
 * Invariants
 *  1. While a transaction runs, no request of the client is read.
 *  2. The reply of a transaction has an element for each of its requests, and no push is inside it: invalidations follow
 *     the last element.
 */

import type { Access } from '../auth/access.ts'
import { EncodedReply, Invalidating, type RepliesOf, type Reply } from '../commands/command.ts'
import type { CommandTable, ResolvedRequest } from '../commands/table.ts'
import { type Decoded, Decoder, type DecoderLimits } from './request-decoder.ts'

const noReply = new EncodedReply(new Uint8Array())

/** A request, and what it asks for. */
export type Request = {
  readonly bytes: Uint8Array
  readonly resolved: ResolvedRequest
  /** The permissions of the connection that were found to allow it. */
  permittedBy: Access | undefined
}

/** The requests of one connection. */
export class RequestReader {
  /** The decoder of the bytes that the client sends. */
  readonly input: Decoder
  /** The decoder of the next request. */
  #source: Decoder
  readonly #table: CommandTable
  /** Names that the client has to drop from its cache after the transaction. */
  #invalidated: Uint8Array[] = []

  constructor(limits: DecoderLimits, table: CommandTable) {
    this.input = new Decoder(limits)
    this.#source = this.input
    this.#table = table
  }

  /** Whether a transaction runs. */
  get inTransaction(): boolean {
    return this.#source !== this.input
  }

  /** Decodes what comes next. */
  next(): Decoded {
    return this.#source.next()
  }

  /** The words of the frame that `next` has found. */
  words(): Uint8Array[] {
    return this.#source.parts()
  }

  /** What the frame that `next` has found asks for. Throws as `CommandTable.resolve` does. */
  resolve(): Request {
    const source = this.#source
    return { bytes: source.frame(), resolved: this.#table.resolve(source.parts()), permittedBy: undefined }
  }

  /** From now on reads the requests of a transaction; `next` says `more` after the last. */
  enter({ requests }: RepliesOf): void {
    this.#source = new Decoder(this.input.limits)
    this.#source.push(requests)
  }

  /** The reply as an element, if a transaction runs. */
  element(reply: Reply): Reply {
    if (!(reply instanceof Invalidating) || !this.inTransaction) return reply
    this.#invalidated.push(...reply.names)
    return reply.reply
  }

  /** Reads from the client again. Returns what follows the last element. */
  leave(): Reply {
    const names = this.#invalidated
    this.#invalidated = []
    this.#source = this.input
    return names.length === 0 ? noReply : new Invalidating(noReply, names)
  }

  /** Drops input. */
  clear(): void {
    this.leave()
    this.input.clear()
  }
}
