/**
 * The stock of `timestamp`: a counter over `time · 2^sequenceBits + sequence`, reserved ahead of the clock.
 *
 * Invariants
 *  1. Only time below the counter's acknowledged bound is in hand (P2), in whole units of time.
 *  2. Every reserve's floor is at least now and at least the highest end that this process has held.
 *  3. What is in hand is one stretch `[position, end)`: a range that does not adjoin replaces it, and so does one
 *     before which somebody else was at the counter. They may have raised its floor into what is in hand.
 */
import { describe, FahaoError } from '../base/errors.ts'
import type { Engine, Reservation } from '../engine/engine.ts'
import type { Layout } from '../ids/layout.ts'
import type { Run } from '../ids/run.ts'
import type { ClockHand } from './clock-hand.ts'
import { holderOf, type Life } from './life.ts'
import type { Ready } from './ready.ts'
import type { Stock } from './stock.ts'

/** What the stocks of all generators that are defined alike share. */
export type TimestampStockOptions = {
  readonly engine: Engine
  /** The engine's counter of a generator. */
  readonly counterOf: (name: string) => string
  readonly layout: Layout
  /** The node field of every id. */
  readonly node: number
  readonly horizonUs: number
  /** Rejects when this process may not reserve. */
  readonly mayReserve: (name: string) => Promise<void>
}

/** Refills go this much further than they must, so that they are rare and a crash skips little. */
const ahead = 1.25
/** Time that is always in hand beyond where ids stand. */
const spareUs = 1_000_000

/** See the invariants at the top of the file. */
export class TimestampStock implements Stock {
  low = false
  reserved = 0
  released = 0
  readonly #hand: ClockHand
  readonly #life: Life
  readonly #options: TimestampStockOptions
  readonly #capacity: bigint
  /** Beyond this unit the time field is full. */
  readonly #unitMax: number
  /** Undefined when there is nothing to give back. */
  #newest: Reservation | undefined
  /** Nothing below is issued: earlier incarnations, what others reserved before, where it was moved to. */
  #floorUnit: number
  #start = 0
  /** A refill is due when the timeline, or when ids, have come this far. */
  #markUs = 0
  #markTime = 0
  /** The counter's bound when the generator was opened. */
  readonly #inheritedBound: bigint

  constructor(hand: ClockHand, bound: bigint, life: Life, options: TimestampStockOptions) {
    this.#hand = hand
    this.#life = life
    this.#options = options
    this.#capacity = BigInt(hand.capacity)
    this.#unitMax = 2 ** Math.min(options.layout.timeBits, 53)
    this.#floorUnit = Math.max(Number(life.floor), this.#unitsUp(bound))
    this.#inheritedBound = bound
  }

  get ready(): Ready {
    return this.#hand.ready
  }

  get name(): string {
    return this.#life.name
  }

  take(count: number, run: Run): number {
    const taken = this.#hand.take(count, run)
    this.#look()
    return taken
  }

  get issued(): number {
    return this.#hand.issued
  }

  available(): number {
    return this.#hand.available()
  }

  collect(count: number): Run[] | undefined {
    const runs = this.#hand.collect(count)
    this.#look()
    return runs
  }

