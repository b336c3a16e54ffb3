/**
 * Ids of a `snowflake` from the leased time of a worker id.
 *
 * Invariants
 *  1. An id carries the worker id in whose span its time lies, whole units of it only.
 *  2. Time is used only by the answer to a request that named this generator, and under the definition of this source.
 *  3. No time is used twice, and ids increase where the layout has time above the node: also from one lease to the next, from
 *     a source to any later one, and where the clock of the service falls back. Time that counts as used in the `UsedTime` of
 *     the span is skipped.
 *  4. Of a span that ends below that time nothing is issued. Callers wait while the lease is renewed, with CLOCK as the
 *     reason.
 *  5. What the service said is trusted for `ttlMs` from when its request was sent, on the monotonic clock, however far ahead the
 *     span is: it is asked again a horizon before that, and without an answer nothing is issued afterwards.
 *  6. Where the service refuses more time because of its clock, for longer than the ids here last, it is asked for each id. What
 *     was used stays in the `UsedTime`, so that a later lease repeats nothing.
 */
import type { Random } from '../../src/base/clock.ts'
import { FahaoError, hasCode } from '../../src/base/errors.ts'
import type { Timeline } from '../../src/base/timeline.ts'
import type { ClockBuffer } from '../../src/buffers/clock-buffer.ts'
import type { FastRun } from '../../src/buffers/fast-runs.ts'
import type { DrawRequest } from '../../src/buffers/wait-queue.ts'
import type { Layout } from '../../src/ids/layout.ts'
import { max53 } from '../../src/ids/limits.ts'
import type { Run } from '../../src/ids/run.ts'
import { BufferedSource, type BufferedSourceOptions } from './buffered-source.ts'
import { type Definition, definitionOf } from './definition.ts'
import type { DrawOptions } from './id-source.ts'
import { unsafe } from './request-source.ts'
import type { ServiceTime } from './service-time.ts'
import type { Span } from './worker-lease.ts'
import type { WorkerLeases } from './worker-leases.ts'

/** The parts of a snowflake source. */
export type SnowflakeSourceOptions = BufferedSourceOptions & {
  readonly definition: Definition
  readonly leases: Pick<WorkerLeases, 'secure' | 'ttlMs'>
  readonly time: ServiceTime
  readonly random: Random
  /** Called with an answer of another definition, or when the timeline was replaced. */
  readonly onChange: (span: Span) => void
  /** Called when the service leases no time for now: it is to be asked for each id. */
  readonly onRefused: () => void
}

/** The least time between two renewals. */
const restMs = 50

/** Issues ids of leased time. */
export class SnowflakeSource extends BufferedSource {
  readonly #options: SnowflakeSourceOptions
  readonly #layout: Layout
  readonly #unitMax: number
  readonly #timeline: Timeline
  readonly #buffer: ClockBuffer
  readonly fastRun: FastRun
  #claim = ''
  #start = 0
  /** Unix µs until which the service may be away. */
  #untilUs = 0
  /** On the monotonic clock, in µs: when the service is asked again, and when ids end without its answer. */
  #renewUs = 0
  #deadlineUs = 0
  /** The monotonic clock when the deadline was looked at, which is before each take: two readings would cost 2 % of an id. */
  #monoUs = 0
  /** On the monotonic clock, in µs: a burst that borrows time does not renew again and again. */
  #restUntilUs = 0

