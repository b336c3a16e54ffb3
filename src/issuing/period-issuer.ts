/**
 * The issuer of a generator whose numbers begin again in each period: it has an issuer for each period that is in use.
 *
 * The timeline of this process decides which period is the present one, but it never goes back: not here, and not behind the mark, which
 * says up to which period ids have left any process (period-counters.ts). A clock that steps back, a leader with a slow clock and a
 * table of zones with other rules go on in the period of the mark until they have come up.
 *
 * Invariants
 *  1. An id leaves only after the mark stands at its period or above (period-mark.ts).
 *  2. The present period never goes back. A call that waits gets ids of the period that was the present one when it came, or of a later one.
 *  3. Every id of a period is reserved of the counter of that period, below the end of the period: a counter that a later period has
 *     taken over refuses (P1). Ids of different periods differ in their labels.
 *  4. Ids of an earlier period leave only if it is at most `keep` before the present one, after a reserve that was sent for them: nothing of
 *     them is buffered.
 *  5. What is reserved of the next period before it begins is issued once it is the present one, or given back.
 *  6. `take` issues before `#lookUs` alone, while the mark stands at the present period and that has not ended.
 */
import { advising } from '../base/advice.ts'
import { assert } from '../base/assert.ts'
import { FahaoError, hasCode } from '../base/errors.ts'
import type { Timeline } from '../base/timeline.ts'
import { emptyRow } from '../buffers/fast-runs.ts'
import { larger } from '../engine/advance-rules.ts'
import { max53 } from '../ids/limits.ts'
import { type MomentInput, momentText } from '../ids/moment.ts'
import type { Run } from '../ids/run.ts'
import type { Gate } from './gate.ts'
import type { GroupCommit } from './group-commit.ts'
import type { Incarnation } from './incarnation.ts'
import { type DrawOptions, type Issuer, type IssuerStats, idleStats } from './issuer.ts'
import { floorOfMark, type PeriodCounting, periodCounter, positionOf } from './period-counters.ts'
import { PeriodMark, type PeriodMarkOptions } from './period-mark.ts'
import { Reservoir } from './reservoir.ts'

/** How the ids of one period are issued, of all generators with one definition. */
export type IssuersOfPeriod = {
  readonly ordinal: number
  readonly label: bigint
  /** Its first and its last id. */
  readonly first: bigint
  readonly max: bigint
  readonly endUs: number
  /** From memory. `isAhead`: its first ids are reserved before they are asked for. */
  buffered(incarnation: Incarnation, gate: Gate, isAhead: boolean): Reservoir
  /** With a reserve for each batch of requests. */
  batched(incarnation: Incarnation, gate: Gate): GroupCommit
  /** The last id that can have been issued of it, by a counter that was read. */
  lastOf(counter: string): Promise<bigint>
}

/** What issuers of one definition share. */
export type PeriodIssuerOptions = PeriodMarkOptions & {
  readonly timeline: Timeline
  readonly counting: PeriodCounting
  readonly issuersOf: (ordinal: number) => IssuersOfPeriod
}

type Open = { readonly period: IssuersOfPeriod; readonly issuer: Reservoir | GroupCommit; calls: number }

/** In this time before the end of a period, a draw has the first ids of the next one reserved. */
const aheadUs = 60_000_000

/** Issues in the present period, and in those before that are kept. */
export class PeriodIssuer implements Issuer {
  readonly row = emptyRow
  readonly gate: Gate
  readonly #incarnation: Incarnation
  readonly #options: PeriodIssuerOptions
  readonly #isBatched: boolean
  readonly #mark: PeriodMark
  /** No period before is the present one. */
  #least: number
  /** The floor of the period of the mark, since an advance. */
  readonly #floorOfMark: bigint
  #present: Open | undefined
  #next: Open | undefined
  /** Of periods before the present one, for which calls wait. */
  readonly #earlier = new Map<number, Open>()
  /** Those that give back what they hold, and when they have. */
  readonly #closing = new Map<Open, Promise<void>>()
  #ended = idleStats
  /** The newest id of the periods before the present one, as far as known here. */
  #before: bigint | undefined
  /** From here on `take` has to look. */
  #lookUs = 0
  #closed: Error | undefined

