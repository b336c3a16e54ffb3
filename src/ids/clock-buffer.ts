/**
 * Reserved time in hand: issues ids made of the clock.
 *
 * Invariants
 *  1. (time, sequence) only grows: no clock, however it jumps, brings a pair back.
 *  2. A pair is issued only while its time lies in `[start, end)` of what was granted.
 *  3. Time runs ahead of the timeline by at most `borrowMax`, counted from where a grant had to start when that
 *     was in the future already, so that a bound ahead of the clock slows nothing down and sticks nowhere.
 *  4. An idle hand never issues with a stale time: time is read anew in every callback, and every 64 ids.
 */
import type { Random } from '../base/clock.ts'
import type { Timeline } from '../base/timeline.ts'
import { FastRun } from './fast-run.ts'
import type { Layout } from './layout.ts'
import { Run } from './run.ts'

/** What a clock hand is made of. */
export type ClockBufferOptions = {
  readonly layout: Layout
  readonly timeline: Timeline
  readonly random: Random
  readonly borrowMaxUs: number
  readonly sequenceStart: 'zero' | 'random'
}

/** So many ids are issued by one reading of the clock, at most. */
const burst = 64

/** Runs are stepped through in doubles: a stride above this would lose bits. */
const strideMax = 2 ** 20

/** See the invariants at the top of the file. */
export class ClockBuffer {
  /** Ids of the moment: taken back at the end of every callback, and by whatever is called here. */
  readonly ready = new FastRun()
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
  #now = 0
  #issued = 0
  #recallAsked = false
  /** Time may not go beyond. */
  #limit = 0
  /** Where time was granted from when that was ahead of the timeline, and the timeline then. */
  #anchor = 0
  #anchorUs = 0

  constructor(options: ClockBufferOptions) {
    const { layout } = options
    this.#layout = layout
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

  /** Where time stands: ids come from this unit on. Reads the clock. */
  get position(): number {
    this.#see(this.#timeline.nowUs())
    return this.#time
  }

  /** Where ids came from when time was last read. */
  get seenTime(): number {
    return this.#time
  }

  /** What the timeline showed when time was last read, in Unix µs. */
  get seenUs(): number {
    return this.#seenUs
  }

  /** First unit of which nothing has been issued. */
  get untouched(): number {
    this.recall()
    return this.#sequence > 0 ? this.#time + 1 : this.#time
  }

  /** Makes `[start, end)`, in units since the epoch, the time to issue from, with this node. */
  grant(node: number, start: number, end: number): void {
    this.recall()
    const us = this.#timeline.nowUs()
    this.#see(us)
    if (start !== this.#start || node !== this.#node) {
      this.#start = start
      this.#node = node
      if (start > this.#time) this.#enter(start, 0)
      else this.#enter(this.#time, this.#sequence)
    }
    this.#end = end
    if (start > this.#now) {
      this.#anchor = start
      this.#anchorUs = us
      this.#see(us)
    }
  }

  /** Takes up to `count` ids into `run`, all of one unit of time; 0 when no granted time is at hand. */
  take(count: number, run: Run): number {
    this.#see(this.#timeline.nowUs())
    const taken = this.#next(count, run)
    if (taken > 0) this.#prepare()
    return taken
  }

  /** How many ids have been taken, ready ones too. */
  get issued(): number {
    return this.#issued + this.ready.taken
  }

  /** Takes back what is ready. */
  recall(): void {
    const taken = this.ready.recall()
    this.#issued += taken
    this.#sequence += taken
  }

  /** How many ids could be taken at this moment. */
  available(): number {
    this.#see(this.#timeline.nowUs())
    return this.#availableSeen()
  }

  /** Takes exactly `count` ids as of one reading of the clock, or none. */
  collect(count: number): Run[] | undefined {
    if (this.available() < count) return undefined
    const runs: Run[] = []
    for (let left = count; left > 0; ) {
      const run = new Run()
      left -= this.#next(left, run)
      runs.push(run)
    }
    return runs
  }

  /** In how many ms to look again, when it is the clock that allows no more, not what was granted. */
  waitMs(): number | undefined {
    if (this.#limit + 1 >= this.#end) return undefined
    return Math.ceil(Math.min(this.#layout.unitUs, 5000) / 1000)
  }

  /** The newest id issued from here. */
  lastIssued(): bigint | undefined {
    this.recall()
    this.#noteLast()
    return this.#last.count === 0 ? undefined : this.#last.first
  }

  /** Units of time that the timeline shows now. */
  unitsAt(us: number): number {
    return Math.max(0, Math.floor((us - this.#layout.epochUs) / this.#layout.unitUs))
  }

  /** Takes the granted time away. */
  clear(): void {
    this.recall()
    this.#end = 0
  }

  #availableSeen(): number {
    const end = Math.min(this.#end, this.#limit + 1)
    return end <= this.#time ? 0 : (end - this.#time) * this.capacity - this.#sequence
  }

  #next(count: number, run: Run): number {
    if (this.#sequence === this.capacity) {
      if (this.#time >= this.#limit) return 0
      this.#enter(this.#time + 1, 0)
    }
    if (this.#time >= this.#end || this.#time > this.#limit) return 0
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

  /** Makes more ids of this unit of time ready until the callback ends. */
  #prepare(): void {
    if (this.#stride > strideMax) return
    const untilCarry = this.#lowSpan - (this.#sequence % this.#lowSpan)
    const count = Math.min(burst - 1, this.capacity - this.#sequence, untilCarry)
    if (count <= 0) return
    const high = Math.floor(this.#sequence / this.#lowSpan)
    const low = this.#sequence - high * this.#lowSpan
    this.ready.make(this.#hi + high * this.#highScale, this.#lo + low * this.#lowScale, count, this.#stride)
    if (this.#recallAsked) return
    this.#recallAsked = true
    queueMicrotask(this.#endOfCallback)
  }

  readonly #endOfCallback = () => {
    this.#recallAsked = false
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
    const { timeShift, nodeShift, fixed } = this.#layout
    const rest = fixed + (BigInt(this.#node) << BigInt(nodeShift))
    const [timeHi, timeLo] = halves(time, timeShift)
    this.#hi = timeHi + Number(rest >> 32n)
    this.#lo = timeLo + Number(rest & 0xffff_ffffn)
  }
}

/** `value · 2^shift` in two halves of 32 bits. Fields do not overlap, so halves of several fields just add up. */
function halves(value: number, shift: number): [hi: number, lo: number] {
  if (shift >= 32) return [value * 2 ** (shift - 32), 0]
  const span = 2 ** (32 - shift)
  const high = Math.floor(value / span)
  return [high, (value - high * span) * 2 ** shift]
}
