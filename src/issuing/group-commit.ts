/**
 * `sequence` with `gaps: none`, and any where several processes share an engine and no node leads: one reserve at a time, each
 * for exactly the callers that wait for it. For a section of a family one reserve serves the callers of all of its names: ids of different
 * names may be equal, so the callers of each name are served from the start of its range.
 *
 * Invariants
 *  1. A caller gets ids only from a reserve that was sent after its request. So between a reply that was received and a
 *     request sent after it, on whatever node, lies the order of two reserves, and the counter keeps it (P3).
 *  2. No id is ever buffered: what a reserve opened for callers that have left meanwhile is dropped, or given back to the
 *     counter before the next reserve (`gaps: none`), and what a failed one may have opened is dropped (P8).
 *  3. A caller gets all its ids from one reserve, so they are one run.
 *  4. What a reserve has opened that was sent before a copy of this memory was noticed is dropped: the copy may have
 *     received the same reply.
 *  5. Under a right that can end, no id is issued while its gate is closed: callers wait, and what a reserve has opened
 *     meanwhile goes back, or is a gap.
 */
import type { Timer } from '../base/clock.ts'
import { FahaoError, hasCode } from '../base/errors.ts'
import { slotNotServed } from '../base/moved.ts'
import { emptyRow } from '../buffers/fast-runs.ts'
import { RateMeter } from '../buffers/rate-meter.ts'
import { WaitQueue } from '../buffers/wait-queue.ts'
import { max53 } from '../ids/limits.ts'
import type { RandomSteps } from '../ids/random-steps.ts'
import { countBelow, firstFrom, type Range, Run, ScatteredRun } from '../ids/run.ts'
import { Gate, type Gated } from './gate.ts'
import type { Incarnation } from './incarnation.ts'
import {
  type DrawOptions,
  dry,
  exhausted,
  type Issuer,
  type IssuerStats,
  idleStats,
  requestOf,
  unsafe,
} from './issuer.ts'
import { KeyedBatch } from './keyed-batch.ts'
import { NameInBatches } from './name-in-batches.ts'
import type { CounterEngine } from './period-counters.ts'
import { Refills } from './refills.ts'
import { ReservedCounter, type ReservedCounterOptions } from './reserved-counter.ts'
import type { ReservoirOptions } from './reservoir-options.ts'
import { SkippedIds } from './skipped-ids.ts'

/** What sequences with one definition share. */
export type GroupCommitOptions = ReservoirOptions &
  Pick<ReservedCounterOptions, 'copies' | 'mayReserve'> & {
    readonly engine: CounterEngine
    /** Whether what no caller gets goes back to the counter. */
    readonly gapless?: boolean
    /** The largest id. */
    readonly max: bigint
    /** Ids are ≡ `offset` (mod `increment`). */
    readonly increment: number
    readonly offset: bigint
    /** The distances between ids, where they are random; `increment` is 1 then. */
    readonly steps?: RandomSteps | undefined
  }

/** For this part of the time of the newest reserve, more requests are gathered; 0 ms after an engine that answers within 4 ms. */
const gatherShare = 0.25

/** Issues from one reserve for each batch of requests. */
export class GroupCommit implements Issuer, Gated {
  readonly row = emptyRow
  readonly #incarnation: Incarnation
  readonly #options: GroupCommitOptions
  readonly #counter: ReservedCounter
  readonly #queue: WaitQueue
  readonly #refills: Refills
  readonly #meter: RateMeter
  #sending = false
  /** How many callers with keys wait. */
  #keyed = 0
  /** The version of the counter, if its bound is the one that was seen last. */
  #version: bigint | undefined
  /** Runs while the callers that the newest reserve served may come back. */
  #gathering: Timer | undefined
  /** How many callers it served, and how many the next one is for, if all of them come back. */
  #served = 0
  #crowd = 0
  #issued = 0
  #waits = 0
  readonly #skipped = new SkippedIds()
  /** Where distances are random: the newest id, and the end of the range that it was from. */
  #newest: { readonly id: bigint; readonly end: bigint } | undefined
  readonly #gate: Gate
  #closed: Error | undefined

