/**
 * A counter as one source uses it: reserves from it, and gives back the unused range on top of its bound.
 *
 * Invariants
 *  1. Every reserve's floor is at least the highest bound seen here, so that an engine that forgot writes does not open
 *     a range twice to this process. After `giveBack` it is the start of what went back, of which no value was issued.
 *  2. A range is released or transferred once, at the end, when no reserve from here is under way and the buffer is
 *     empty already.
 *  3. Neither goes below the start of the range before which another process was last at the counter: it may have
 *     raised the floor to anywhere below, also into the buffered range.
 *  4. No range enters a buffer that was reserved for an incarnation in a history of the store that began after the
 *     incarnation's record was read. The record may be among the forgotten writes, and the counter with it: the counter
 *     starts again then, and stores no incarnation by which it could reject the reserve.
 *  5. Nothing that was reserved before a copy of this memory was noticed is released or transferred: the copy may issue it.
 */
import type { CopyDetector } from '../base/copy-detector.ts'
import { FahaoError, hasCode } from '../base/errors.ts'
import type { Counter, Engine, RecordWrite, Reservation, WriterIdentity } from '../engine/engine.ts'
import { max53 } from '../ids/limits.ts'
import type { Incarnation } from './incarnation.ts'
import { exhausted } from './issuer.ts'
import type { CounterEngine } from './period-counters.ts'

/** What a counter's sources take from their process. */
export type ReservedCounterOptions = {
  readonly engine: CounterEngine
  /** Rejects when this process may not reserve (a strict kind that another process owns). Undefined: it may. */
  readonly mayReserve?: (name: string) => Promise<void> | undefined
  /** Looks for copies of this memory. Undefined: no copy is looked for. */
  readonly copies?: Pick<CopyDetector, 'check' | 'count'> | undefined
}

/** What is known of a counter. `version`: −1: no range here is on top of the bound. */
export type BoundAtRest = { bound: number; version: number; aloneFrom: number; reserved: number }

/** The counter of one incarnation. */
export class ReservedCounter {
  /** Raw values reserved and released since the start. */
  reserved = 0
  released = 0
  /** The highest bound seen here. */
  bound: bigint
  /** The counter cannot have been changed by others since the range that starts here, if its version is `#version`. */
  aloneFrom = 0n
  readonly #incarnation: Incarnation
  readonly #options: ReservedCounterOptions
  /** The version of the newest reserve, or of the release above it; undefined: no range here is on top of the bound. */
  #version: bigint | undefined
  /** How many copies of this memory had been noticed when this was made. */
  readonly #copies: number

  /** @param bound the counter's bound when the generator was opened; 0 when it had never been used. */
  constructor(incarnation: Incarnation, bound: bigint, options: ReservedCounterOptions) {
    this.#incarnation = incarnation
    this.bound = bound
    this.#options = options
    this.#copies = options.copies?.count ?? 0
  }

  /** The version of the counter with which its range is on top of the bound; undefined: it is not. */
  get version(): bigint | undefined {
    return this.#version
  }

