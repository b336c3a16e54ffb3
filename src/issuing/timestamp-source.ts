/**
 * The stock of `timestamp`: a counter over `time · 2^sequenceBits + sequence`, reserved ahead of the clock.
 *
 * Invariants
 *  1. Only time below the counter's acknowledged bound is in hand (P2), in whole units of time.
 *  2. Every reserve's floor is at least now and at least the highest end that this process has held.
 *  3. What is in hand is one stretch `[position, end)`: a range that does not adjoin replaces it, and so does one
 *     before which somebody else was at the counter. They may have raised its floor into what is in hand.
 */
import { FahaoError } from '../base/errors.ts'
import type { Engine, Reservation } from '../engine/engine.ts'
import type { ClockBuffer } from '../ids/clock-buffer.ts'
import type { Layout } from '../ids/layout.ts'
import { ClockSource, fullTime } from './clock-source.ts'
import { type Incarnation, reserveFor, writerOf } from './incarnation.ts'

/** What the stocks of all generators that are defined alike share. */
export type TimestampSourceOptions = {
  readonly engine: Engine
  readonly layout: Layout
  /** The node field of every id. */
  readonly node: number
  readonly horizonUs: number
  /** Rejects when this process may not reserve. */
  readonly mayReserve: (name: string) => Promise<void>
}

/** Refills go this much further than they must, so that they are rare and a crash skips little. */
const ahead = 1.25

/** See the invariants at the top of the file. */
export class TimestampSource extends ClockSource {
  reserved = 0
  released = 0
  readonly #options: TimestampSourceOptions
  readonly #capacity: bigint
  /** Undefined when there is nothing to give back. */
  #newest: Reservation | undefined
  /** Nothing below is issued: earlier incarnations, what others reserved before, where it was moved to. */
  #floorUnit: number
  #start = 0
  /** The counter's bound when the generator was opened. */
  readonly #inheritedBound: bigint

  constructor(hand: ClockBuffer, bound: bigint, life: Incarnation, options: TimestampSourceOptions) {
    super(hand, life, options.layout)
    this.#options = options
    this.#capacity = BigInt(hand.capacity)
    this.#floorUnit = Math.max(Number(life.floor), this.#unitsUp(bound))
    this.#inheritedBound = bound
  }

