/**
 * A section of a family: counters of many names behind one stored bound.
 *
 * A name in memory is a row of the table of fast runs (buffers/section-rows.ts), from which its ids are taken without a look at the
 * section. When the row is used up, the section lets it go on to its newest bound. A name that is not in memory has nothing: it
 * begins at the section's *high mark*. Each range that the section reserves extends what all of its names may issue.
 *
 * Invariants
 *  1. A value is issued only if it lies below the end of a range that the engine has acknowledged (P2). What a failed reserve
 *     may have opened is never issued (P8).
 *  2. Every value that was issued for a name which is not in memory lies below the high mark: when a name leaves, the mark rises
 *     to its next value. The first range begins above all that an earlier process or leader issued for any name, which lay below
 *     the bound, and the mark begins there. So each name is unique and increases (P1, P3).
 *  3. Where a range does not begin at the end of the one before, what lies between them is issued for no name: a name issues
 *     what its row has left, which was reserved here, and goes on at the start of the new range.
 *  4. Nothing is issued after `stop`, and after the end of the gate, nor while it is closed. What rows hold ends with the gate;
 *     after `stop` alone each row has to be ended.
 *  5. At most one reserve is under way. What is released lies above the next value of every name.
 *  6. It is busy for its gate while callers wait, and while a reserve is wanted, runs, or pauses.
 */
import { assert } from '../base/assert.ts'
import type { Timer } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'
import { slotNotServed } from '../base/moved.ts'
import { emptyRow } from '../buffers/fast-runs.ts'
import type { SectionRows } from '../buffers/section-rows.ts'
import { WaitQueue } from '../buffers/wait-queue.ts'
import { Run, two32 } from '../ids/run.ts'
import type { Gate, Gated } from './gate.ts'
import type { Incarnation } from './incarnation.ts'
import { type DrawOptions, dry, requestOf } from './issuer.ts'
import { Refills } from './refills.ts'
import { ReservedCounter, type ReservedCounterOptions } from './reserved-counter.ts'
import type { ReservoirOptions } from './reservoir-options.ts'

/** What the sections of one family share. */
export type SectionOptions = ReservoirOptions &
  ReservedCounterOptions & {
    /** The largest value, at most 2^53−1. */
    readonly max: number
    /** How many values a reserve has at least and at most, unless callers wait for more. */
    readonly step: number
    readonly stepMax: number
    /** For how long a reserve should last. */
    readonly horizonSeconds: number
  }

/** The figures of a section. */
export type SectionStats = {
  readonly issued: number
  /** How many ids a name that is not in memory could get at once. */
  readonly inHand: number
  readonly reserved: number
  readonly released: number
  readonly waits: number
  readonly waiting: number
} & ReturnType<Refills['stats']>

/** Where a section stands in its process. */
export type SectionPlace = {
  /** The rows of all names of families. */
  readonly rows: SectionRows
  /** What rows name it by. */
  readonly number: number
  /** Of the right under which it issues. */
  readonly gate: Gate
}

/** How many runs the waiting callers get in one turn of the event loop. */
const servedMax = 4096
/** The pause after a reserve that served no caller, in ms. */
const uselessMs = 20

/** The names of one slot of a family. */
export class Section implements Gated {
  readonly #options: SectionOptions
  readonly #incarnation: Incarnation
  readonly #rows: SectionRows
  readonly #number: number
  readonly #gate: Gate
  readonly #counter: ReservedCounter
  readonly #refills: Refills
  /** The callers of each name, by its row, in the order in which names began to wait. */
  readonly #queues = new Map<number, WaitQueue>()
  /** The high mark. */
  #mark = 0
  /** Where the newest range begins that does not begin at the end of the one before. */
  #start = 0
  /** The end of the newest range. */
  #end = 0
  /** A name that comes to it wants a reserve. */
  #low = 0
  #size: number
  #reservedUs = 0
  /** Without what was issued since the last `noteIssued`. */
  #issued = 0
  #waits = 0
  #isWanted = false
  #isNew = true
  #wake: Timer | undefined
  #closed: Error | undefined
  #ended: Promise<void> | undefined