  /** What was reserved above its range has gone back, which made this version: its range is on top of the bound again. */
  backOnTop(version: bigint): void {
    if (this.#version !== undefined) this.#version = version
  }

  /** Reserves `size` raw values from `floor` or above, below `max`. Rejects with EXHAUSTED when there are too few. */
  async reserve(size: bigint, max: bigint, floor = 0n): Promise<Reservation> {
    try {
      const reservation = await this.#reserve({ size, max, floor: floor > this.bound ? floor : this.bound })
      this.reserved += Number(size)
      return reservation
    } catch (error) {
      // Other processes have reserved more than was known here.
      if (hasCode(error, 'EXHAUSTED')) await this.read()
      throw error
    }
  }

  /** Reserves `size` raw values from `floor` or above, below `max`, or all that are left. Rejects with EXHAUSTED when none is. */
  async reserveUpTo(size: bigint, max: bigint, floor = 0n): Promise<Reservation> {
    // A reserve that is refused raises `bound`, so this ends.
    for (let wanted = size; ; ) {
      try {
        return await this.reserve(wanted, max, floor)
      } catch (error) {
        if (!hasCode(error, 'EXHAUSTED')) throw error
      }
      const left = max - (floor > this.bound ? floor : this.bound)
      if (left <= 0n) throw exhausted(this.#incarnation.name, max - 1n)
      if (left < wanted) wanted = left
    }
  }

  /**
   * Reserves as `reserve`, and writes records in the same step, if the counter still has this version. Undefined: it has another one, or a
   * record is not as expected, and nothing was changed.
   */
  async commit(
    records: readonly RecordWrite[],
    request: { readonly floor: bigint; readonly size: bigint; readonly max: bigint },
    version: bigint,
  ): Promise<Reservation | undefined> {
    await this.#admit()
    const counter = { name: this.#name, request: { ...request, ...this.#writer }, version }
    const committed = await this.#options.engine.commit({ records, counter })
    if (committed === undefined) return undefined
    this.#refuseOutdated()
    this.reserved += Number(request.size)
    this.#follow(committed.reservation!)
    return committed.reservation
  }

  /** Reads the counter. */
  async read(): Promise<Counter> {
    const counter = await this.#options.engine.counter(this.#name)
    this.#see(counter.bound)
    return counter
  }

  /** Raises the bound to `floor` and reserves nothing. */
  async raise(floor: bigint): Promise<void> {
    await this.#reserve({ size: 0n, floor })
  }

  /** Begins with a range that this process has reserved as `firstReserve` says. */
  begin(range: Reservation): void {
    this.reserved += Number(range.end - range.start)
    this.#follow(range)
  }

  /** Goes on with a range that another process has reserved and transferred. */
  acquire(leftover: Reservation): void {
    this.#options.engine.acquire(this.#name, leftover.end)
    this.#follow(leftover)
  }

  /** Writes down what it knows. False: numbers cannot say it, or another counter could not go on with it. */
  rest(into: BoundAtRest): boolean {
    const { fence, advances } = this.#incarnation
    const { engine, copies } = this.#options
    const isPlain = fence === undefined && this.released === 0 && engine.advances === advances
    if (!isPlain || this.#copies !== (copies?.count ?? 0) || (this.#version ?? 0n) > max53) return false
    into.bound = Number(this.bound)
    into.version = Number(this.#version ?? -1n)
    into.aloneFrom = Number(this.aloneFrom)
    into.reserved = this.reserved
    return this.bound <= max53
  }

  /** Releases `[start, end)` of a counter whose reservoir is at rest, with all that it holds from `next` on. Never rejects. */
  static async releaseAtRest(
    engine: Pick<Engine, 'release'>,
    { counter, incarnation }: Pick<Incarnation, 'counter' | 'incarnation'>,
    { bound, version, aloneFrom, next }: BoundAtRest & { readonly next: number },
  ): Promise<void> {
    const start = BigInt(Math.max(next, aloneFrom))
    const leftover = { start, end: BigInt(bound), version: BigInt(version) }
    if (version >= 0 && start < leftover.end)
      await engine.release(counter, leftover, start, { incarnation }).catch(() => {})
  }

  /** Notes that this range was reserved of a counter whose reservoir is at rest. False: numbers cannot say it. */
  static followAtRest(state: BoundAtRest, { start, end, version }: Reservation): boolean {
    if (end > max53 || version > max53) return false
    const [from, to] = [Number(start), Number(end)]
    if (state.version < 0 || Number(version) !== state.version + 1) state.aloneFrom = from
    state.version = to < state.bound ? -1 : Number(version)
    state.bound = Math.max(state.bound, to)
    state.reserved += to - from
    return true
  }

  /** Goes on from what another one knew. */
  wake({ bound, version, aloneFrom, reserved }: BoundAtRest): void {
    this.bound = BigInt(bound)
    this.#version = version < 0 ? undefined : BigInt(version)
    this.aloneFrom = BigInt(aloneFrom)
    this.reserved = reserved
  }

  /** Transfers the range from `untouched` on to the bound. Undefined: none is left. */
  transfer(untouched: bigint | undefined): Reservation | undefined {
    const leftover = this.#leftover(untouched)
    if (leftover !== undefined) this.#options.engine.transfer(this.#name, leftover.start)
    return leftover
  }

  /** Releases the range from `untouched` on to the bound. Resolves to whether it is known that it did. Never rejects. */
  async release(untouched: bigint | undefined): Promise<boolean> {
    const leftover = this.#leftover(untouched)
    if (leftover === undefined) return false
    const { start, end } = leftover
    // A refused or lost release is a gap, which is allowed; a second try is not.
    const released = await this.#options.engine
      .release(this.#name, leftover, start, this.#writer)
      .catch(() => false)
    if (released) this.released += Number(end - start)
    return released
  }

  /** Releases the newest range from `untouched` on, and goes on from there. Resolves to whether it is known that it did. Never rejects. */
  async giveBack(untouched: bigint): Promise<boolean> {
    if (!(await this.release(untouched))) return false
    this.bound = untouched
    this.#version = undefined
    return true
  }

  get #name(): string {
    return this.#incarnation.counter
  }

  get #writer(): WriterIdentity {
    const { incarnation, fence } = this.#incarnation
    return fence === undefined ? { incarnation } : { incarnation, fence }
  }

  /** Goes on with what another one has begun to reserve. Rejects as that does. */
  async receive(reserved: Promise<Reservation>): Promise<Reservation> {
    const reservation = await reserved
    this.#refuseOutdated()
    this.reserved += Number(reservation.end - reservation.start)
    this.#follow(reservation)
    return reservation
  }

  async #reserve(request: { size: bigint; floor: bigint; max?: bigint }): Promise<Reservation> {
    const { engine } = this.#options
    const asked = this.#admit()
    // Without an await where nothing is asked: a first reserve is sent together with the record of its generator.
    if (asked !== undefined) await asked
    const reservation = await engine.reserve(this.#name, { ...request, ...this.#writer })
    this.#refuseOutdated()
    this.#follow(reservation)
    return reservation
  }

  /** Throws, or rejects, where nothing may be reserved. Undefined: it may be, and nothing had to be asked. */
  #admit(): Promise<void> | undefined {
    const asked = this.#options.mayReserve?.(this.#incarnation.name)
    if (asked !== undefined) return asked.then(() => this.#refuseOutdated())
    this.#refuseOutdated()
    return undefined
  }

  /** The range that was reserved in a newer history is a gap. */
  #refuseOutdated(): void {
    const { engine } = this.#options
    const { name, advances } = this.#incarnation
    if (engine.advances === advances) return
    throw new FahaoError('STALE', `the store has been advanced since generator '${name}' was read; retry`)
  }

  #leftover(untouched: bigint | undefined): Reservation | undefined {
    const version = this.#version
    if (version === undefined || untouched === undefined || this.#isCopied()) return undefined
    const start = untouched > this.aloneFrom ? untouched : this.aloneFrom
    return start < this.bound ? { start, end: this.bound, version } : undefined
  }

  #isCopied(): boolean {
    const { copies } = this.#options
    copies?.check()
    return (copies?.count ?? 0) !== this.#copies
  }

  #follow({ start, end, version }: Reservation): void {
    if (this.#version === undefined || version !== this.#version + 1n) this.aloneFrom = start
    // An engine that forgot writes can return an end below the range that is held: that is not on top of its bound.
    this.#version = end < this.bound ? undefined : version
    this.#see(end)
  }

  #see(bound: bigint): void {
    if (bound > this.bound) this.bound = bound
  }
}
