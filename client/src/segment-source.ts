/**
 * Ids of a `segment` from ranges that are leased ahead.
 *
 * Invariants
 *  1. Every range of the chain was granted under the definition of this source. A grant of another one is not added here:
 *     it goes to the source that replaces this one.
 *  2. What a range has left is dropped at its deadline, which counts from before its request was sent: after an alteration
 *     or a drop no id of the earlier definition is issued for longer than that.
 *  3. What is returned has left the chain before, also what a refill brings that is answered after the end. A reply that is lost
 *     leaves a gap.
 *  4. A refill that a quota refuses is cut by halves, down to what the first caller needs. One that was cut by QUOTA is
 *     followed by a pause, and so is a refusal of QUOTA while no caller waits.
 *  5. A refill whose ids end within the horizon, or before they are here, is followed by a pause.
 */
import { FahaoError } from '../../src/base/errors.ts'
import type { FastRun } from '../../src/buffers/fast-runs.ts'
import type { DrawRequest } from '../../src/buffers/wait-queue.ts'
import type { Run } from '../../src/ids/run.ts'
import { BufferedSource, type BufferedSourceOptions } from './buffered-source.ts'
import { type Definition, definitionOf } from './definition.ts'
import { Demand } from './demand.ts'
import { unsafe } from './request-source.ts'
import type { Grant } from './requests.ts'
import { type Leftover, SegmentChain } from './segment-chain.ts'
import { isOfSize } from './size-cap.ts'
import { within } from './within.ts'

/** An answer of the service, and when its request was sent, on the monotonic clock in µs. */
export type Answer = { readonly grant: Grant; readonly sentUs: number }

/** The parts of a segment source. */
export type SegmentSourceOptions = BufferedSourceOptions & {
  readonly definition: Definition
  /** Leases `count` ids. Rejects with QUOTA without a retry. */
  readonly lease: (count: number) => Promise<Answer>
  /** Gives back what is unused of a lease. */
  readonly returnLease: (lease: string, from: bigint) => Promise<boolean>
  /** Called with an answer of another definition, and with one that leases nothing. */
  readonly onChange: (answer: Answer) => void
}

/** The pause after a refill that QUOTA has cut: each second refills that quota. */
const quotaPauseMs = 500

/** How long the end waits for a refill under way: what it brings after that is a gap. */
const refillMaxMs = 1000

/** The shortest pause after a refill whose ids end within the horizon, and the longest after one whose ids have ended. */
const shortPauseMs = 50
const lapsedPauseMaxMs = 2000

/** The rate is looked at this often while ids are issued: at refills alone, a rise would be seen when little is left. */
const observeUs = 5_000_000

/** Issues ranges. */
export class SegmentSource extends BufferedSource {
  readonly fastRun: FastRun
  readonly #options: SegmentSourceOptions
  readonly #chain: SegmentChain
  readonly #demand: Demand
  /** The newest lease, counted as if all of it were used. */
  #newest: Leftover | undefined
  #observedUs: number
  #isCut = false
  /** Resolves when the refill under way has ended. Never rejects. */
  #refilled: Promise<unknown> | undefined
  /** The pause because the last refill did not reach the horizon; 0 if it did. */
  #shortMs = 0

  /** Starts with the ranges of `first`. */
  constructor(options: SegmentSourceOptions, first: Answer) {
    super(options)
    this.#options = options
    const { increment, offset } = options.definition
    this.#chain = new SegmentChain(increment, offset, orderOf(options.definition, first.grant))
    this.fastRun = this.#chain.fastRun
    this.#observedUs = options.clock.monoUs()
    this.#demand = new Demand(options.horizonMs, this.#observedUs)
    this.#add(first)
  }

  override nextIsSafe(): boolean {
    return this.#chain.areSafe(1)
  }

  override drop(): void {
    this.#chain.clear()
  }

  override assertInvariants(): void {
    super.assertInvariants()
    this.#chain.assertInvariants()
    this.#demand.assertInvariants()
  }

  protected override available(): number {
    this.#chain.expire(this.options.clock.monoUs())
    return this.#chain.available
  }

  protected override issued(): number {
    return this.#chain.issued
  }

  protected override lastsMs(): number {
    const nowUs = this.options.clock.monoUs()
    this.#observe(nowUs)
    return this.#chain.lastsMs(this.#demand.perSecond, nowUs)
  }

  protected override takeNow(count: number, run: Run): number {
    this.#chain.expire(this.options.clock.monoUs())
    return this.#chain.take(count, run)
  }

