/**
 * A section of a family: counters of many names behind one stored bound.
 *
 * A name in memory costs one number, its next value. A name that is not in memory has none: it begins at the section's *high
 * mark*. Each range that the section reserves extends what all of its names may issue.
 *
 * Invariants
 *  1. A value is issued only if it lies below the end of a range that the engine has acknowledged (P2). What a failed reserve
 *     may have opened is never issued (P8).
 *  2. Every value that was issued for a name which is not in memory lies below the high mark: when a name leaves, the mark
 *     rises to its next value. The first range begins at or above every value that an earlier process or leader issued for
 *     any name, because they were below the bound, and the mark begins there. So each name is unique and increases (P1, P3).
 *  3. Where a range does not begin at the end of the one before, another process has moved the counter: every name goes on at
 *     the start of the new range, also those that had values left.
 *  4. Nothing is issued after `stop`, nor between `suspend` and `resume`.
 *  5. At most one reserve is under way. What is released lies above the next value of every name.
 */
import { assert } from '../base/assert.ts'
import type { Timer } from '../base/clock.ts'
import { slotNotServed } from '../base/moved.ts'
import { RateMeter } from '../buffers/rate-meter.ts'
import type { Incarnation } from './incarnation.ts'
import { dry } from './issuer.ts'
import { Refills } from './refills.ts'
import { ReservedCounter, type ReservedCounterOptions } from './reserved-counter.ts'
import type { ReservoirOptions } from './reservoir-options.ts'
import { type MemberSection, SectionMember } from './section-member.ts'

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
  readonly ratePerSecond: number
  readonly names: number
  readonly reserved: number
  readonly released: number
  readonly waits: number
  readonly waiting: number
} & ReturnType<Refills['stats']>

/** How many runs the waiting callers get in one turn of the event loop. */
const servedMax = 4096
/** The pause after a reserve that served no caller, in ms. */
const uselessMs = 20

/** The names of one slot of a family. */
export class Section implements MemberSection {
  readonly options: SectionOptions
  /** The end of what may be issued now: 0 while nothing may. Read on every take, so a plain field. */
  limit = 0
  /** A name that passes it asks for a reserve. Read on every take. */
  low = 0
  /** Callers that had to wait. */
  waits = 0
  readonly #incarnation: Incarnation
  readonly #counter: ReservedCounter
  readonly #refills: Refills
  readonly #meter: RateMeter
  readonly #members = new Set<SectionMember>()
  /** Names with waiting callers, in the order in which they began to wait. */
  readonly #waiting = new Set<SectionMember>()
  /** The high mark. */
  #mark = 0
  /** The end of the newest range. */
  #end = 0
  #size: number
  #reservedUs = 0
  /** Issued by names that have left. */
  #issued = 0
  #wake: Timer | undefined
  #suspended = false
  #closed: Error | undefined
  #ended: Promise<void> | undefined