  async refill(demand: number, _contiguous: number, ratePerSecond: number): Promise<void> {
    this.low = false
    const { horizonUs, layout } = this.#options
    const position = Math.max(this.#hand.position, this.#floorUnit)
    const filled = ((ratePerSecond * horizonUs) / 1_000_000 + demand) / this.#hand.capacity
    const spare = Math.ceil(Math.max(filled, spareUs / layout.unitUs))
    const needed = Math.max(this.#unitUp(this.#hand.seenUs + horizonUs), position + spare)
    if (this.#hand.end < Math.min(needed, this.#unitMax)) {
      const target = Math.max(this.#unitUp(this.#hand.seenUs + ahead * horizonUs), position + 2 * spare)
      await this.#reserve(Math.max(this.#hand.end, position), target)
    } else if (demand > this.#hand.available() && this.#hand.waitMs() === undefined) {
      throw fullTime(this.name)
    }
    this.#markUs = layout.epochUs + this.#hand.end * layout.unitUs - horizonUs
    this.#markTime = this.#hand.end - spare + 1
  }

  /** Time in hand lasts whatever the rate, and the marks tell when rate uses it up sooner. */
  observe(): void {}

  ranDry(): void {}

  waitMs(): number | undefined {
    return this.#hand.waitMs()
  }

  whyDry(cause: unknown): FahaoError {
    const { name } = this
    if (this.#hand.waitMs() !== undefined) return borrowedUp(name)
    const why =
      cause === undefined ? 'the engine has not answered in time' : `the engine said: ${describe(cause)}`
    return new FahaoError('DRY', `generator '${name}' has no reserved time in hand and ${why}; retry`, {
      cause,
    })
  }

  nextIsSafe(): boolean {
    return this.#options.layout.totalBits <= 53
  }

  lastIssued(): bigint | undefined {
    return this.#hand.lastIssued() ?? this.#inherited()
  }

  seconds(): number {
    const units = Math.max(0, this.#hand.end - this.#hand.position)
    return (units * this.#options.layout.unitUs) / 1_000_000
  }

  async moveTo(newest: bigint): Promise<void> {
    const { engine, layout, node } = this.#options
    const floorUnit = unitAfter(newest, layout, node)
    await this.#options.mayReserve(this.name)
    const sealed = await engine.reserve(this.#counter, {
      size: 0n,
      floor: BigInt(floorUnit) * this.#capacity,
      ...holderOf(this.#life),
    })
    const before = this.#followed(sealed)
    this.#newest = before?.end === sealed.end ? { ...before, version: sealed.version } : undefined
    this.#floorUnit = Math.max(this.#floorUnit, floorUnit)
    // In hand may stay what lies above the floor; a new start keeps the hand from going below.
    if (floorUnit < this.#hand.end) this.#hand.grant(node, floorUnit, this.#hand.end)
    else this.#hand.clear()
    this.#start = floorUnit
  }

  async close(): Promise<void> {
    const from = BigInt(this.#hand.untouched) * this.#capacity
    const newest = this.#newest
    this.#hand.clear()
    this.low = false
    if (newest === undefined || from >= newest.end || from < BigInt(this.#start) * this.#capacity) return
    const gone = await this.#options.engine
      .release(this.#counter, newest, from, holderOf(this.#life))
      .catch(() => false)
    if (gone) this.released += Number(newest.end - from)
  }

  get #counter(): string {
    return this.#options.counterOf(this.name)
  }

  async #reserve(fromUnit: number, targetUnit: number): Promise<void> {
    const { engine, node, mayReserve } = this.#options
    const units = Math.min(targetUnit, this.#unitMax) - fromUnit
    if (units <= 0) throw fullTime(this.name)
    await mayReserve(this.name)
    const reservation = await engine.reserve(this.#counter, {
      size: BigInt(units) * this.#capacity,
      floor: BigInt(fromUnit) * this.#capacity,
      max: BigInt(this.#unitMax) * this.#capacity,
      ...holderOf(this.#life),
    })
    const adjoins = reservation.start === this.#followed(reservation)?.end && this.#hand.end > 0
    if (!adjoins) this.#start = this.#unitsUp(reservation.start)
    const end = Number(reservation.end / this.#capacity)
    this.#newest = reservation
    this.reserved += Number(reservation.end - reservation.start)
    this.#hand.grant(node, this.#start, end)
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

  #look(): void {
    if (this.#hand.seenUs >= this.#markUs || this.#hand.seenTime >= this.#markTime) this.low = true
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

/** What to tell callers when no time is left. */
export function fullTime(name: string): FahaoError {
  return new FahaoError(
    'EXHAUSTED',
    `the time field of generator '${name}' is full; use a layout with a later epoch under another name`,
  )
}

/** What to tell callers who wait for time itself. */
export function borrowedUp(name: string): FahaoError {
  return new FahaoError(
    'CLOCK',
    `generator '${name}' has borrowed all of borrowMax from the future; retry, or use a layout with more sequence bits or a finer unit`,
  )
}
