/**
 * A buffer of granted time: issues ids made of the clock.
 *
 * Invariants
 *  1. (time, sequence) only grows: no clock, however it jumps, brings a pair back. So ids increase, also from one node to
 *     a smaller one, where the layout has time above the node.
 *  2. A pair is issued only while its time lies in the granted `[start, end)`.
 *  3. Time runs ahead of the timeline by at most `borrowMax`. When a grant starts in the future, this is counted from
 *     its start, which moves on with the timeline: a bound ahead of the clock slows nothing down.
 *  4. An idle buffer never issues with a stale time: the clock is read in every callback, and every 256 ids.
 *  5. A unit of time counts as used in the `UsedTime` of its right before the first of its ids is taken. What a buffer before has
 *     used of the right is not issued again, and a buffer that another one has followed issues nothing more.
 */
import { assert } from '../base/assert.ts'
import { atEndOfCallback, type Random } from '../base/clock.ts'
import type { Timeline } from '../base/timeline.ts'
import type { Layout } from '../ids/layout.ts'
import { Run, safeHi } from '../ids/run.ts'
import { FastRun } from './fast-runs.ts'
import { UsedTime } from './used-time.ts'

/** The parts of a clock buffer. */
export type ClockBufferOptions = {
  readonly layout: Layout
  readonly timeline: Timeline
  readonly random: Random
  readonly borrowMaxUs: number
  readonly sequenceStart: 'zero' | 'random'
  /** Default: one of its own. */
  readonly fastRun?: FastRun
}

/** How many ids one reading of the clock covers at most. */
const burstMax = 256

/** Runs are stepped through in doubles: with a stride above this, the ids of a run would differ by 2^53 or more. */
const strideMax = 2 ** 20

/** How many units of time one batch takes at most: each is a run. */
const batchUnitsMax = 10_000

/**
 * How many ids a buffer of this layout can give in one batch, if nothing else takes any: what `borrowMaxUs` allows, in at
 * most 10,000 runs.
 */
export function batchMax(layout: Layout, borrowMaxUs: number): number {
  const units = Math.min(Math.max(1, Math.ceil(borrowMaxUs / layout.unitUs)), batchUnitsMax)
  return 2 ** layout.sequenceShift > strideMax ? units : units * 2 ** layout.sequenceBits
}

/** Filled and read within one call. */
const one = new Run()

/** Those that were filled in this callback. One list for all: a function of its own would take as much memory as a buffer. */
const filled: ClockBuffer[] = []
const recallSoon = atEndOfCallback(() => {
  for (const buffer of filled.splice(0)) buffer.endCallback()
})

/** Pairs of time and sequence, for one node at a time. */
export class ClockBuffer {
  /** What callers take ids of at once. */
  readonly fastRun: FastRun
  /** Ids of this callback: taken back at its end, and by every other method. */
  readonly #run: FastRun
  /** Set by `take` and `collect` when the marks of `markAt` are reached, or none are set. */
  low = false
  readonly #layout: Layout
  readonly #timeline: Timeline
  readonly #random: Random | undefined
  readonly #borrowUnits: number
  /** Ids per unit of time. */
  readonly capacity: number
  readonly #stride: number
  /** How a sequence number becomes two halves: low = (s mod lowSpan) · lowScale, high = ⌊s / lowSpan⌋ · highScale. */
  readonly #lowSpan: number
  readonly #lowScale: number
  readonly #highScale: number
  #time = 0
  /** The next sequence number, and the one that this unit of time began with. */
  #sequence = 0
  #first = 0
  /** The newest id of earlier units of time. */
  readonly #last = new Run()
  #start = 0
  #end = 0
  #node = 0
  /** Halves of the current id without its sequence. */
  #hi = 0
  #lo = 0
  #seenUs = -1
  #markUs = 0
  #markTime = 0
  #now = 0
  #issued = 0
  /** Whether it is in `filled`. */
  #isFilled = false
  /** The last unit that time may reach now. */
  #limit = 0
  /** What has been used of the right that it issues from, and the first unit that does not count as used yet. */
  #used = new UsedTime()
  #unused = 0
  /** Start of the grant, if that was ahead of the timeline, and the timeline then. */
  #anchor = 0
  #anchorUs = 0

  constructor(options: ClockBufferOptions) {
    const { layout } = options
    this.#layout = layout
    this.#run = options.fastRun ?? new FastRun()
    this.fastRun = this.#run
    this.#timeline = options.timeline
    this.#random = options.sequenceStart === 'random' ? options.random : undefined
    this.#borrowUnits = Math.ceil(options.borrowMaxUs / layout.unitUs)
    this.capacity = 2 ** layout.sequenceBits
    const shift = layout.sequenceShift
    this.#stride = 2 ** shift
    this.#lowSpan = shift < 32 ? 2 ** (32 - shift) : 1
    this.#lowScale = shift < 32 ? 2 ** shift : 0
    this.#highScale = shift < 32 ? 1 : 2 ** (shift - 32)
  }