  /** @param bound of the generator's own counter. `isBatched`: each batch of requests is a reserve. */
  constructor(
    incarnation: Incarnation,
    bound: bigint,
    options: PeriodIssuerOptions,
    gate: Gate,
    isBatched: boolean,
  ) {
    const { periods } = options.counting
    this.gate = gate
    this.#incarnation = incarnation
    this.#options = options
    this.#isBatched = isBatched
    this.#mark = new PeriodMark(incarnation, periods, bound, options)
    const { ordinal } = positionOf(periods, bound)
    this.#floorOfMark = floorOfMark(options.counting, bound)
    // An incarnation begins in the period of the last id before it.
    this.#least = Math.max(ordinal, periods.split(incarnation.floor - 1n)?.ordinal ?? 0)
  }

  get isOver(): boolean {
    return this.gate.ended !== undefined
  }

  take(count: number, run: Run): number {
    if (!this.#mayTake()) return 0
    return this.#present!.issuer.take(count, run)
  }

  takeNumber(): number {
    if (!this.#mayTake()) return -1
    return this.#present!.issuer.takeNumber()
  }

  async draw(count: number, options: DrawOptions = {}): Promise<Run[]> {
    if (options.at !== undefined) return this.#drawAt(options.at, count, options)
    for (;;) {
      this.#refuseOver()
      if (this.#isUnsure()) throw this.#unsure()
      const open = this.#now(true)
      try {
        return await this.#use(open, () => open.issuer.draw(count, options))
      } catch (error) {
        if (!hasCode(error, 'EXHAUSTED')) throw error
        if (!(await this.#hasMovedOn(open))) throw this.#full(open.period)
      }
    }
  }

  nextIsSafe(): boolean {
    return this.#present?.issuer.nextIsSafe() ?? this.space.first <= max53
  }

  lastIssued(): bigint | undefined {
    return this.#present?.issuer.lastIssued() ?? this.#before
  }

  passed(): bigint {
    const [last, least] = [this.lastIssued() ?? 0n, this.space.first - 1n]
    return last > least ? last : least
  }

  /** The first and the last id of the present period, between which it moves. */
  get space(): { readonly first: bigint; readonly max: bigint } {
    return this.#options.issuersOf(this.#ordinalNow())
  }

  async moveTo(newest: bigint): Promise<void> {
    this.#refuseOver()
    const open = this.#now()
    const { first, max, label } = open.period
    const { name, floor } = this.#incarnation
    if (newest < first - 1n || newest > max)
      throw new FahaoError(
        'ERR',
        `'${name}' is in period ${label}, and moves from ${first} to ${max} only; name an id between them`,
      )
    await this.#use(open, async () => {
      const last = open.issuer.lastIssued() ?? (await open.period.lastOf(this.#counterOf(open.period)))
      const least = last > floor - 1n ? last : floor - 1n
      if (newest < least)
        throw new FahaoError('ERR', `generator '${name}' has issued ${least} already; it moves forward only`)
      await open.issuer.moveTo(newest)
    })
  }

  stats(): IssuerStats {
    return sumOf([this.#ended, ...[...this.#all()].map(({ issuer }) => issuer.stats())])
  }

  /** How many ids could be given back. */
  get buffered(): number {
    return [...this.#all()].reduce(
      (sum, { issuer }) => sum + (issuer instanceof Reservoir ? issuer.buffered : 0),
      0,
    )
  }

  assertInvariants(): void {
    for (const { issuer } of this.#all()) issuer.assertInvariants()
    const present = this.#present?.period.ordinal ?? 0
    assert(present <= this.#least, 'the present period never goes back')
    assert(this.#lookUs === 0 || this.#mark.known >= present, 'ids are taken in a period that is marked')
    assert(
      [...this.#earlier].every(([ordinal, { calls }]) => ordinal < present && calls > 0),
      'an earlier period is open while calls wait for it',
    )
  }

  async close(reason: Error): Promise<void> {
    this.#closed ??= reason
    const closed = [...this.#all()].map(({ issuer }) => issuer.close(reason))
    await Promise.all([...closed, ...this.#closing.values()])
  }

  /** Closes without a release: another process may have received what is buffered. */
  async abandon(reason: Error): Promise<void> {
    this.#closed ??= reason
    const abandoned = [...this.#all()].map(({ issuer }) => issuer.abandon(reason))
    await Promise.all([...abandoned, ...this.#closing.values()])
  }

  /** Resolves when no task that reserves is under way. */
  async idle(): Promise<void> {
    await this.#mark.idle()
    await Promise.all([...this.#all()].map(({ issuer }) => issuer.idle()))
  }

  *#all(): Iterable<Open> {
    if (this.#present !== undefined) yield this.#present
    if (this.#next !== undefined) yield this.#next
    yield* this.#earlier.values()
    yield* this.#closing.keys()
  }

  get #over(): Error | undefined {
    return this.#closed ?? this.gate.ended
  }

  #mayTake(): boolean {
    const { timeline } = this.#options
    return (timeline.burstUs() < this.#lookUs || this.#look()) && (timeline.heldUs === 0 || !this.#isUnsure())
  }

  /** Whether the clock shows another period than the timeline, which follows it only once the step has lasted. */
  #isUnsure(): boolean {
    const { timeline, counting } = this.#options
    const nowUs = timeline.burstUs()
    return (
      timeline.heldUs > 0 && counting.periods.ordinalOfMoment(nowUs + timeline.heldUs) > this.#ordinalNow()
    )
  }

  #refuseOver(): void {
    const over = this.#over
    if (over !== undefined) throw over
  }

  #counterOf({ ordinal }: Pick<IssuersOfPeriod, 'ordinal'>): string {
    return periodCounter(this.#incarnation.counter, this.#options.counting, ordinal)
  }

  #ordinalNow(): number {
    const { timeline, counting } = this.#options
    return Math.max(this.#least, this.#mark.known, counting.periods.ordinalAt(timeline.burstUs()))
  }

  /** The present period, which may have just begun. `isAhead`: its first ids are reserved while the mark is written. */
  #now(isAhead = false): Open {
    const ordinal = this.#ordinalNow()
    const present = this.#present
    if (present?.period.ordinal === ordinal) return present
    const next = this.#next
    const begun = next?.period.ordinal === ordinal ? next : this.#open(ordinal, this.#isBatched, isAhead)
    this.#least = ordinal
    this.#lookUs = 0
    this.#present = begun
    this.#next = undefined
    if (next !== undefined && next !== begun) this.#retire(next)
    if (present !== undefined) {
      this.#before = present.issuer.lastIssued() ?? this.#before
      if (present.calls === 0) this.#retire(present)
      else this.#earlier.set(present.period.ordinal, present)
    }
    return begun
  }

  #open(ordinal: number, isBatched: boolean, isAhead = false): Open {
    const period = this.#options.issuersOf(ordinal)
    const floorOfMark = this.#floorOfMark > period.max + 1n ? 0n : this.#floorOfMark
    const floor = larger(larger(this.#incarnation.floor, period.first), floorOfMark)
    const incarnation = { ...this.#incarnation, counter: this.#counterOf(period), floor }
    const issuer = isBatched
      ? period.batched(incarnation, this.gate)
      : period.buffered(incarnation, this.gate, isAhead)
    return { period, issuer, calls: 0 }
  }

  /** Has ids of an open period used, once the mark stands there. */
  async #use<Result>(open: Open, use: () => Promise<Result>): Promise<Result> {
    open.calls++
    try {
      if (this.#mark.known < open.period.ordinal) {
        await this.#mark.reach(open.period, () => this.#over)
        this.#refuseOver()
      }
      if (open === this.#present && this.#lookUs === 0) this.#lookUs = open.period.endUs - aheadUs
      return await use()
    } finally {
      open.calls--
      const { ordinal } = open.period
      if (open.calls === 0 && this.#closed === undefined && this.#earlier.get(ordinal) === open) {
        this.#earlier.delete(ordinal)
        this.#retire(open)
      }
    }
  }

  /** Gives back what the issuer of a period holds, for which no call waits any more. */
  #retire(open: Open): void {
    const over = new FahaoError('STALE', `period ${open.period.label} is over; retry`)
    const closed = open.issuer.close(over).finally(() => {
      this.#closing.delete(open)
      this.#ended = sumOf([this.#ended, { ...open.issuer.stats(), ...nothingNow }])
    })
    this.#closing.set(open, closed)
  }

  /** Whether ids can be taken now. */
  #look(): boolean {
    const present = this.#present
    const nowUs = this.#options.timeline.burstUs()
    if (present === undefined || this.#lookUs === 0 || nowUs >= present.period.endUs) return false
    this.#lookUs = present.period.endUs
    if (this.#isBatched || this.#next !== undefined || this.#closed !== undefined) return true
    this.#next = this.#open(present.period.ordinal + 1, false, true)
    return true
  }

  /** Whether a later period than this one has begun: here, or by the mark. */
  async #hasMovedOn({ period: { ordinal } }: Open): Promise<boolean> {
    // A store that cannot be read says nothing new.
    const mark = await this.#mark.read().catch(() => 0)
    if (mark > this.#least) this.#least = mark
    return this.#ordinalNow() > ordinal
  }

  async #drawAt(at: MomentInput, count: number, options: DrawOptions): Promise<Run[]> {
    const { counting, issuersOf } = this.#options
    const { name, floor } = this.#incarnation
    this.#refuseOver()
    const ordinal = counting.periods.ordinalOfDay(at)
    const present = this.#now().period.ordinal
    const oldest = present - counting.keep
    if (ordinal > present)
      throw new FahaoError(
        'ERR',
        `period ${counting.periods.label(ordinal)} of '${name}' has not begun; leave AT out for the present one, ${issuersOf(present).label}`,
      )
    if (ordinal < oldest)
      throw new FahaoError(
        'ERR',
        `period ${counting.periods.label(ordinal)} of '${name}' is closed: with KEEP ${counting.keep} the first open one is ${issuersOf(oldest).label}; give a later day`,
      )
    const period = issuersOf(ordinal)
    if (floor > period.max)
      throw new FahaoError(
        'ERR',
        `period ${period.label} of '${name}' was numbered by an earlier definition and is closed; give a later day`,
      )
    const isPresent = ordinal === present
    const open = isPresent ? this.#now(true) : (this.#earlier.get(ordinal) ?? this.#open(ordinal, true))
    if (!isPresent) this.#earlier.set(ordinal, open)
    try {
      return await this.#use(open, () => open.issuer.draw(count, options))
    } catch (error) {
      if (!hasCode(error, 'EXHAUSTED')) throw error
      // It may be closed by now, and never becomes the next one.
      if (isPresent && (await this.#hasMovedOn(open))) return this.#drawAt(at, count, options)
      throw this.#full(period)
    }
  }

  #unsure(): FahaoError {
    return new FahaoError(
      'CLOCK',
      `the clock of this node has just moved into another period of '${this.#incarnation.name}', and is followed once it has stayed there for seconds; retry in 5 s`,
      { retryAfterMs: 5000 },
    )
  }

  #full({ label, endUs }: IssuersOfPeriod): FahaoError {
    const { name } = this.#incarnation
    const { width } = this.#options.counting.periods
    return advising('EXHAUSTED', (say) => {
      const wider = say({ operation: 'id.alter', name, options: { width: width + 2 } })
      return `generator '${name}' has too few numbers of ${width} digits left in period ${label}, which ends at ${momentText(BigInt(endUs))}; give it more digits with ${wider}, or wait until then`
    })
  }
}

/** Figures of what has ended. */
const nothingNow = { ratePerSecond: 0, inHand: 0, refillsFailing: 0, waiting: 0 }

/** The figures of several issuers as those of one. */
function sumOf(all: readonly IssuerStats[]): IssuerStats {
  const sum: Record<string, number> = { ...idleStats }
  for (const each of all) for (const [figure, value] of Object.entries(each)) sum[figure]! += value
  const { inHand = 0, ratePerSecond = 0 } = sum
  sum.peakPerSecond = Math.max(...all.map(({ peakPerSecond }) => peakPerSecond))
  sum.inHandSeconds = ratePerSecond > 0 ? inHand / ratePerSecond : Number.POSITIVE_INFINITY
  return sum as IssuerStats
}