  /** Starts with the time of `span`, above what was used of it. */
  constructor(options: SnowflakeSourceOptions, span: Span) {
    super(options)
    this.#options = options
    const { clockBuffer, parseLayout } = span.clock
    this.#layout = parseLayout(options.definition.layout)
    this.#unitMax = 2 ** Math.min(this.#layout.timeBits, 53)
    this.#timeline = options.time.timeline
    this.#buffer = clockBuffer({
      layout: this.#layout,
      timeline: this.#timeline,
      random: options.random,
      borrowMaxUs: options.definition.borrowMaxMs * 1000,
      sequenceStart: options.definition.sequenceStart,
    })
    this.fastRun = this.#buffer.fastRun
    this.#grant(span)
  }

  override draw(count: number, options: DrawOptions): Promise<Run[]> {
    const most = this.#mostAtOnce()
    if (this.closed !== undefined || count <= most) return super.draw(count, options)
    return Promise.reject(
      new FahaoError(
        'LIMIT',
        `${count} ids are above the limit of ${most} at once that the clock of '${this.options.name}' allows; ask for fewer at a time, or raise borrowMax or horizonMs`,
      ),
    )
  }

  override nextIsSafe(): boolean {
    return this.#buffer.areSafe(1)
  }

  override drop(): void {
    this.#buffer.clear()
    this.#untilUs = 0
    this.#renewUs = 0
  }

  override assertInvariants(): void {
    super.assertInvariants()
    this.#buffer.assertInvariants()
  }

  protected override available(): number {
    this.#expire()
    return this.#buffer.available()
  }

  protected override issued(): number {
    return this.#buffer.issued
  }

  protected override lastsMs(): number {
    const spanUs = this.#untilUs - this.#timeline.nowUs()
    return Math.max(0, Math.min(spanUs, this.#deadlineUs - this.options.clock.monoUs()) / 1000)
  }

  protected override takeNow(count: number, run: Run): number {
    this.#expire()
    return this.#buffer.take(count, run)
  }

  protected override collect({ count, safe }: DrawRequest): Run[] | Error | undefined {
    this.#expire()
    if (safe && this.#buffer.available() >= count && !this.#buffer.areSafe(count)) return unsafe()
    const runs = this.#buffer.collect(count)
    // The clock may have gone on since, to the very unit of time in which 2^53 lies.
    if (safe && runs?.some((run) => run.at(run.count - 1) > max53)) return unsafe()
    return runs
  }

  protected override isLow(): boolean {
    const monoUs = this.#monoUs
    return (this.#buffer.low || monoUs >= this.#renewUs) && monoUs >= this.#restUntilUs
  }

  protected override moreAfterMs(): number | undefined {
    const waitMs = this.#buffer.waitMs()
    return (
      waitMs ?? (this.options.clock.monoUs() < this.#restUntilUs && this.#untilUs > 0 ? restMs : undefined)
    )
  }

  protected override async refill(): Promise<void> {
    const { leases, time, name, definition, onChange, onRefused, clock } = this.#options
    this.#buffer.low = false
    const span = await leases.secure(name).catch((error: unknown) => {
      if (this.closed === undefined && this.#isRefusedForLong(error)) onRefused()
      throw error
    })
    if (this.closed !== undefined) return
    const isSame = definitionOf(span.grant).identity === definition.identity
    if (!isSame || time.timeline !== this.#timeline) return onChange(span)
    this.#grant(span)
    this.#checkClock(span.grant.nowUs)
    this.#restUntilUs = clock.monoUs() + restMs * 1000
  }

  protected override async giveBack(): Promise<void> {
    this.#buffer.clear()
  }

  /**
   * How many ids the buffer holds at most at one moment: those of the time that it may borrow, in one span; more where a
   * span ahead of the clock has been unused for a while.
   */
  #mostAtOnce(): number {
    const { definition, leases } = this.#options
    const { unitUs } = this.#layout
    const borrowed = Math.ceil((definition.borrowMaxMs * 1000) / unitUs) + 1
    const leased = Math.ceil((leases.ttlMs * 1000) / unitUs)
    return Math.max(Math.min(borrowed, leased) * this.#buffer.capacity, this.available())
  }

  /** Ends ids whose definition, and whose lease, the service has not confirmed for too long. */
  #expire(): void {
    this.#monoUs = this.options.clock.monoUs()
    if (this.#untilUs > 0 && this.#monoUs >= this.#deadlineUs) this.drop()
  }

  #grant({ claim, worker, fromUs, untilUs, sentUs, used }: Span): void {
    const { epochUs, unitUs } = this.#layout
    const { horizonMs, leases } = this.#options
    const firstFrom = (us: number) => Math.max(0, Math.ceil((us - epochUs) / unitUs))
    this.#deadlineUs = sentUs + leases.ttlMs * 1000
    this.#renewUs = this.#deadlineUs - horizonMs * 1000
    if (claim !== this.#claim) {
      this.#claim = claim
      this.#start = firstFrom(fromUs)
    }
    const end = Math.min(this.#buffer.unitsAt(untilUs), this.#unitMax)
    if (firstFrom(Math.max(fromUs, used.untilUs)) >= this.#unitMax)
      throw new FahaoError(
        'EXHAUSTED',
        `the time field of '${this.options.name}' is full; use another layout`,
      )
    this.#buffer.grant(worker, this.#start, end, used)
    this.#untilUs = untilUs
    const spanUnits = Math.max(0, end - this.#start)
    this.#buffer.markAt(untilUs - horizonMs * 1000, Math.min(spanUnits / 2, (horizonMs * 1000) / unitUs / 4))
  }

  /** Whether the ids here end before the service leases time again. Over RESP an error does not say when, so it may be long. */
  #isRefusedForLong(error: unknown): boolean {
    if (!hasCode(error, 'CLOCK')) return false
    return (error.retryAfterMs ?? Number.POSITIVE_INFINITY) > this.lastsMs()
  }

  /** Throws CLOCK when the span is useless because the clock of the service has fallen back, rather than used up. */
  #checkClock(serviceUs: number): void {
    const { name, leases } = this.#options
    const aheadMs = (this.#layout.epochUs + this.#buffer.untouched * this.#layout.unitUs - serviceUs) / 1000
    const waitMs = aheadMs - leases.ttlMs
    const isUsable = this.#buffer.position < this.#buffer.end
    if (isUsable || waitMs <= this.#layout.unitUs / 1000) return
    const seconds = (ms: number) => Math.ceil(ms / 1000)
    throw new FahaoError(
      'CLOCK',
      `the ids of '${name}' that this process has issued are ${seconds(aheadMs)} s ahead of the service's clock; set the clocks of its nodes right, or retry in ${seconds(waitMs)} s`,
    )
  }
}