  /** First unit of time that is not granted. */
  get end(): number {
    return this.#end
  }

  /** The unit of the next id. Reads the clock. */
  get position(): number {
    this.#see(this.#timeline.nowUs())
    return this.#time
  }

  /** The timeline when it was last read, in Unix µs. */
  get seenUs(): number {
    return this.#seenUs
  }

  /** The first unit without an issued id. */
  get untouched(): number {
    this.recall()
    return this.#sequence > 0 ? this.#time + 1 : this.#time
  }

  /**
   * Replaces the granted time by `[start, end)`, in units since the epoch, for ids with this node.
   * @param used what has been used of the right to this time; by default one of its own, of a right that no other buffer has.
   */
  grant(node: number, start: number, end: number, used: UsedTime = this.#used): void {
    this.recall()
    const us = this.#timeline.nowUs()
    this.#see(us)
    const isOther = !used.isOf(this)
    if (start !== this.#start || node !== this.#node || isOther) {
      const newest = this.#newest()
      this.#start = start
      this.#node = node
      if (isOther) this.#takeOver(used)
      const first = isOther ? Math.max(start, this.#unused) : start
      if (first > this.#time) this.#enter(first, 0)
      else this.#goOnAbove(newest)
      if (first > this.#now) {
        this.#anchor = first
        this.#anchorUs = us
        this.#see(us)
      }
    }
    this.#end = end
  }

  /** Sets `low` once the timeline has come to `us`, in Unix µs, or fewer than `spare` units are left. */
  markAt(us: number, spare: number): void {
    this.#markUs = us
    this.#markTime = this.#end - spare + 1
  }

  /** Sets `low` if the timeline reaches the mark within `us`. */
  look(us: number): void {
    this.#see(this.#timeline.nowUs())
    if (this.#seenUs + us >= this.#markUs) this.low = true
    this.#checkLow()
  }

  /** Takes up to `count` ids into `run`, all of one unit of time; 0 when no granted time is left at this moment. */
  take(count: number, run: Run): number {
    this.#see(this.#timeline.nowUs())
    const taken = this.#next(count, run)
    if (taken > 0) this.#fill()
    this.#checkLow()
    return taken
  }

  /** Nothing: what is made ready expires with the callback. */
  ready(): void {}

  /** How many ids have been taken, those of the fast run too. */
  get issued(): number {
    return this.#issued + this.#run.taken
  }

  /** Takes the rest of the fast run back. */
  recall(): void {
    const taken = this.#run.recall()
    this.#issued += taken
    this.#sequence += taken
  }

  /** How many ids could be taken at this moment. */
  available(): number {
    this.#see(this.#timeline.nowUs())
    if (!this.#used.isOf(this)) return 0
    const end = Math.min(this.#end, this.#limit + 1)
    return end <= this.#time ? 0 : (end - this.#time) * this.capacity - this.#sequence
  }

  /** Takes exactly `count` ids as of one reading of the clock, or none. */
  collect(count: number): Run[] | undefined {
    const isEnough = this.available() >= count
    const runs: Run[] = []
    for (let left = isEnough ? count : 0; left > 0; ) {
      const run = new Run()
      left -= this.#next(left, run)
      runs.push(run)
    }
    this.#checkLow()
    return isEnough ? runs : undefined
  }

  /** Whether the next `count` ids are surely at most 2^53−1, if they are taken in this unit of the clock. */
  areSafe(count: number): boolean {
    this.#see(this.#timeline.nowUs())
    const last = this.#sequence + count - 1
    if (last < this.capacity) this.#compose(last, one)
    else {
      const newest = this.#withoutSequence(this.#time + Math.floor(last / this.capacity))
      one.setOne(newest | (BigInt(this.capacity - 1) << BigInt(this.#layout.sequenceShift)))
    }
    return one.hi < safeHi
  }

  /**
   * How long to wait before the next try, in ms: one unit of the clock, at most 5 ms. Undefined when more time has to
   * be granted first.
   */
  waitMs(): number | undefined {
    if (this.#limit + 1 >= this.#end) return undefined
    return Math.ceil(Math.min(this.#layout.unitUs, 5000) / 1000)
  }

  /** The newest id issued by this buffer. */
  lastIssued(): bigint | undefined {
    return this.#newest()
  }

  /** The unit of time that `us`, in Unix µs, lies in. */
  unitsAt(us: number): number {
    return Math.max(0, Math.floor((us - this.#layout.epochUs) / this.#layout.unitUs))
  }

  /** Drops the granted time. */
  clear(): void {
    this.recall()
    if (this.#used.isOf(this)) this.#used.end()
    this.#end = 0
    this.low = false
  }

  /** Throws where an invariant is broken. */
  assertInvariants(): void {
    const { epochUs, unitUs } = this.#layout
    const isStarted = this.#sequence > this.#first
    assert(this.#sequence <= this.capacity && this.#sequence >= this.#first, 'the sequence is in its field')
    if (!this.#used.isOf(this)) return
    assert(!isStarted || this.#time < this.#unused, 'a unit counts as used before its first id')
    assert(this.#unused === 0 || this.#used.untilUs >= epochUs + (this.#unused - 1) * unitUs, 'use is noted')
  }

  #checkLow(): void {
    if (this.#seenUs >= this.#markUs || this.#time >= this.#markTime) this.low = true
  }

  #next(count: number, run: Run): number {
    if (this.#sequence === this.capacity) {
      if (this.#time >= this.#limit) return 0
      this.#enter(this.#time + 1, 0)
    }
    if (this.#time >= this.#end || this.#time > this.#limit || !this.#used.isOf(this)) return 0
    if (this.#time >= this.#unused) this.#use()
    let taken = this.capacity - this.#sequence
    if (count < taken) taken = count
    if (this.#stride > strideMax) taken = 1
    this.#compose(this.#sequence, run)
    run.count = taken
    run.stride = this.#stride
    this.#sequence += taken
    this.#issued += taken
    return taken
  }

  /** Counts the present unit of time as used. */
  #use(): void {
    const { epochUs, unitUs } = this.#layout
    this.#unused = this.#time + 1
    this.#used.use(epochUs + this.#unused * unitUs)
  }

  /** Issues from another right, above all that has been used of it. */
  #takeOver(used: UsedTime): void {
    const { epochUs, unitUs } = this.#layout
    used.takeOver(this)
    this.#used = used
    this.#unused = Math.max(0, Math.ceil((used.untilUs - epochUs) / unitUs))
  }

  /** Fills the fast run with ids of this unit of time, until the callback ends. */
  #fill(): void {
    // Ids that wait for their genes do not leave as they are.
    if (this.#stride > strideMax || this.#layout.geneBits > 0) return
    const count = Math.min(burstMax - 1, this.capacity - this.#sequence)
    if (count <= 0) return
    this.#compose(this.#sequence, one)
    this.#run.fill(one.hi, one.lo, count, this.#stride)
    if (this.#isFilled) return
    this.#isFilled = true
    filled.push(this)
    recallSoon()
  }

  /** The end of the callback in which it was filled. */
  endCallback(): void {
    this.#isFilled = false
    this.recall()
  }

  #compose(sequence: number, run: Run): void {
    const high = Math.floor(sequence / this.#lowSpan)
    run.hi = this.#hi + high * this.#highScale
    run.lo = this.#lo + (sequence - high * this.#lowSpan) * this.#lowScale
  }

  #see(us: number): void {
    this.recall()
    this.#seenUs = us
    this.#now = this.unitsAt(us)
    const anchored = this.#anchor + Math.floor((us - this.#anchorUs) / this.#layout.unitUs)
    this.#limit = Math.max(this.#now, this.#anchor > 0 ? anchored : 0) + this.#borrowUnits
    if (this.#now > this.#time) {
      this.#enter(this.#now, this.#random === undefined ? 0 : Math.floor(this.#random() * this.capacity))
    }
  }

  /** Stays in the present unit of time, unless the ids of a smaller node would be below the newest one there. */
  #goOnAbove(newest: bigint | undefined): void {
    this.#enter(this.#time, this.#sequence)
    this.#compose(this.#sequence, one)
    if (newest !== undefined && one.first <= newest) this.#enter(this.#time + 1, 0)
  }

  #newest(): bigint | undefined {
    this.recall()
    this.#noteLast()
    return this.#last.count === 0 ? undefined : this.#last.first
  }

  #noteLast(): void {
    if (this.#sequence === this.#first) return
    this.#compose(this.#sequence - 1, this.#last)
    this.#last.count = 1
  }

  #enter(time: number, sequence: number): void {
    this.#noteLast()
    this.#time = time
    this.#sequence = sequence
    this.#first = sequence
    one.setOne(this.#withoutSequence(time))
    this.#hi = one.hi
    this.#lo = one.lo
  }

  /** The id of this node at `time` whose sequence is 0. */
  #withoutSequence(time: number): bigint {
    const { timeShift, nodeShift, fixed } = this.#layout
    return fixed | (BigInt(this.#node) << BigInt(nodeShift)) | (BigInt(time) << BigInt(timeShift))
  }
}
