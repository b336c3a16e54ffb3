/**
 * The issuer of one name of a family: its next value, and a queue only while a caller waits.
 *
 * Invariants
 *  1. Its values only grow, and each is issued once.
 *  2. It takes nothing while a caller waits, nor after it has left its section: `next` is then infinite, so that the fast path
 *     needs no check of its own.
 *  3. A caller gets all its ids in one run, or none.
 */
import { assert } from '../base/assert.ts'
import { FahaoError } from '../base/errors.ts'
import { emptyRow } from '../buffers/fast-runs.ts'
import { WaitQueue } from '../buffers/wait-queue.ts'
import { Run, two32 } from '../ids/run.ts'
import { type DrawOptions, type Issuer, type IssuerStats, idleStats } from './issuer.ts'
import type { ReservoirOptions } from './reservoir-options.ts'

/** What a name asks of its section. */
export type MemberSection = {
  /** The end of what may be issued now; 0 while nothing may. */
  readonly limit: number
  /** A name that passes it calls `refill`. */
  readonly low: number
  readonly options: Pick<ReservoirOptions, 'clock' | 'issueTimeoutMs' | 'waitersMax'>
  /** Why callers are refused instead of waiting; undefined: they wait. */
  readonly refusal: Error | undefined
  /** Whether it may issue now; if not, what must not issue has been suspended or stopped. */
  mayIssue(): boolean
  /** The error of a caller of this name that has waited too long. */
  whyDry(name: string): Error
  /** Starts a reserve, unless one is under way. */
  refill(): void
  /** A caller of this name begins to wait. */
  callerWaits(member: SectionMember): void
  /** No caller of this name waits any more. */
  noCallerWaits(member: SectionMember): void
  /** Has a name issue nothing below `next` any more. */
  moveTo(member: SectionMember, next: number): Promise<void>
  /** A name leaves memory. */
  leave(member: SectionMember): void
}

/** Issues from its section. */
export class SectionMember implements Issuer {
  readonly isOver = false
  readonly name: string
  /** The next value: all below may have been issued. */
  next: number
  /** The value of `next` at the last look for names that are not used. */
  seen = -1
  readonly #section: MemberSection
  /** `next` less what was issued here. */
  #from: number
  #isMoved = false
  #queue: WaitQueue | undefined
  #left: Error | undefined

  /** Made by `Section.join`. */
  constructor(name: string, next: number, section: MemberSection) {
    this.name = name
    this.next = next
    this.#from = next
    this.#section = section
  }

  get row(): number {
    return emptyRow
  }

  take(count: number, run: Run): number {
    const section = this.#section
    const left = section.limit - this.next
    if (left <= 0 || this.#queue !== undefined) return 0
    const taken = Math.min(count, left)
    fill(run, this.next, taken)
    this.#advance(taken)
    return taken
  }

  takeNumber(): number {
    const number = this.next
    if (number >= this.#section.limit || this.#queue !== undefined) return -1
    this.#advance(1)
    return number
  }

  draw(count: number, options: DrawOptions = {}): Promise<Run[]> {
    const section = this.#section
    // It may stop the section, and with it this name.
    const mayIssue = section.mayIssue()
    if (this.#left !== undefined) return Promise.reject(this.#left)
    if (options.signal?.aborted) return Promise.reject(options.signal.reason)
    if (mayIssue && this.#queue === undefined && this.next + count <= section.limit)
      return Promise.resolve([this.#run(count)])
    const { refusal } = section
    if (refusal !== undefined) return Promise.reject(refusal)
    this.#queue ??= this.#newQueue()
    const drawn = this.#queue.join({ count, contiguous: true, safe: true }, options.signal, options.onWait)
    if (!this.#dropEmptyQueue()) section.callerWaits(this)
    return drawn
  }

  /** True: no value of a family is past 2^53−1. */
  nextIsSafe(): boolean {
    return true
  }

  /** Undefined while nothing was issued or moved since the name came into memory. */
  lastIssued(): bigint | undefined {
    return (this.#isMoved || this.issued > 0) && this.#left === undefined ? BigInt(this.next - 1) : undefined
  }

  moveTo(newest: bigint): Promise<void> {
    if (this.#left !== undefined) return Promise.reject(this.#left)
    return this.#section.moveTo(this, Number(newest) + 1)
  }

  stats(): IssuerStats {
    const inHand = Math.max(0, this.#section.limit - this.next)
    return { ...idleStats, issued: this.issued, inHand, waiting: this.waiting }
  }

  assertInvariants(): void {
    this.#queue?.assertInvariants()
    assert(this.#queue === undefined || this.#queue.length > 0, 'there is a queue only while a caller waits')
    assert(this.next >= this.#from, 'values only grow')
  }

  close(reason: Error): Promise<void> {
    this.leave(reason)
    return Promise.resolve()
  }

  /** How many ids it has issued since it came into memory. */
  get issued(): number {
    return this.#left === undefined ? this.next - this.#from : 0
  }

  /** How many callers wait. */
  get waiting(): number {
    return this.#queue?.length ?? 0
  }

  /** How many ids they wait for. */
  get demand(): number {
    return this.#queue?.demand ?? 0
  }

  /** The section continues at `start`, above every value that it has issued. */
  beginAt(start: number): void {
    this.#from += start - this.next
    this.next = start
  }

  /** See `Section.moveTo`, which has made everything below `next` durable. */
  skipTo(next: number): void {
    if (this.#left !== undefined) throw this.#left
    if (next < this.next)
      throw new FahaoError('ERR', `'${this.name}' has issued ${this.next - 1} already; it moves forward only`)
    this.beginAt(next)
    this.#isMoved = true
  }

  /** Serves waiting callers, at most `most`, and rejects the others with `refusal`, if given. Returns how many were settled. */
  serve(most: number, refusal: Error | undefined): number {
    let served = 0
    this.#queue?.serve(({ count }) => {
      if (served >= most) return undefined
      const outcome = this.next + count <= this.#section.limit ? [this.#run(count)] : refusal
      if (outcome !== undefined) served++
      return outcome
    })
    this.#dropEmptyQueue()
    return served
  }

  /** Leaves memory. Callers that wait are rejected with `reason`. */
  leave(reason: Error): void {
    if (this.#left !== undefined) return
    this.#section.leave(this)
    this.#left = reason
    this.next = Number.POSITIVE_INFINITY
    this.#queue?.refuse(() => reason)
    this.#queue = undefined
  }

  #advance(count: number): void {
    this.next += count
    if (this.next > this.#section.low) this.#section.refill()
  }

  #run(count: number): Run {
    const run = new Run()
    fill(run, this.next, count)
    this.#advance(count)
    return run
  }

  #newQueue(): WaitQueue {
    const { clock, issueTimeoutMs, waitersMax } = this.#section.options
    return new WaitQueue({
      clock,
      timeoutMs: issueTimeoutMs,
      lengthMax: waitersMax,
      onTimeout: () => this.#section.whyDry(this.name),
      onLeave: () => void this.#dropEmptyQueue(),
    })
  }

  /** Whether no caller waits. */
  #dropEmptyQueue(): boolean {
    if (this.#queue !== undefined && this.#queue.length > 0) return false
    this.#queue = undefined
    this.#section.noCallerWaits(this)
    return true
  }
}

function fill(run: Run, first: number, count: number): void {
  run.hi = Math.floor(first / two32)
  run.lo = first - run.hi * two32
  run.count = count
  run.stride = 1
}