  protected override collect({ count, safe, contiguous }: DrawRequest): Run[] | Error | undefined {
    if (this.available() < count || (contiguous && !this.#chain.align(count))) return undefined
    if (safe && !this.#chain.areSafe(count)) return unsafe()
    return this.#chain.collect(count)
  }

  protected override isLow(): boolean {
    const nowUs = this.options.clock.monoUs()
    if (nowUs - this.#observedUs > observeUs) this.#observe(nowUs)
    if (this.#chain.available < this.#demand.lowMark) return true
    return this.#chain.lastsMs(this.#demand.perSecond, nowUs) < this.options.horizonMs
  }

  protected override moreAfterMs(): undefined {
    return undefined
  }

  protected override pauseAfterMs(): number {
    return Math.max(this.#isCut ? quotaPauseMs : 0, this.#shortMs)
  }

  protected override async refill(waiting: number, first: DrawRequest | undefined): Promise<void> {
    const refill = this.#refill(waiting, first)
    this.#refilled = refill.catch(() => {})
    await refill
  }

  async #refill(waiting: number, first: DrawRequest | undefined): Promise<void> {
    const { onChange, definition, clock } = this.#options
    await this.#returnSpare(waiting)
    if (this.closed !== undefined) return
    const monoUs = clock.monoUs()
    this.#observe(monoUs)
    const available = this.available()
    const { issued } = this.#chain
    const { perSecond } = this.#demand
    // What comes to its deadline before its turn is not there for callers.
    const buffered = Math.min(available, (perSecond * this.#chain.lastsMs(perSecond, monoUs)) / 1000)
    // For a caller whose ids follow one another, only the last of the buffered ids count: a new range may continue them.
    const ofUse = first?.contiguous === true ? this.#chain.lastRun : available
    const missing = Math.max(0, waiting - ofUse)
    const least = Math.max(0, (first?.count ?? 0) - ofUse)
    const size = this.#demand.size({ buffered, waiting: missing, least, issued, monoUs })
    const answer = await this.#lease(size, least).catch((error: unknown) => {
      this.#demand.failed()
      throw error
    })
    const isSame = definitionOf(answer.grant).identity === definition.identity
    if (this.closed !== undefined) {
      if (isSame && answer.grant.lease !== undefined) this.#add(answer)
      return
    }
    // Without a lease the service issues each id itself from now on.
    if (!isSame || answer.grant.lease === undefined) onChange(answer)
    else this.#add(answer)
    this.#shortMs = this.#pauseOfShort(this.#chain.lastsMs(0, clock.monoUs()))
  }

  /** Ids that end within the horizon make the next refill due at once, and it may bring no more: its pause doubles. */
  #pauseOfShort(lastsMs: number): number {
    if (lastsMs >= this.options.horizonMs) return 0
    const pauseMs = Math.max(2 * this.#shortMs, shortPauseMs)
    return Math.min(pauseMs, lastsMs > 0 ? Math.max(shortPauseMs, lastsMs / 2) : lapsedPauseMaxMs)
  }

  /** Gives back the newest range where its deadline comes before its use: after the next lease it is not the newest. */
  async #returnSpare(waiting: number): Promise<void> {
    const { clock, horizonMs } = this.#options
    const nowUs = clock.monoUs()
    this.#chain.expire(nowUs)
    const keep = Math.max(waiting, this.#demand.keep(this.#chain.issued, nowUs))
    this.#chain.spare(nowUs + horizonMs * 1000, keep)
    await this.#returnUnused()
  }

  /**
   * Returns what the chain has given up, the newest first: each range is on top of the counter's bound once those above it are
   * back. What is not on top is returned too, so that the service counts it. Resolves to whether there was any. Never rejects.
   */
  async #returnUnused(): Promise<boolean> {
    const { copies, returnLease } = this.#options
    for (let isAny = false; ; isAny = true) {
      // A copy of this memory may issue what this one returns; then nothing is left here.
      copies.check()
      const unused = this.#chain.takeUnused()
      if (unused === undefined) return isAny
      const isAnswered = await returnLease(unused.lease, unused.from).then(
        () => true,
        () => false,
      )
      // The others wait for the next time, so that no caller waits for many requests without an answer.
      if (!isAnswered) return true
    }
  }

  /** Leases `size` ids, or fewer as long as a quota refuses them: `least` is what the first caller needs, 0 without one. */
  async #lease(size: number, least: number): Promise<Answer> {
    const { clock, lease } = this.#options
    const { cap } = this.#demand
    this.#isCut = false
    for (let count = size; ; count = Math.max(1, least, Math.floor(count / 2))) {
      try {
        const answer = await lease(count)
        cap.granted(count)
        return answer
      } catch (error) {
        if (!isOfSize(error)) throw error
        cap.refused(error, count, clock.monoUs())
        const isOfNow = error.code === 'QUOTA'
        if (isOfNow) this.#isCut = true
        if (count <= Math.max(1, least) || (isOfNow && least === 0) || this.closed !== undefined) throw error
      }
    }
  }

  /** What a refill under way brings goes back too, and first: nothing below it can go back before. */
  protected override async giveBack(): Promise<void> {
    const { clock, returnLease } = this.#options
    if (this.#refilled !== undefined)
      await within(clock, refillMaxMs, this.#refilled, 'the service').catch(() => {})
    this.#chain.giveUp()
    if (await this.#returnUnused()) return
    // With nothing to give back, it is a report of what was drawn.
    const { lease, from } = this.#newest ?? {}
    if (lease !== undefined && from !== undefined) await returnLease(lease, from).catch(() => false)
  }

  #observe(nowUs: number): void {
    this.#observedUs = nowUs
    this.#demand.observe(this.#chain.issued, nowUs)
  }

  #add({ grant, sentUs }: Answer): void {
    const { lease, ranges, ttlMs } = grant
    if (lease === undefined || ttlMs === undefined)
      throw new FahaoError(
        'UNKNOWN',
        `the lease of '${this.options.name}' has no ranges; upgrade the service`,
      )
    const end = ranges.at(-1)?.end
    if (end !== undefined) this.#newest = { lease, from: end }
    for (const range of ranges) this.#chain.add(range, { lease, deadlineUs: sentUs + ttlMs * 1000 })
  }
}

function orderOf({ scramble, max, increment }: Definition, { key, orders }: Grant) {
  if (!scramble) return orders?.shuffled(increment)
  if (key !== undefined) return orders?.scrambled(key, max)
  throw new FahaoError('UNKNOWN', 'the lease of a scrambled generator has no key; upgrade the service')
}
