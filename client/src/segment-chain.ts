/**
 * A chain of ranges that this process holds, issued in the order in which they came.
 *
 * Invariants
 *  1. Every id lies in a range that was added, is ≡ offset (mod increment), and is taken once.
 *  2. No id of a range is taken after its deadline, as far as `expire` was called in the same callback of the event loop.
 *  3. The fast run holds ids of the first range only, and for one callback: it is taken back at the end of that and by
 *     every method that takes or changes something. Where ids are permuted it holds none.
 *  4. What `takeUnused` names has not been issued and will not be: it has left the ranges before. It lies in the range of its
 *     lease. A lease that is named again is named from a lower value on.
 */
import { assert } from '../../src/base/assert.ts'
import { FastRun } from '../../src/ids/fast-run.ts'
import { max53 } from '../../src/ids/limits.ts'
import { countBelow, firstFrom, Run, ScatteredRun, two32 } from '../../src/ids/run.ts'
import type { IdOrder } from './id-order.ts'
import type { Range } from './requests.ts'

/** Whose a range is, and until when. */
export type RangeTerms = {
  /** On the monotonic clock, in µs. */
  readonly deadlineUs: number
  readonly lease: string
}

/** A range with ids left. */
type Link = {
  readonly lease: string
  deadlineUs: number
  readonly first: bigint
  readonly size: number
  /** The first raw value above the range, or that was given up of it: not always the id after the last one. */
  end: bigint
  /** The next raw value, how many were taken before it, and how many are left. */
  next: bigint
  used: number
  left: number
}

/** What can be given back: a lease, and its first unused raw value. */
export type Leftover = { readonly lease: string; readonly from: bigint }

/** How many ids one check of the deadline covers at most. */
const burstMax = 64

/** Filled and read within one call. */
const one = new Run()

/** Ranges of the ids of one definition. */
export class SegmentChain {
  readonly fastRun = new FastRun()
  readonly #increment: number
  readonly #stride: bigint
  readonly #offset: bigint
  readonly #order: IdOrder | undefined
  readonly #links: Link[] = []
  /** What was left of ranges that ended unused, the newest last. */
  readonly #unused: Leftover[] = []
  #left = 0
  #issued = 0
  #recallAsked = false

  /** @param order of ids that are not issued as they are counted. */
  constructor(increment: number, offset: bigint, order?: IdOrder) {
    this.#increment = increment
    this.#stride = BigInt(increment)
    this.#offset = offset
    this.#order = order
  }

  /** Ids taken so far. */
  get issued(): number {
    return this.#issued + this.fastRun.taken
  }

  /** Ids left. It leaves the fast run as it is, because it is read after each `take`. */
  get available(): number {
    return this.#left - this.fastRun.taken
  }

  /**
   * For how long its ids last at this rate, in ms from `nowUs`. Ids that come to their deadline before their turn do not
   * count.
   */
  lastsMs(perSecond: number, nowUs: number): number {
    let untilUs = nowUs
    let taken = this.fastRun.taken
    for (const { left, deadlineUs } of this.#links) {
      const usedUntilUs = perSecond > 0 ? untilUs + ((left - taken) / perSecond) * 1_000_000 : deadlineUs
      untilUs = Math.max(untilUs, Math.min(usedUntilUs, deadlineUs))
      taken = 0
    }
    return (untilUs - nowUs) / 1000
  }