  /** @param bound the counter's bound when the generator was opened; 0 when it had never been used. */
  constructor(bound: bigint, incarnation: Incarnation, options: GroupCommitOptions, gate: Gate = new Gate()) {
    this.#gate = gate
    const { floor, name } = incarnation
    this.#incarnation = incarnation
    this.#options = options
    this.#counter = new ReservedCounter(incarnation, bound > floor ? bound : floor, options)
    this.#meter = new RateMeter(options.clock.monoUs())
    this.#refills = new Refills(name, options, {
      reserve: () => this.#reserve(),
      ended: () => this.#continue(),
      paused: () => this.#commit(),
    })
    this.#queue = new WaitQueue({
      clock: options.clock,
      timeoutMs: options.issueTimeoutMs,
      lengthMax: options.waitersMax,
      onTimeout: () =>
        gate.isOpen
          ? dry(`generator '${name}' asks the engine for each request,`, this.#refills.failure)
          : slotNotServed(),
      onLeave: () => {},
    })
  }

  get isOver(): boolean {
    return this.#gate.ended !== undefined
  }

  /** Always 0: no id is buffered. */
  take(): number {
    return 0
  }

  /** Always −1: no id is buffered. */
  takeNumber(): number {
    return -1
  }

  /** The issuer of one name of the family whose section this issues for. */
  issuerOf(name: string): Issuer {
    return new NameInBatches(name, this)
  }

  /** @param of of which name of a family. */
  draw(count: number, options: DrawOptions = {}, of?: string): Promise<Run[]> {
    const over = this.#closed ?? this.#gate.ended
    if (over !== undefined) return Promise.reject(over)
    if (options.signal?.aborted) return Promise.reject(options.signal.reason)
    const { refusal } = this.#refills
    if (refusal !== undefined) return Promise.reject(refusal)
    const { once } = options
    const request = { ...requestOf(count, options), contiguous: true, of, once }
    if (request.safe && !this.nextIsSafe()) return Promise.reject(unsafe())
    this.#waits++
    this.#gate.noteBusy(this)
    if (once !== undefined) this.#keyed++
    const drawn = this.#queue.join(request, options.signal, options.onWait)
    this.#commitSoon()
    return once === undefined ? drawn : drawn.finally(() => this.#keyed--)
  }

  nextIsSafe(): boolean {
    return this.#firstFrom(this.#counter.bound) <= max53
  }

  /** As far as this process has seen; only the counter shows what other processes have issued since. */
  lastIssued(): bigint | undefined {
    const { bound } = this.#counter
    if (this.#newest !== undefined && this.#newest.end === bound) return this.#newest.id
    const newest = this.#firstFrom(bound) - BigInt(this.#options.increment)
    return newest < this.#incarnation.floor ? undefined : newest
  }

  assertInvariants(): void {
    this.#queue.assertInvariants()
  }

  moveTo(newest: bigint): Promise<void> {
    const move = async () => {
      this.#refuseMoveBack(newest)
      await this.#counter.raise(newest + 1n)
      this.#refuseMoveBack(newest)
    }
    const over = this.#closed ?? this.#gate.ended
    return over === undefined ? this.#refills.alone(move) : Promise.reject(over)
  }

  stats(): IssuerStats {
    const ratePerSecond = this.#meter.look(this.#issued, this.#options.clock.monoUs())
    return {
      ...idleStats,
      ...this.#refills.stats(),
      issued: this.#issued,
      ratePerSecond,
      peakPerSecond: this.#meter.peakPerSecond,
      inHandSeconds: ratePerSecond > 0 ? 0 : Number.POSITIVE_INFINITY,
      reserved: this.#counter.reserved,
      released: this.#counter.released,
      waits: this.#waits,
      ...this.#skipped.stats(),
      drySeconds: this.#queue.drySeconds,
      waiting: this.#queue.length,
    }
  }

  /** See `Gated`. */
  resume(): void {
    this.#commitSoon()
  }

  /** Resolves when no task that reserves is under way. */
  idle(): Promise<void> {
    return this.#refills.idle()
  }

  /** Undefined: it leaves nothing to another process. */
  transfer(reason: Error): undefined {
    this.stop(reason)
  }

  /** See `Gated`. */
  stop(reason: Error): void {
    this.#closed ??= reason
    this.#gate.noteIdle(this)
    this.#refills.stop(reason)
    this.#gathering?.cancel()
    this.#queue.refuse(() => reason)
  }

  async close(reason: Error): Promise<void> {
    this.stop(reason)
    await this.#refills.idle()
  }

  /** As `close`: after the end of a gate that was dropped, nothing is given back. */
  abandon(reason: Error): Promise<void> {
    return this.close(reason)
  }

  /** At the end of this callback: all requests of one callback share one reserve. */
  #commitSoon(): void {
    if (this.#sending || this.#refills.busy) return
    if (this.#gathering !== undefined && this.#queue.length < this.#crowd) return
    this.#sending = true
    queueMicrotask(() => {
      this.#sending = false
      this.#commit()
    })
  }

  #commit(): void {
    this.#gathering?.cancel()
    this.#gathering = undefined
    if (this.#refills.busy) return
    if (this.#queue.length === 0) this.#gate.noteIdle(this)
    else if (this.#mayIssue()) this.#refills.start(true)
  }

  #mayIssue(): boolean {
    return (this.#options.mayIssue?.() ?? true) && this.#gate.isOpen
  }

  #continue(): void {
    const { refusal } = this.#refills
    if (refusal !== undefined) this.#queue.refuse(() => refusal)
    this.#gather()
  }

  /**
   * Waits for the callers that were just served, which tend to ask again at once, for a small part of the time of a reserve.
   * Without this wait about half of a steady crowd would miss each reserve.
   */
  #gather(): void {
    this.#crowd = this.#queue.length + this.#served
    this.#served = 0
    const waitMs = Math.floor(this.#refills.newestMs * gatherShare)
    if (waitMs === 0 || this.#queue.length === this.#crowd) return this.#commit()
    this.#gathering = this.#options.clock.timer(waitMs, () => this.#commit())
  }

  /** Reserves for the callers in the queue, and serves them. */
  async #reserve(): Promise<void> {
    const { increment, max, steps } = this.#options
    const { bound } = this.#counter
    const { floor } = this.#queue
    const start = floor > bound ? floor : bound
    const left = max + 1n - start
    // Drawn before the start is known, because they say how much to reserve.
    const offsets = steps?.walk(bound, this.#queue.demandOfOne)
    this.#refuseBeyondMax(start, offsets?.subarray(0, -1).filter((offset) => offset < left).length)
    if (this.#queue.length === 0) return
    if (this.#keyed > 0) return this.#commitKeyed()
    const joined = this.#queue.joined
    const demand = this.#queue.demandOfOne
    const wanted = offsets === undefined ? BigInt(demand) * BigInt(increment) : BigInt(offsets[demand]!)
    try {
      this.#version = undefined
      const range = await this.#counter.reserve(wanted < left ? wanted : left, max + 1n, start)
      this.#noteBetween(start, range.start)
      // If a copy is noticed, this issuer has been closed when this returns, and no caller waits here.
      const next = this.#mayIssue() ? this.#serve(range, joined, offsets) : range.start
      this.#version = range.version
      await this.#drop(next, range.end)
    } catch (error) {
      if (hasCode(error, 'UNKNOWN')) this.#skipped.noteUnknown(demand)
      // Other processes have reserved more than was known here: the next reserve is for the callers that still fit.
      if (!hasCode(error, 'EXHAUSTED') || this.#counter.bound === bound) throw error
    }
  }

  /** What a reserve has opened above the ids that callers got. */
  async #drop(from: bigint, end: bigint): Promise<void> {
    const { increment, gapless } = this.#options
    const ids = countBelow(this.#firstFrom(from), end, increment)
    if (ids === 0) return
    this.#version = undefined
    if (!(gapless && (await this.#counter.giveBack(from)))) this.#skipped.dropped += ids
  }

  /** As `#reserve`, where callers have keys. */
  async #commitKeyed(): Promise<void> {
    const { engine, increment, max } = this.#options
    const before = this.#counter.bound
    const version = this.#version ?? (await this.#counter.read()).version
    this.#version = undefined
    const { bound } = this.#counter
    this.#noteBetween(before, bound)
    const { floor } = this.#queue
    const start = floor > bound ? floor : bound
    const batch = new KeyedBatch(this.#queue, {
      start,
      first: this.#firstFrom(start),
      end: max + 1n,
      increment,
    })
    try {
      if (batch.ids > 0 && !(await batch.commit(engine, this.#counter, this.#queue, version))) return
    } catch (error) {
      if (hasCode(error, 'UNKNOWN')) this.#skipped.noteUnknown(batch.unkeyed)
      if (!hasCode(error, 'EXHAUSTED') || (await this.#counter.read()).bound <= bound) throw error
      return
    }
    if (this.#counter.bound > bound) this.#version = this.#counter.version
    const { served, dropped } = this.#mayIssue()
      ? batch.serve(this.#queue)
      : { served: 0, dropped: batch.unkeyed }
    this.#served += served
    this.#skipped.dropped += dropped
    this.#issued += batch.ids - dropped
  }

  /** Ids from one bound to another may be of reserves without a known outcome. */
  #noteBetween(bound: bigint, start: bigint): void {
    this.#skipped.noteBetween(() => countBelow(this.#firstFrom(bound), start, this.#options.increment))
  }

  /**
   * Serves the callers that had joined when the range was reserved, in order. `offsets`: of its ids from its first one. Returns the
   * value above the last id that one of them got.
   */
  #serve(range: Range, joined: number, offsets: Float64Array | undefined): bigint {
    const { increment } = this.#options
    let next = range.start
    const first = this.#firstFrom(range.start)
    const idAt = (index: number) =>
      first + (offsets === undefined ? BigInt(index) * BigInt(increment) : BigInt(offsets[index]!))
    const served = new Map<string | undefined, number>()
    this.#queue.serve(({ place, count, safe, of }) => {
      const before = served.get(of) ?? 0
      if (place >= joined || before + count > (offsets?.length ?? Number.POSITIVE_INFINITY)) return undefined
      const [from, last] = [idAt(before), idAt(before + count - 1)]
      if (last >= range.end) return undefined
      if (safe && from > max53) return unsafe()
      served.set(of, before + count)
      if (last >= next) next = last + 1n
      this.#issued += count
      this.#served++
      if (offsets === undefined) {
        const run = new Run()
        run.set(from, count, increment)
        return [run]
      }
      this.#newest = { id: last, end: range.end }
      return [new ScatteredRun(count, (index) => idAt(before + index))]
    })
    return next
  }

  /** Rejects the callers that ask for more ids than are left. */
  #refuseBeyondMax(start: bigint, fitting: number | undefined): void {
    const { increment, max } = this.#options
    const left = fitting ?? countBelow(this.#firstFrom(start), max + 1n, increment)
    this.#queue.refuseBeyond(left, () => exhausted(this.#incarnation.name, max))
  }

  #refuseMoveBack(newest: bigint): void {
    const last = this.lastIssued()
    if (last === undefined || last <= newest) return
    throw new FahaoError(
      'ERR',
      `generator '${this.#incarnation.name}' has issued ${last} already; it moves forward only`,
    )
  }

  #firstFrom(value: bigint): bigint {
    return firstFrom(value, this.#options.increment, this.#options.offset)
  }
}
