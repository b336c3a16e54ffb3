/**
 * The source of `timestamp`: a counter over `time · 2^sequenceBits + sequence`, reserved ahead of the clock.
 *
 * Invariants
 *  1. The buffer holds only time below the counter's acknowledged bound (P2), in whole units of time.
 *  2. Every reserve's floor is at least now.
 *  3. The buffer is one stretch `[position, end)`. A new range replaces it, unless the range is adjacent and no other
 *     process has changed the counter before it. Such a process may have raised the floor into the buffered stretch.
 */
import { FahaoError } from '../base/errors.ts'
import type { ClockBuffer } from '../buffers/clock-buffer.ts'
import type { Reservation } from '../engine/engine.ts'
import { encode } from '../ids/id-parts.ts'
import type { Layout } from '../ids/layout.ts'
import type { Incarnation } from './incarnation.ts'
import { ReservedCounter, type ReservedCounterOptions } from './reserved-counter.ts'
import { ClockSource } from './time-based-source.ts'

/** What the sources of all generators with one definition share. */
export type TimestampSourceOptions = ReservedCounterOptions & {
  readonly layout: Layout
  /** The node field of every id. */
  readonly node: number
  readonly horizonUs: number
}

/** Refills go this much further than they must, so that they are rare and a crash skips little. */
const ahead = 1.25

/** Reserves time from a counter. */
export class TimestampSource extends ClockSource {
  readonly #options: TimestampSourceOptions
  readonly counter: ReservedCounter
  readonly #capacity: bigint
  /** No unit below is issued: it belongs to earlier incarnations, other holders, or lies below a floor. */
  #floorUnit: number
  #start = 0
  /** The counter's bound when the generator was opened. */
  readonly #inheritedBound: bigint

  constructor(buffer: ClockBuffer, bound: bigint, incarnation: Incarnation, options: TimestampSourceOptions) {
    super(buffer, incarnation, options.layout)
    this.#options = options
    this.counter = new ReservedCounter(incarnation, bound, options)
    this.#capacity = BigInt(buffer.capacity)
    this.#floorUnit = Math.max(Number(incarnation.floor), this.#unitsUp(bound))
    this.#inheritedBound = bound
  }

  async refill(demand: number, _contiguous: number, ratePerSecond: number): Promise<void> {
    const { buffer, layout, unitMax } = this
    const { horizonUs } = this.#options
    buffer.low = false
    const position = Math.max(buffer.position, this.#floorUnit)
    const spare = this.spare(demand, ratePerSecond, horizonUs)
    const needed = Math.max(this.#unitUp(buffer.seenUs + horizonUs), position + spare)
    if (buffer.end < Math.min(needed, unitMax)) {
      const target = Math.max(this.#unitUp(buffer.seenUs + ahead * horizonUs), position + 2 * spare)
      await this.#reserve(Math.max(buffer.end, position), Math.min(target, unitMax))
    } else if (demand > buffer.available() && buffer.waitMs() === undefined) {
      throw this.fullTime()
    }
    buffer.markAt(layout.epochUs + buffer.end * layout.unitUs - horizonUs, spare)
  }

  override lastIssued(): bigint | undefined {
    return super.lastIssued() ?? this.#inherited()
  }

  async moveTo(newest: bigint): Promise<void> {
    const { layout, node } = this.#options
    const floorUnit = unitAfter(newest, layout, node)
    await this.counter.raise(this.#raw(floorUnit))
    this.#floorUnit = Math.max(this.#floorUnit, floorUnit)
    // What lies above the floor stays buffered; the new start keeps the buffer from issuing below it.
    if (floorUnit < this.buffer.end) this.buffer.grant(node, floorUnit, this.buffer.end)
    else this.buffer.clear()
    this.#start = floorUnit
  }

  acquire(leftover: Reservation): void {
    this.counter.acquire(leftover)
    this.#start = this.#unitsUp(leftover.start)
    this.buffer.grant(this.#options.node, this.#start, this.#unitsDown(leftover.end))
    this.buffer.low = true
  }

  empty(): bigint | undefined {
    const reaches = this.buffer.end === this.#unitsDown(this.counter.bound)
    const untouched = this.#raw(this.buffer.untouched)
    this.buffer.clear()
    return reaches ? untouched : undefined
  }

  async #reserve(fromUnit: number, endUnit: number): Promise<void> {
    if (endUnit <= fromUnit) throw this.fullTime()
    const size = this.#raw(endUnit - fromUnit)
    const { bound } = this.counter
    const { start, end } = await this.counter.reserve(size, this.#raw(this.unitMax), this.#raw(fromUnit))
    const isAdjacent = start === bound && start > this.counter.aloneFrom && this.buffer.end > 0
    if (!isAdjacent) this.#start = this.#unitsUp(start)
    this.buffer.grant(this.#options.node, this.#start, this.#unitsDown(end))
  }

  /** The first unit of time that starts at `us`, in Unix µs, or later. */
  #unitUp(us: number): number {
    const { epochUs, unitUs } = this.layout
    return Math.ceil((us - epochUs) / unitUs)
  }

  #inherited(): bigint | undefined {
    if (this.#inheritedBound === 0n) return undefined
    const { layout, node } = this.#options
    const full = this.#raw(this.unitMax)
    // An advance may have raised the bound beyond the time field.
    const raw = (this.#inheritedBound < full ? this.#inheritedBound : full) - 1n
    return encode(layout, { time: raw / this.#capacity, node, sequence: Number(raw % this.#capacity) })
  }

  #raw(unit: number): bigint {
    return BigInt(unit) * this.#capacity
  }

  #unitsUp(raw: bigint): number {
    return this.#unitsDown(raw + this.#capacity - 1n)
  }

  #unitsDown(raw: bigint): number {
    return Number(raw / this.#capacity)
  }
}

/** The first unit of time whose ids are all above `newest`; ERR when the time field ends before. */
function unitAfter(newest: bigint, layout: Layout, node: number): number {
  const least = layout.fixed | (BigInt(node) << BigInt(layout.nodeShift))
  const unit = newest < least ? 0n : ((newest - least) >> BigInt(layout.timeShift)) + 1n
  if (unit < 2n ** BigInt(layout.timeBits)) return Number(unit)
  throw new FahaoError('ERR', `the time field ends before ids could be above ${newest}`)
}