  async refill(demand: number, _contiguous: number, ratePerSecond: number): Promise<void> {
    this.low = false
    const { horizonUs, layout } = this.#options
    const position = Math.max(this.hand.position, this.#floorUnit)
    const spare = this.spare(demand, ratePerSecond, horizonUs)
    const needed = Math.max(this.#unitUp(this.hand.seenUs + horizonUs), position + spare)
    if (this.hand.end < Math.min(needed, this.unitMax)) {
      const target = Math.max(this.#unitUp(this.hand.seenUs + ahead * horizonUs), position + 2 * spare)
      await this.#reserve(Math.max(this.hand.end, position), target)
    } else if (demand > this.hand.available() && this.hand.waitMs() === undefined) {
      throw fullTime(this.name)
    }
    this.markAt(layout.epochUs + this.hand.end * layout.unitUs - horizonUs, spare)
  }

  override lastIssued(): bigint | undefined {
    return this.hand.lastIssued() ?? this.#inherited()
  }

  async moveTo(newest: bigint): Promise<void> {
    const { engine, layout, node } = this.#options
    const floorUnit = unitAfter(newest, layout, node)
    await this.#options.mayReserve(this.name)
    const floor = BigInt(floorUnit) * this.#capacity
    const sealed = await reserveFor(this.life, engine, { size: 0n, floor })
    const before = this.#followed(sealed)
    this.#newest = before?.end === sealed.end ? { ...before, version: sealed.version } : undefined
    this.#floorUnit = Math.max(this.#floorUnit, floorUnit)
    // In hand may stay what lies above the floor; a new start keeps the hand from going below.
    if (floorUnit < this.hand.end) this.hand.grant(node, floorUnit, this.hand.end)
    else this.hand.clear()
    this.#start = floorUnit
  }

  adopt(tail: Reservation): void {
    this.#options.engine.acquire(this.#counter, tail.end)
    this.#newest = tail
    this.#start = this.#unitsUp(tail.start)
    this.hand.grant(this.#options.node, this.#start, Number(tail.end / this.#capacity))
    this.low = true
  }

  leave(): Reservation | undefined {
    const tail = this.#takeOut()
    if (tail !== undefined) this.#options.engine.transfer(this.#counter, tail.start)
    return tail
  }

  async close(): Promise<void> {
    const tail = this.#takeOut()
    if (tail === undefined) return
    const gone = await this.#options.engine
      .release(this.#counter, tail, tail.start, writerOf(this.life))
      .catch(() => false)
    if (gone) this.released += Number(tail.end - tail.start)
  }

  get #counter(): string {
    return this.life.counter
  }

  /** Lets go of everything. What of it is on top of the bound. */
  #takeOut(): Reservation | undefined {
    const start = BigInt(this.hand.untouched) * this.#capacity
    const newest = this.#newest
    this.hand.clear()
    this.low = false
    if (newest === undefined || start >= newest.end || start < BigInt(this.#start) * this.#capacity)
      return undefined
    return { ...newest, start }
  }

  async #reserve(fromUnit: number, targetUnit: number): Promise<void> {
    const { engine, node, mayReserve } = this.#options
    const units = Math.min(targetUnit, this.unitMax) - fromUnit
    if (units <= 0) throw fullTime(this.name)
    await mayReserve(this.name)
    const reservation = await reserveFor(this.life, engine, {
      size: BigInt(units) * this.#capacity,
      floor: BigInt(fromUnit) * this.#capacity,
      max: BigInt(this.unitMax) * this.#capacity,
    })
    const adjoins = reservation.start === this.#followed(reservation)?.end && this.hand.end > 0
    if (!adjoins) this.#start = this.#unitsUp(reservation.start)
    const end = Number(reservation.end / this.#capacity)
    this.#newest = reservation
    this.reserved += Number(reservation.end - reservation.start)
    this.hand.grant(node, this.#start, end)
  }

  /** The newest reservation, if nobody else has been at the counter between that and this one. */
  #followed({ version }: Reservation): Reservation | undefined {
    return this.#newest !== undefined && version === this.#newest.version + 1n ? this.#newest : undefined
  }

  /** The first unit of time that starts at `us`, in Unix µs, or later. */
  #unitUp(us: number): number {
    const { epochUs, unitUs } = this.#options.layout
    return Math.ceil((us - epochUs) / unitUs)
  }

  #inherited(): bigint | undefined {
    if (this.#inheritedBound === 0n) return undefined
    const { layout, node } = this.#options
    const raw = this.#inheritedBound - 1n
    const time = raw / this.#capacity
    const sequence = raw % this.#capacity
    return (
      (time << BigInt(layout.timeShift)) |
      (BigInt(node) << BigInt(layout.nodeShift)) |
      (sequence << BigInt(layout.sequenceShift)) |
      layout.fixed
    )
  }

  #unitsUp(raw: bigint): number {
    return Number((raw + this.#capacity - 1n) / this.#capacity)
  }
}

/** The first unit of time whose ids are all above `newest`; ERR when the time field ends before. */
function unitAfter(newest: bigint, layout: Layout, node: number): number {
  const least = layout.fixed | (BigInt(node) << BigInt(layout.nodeShift))
  const unit = newest < least ? 0n : ((newest - least) >> BigInt(layout.timeShift)) + 1n
  if (unit < 2n ** BigInt(layout.timeBits)) return Number(unit)
  throw new FahaoError('ERR', `the time field ends before ids could be above ${newest}`)
}