  /** @param bound the counter's bound when the section was opened; 0 when it had never been used. */
  constructor(incarnation: Incarnation, bound: bigint, options: SectionOptions) {
    const { floor, name } = incarnation
    this.options = options
    this.#incarnation = incarnation
    this.#counter = new ReservedCounter(incarnation, bound > floor ? bound : floor, options)
    this.#meter = new RateMeter(options.clock.monoUs())
    this.#size = options.step
    this.#refills = new Refills(name, options, {
      reserve: () => this.#reserve(),
      ended: () => this.#serveThenRefill(),
      paused: () => {
        if (this.#waiting.size > 0) this.refill()
      },
    })
  }

  /** A name that was not in memory. It begins at the high mark. */
  join(name: string): SectionMember {
    const member = new SectionMember(name, this.#mark, this)
    this.#members.add(member)
    return member
  }

  /** A name leaves memory. */
  leave(member: SectionMember): void {
    if (!this.#members.delete(member)) return
    this.#waiting.delete(member)
    this.#issued += member.issued
    if (member.next > this.#mark) this.#mark = member.next
  }

  /** The names in memory. */
  get members(): Iterable<SectionMember> {
    return this.#members
  }

  /** The least value that a name may have at all. */
  get floor(): number {
    return Number(this.#incarnation.floor)
  }

  /** Why nothing is issued any more; undefined: it is. */
  get closed(): Error | undefined {
    return this.#closed
  }

  /** Whether it may issue now; if not, what must not issue has been suspended or stopped. */
  mayIssue(): boolean {
    return (this.options.mayIssue?.() ?? true) && !this.#suspended && this.#closed === undefined
  }

  /** The error that callers get at once instead of waiting; undefined: they wait. */
  get refusal(): Error | undefined {
    return this.#refills.refusal
  }

  /** The error of a caller that has waited too long. */
  whyDry(name: string): Error {
    if (this.#suspended) return slotNotServed()
    return dry(
      `'${name}' has come to the bound of its section in family '${this.#incarnation.name}'`,
      this.#refills.failure,
    )
  }

  /** A caller of this name begins to wait. */
  callerWaits(member: SectionMember): void {
    this.waits++
    this.#waiting.add(member)
    this.#refills.callerWaits()
    this.refill()
  }

  /** No caller of this name waits any more. */
  noCallerWaits(member: SectionMember): void {
    this.#waiting.delete(member)
  }

  /** Reserves, unless a reserve is under way or pauses after a failure. */
  refill(): void {
    if (this.#refills.busy || this.#suspended) return
    this.#refills.start(this.#waiting.size > 0)
  }

  /** Has a name issue nothing below `next` any more. Durable when it resolves. */
  moveTo(member: SectionMember, next: number): Promise<void> {
    return this.#refills.alone(async () => {
      if (next > this.#end) {
        const room = this.options.max + 1 - next
        await this.#extend(next - this.#end + Math.min(this.options.step, room))
      }
      member.skipTo(next)
    })
  }

  stats(): SectionStats {
    let issued = this.#issued
    let waiting = 0
    for (const member of this.#members) issued += member.issued
    for (const member of this.#waiting) waiting += member.waiting
    return {
      ...this.#refills.stats(),
      issued,
      inHand: Math.max(0, this.limit - this.#mark),
      ratePerSecond: this.#meter.observe(issued, this.options.clock.monoUs()),
      names: this.#members.size,
      reserved: this.#counter.reserved,
      released: this.#counter.released,
      waits: this.waits,
      waiting,
    }
  }

  assertInvariants(): void {
    assert(this.limit === 0 || this.limit === this.#end, 'all names issue up to the end of the newest range')
    assert(this.#mark <= this.#end, 'the high mark lies below the bound')
    for (const member of this.#members) assert(member.next <= this.#end, 'no value reaches the bound')
    assert(
      this.limit === 0 || !(this.#suspended || this.#closed !== undefined),
      'no id is issued after the end',
    )
  }

  /** Issues no ids until `resume`: callers wait. */
  suspend(): void {
    this.#suspended = true
    this.limit = 0
  }

  /** Issues again. */
  resume(): void {
    this.#suspended = false
    if (this.#closed === undefined) this.limit = this.#end
    this.#serveThenRefill()
  }

  /** Stops issuing and rejects waiting callers with `reason`, before it returns. Every name leaves memory. */
  stop(reason: Error): void {
    if (this.#closed !== undefined) return
    this.#closed = reason
    this.limit = 0
    this.#refills.stop(reason)
    this.#wake?.cancel()
    for (const member of [...this.#members]) member.leave(reason)
  }

  /** Resolves when no task that reserves is under way. */
  idle(): Promise<void> {
    return this.#refills.idle()
  }

  /** Stops, and releases what no name has reached. */
  close(reason: Error): Promise<void> {
    this.stop(reason)
    this.#ended ??= this.idle().then(async () => {
      await this.#counter.release(BigInt(this.#mark))
    })
    return this.#ended
  }

  /** Closes without a release. Nothing is left to a successor: its names begin at the bound. */
  transfer(reason: Error): undefined {
    void this.abandon(reason)
  }

  /** Closes without a release. */
  abandon(reason: Error): Promise<void> {
    this.stop(reason)
    this.#ended ??= this.idle()
    return this.#ended
  }

  async #reserve(): Promise<void> {
    let demand = 0
    for (const member of this.#waiting) demand = Math.max(demand, member.next + member.demand - this.#end)
    this.#resize()
    await this.#extend(Math.max(demand, this.#size))
  }

  /** Reserves twice as much where the range before lasted less than half of the horizon, half where it lasted twice as long. */
  #resize(): void {
    const { clock, step, stepMax, horizonSeconds } = this.options
    const nowUs = clock.monoUs()
    if (this.#end > 0) {
      const lasted = (nowUs - this.#reservedUs) / 1_000_000
      if (lasted < horizonSeconds / 2) this.#size = Math.min(stepMax, this.#size * 2)
      else if (lasted > horizonSeconds * 2) this.#size = Math.max(step, Math.floor(this.#size / 2))
    }
    this.#reservedUs = nowUs
  }

  async #extend(wanted: number): Promise<void> {
    const { max } = this.options
    const space = Math.max(1, Math.floor((max + 1 - Number(this.#counter.bound)) / 100))
    const size = wanted > this.#size ? wanted : Math.min(wanted, Math.max(this.options.step, space))
    const { start, end } = await this.#counter.reserveUpTo(BigInt(size), BigInt(max) + 1n)
    if (Number(start) !== this.#end) this.#beginAt(Number(start))
    this.#end = Number(end)
    this.low = this.#end - Math.floor((this.#end - Number(start)) / 2)
    if (!this.#suspended && this.#closed === undefined) this.limit = this.#end
  }

  /** See invariant 3. */
  #beginAt(start: number): void {
    this.#mark = start
    for (const member of this.#members) member.beginAt(start)
  }

  /** Serves callers, and starts a reserve if some still wait. */
  #serveThenRefill(): void {
    if (this.#waiting.size === 0 || !this.mayIssue()) return
    const { refusal } = this.#refills
    let served = 0
    for (const member of [...this.#waiting]) {
      if (served >= servedMax) return this.#wakeIn(0, () => this.#serveThenRefill())
      served += member.serve(servedMax - served, refusal)
    }
    if (this.#waiting.size === 0 || this.#refills.pausing) return
    // A reserve that served no caller is not repeated at once: it might never.
    if (served > 0) this.refill()
    else this.#wakeIn(uselessMs, () => this.refill())
  }

  #wakeIn(delayMs: number, act: () => void): void {
    this.#wake?.cancel()
    this.#wake = this.options.clock.timer(delayMs, act)
  }
}
