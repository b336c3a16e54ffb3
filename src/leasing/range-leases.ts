/**
 * The ranges of `segment` generators that this node has leased to callers, and what callers give back.
 *
 * The right to a range is the counter's bound above it, in the store: a range stays its caller's when this node ends. What is
 * remembered here serves the return alone. A range that is not given back is a gap.
 *
 * Invariants
 *  1. A range is given back only for its secret token, and each value at most once: the range ends at FROM before the release is
 *     sent, whatever the outcome of that.
 *  2. Of each generator the newest ranges are remembered, as many as can go back one after the other. Which of them is on
 *     top of the counter's bound is known to `CallerRanges` and, in the end, to the engine.
 *  3. At most `rememberedMax` ranges are remembered; of more, the first one of the generator that has leased nothing for the longest.
 *  4. The ids that a caller gives back are counted once: the FROM of the latest returns are remembered, as many again.
 */
import { timingSafeEqual } from 'node:crypto'
import { assert } from '../base/assert.ts'
import { FahaoError } from '../base/errors.ts'
import type { Generator, GeneratorRange } from '../catalogue/catalogue.ts'
import { topMax } from '../issuing/caller-ranges.ts'
import { EarlierRanges } from './earlier-ranges.ts'
import { rangeOf, rangeToken, type UnknownRange } from './range-token.ts'

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
export type LeasedRange = GeneratorRange & {
  /** The token that gives the range back. */
  readonly lease: string
  /** How long after its request the holder drops what is left, so that changes of the generator reach it. */
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
  /** Ids in ranges that callers got. */
  readonly ids: number
  /** Returns by which ids went back to the engine. */
  readonly returned: number
  /** Ids that went back to the engine, and are issued again. */
  readonly returnedIds: number
  /** Returns that left a gap. */
  readonly refused: number
}

/** What a return led to. */
export type Returned = {
  /** Whether ids can be issued again. */
  readonly isBack: boolean
  /** What was given back of a range that is unknown here, and was not counted. */
  readonly unknown?: UnknownRange
}

/** How many ranges are remembered, by default. */
const rememberedMaxDefault = 10_000
const tokenBytes = 16

/** Leases ranges on one node. */
export class RangeLeases {
  readonly #secret: (length: number) => Uint8Array
  readonly #rememberedMax: number
  /** By the generator's name, the one that leased last at the end; its newest ranges, in the order in which they were leased. */
  readonly #remembered = new Map<string, LeasedRange[]>()
  #rememberedCount = 0
  /** By token of a range: the least FROM, the first unused raw value, of its returns. The token that was returned last is last. */
  readonly #returns = new Map<string, bigint>()
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

  /** Reserves a range of the wanted number of ids, or of all that are left, for one caller. ERR, and as `Generator.leaseRange`. */
  async lease(
    generator: Generator,
    { ids = rangeLimits.idsDefault, ttlMs = rangeLimits.ttlDefaultMs, nowUs = 0 }: RangeRequest = {},
  ): Promise<LeasedRange> {
    const { ttlMinMs, ttlMaxMs } = rangeLimits
    if (ttlMs < ttlMinMs || ttlMs > ttlMaxMs)
      throw new FahaoError('ERR', `TTL must be from ${ttlMinMs} to ${ttlMaxMs} ms`)
    const range = await generator.leaseRange(ids)
    const leased = { ...range, ttlMs, lease: rangeToken(range, this.#secret(tokenBytes)) }
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
   * Gives back the raw values of a range from `from` on; the caller has issued none of them and issues none later. ERR if `from`
   * is not in the range.
   */
  async giveBack(name: string, lease: string, from: bigint): Promise<Returned> {
    const range = this.#remembered.get(name)?.find((each) => isSame(each.lease, lease))
    if (range === undefined) return this.#unknown(lease, from)
    const { start, end } = range
    if (from < start || from > end)
      throw new FahaoError(
        'ERR',
        `FROM is the first unused raw value of the range: from ${start} to ${end}, and ${from} is not`,
      )
    this.#noteReturn(lease, from)
    const { ids, isBack } = await range.release(from)
    if (isBack) {
      this.#returned++
      this.#returnedIds += ids
    } else if (ids > 0) this.#refused++
    return { isBack }
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
    const lists = [...this.#remembered.values()]
    const count = lists.reduce((sum, list) => sum + list.length, 0)
    assert(
      count === this.#rememberedCount && count <= this.#rememberedMax,
      'the ranges that are remembered are counted, and bounded',
    )
    for (const list of lists) {
      assert(list.length > 0 && list.length <= topMax, 'the newest of a generator are remembered')
      for (const { start, end, ids } of list)
        assert(start < end && ids > 0, 'a range that is remembered has ids')
    }
    assert(this.#returns.size <= this.#rememberedMax, 'the returns that are remembered are bounded')
    assert(this.#returnedIds <= this.#ids, 'no more went back than was leased')
  }

  #remember(name: string, leased: LeasedRange): void {
    const list = [...(this.#remembered.get(name) ?? []), leased]
    this.#rememberedCount++
    this.#remembered.delete(name)
    this.#remembered.set(name, list)
    if (list.length > topMax) this.#forgetFirst(name, list)
    if (this.#rememberedCount <= this.#rememberedMax) return
    for (const [quiet, ranges] of this.#remembered) return this.#forgetFirst(quiet, ranges)
  }

  #forgetFirst(name: string, list: LeasedRange[]): void {
    list.shift()
    this.#rememberedCount--
    if (list.length === 0) this.#remembered.delete(name)
  }

  #unknown(lease: string, from: bigint): Returned {
    this.#refused++
    const unknown = rangeOf(lease, from, this.#returns.get(lease))
    if (unknown === undefined) return { isBack: false }
    this.#noteReturn(lease, from)
    return { isBack: false, unknown }
  }

  #noteReturn(lease: string, from: bigint): void {
    const before = this.#returns.get(lease) ?? from
    this.#returns.delete(lease)
    this.#returns.set(lease, from < before ? from : before)
    if (this.#returns.size <= this.#rememberedMax) return
    for (const [first] of this.#returns) {
      this.#returns.delete(first)
      return
    }
  }
}

function isSame(token: string, given: string): boolean {
  const [one, other] = [token, given].map((text) => Buffer.from(text))
  return one!.length === other!.length && timingSafeEqual(one!, other!)
}
