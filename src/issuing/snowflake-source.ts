/**
 * The source of `snowflake`: ids from the time that this node's worker id has reserved.
 *
 * Invariants
 *  1. An id carries the worker id whose reserved time its own time lies in, whole units of it only.
 *  2. A new claim of a worker id, the same or another, starts above everything that its bound covered before.
 *  3. A new source starts above the time that the sources of this generator before it have used under the same claim
 *     (`WorkerId.usedOf`): an incarnation that follows another within a unit of time repeats no id.
 *  4. More time is used only if, after it had been reserved, this incarnation was still the generator's current one: an
 *     incarnation with another layout starts above every worker id's reserved time.
 */
import { FahaoError, hasCode } from '../base/errors.ts'
import type { ClockBuffer } from '../buffers/clock-buffer.ts'
import type { Layout } from '../ids/layout.ts'
import { leadAbove } from './ahead-limit.ts'
import type { Expiry } from './id-source.ts'
import type { Incarnation } from './incarnation.ts'
import { ClockSource } from './time-based-source.ts'
import type { WorkerId } from './worker-id.ts'
import { freshUs, idleUs } from './worker-records.ts'

/** What the sources of all generators with one definition share. */
export type SnowflakeSourceOptions = {
  readonly worker: WorkerId
  readonly layout: Layout
  /** Rejects with STALE when another incarnation has replaced this one. */
  readonly confirm: (incarnation: Incarnation) => Promise<void>
}

/** Uses the time of the node's worker id. */
export class SnowflakeSource extends ClockSource {
  readonly expiry: Expiry
  readonly #options: SnowflakeSourceOptions
  #claim = 0
  #start = 0

  constructor(buffer: ClockBuffer, incarnation: Incarnation, options: SnowflakeSourceOptions) {
    super(buffer, incarnation, options.layout)
    this.#options = options
    const lookUs = idleUs(options.worker.leadUs)
    this.expiry = { lookMs: lookUs / 1000, look: () => buffer.look(lookUs) }
  }

  async refill(demand: number, _contiguous: number, ratePerSecond: number): Promise<void> {
    const { buffer, layout, unitMax } = this
    const { worker, confirm } = this.#options
    buffer.low = false
    const position = Math.max(buffer.position, Number(this.incarnation.floor))
    const { leadUs, othersUs } = worker
    const base = { nowUs: buffer.seenUs, othersUs, leadUs }
    const forUs = leadAbove(layout.epochUs + position * layout.unitUs, base)
    const spare = this.spare(demand, ratePerSecond, forUs)
    const neededUs = layout.epochUs + Math.min(position + spare, unitMax) * layout.unitUs
    await worker.secure(Math.max(neededUs, buffer.seenUs + freshUs(leadUs)))
    const { boundUs, claim } = worker
    const end = Math.min(buffer.unitsAt(boundUs), unitMax)
    if (end > buffer.end || claim !== this.#claim) {
      await confirm(this.incarnation)
      // Reserved time belongs to the claim under which it was reserved.
      if (worker.claim !== claim || worker.id < 0) {
        const what = `this node's worker id changed while time was reserved for '${this.name}'`
        throw new FahaoError('CONFLICT', `${what}; retry`)
      }
      this.#grant(end)
    }
    buffer.markAt(boundUs - worker.leadUs, spare)
    const full = buffer.end >= unitMax && buffer.waitMs() === undefined
    if (full && demand > buffer.available()) throw this.fullTime()
  }

  override whyDry(cause: unknown): FahaoError {
    return this.waitMs() === undefined && hasCode(cause, 'WORKERID') ? cause : super.whyDry(cause)
  }

  moveTo(): Promise<void> {
    return Promise.reject(
      new FahaoError('WRONGTYPE', `'${this.name}' is a snowflake: it follows the clock and cannot be set`),
    )
  }

  /** The time belongs to the worker id, whose claim knows how far it was used. */
  empty(): undefined {
    this.buffer.clear()
  }

  #grant(end: number): void {
    const { layout } = this
    const { worker } = this.#options
    const nodes = 2 ** layout.nodeBits
    if (worker.id >= nodes) {
      throw new FahaoError(
        'WORKERID',
        `worker id ${worker.id} does not fit the ${layout.nodeBits} node bits of generator '${this.name}'; give this node one below ${nodes}`,
      )
    }
    if (worker.claim !== this.#claim) {
      this.#claim = worker.claim
      const firstUnit = Math.ceil((worker.startUs - layout.epochUs) / layout.unitUs)
      this.#start = Math.max(0, Number(this.incarnation.floor), firstUnit)
    }
    this.buffer.grant(worker.id, this.#start, end, worker.usedOf(this.name))
  }
}
