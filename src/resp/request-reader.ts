/**
 * Reads the requests of one connection: those that the client sends, and those of a transaction while it runs. Requests
 * that repeat recent ones are recognized by their bytes.
 *
 * Invariants
 *  1. While a transaction runs, no request of the client is read.
 *  2. The reply of a transaction has an element for each of its requests, and no push is inside it: invalidations follow
 *     the last element.
 */
import { EncodedReply, Invalidating, type RepliesOf, type Reply } from '../commands/command.ts'
import type { CommandTable } from '../commands/table.ts'
import { cachedBytesMax, type RecentRequest, RecentRequests, type RequestCache } from './request-cache.ts'
import { type Decoded, Decoder, type DecoderLimits } from './request-decoder.ts'

const noReply = new EncodedReply(new Uint8Array())

/** The requests of one connection. */
export class RequestReader {
  /** The decoder of the bytes that the client sends. */
  readonly input: Decoder
  /** How often `repeated` comes. */
  repeats = 0
  /** The decoder of the next request. */
  #source: Decoder
  readonly #table: CommandTable
  readonly #cache: RequestCache
  readonly #recent = new RecentRequests()
  /** Names that the client has to drop from its cache after the transaction. */
  #invalidated: Uint8Array[] = []

  constructor(
    limits: DecoderLimits,
    { table, cache }: { readonly table: CommandTable; readonly cache: RequestCache },
  ) {
    this.input = new Decoder(limits)
    this.#source = this.input
    this.#table = table
    this.#cache = cache
  }

  /** Whether a transaction runs. */
  get inTransaction(): boolean {
    return this.#source !== this.input
  }

  /** The recent request that comes next, `repeats` times. */
  repeated(): RecentRequest | undefined {
    const { all } = this.#recent
    for (let index = 0; index < all.length; index++) {
      const request = all[index]!
      const countMax = request.direct ? Number.POSITIVE_INFINITY : 1
      this.repeats = this.#source.countRepeats(request.bytes, countMax)
      if (this.repeats > 0) return request
    }
    return undefined
  }

  /** Counts repetitions of a recent request as read. */
  consume({ bytes }: RecentRequest, count: number): void {
    this.#source.consume(count * bytes.length)
  }

  /** Decodes what comes next when `repeated` finds nothing. */
  next(): Decoded {
    return this.#source.next()
  }

  /** The words of the frame that `next` has found. */
  words(): Uint8Array[] {
    return this.#source.parts()
  }

  /** What the frame asks for; a short one is cached if `cached`. Throws as `CommandTable.resolve` does. */
  resolve(cached: boolean): RecentRequest {
    const source = this.#source
    const frame = source.frame()
    if (!cached || source.inline || frame.length > cachedBytesMax) {
      return {
        bytes: frame,
        resolved: this.#table.resolve(source.parts()),
        permittedBy: undefined,
        direct: undefined,
      }
    }
    const text = frame.toString('latin1')
    let known = this.#cache.get(text)
    if (known === undefined) {
      const bytes = Uint8Array.from(frame)
      known = { bytes, resolved: this.#table.resolve(source.partsIn(bytes)) }
      this.#cache.add(text, known)
    }
    const request = { ...known, permittedBy: undefined, direct: undefined }
    this.#recent.add(request)
    return request
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

  /** Sets other limits, and drops recent requests: other permissions may give other replies. */
  restart(limits: DecoderLimits): void {
    this.input.limits = limits
    this.#recent.clear()
  }

  /** Drops input and recent requests. */
  clear(): void {
    this.leave()
    this.input.clear()
    this.#recent.clear()
  }
}