  /** Adds a range of raw values, to be issued after those that are there. */
  add({ start, end }: Range, terms: RangeTerms): void {
    this.#recall()
    const first = firstFrom(start, this.#increment, this.#offset)
    const size = countBelow(first, end, this.#increment)
    if (size === 0) return
    // The first range is the first to expire, also where the service has shortened its leases.
    for (const link of this.#links) link.deadlineUs = Math.min(link.deadlineUs, terms.deadlineUs)
    this.#links.push({ ...terms, first, size, end, next: first, used: 0, left: size })
    this.#left += size
  }

  /** Drops what is left of ranges whose deadline has come. */
  expire(nowUs: number): void {
    if (this.#links[0] === undefined || this.#links[0].deadlineUs > nowUs) return
    this.#recall()
    for (let first = this.#links[0]; first !== undefined && first.deadlineUs <= nowUs; first = this.#links[0])
      this.#giveUp(first)
  }

  /** Takes up to `count` ids of one range; 0 when none is left. */
  take(count: number, run: Run): number {
    const taken = this.#next(count, run)
    if (taken > 0 && this.#order === undefined) this.#fill()
    return taken
  }

  /** Takes exactly `count` ids, or none. */
  collect(count: number): Run[] | undefined {
    if (this.available < count) return undefined
    const runs: Run[] = []
    for (let left = count; left > 0; ) {
      const run = this.#nextRun(left)
      left -= run.count
      runs.push(run)
    }
    return runs
  }

  /** How many ids at its end follow one another. Only for ids that are one apart and in order. */
  get lastRun(): number {
    this.#recall()
    let [ids, next] = [0, this.#links.at(-1)?.next]
    for (const link of this.#links.toReversed()) {
      if (ids > 0 && link.next + BigInt(link.left) !== next) break
      ids += link.left
      next = link.next
    }
    return ids
  }

  /**
   * Drops the ids in front of `count` ids of which each is one larger than the one before. Returns false, and drops none, if
   * there are no such ids. Only for ids that are one apart and in order.
   */
  align(count: number): boolean {
    this.#recall()
    let [gapAt, ids] = [0, 0]
    for (const [at, { next, left }] of this.#links.entries()) {
      const before = this.#links[at - 1]
      if (before !== undefined && before.next + BigInt(before.left) !== next) [gapAt, ids] = [at, 0]
      ids += left
      if (ids < count) continue
      for (const skipped of this.#links.slice(0, gapAt)) this.#giveUp(skipped)
      return true
    }
    return false
  }

  /** Whether the next `count` ids are at most 2^53−1; of permuted ids: surely. False when fewer are left. */
  areSafe(count: number): boolean {
    this.#recall()
    let left = count
    for (const link of this.#links) {
      const last = link.next + BigInt(Math.min(left, link.left) - 1) * this.#stride
      const largest = this.#order === undefined ? last : this.#order.largest(link.first, link.size)
      if (largest > max53) return false
      left -= link.left
      if (left <= 0) return true
    }
    return false
  }

  /** Drops everything. */
  clear(): void {
    this.#recall()
    this.#links.length = 0
    this.#left = 0
    this.#unused.length = 0
  }

  /** Gives up the end of the newest range if its deadline comes before `dueUs`, so that about `keep` ids of the chain are left. */
  spare(dueUs: number, keep: number): void {
    this.#recall()
    const newest = this.#links.at(-1)
    if (newest === undefined || newest.deadlineUs > dueUs) return
    const kept = Math.max(0, keep - (this.#left - newest.left))
    if (kept < newest.left) this.#giveUp(newest, kept)
  }

  /** Gives up all that is left. */
  giveUp(): void {
    this.#recall()
    for (const link of [...this.#links]) this.#giveUp(link)
  }

  /** Takes out what was given up of one lease, the newest first; undefined: no more was. */
  takeUnused(): Leftover | undefined {
    return this.#unused.pop()
  }

  /** Throws where an invariant is broken. */
  assertInvariants(): void {
    const { taken, count } = this.fastRun
    let sum = 0
    let dueUs = 0
    for (const { first, size, next, used, left, deadlineUs } of this.#links) {
      sum += left
      assert(deadlineUs >= dueUs, 'the first range is the first to expire')
      dueUs = deadlineUs
      assert(left > 0 && used >= 0 && used + left <= size, 'a range has ids left, and no more than it had')
      assert(next === first + BigInt(used) * this.#stride, 'the next id follows those that were taken')
    }
    assert(sum === this.#left, 'the ids left are those of its ranges')
    assert(taken + count <= (this.#links[0]?.left ?? 0), 'the fast run is of the first range')
    assert(this.#order === undefined || count === 0, 'permuted ids have no fast run')
  }

  /** Ends a range after its next `kept` ids, or a few more where its order needs them. */
  #giveUp(link: Link, kept = 0): void {
    const { lease, first, size, end, next, used } = link
    const from = this.#order?.unused(first, size, used + kept) ?? next + BigInt(kept) * this.#stride
    if (from < end) {
      this.#unused.push({ lease, from })
      link.end = from
    }
    const left = kept === 0 ? 0 : countBelow(next, link.end, this.#increment)
    this.#left -= link.left - left
    link.left = left
    if (left === 0) this.#links.splice(this.#links.indexOf(link), 1)
  }

  #next(count: number, run: Run): number {
    this.#recall()
    const first = this.#links[0]
    if (first === undefined || count === 0) return 0
    const taken = this.#order === undefined ? Math.min(count, first.left) : 1
    if (this.#order === undefined) run.set(first.next, taken, this.#increment)
    else run.setOne(this.#order.at(first.first, first.size, first.used))
    this.#issued += taken
    this.#skip(taken)
    return taken
  }

  #nextRun(count: number): Run {
    const order = this.#order
    const run = new Run()
    if (order === undefined) {
      this.#next(count, run)
      return run
    }
    const { first, size, used, left } = this.#links[0]!
    const taken = Math.min(count, left)
    this.#issued += taken
    this.#skip(taken)
    return new ScatteredRun(taken, (index) => order.at(first, size, used + index))
  }

  #fill(): void {
    const first = this.#links[0]
    if (first === undefined) return
    one.setOne(first.next)
    const untilCarry = Math.floor((two32 - 1 - one.lo) / this.#increment) + 1
    const count = Math.min(burstMax - 1, first.left, untilCarry)
    this.fastRun.fill(one.hi, one.lo, count, this.#increment)
    if (this.#recallAsked) return
    this.#recallAsked = true
    queueMicrotask(this.#endOfCallback)
  }

  readonly #endOfCallback = () => {
    this.#recallAsked = false
    this.#recall()
  }

  #recall(): void {
    const taken = this.fastRun.recall()
    if (taken === 0) return
    this.#issued += taken
    this.#skip(taken)
  }

  /** Removes the next `count` ids of the first range, which has as many. */
  #skip(count: number): void {
    const first = this.#links[0]!
    this.#left -= count
    first.left -= count
    first.used += count
    if (first.left === 0) this.#links.shift()
    else first.next += BigInt(count) * this.#stride
  }
}
