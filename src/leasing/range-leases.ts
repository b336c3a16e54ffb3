/**
 * The ranges of `segment` generators that this node has leased to callers, and what callers give back.
 *
 * The right to a range is the counter's bound above it, in the store: a range stays its caller's when this node ends. What is
 * remembered here serves the return alone. A range that is not given back is a gap.
 *
 * Invariants
 *  1. A range is given back only for its secret token, and at most once: it is forgotten before the release is sent, whatever
 *     the outcome of that.
 *  2. Only the newest range of each generator is remembered: one before it is not on top of the counter's bound, and the
 *     engine would refuse its release.
 *  3. At most `rememberedMax` ranges are remembered; of more, the one that was leased first is forgotten.
 */
import { timingSafeEqual } from 'node:crypto'
import { assert } from '../base/assert.ts'
import { FahaoError } from '../base/errors.ts'
import type { Generator, RangeLease } from '../catalogue/catalogue.ts'
import { EarlierRanges } from './earlier-ranges.ts'

/** What a caller asks for. */
export type RangeRequest = {
  /** Default `rangeLimits.idsDefault`. */
  readonly ids?: number | undefined
  /** Default `rangeLimits.ttlDefaultMs`. */
  readonly ttlMs?: number | undefined
  /** The moment of the request, in Unix µs, from which `earlierUntilUs` counts; 0: it does not count this one. */
  readonly nowUs?: number
}

/** A leased range. */
export type LeasedRange = RangeLease & {
  /** The token that gives it back. */
  readonly lease: string
  /** The holder drops what is left so long after it sent its request, so that changes of the generator reach it. */
  readonly ttlMs: number
}

/** The limits of a request. */
export const rangeLimits = Object.freeze({
  idsDefault: 1000,
  ttlDefaultMs: 600_000,
  ttlMinMs: 1000,
  ttlMaxMs: 86_400_000,
})

/** What this node has leased since it was started. */
export type RangeLeaseFigures = {
  /** Ranges that callers got. */
  readonly ranges: number
  /** Ids in them. */
  readonly ids: number
  /** Ranges of which a part, or all, was given back. */
  readonly returned: number
  /** Ids that were given back. */
  readonly returnedIds: number
  /** Returns that left a gap. */
  readonly refused: number
}

/** How many ranges are remembered, by default. */
const rememberedMaxDefault = 10_000
const tokenBytes = 16

/** Leases ranges on one node. */
export class RangeLeases {
  readonly #secret: (length: number) => Uint8Array
  readonly #rememberedMax: number
  /** By the generator's name, in the order in which they were leased. */
  readonly #newest = new Map<string, LeasedRange>()
  readonly #earlier = new EarlierRanges()
  #ranges = 0
  #ids = 0
  #returned = 0
  #returnedIds = 0
  #refused = 0

  /** @param secret random bytes that are fit for secrets. */
  constructor(secret: (length: number) => Uint8Array, rememberedMax = rememberedMaxDefault) {
    this.#secret = secret
    this.#rememberedMax = rememberedMax
  }

  /** Reserves a range of so many ids, or of all that are left, for one caller. ERR, and as `Generator.leaseRange`. */
  async lease(
    generator: Generator,
    { ids = rangeLimits.idsDefault, ttlMs = rangeLimits.ttlDefaultMs, nowUs = 0 }: RangeRequest = {},
  ): Promise<LeasedRange> {
    const { ttlMinMs, ttlMaxMs } = rangeLimits
    if (ttlMs < ttlMinMs || ttlMs > ttlMaxMs)
      throw new FahaoError('ERR', `TTL must be from ${ttlMinMs} to ${ttlMaxMs} ms`)
    const range = await generator.leaseRange(ids)
    const leased = { ...range, ttlMs, lease: Buffer.from(this.#secret(tokenBytes)).toString('base64url') }
    this.#ranges++
    this.#ids += range.ids
    this.#remember(generator.name, leased)
    this.#earlier.note(generator.name, range.incarnation, nowUs + ttlMs * 1000)
    return leased
  }

  /** Until when callers may issue ids of incarnations before this one, leased here; in Unix µs, undefined: none may. */
  earlierUntilUs(name: string, incarnation: bigint, nowUs: number): number | undefined {
    return this.#earlier.untilUs(name, incarnation, nowUs)
  }

  /**
   * Gives back the raw values of a range from `from` on, of which the caller has issued nothing. Resolves to whether ids
   * went back; if not, they are a gap. ERR if `from` is not in the range.
   */
  async giveBack(name: string, lease: string, from: bigint): Promise<boolean> {
    const range = this.#newest.get(name)
    if (range === undefined || !isSame(range.lease, lease)) return this.#gap()
    if (from < range.start || from > range.end) {
      throw new FahaoError(
        'ERR',
        `FROM is the first unused raw value of the range: from ${range.start} to ${range.end}, and ${from} is not`,
      )
    }
    this.#newest.delete(name)
    // All of it was used: nothing is lost.
    if (from === range.end) return false
    const ids = await range.release(from)
    if (ids === 0) return this.#gap()
    this.#returned++
    this.#returnedIds += ids
    return true
  }

  /** Figures for INFO and metrics. */
  figures(): RangeLeaseFigures {
    return {
      ranges: this.#ranges,
      ids: this.#ids,
      returned: this.#returned,
      returnedIds: this.#returnedIds,
      refused: this.#refused,
    }
  }

  /** Throws where an invariant is broken. */
  assertInvariants(): void {
    assert(this.#newest.size <= this.#rememberedMax, 'so many ranges are remembered')
    for (const { start, end, ids } of this.#newest.values())
      assert(start < end && ids > 0, 'a range that is remembered has ids')
    assert(
      this.#returned <= this.#ranges && this.#returnedIds <= this.#ids,
      'no more went back than was leased',
    )
  }

  #gap(): false {
    this.#refused++
    return false
  }

  /** Answers arrive in any order: a range below the one that is remembered is not the newest. */
  #remember(name: string, leased: LeasedRange): void {
    const before = this.#newest.get(name)
    const isLater = before === undefined || leased.end > before.end || leased.incarnation > before.incarnation
    if (!isLater) return
    this.#newest.delete(name)
    this.#newest.set(name, leased)
    if (this.#newest.size <= this.#rememberedMax) return
    const [first] = this.#newest.keys()
    this.#newest.delete(first!)
  }
}

function isSame(token: string, given: string): boolean {
  const [one, other] = [token, given].map((text) => Buffer.from(text))
  return one!.length === other!.length && timingSafeEqual(one!, other!)
}
