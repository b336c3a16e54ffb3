/** The base of the sources of `timestamp` and `snowflake`: a buffer of time. Where the time comes from is left to them. */
import { FahaoError } from '../base/errors.ts'
import type { ClockBuffer } from '../buffers/clock-buffer.ts'
import type { Layout } from '../ids/layout.ts'
import type { IdSource } from './id-source.ts'
import type { Incarnation } from './incarnation.ts'
import { dry } from './issuer.ts'

/** How much time is buffered beyond the newest id at least. */
const spareUs = 1_000_000

/** All of a source except its reserves. */
export abstract class ClockSource implements IdSource {
  readonly buffer: ClockBuffer
  protected readonly incarnation: Incarnation
  protected readonly layout: Layout
  /** The first unit of time that the time field cannot hold. */
  protected readonly unitMax: number

  constructor(buffer: ClockBuffer, incarnation: Incarnation, layout: Layout) {
    this.buffer = buffer
    this.incarnation = incarnation
    this.layout = layout
    this.unitMax = 2 ** Math.min(layout.timeBits, 53)
  }

  get name(): string {
    return this.incarnation.name
  }

  abstract refill(demand: number, contiguous: number, ratePerSecond: number): Promise<void>

  abstract moveTo(newest: bigint): Promise<void>

  waitMs(): number | undefined {
    return this.buffer.waitMs()
  }

  whyDry(cause: unknown): FahaoError {
    const { name } = this
    if (this.waitMs() === undefined) return dry(`generator '${name}' has no reserved time`, cause)
    return new FahaoError(
      'CLOCK',
      `generator '${name}' has borrowed all of borrowMax from the future; retry, or use a layout with more sequence bits or a finer unit`,
    )
  }

  nextIsSafe(): boolean {
    return this.layout.totalBits <= 53
  }

  lastIssued(): bigint | undefined {
    return this.buffer.lastIssued()
  }

  seconds(): number {
    const units = Math.max(0, this.buffer.end - this.buffer.position)
    return (units * this.layout.unitUs) / 1_000_000
  }

  abstract empty(): bigint | undefined

  /** Units that should be buffered beyond the newest id, at a rate that lasts for `forUs`. */
  protected spare(demand: number, ratePerSecond: number, forUs: number): number {
    const filled = ((ratePerSecond * forUs) / 1_000_000 + demand) / this.buffer.capacity
    return Math.ceil(Math.max(filled, spareUs / this.layout.unitUs))
  }

  /** Error for callers when no time is left. */
  protected fullTime(): FahaoError {
    return new FahaoError(
      'EXHAUSTED',
      `the time field of generator '${this.name}' is full; use a layout with a later epoch under another name`,
    )
  }
}