  /** @param bound the counter's bound when the section was opened; 0 when it had never been used. */
  constructor(incarnation: Incarnation, bound: bigint, options: SectionOptions, place: SectionPlace) {
    const { floor, name } = incarnation
    this.#options = options
    this.#rows = place.rows
    this.#number = place.number
    this.#gate = place.gate
    this.#incarnation = incarnation
    this.#counter = new ReservedCounter(incarnation, bound > floor ? bound : floor, options)
    this.#size = options.step
    this.#refills = new Refills(name, options, {
      reserve: () => this.#reserve(),
      ended: () => this.#serveThenRefill(),
      paused: () => {
        if (this.#queues.size > 0 || this.#isWanted) this.#refill()
      },
    })
  }

  /** Why nothing is issued any more; undefined: it is. */
  get over(): Error | undefined {
    return this.#closed ?? this.#gate.ended
  }

  /** Brings a name into memory that was not: returns its row, which begins at the high mark. 0 after the end. */
  join(): number {
    const row = this.#closed === undefined ? this.#gate.addRow() : emptyRow
    if (row !== emptyRow) this.#rows.add(row, this.#number, this.#mark)
    return row
  }

  /** A name leaves memory. Callers that wait are rejected with `reason`. */
  leave(row: number, reason: () => Error): void {
    this.end(row)
    this.#queues.get(row)?.refuse(reason)
    this.#queues.delete(row)
    this.#rows.free(row)
  }

  /** A name in memory issues nothing more. */
  end(row: number): void {
    this.#rows.empty(row)
    this.noteIssued(row)
    const next = this.#rows.next(row)
    if (next > this.#mark) this.#mark = next
  }

  /** Has the figures count what a name in memory has issued. */
  noteIssued(row: number): void {
    this.#issued += this.#rows.takeCount(row)
  }

  /** How many callers of a name wait. */
  waitingFor(row: number): number {
    return this.#queues.get(row)?.length ?? 0
  }

  /** How many values from `floor` on a name could issue at once. */
  leftFor(row: number, floor = 0n): number {
    return Math.max(0, this.#end - Math.max(this.#next(row), Number(floor)))
  }

  /** How many values could be given back. */
  get buffered(): number {
    return this.#end - this.#mark
  }

  /** Takes up to `count` values of a name into `run`; returns how many. */
  take(row: number, count: number, run: Run): number {
    if (!this.#gate.isOpen || this.#closed !== undefined || this.#queues.has(row)) return 0
    const taken = Math.min(count, this.leftFor(row))
    if (taken > 0) this.#issue(row, taken, run)
    return taken
  }

  /** As `draw` of an issuer. */
  draw(row: number, name: string, count: number, options: DrawOptions): Promise<Run[]> {
    // It may end the gate.
    const mayIssue = this.#mayIssue()
    if (this.over !== undefined) return Promise.reject(this.over)
    if (options.signal?.aborted) return Promise.reject(options.signal.reason)
    const request = requestOf(count, options)
    if (mayIssue && !this.#queues.has(row) && count <= this.leftFor(row, request.floor))
      return Promise.resolve([this.#issue(row, count, new Run(), request.floor)])
    const { refusal } = this.#refills
    if (refusal !== undefined) return Promise.reject(refusal)
    const queue = this.#queues.get(row) ?? this.#newQueue(row, name)
    this.#queues.set(row, queue)
    const drawn = queue.join(request, options.signal, options.onWait)
    if (this.#dropEmptyQueue(row)) return drawn
    this.#waits++
    this.#refills.callerWaits()
    this.#refill()
    return drawn
  }

  /** Has a name issue nothing below `next` any more, as long as `isIn` says that it is in memory. Durable when it resolves. */
  moveTo(row: number, name: string, next: number, isIn: () => void): Promise<void> {
    return this.#refills.alone(async () => {
      if (next > this.#end) await this.#extend(next - this.#end)
      // The row may have been ended meanwhile: what is above its mark is given back.
      if (this.over !== undefined) throw this.over
      isIn()
      const reached = this.#rows.next(row)
      if (next < reached)
        throw new FahaoError('ERR', `'${name}' has issued ${reached - 1} already; it moves forward only`)
      this.noteIssued(row)
      this.#rows.noteMove(row)
      this.#fill(row, Math.max(next, this.#start))
    })
  }

  stats(): SectionStats {
    const waiting = [...this.#queues.values()].reduce((sum, { length }) => sum + length, 0)
    return {
      ...this.#refills.stats(),
      issued: this.#issued,
      inHand: this.buffered,
      reserved: this.#counter.reserved,
      released: this.#counter.released,
      waits: this.#waits,
      waiting,
    }
  }

  assertInvariants(): void {
    assert(this.#mark <= this.#end, 'the high mark lies below the bound')
    assert(this.#start <= this.#mark, 'the high mark lies in the newest ranges')
    for (const [row, queue] of this.#queues) {
      queue.assertInvariants()
      assert(queue.length > 0, 'there is a queue only while a caller waits')
      assert(this.#rows.sectionOf(row) === this.#number, 'callers wait for names in memory alone')
      assert(this.#gate.isBusy(this), 'a section for which callers wait is busy')
    }
  }

  /** Throws unless a name in memory keeps the invariants. For tests. */
  assertName(row: number): void {
    assert(this.#rows.next(row) <= this.#end, 'no value reaches the bound')
  }

  /** See `Gated`. */
  resume(): void {
    if (this.over !== undefined) return
    this.#serveThenRefill()
    if (this.#isWanted) this.#refill()
  }

  /** Stops issuing and rejects waiting callers with `reason`, before it returns. The rows of names are ended by `end`. */
  stop(reason: Error): void {
    if (this.#closed !== undefined) return
    this.#closed = reason
    this.#gate.noteIdle(this)
    this.#refills.stop(reason)
    this.#wake?.cancel()
    for (const queue of [...this.#queues.values()]) queue.refuse(() => reason)
    this.#queues.clear()
  }

  /** Stops, and releases what no name has reached, once `end` was called for each. Nothing is released from a dropped gate. */
  close(reason: Error): Promise<void> {
    this.stop(reason)
    this.#ended ??= this.#refills.idle().then(async () => {
      if (!this.#gate.isDropped) await this.#counter.release(BigInt(this.#mark))
    })
    return this.#ended
  }

  /** Reserves, unless a reserve is under way or pauses after a failure. */
  #refill(): void {
    this.#isWanted = true
    this.#gate.noteBusy(this)
    if (this.#refills.busy || !this.#gate.isOpen) return
    // The opening has a permit, and sections that are opened together reserve together.
    if (this.#isNew) this.#refills.startFirst(() => this.#reserve())
    else this.#refills.start(this.#queues.size > 0)
    this.#isNew = false
  }

  /** The next value of a name. See invariant 3. */
  #next(row: number): number {
    return Math.max(this.#rows.next(row), this.#start)
  }

  #issue(row: number, count: number, run = new Run(), floor = 0n): Run {
    const next = Math.max(this.#next(row), Number(floor))
    this.#issued += this.#rows.takeCount(row, count)
    run.hi = Math.floor(next / two32)
    run.lo = next - run.hi * two32
    run.count = count
    run.stride = 1
    this.#fill(row, next + count)
    return run
  }

  /** Has the row issue from `next` on: up to where a reserve is wanted, or to the bound once one is. */
  #fill(row: number, next: number): void {
    this.#rows.fill(row, next, next < this.#low ? this.#low : this.#end)
    if (next >= this.#low) this.#refill()
  }

  #newQueue(row: number, name: string): WaitQueue {
    const { clock, issueTimeoutMs, waitersMax } = this.#options
    return new WaitQueue({
      clock,
      timeoutMs: issueTimeoutMs,
      lengthMax: waitersMax,
      onTimeout: () => this.#whyDry(name),
      onLeave: () => void this.#dropEmptyQueue(row),
    })
  }

  #dropEmptyQueue(row: number): boolean {
    if (this.waitingFor(row) > 0) return false
    this.#queues.delete(row)
    this.#noteIfIdle()
    return true
  }

  #noteIfIdle(): void {
    if (this.#queues.size === 0 && !this.#isWanted && !this.#refills.busy) this.#gate.noteIdle(this)
  }

  #mayIssue(): boolean {
    return (this.#options.mayIssue?.() ?? true) && this.#gate.isOpen && this.#closed === undefined
  }

  #whyDry(name: string): Error {
    if (!this.#gate.isOpen) return slotNotServed()
    return dry(
      `'${name}' has come to the bound of its section in family '${this.#incarnation.name}'`,
      this.#refills.failure,
    )
  }

  async #reserve(): Promise<void> {
    let demand = 0
    for (const [row, queue] of this.#queues)
      demand = Math.max(demand, Math.max(this.#next(row), Number(queue.floor)) + queue.demand - this.#end)
    this.#resize()
    await this.#extend(demand)
  }

  /** Reserves twice as much where the range before lasted less than half of the horizon, half where it lasted twice as long. */
  #resize(): void {
    const { clock, step, stepMax, horizonSeconds } = this.#options
    const nowUs = clock.monoUs()
    if (this.#end > 0) {
      const lasted = (nowUs - this.#reservedUs) / 1_000_000
      if (lasted < horizonSeconds / 2) this.#size = Math.min(stepMax, this.#size * 2)
      else if (lasted > horizonSeconds * 2) this.#size = Math.max(step, Math.floor(this.#size / 2))
    }
    this.#reservedUs = nowUs
  }

  async #extend(demand: number): Promise<void> {
    const { max, step } = this.#options
    const space = Math.max(1, Math.floor((max + 1 - Number(this.#counter.bound)) / 100))
    const size = Math.max(demand, Math.min(this.#size, Math.max(step, space)))
    const { start, end } = await this.#counter.reserveUpTo(BigInt(size), BigInt(max) + 1n)
    const first = Number(start)
    if (first !== this.#end) {
      this.#start = first
      this.#mark = first
    }
    this.#end = Number(end)
    this.#low = this.#end - Math.floor((this.#end - first) / 2)
    this.#isWanted = false
  }

  /** Serves callers, and starts a reserve if some still wait. */
  #serveThenRefill(): void {
    if (this.#queues.size === 0 && this.#isWanted && !this.#refills.pausing) return this.#refill()
    if (this.#queues.size === 0 || !this.#mayIssue()) return this.#noteIfIdle()
    const { refusal } = this.#refills
    let served = 0
    for (const [row, queue] of [...this.#queues]) {
      if (served >= servedMax) return this.#wakeIn(0, () => this.#serveThenRefill())
      queue.serve(({ count, floor }) => {
        if (served >= servedMax) return undefined
        const fits = count <= this.leftFor(row, floor)
        if (fits || refusal !== undefined) served++
        return fits ? [this.#issue(row, count, new Run(), floor)] : refusal
      })
      this.#dropEmptyQueue(row)
    }
    if (this.#queues.size === 0 || this.#refills.pausing) return
    // A reserve that served no caller is not repeated at once: it might never.
    if (served > 0) this.#refill()
    else this.#wakeIn(uselessMs, () => this.#refill())
  }

  #wakeIn(delayMs: number, act: () => void): void {
    this.#wake?.cancel()
    this.#wake = this.#options.clock.timer(delayMs, act)
  }
}
