/**
 * Ids of past moments of a `snowflake`, for imports: `ID.NEXT event AT 2019-05-04T12:00Z`.
 *
 * Invariants
 *  1. Such an id has a one where every id that follows the clock has a zero (ids/past.ts). So it meets none of those, whichever node,
 *     lease or fixed worker id made them, and whatever a store has forgotten of claims.
 *  2. Each moment, one unit of the layout's time, has a counter of the generator's name. A draw reserves of it what it needs: durable
 *     before an id leaves (P2), all or none, and nothing is buffered. What a reserve has opened whose outcome is unknown, or which
 *     is refused after it, is a gap (P8).
 *  3. Incarnations share the counters, so that those with one layout repeat nothing. One with another layout begins above every id of
 *     those before: no draw is of a moment below its floor, and before a reserve the moment lies below the bound of this node's worker
 *     id, which the change to the next layout reads (incarnation-change.ts). A release leaves the bound above it.
 *  4. An id leaves only if its incarnation was the current one after the reserve, so that the change cannot have read that bound before.
 *  5. A store that has lost writes may have lost counters of moments. An advance says until when time was used, and no moment
 *     before that is drawn any more, of any generator. That is read after the reserve, and the store has not been advanced since the
 *     generator was read.
 *  6. What was reserved before a copy of this memory was noticed is dropped: the copy may have received the same reply.
 */
import { FahaoError, hasCode } from '../base/errors.ts'
import type { Timeline } from '../base/timeline.ts'
import type { Engine } from '../engine/engine.ts'
import { unitsAt } from '../ids/id-parts.ts'
import { type Layout, ones, timeEndUs } from '../ids/layout.ts'
import { max53 } from '../ids/limits.ts'
import { momentText, parseMomentUs } from '../ids/moment.ts'
import { idsOfMoment, pastId } from '../ids/past.ts'
import { type Run, ScatteredRun } from '../ids/run.ts'
import type { Incarnation } from './incarnation.ts'
import { type DrawOptions, unsafe } from './issuer.ts'
import type { ReservedCounterOptions } from './reserved-counter.ts'
import type { WorkerId } from './worker-id.ts'
import { boundOfOthers } from './worker-records.ts'

/** What draws of past moments take from their process and from the definition. */
export type PastMomentsOptions = Pick<ReservedCounterOptions, 'copies'> & {
  readonly engine: Engine
  readonly timeline: Timeline
  readonly worker: WorkerId
  /** Rejects with STALE when another incarnation has replaced this one. */
  readonly confirm: (incarnation: Incarnation) => Promise<void>
  readonly layout: Layout
  /** A moment has `lanes` times as many ids as the sequence. */
  readonly lanes: number
}

/** What past moments have used of the claim of the worker id. No generator has a name with a space. */
const usedKey = 'past moments'

/** The counter of a moment of a generator. */
export function momentCounter(name: string, unit: bigint): string {
  return `moments/${unit}/${name}`
}

/** Draws ids of past moments, of all generators with one definition. */
export class PastMoments {
  readonly #options: PastMomentsOptions

  constructor(options: PastMomentsOptions) {
    this.#options = options
  }

  /**
   * Draws `count` ids of a moment. Rejects with ERR for one in the future, before the epoch or below the floor,
   * EXHAUSTED where too few are left or time has ended, UNSAFE, STALE, WORKERID, UNAVAILABLE, UNKNOWN, REGRESSED.
   */
  async draw(incarnation: Incarnation, count: number, { at, safe }: DrawOptions): Promise<Run[]> {
    const atUs = parseMomentUs(at!, 'AT')
    const { engine, copies, confirm, layout, lanes } = this.#options
    const unit = this.#unitOf(incarnation, atUs)
    const max = idsOfMoment(layout, lanes)
    const last = pastId(layout, unit, max - 1n) | (ones(layout.scatterBits) << BigInt(layout.scatterShift))
    if (safe && last > max53) throw unsafe()
    const copiesBefore = copies?.count
    await this.#cover(layout.epochUs + (Number(unit) + 1) * layout.unitUs)
    const counter = momentCounter(incarnation.name, unit)
    const request = { size: BigInt(count), max, incarnation: incarnation.incarnation }
    const { start } = await engine.reserve(counter, request).catch((error) => {
      throw hasCode(error, 'EXHAUSTED') ? full(incarnation.name, atUs, count, max) : error
    })
    // Nothing is given back, and there may be millions of moments.
    engine.transfer(counter, 0n)
    const [lostUs] = await Promise.all([boundOfOthers(engine), confirm(incarnation)])
    copies?.check()
    if (copies?.count !== copiesBefore || engine.advances !== incarnation.advances)
      throw new FahaoError(
        'STALE',
        `the store or this process has changed since '${incarnation.name}' was read; retry`,
      )
    if (layout.epochUs + Number(unit) * layout.unitUs < lostUs) throw forgotten(incarnation.name, lostUs)
    return [new ScatteredRun(count, (index) => pastId(layout, unit, start + BigInt(index)))]
  }

  #unitOf({ name, floor }: Incarnation, atUs: number): bigint {
    const { layout, timeline } = this.#options
    const unit = unitsAt(layout, atUs)
    const moment = momentText(BigInt(atUs))
    if (unit < 0n)
      throw new FahaoError(
        'ERR',
        `${moment} is before the epoch of '${name}', ${momentText(BigInt(layout.epochUs))}; give a later moment`,
      )
    if (unit >= 1n << BigInt(layout.timeBits))
      throw new FahaoError(
        'EXHAUSTED',
        `${moment} is past the end of the time field of '${name}', ${momentText(timeEndUs(layout))}; use a wider layout`,
      )
    if (unit > unitsAt(layout, timeline.nowUs()))
      throw new FahaoError('ERR', `${moment} has not passed yet; leave AT out for ids of now`)
    if (unit >= floor) return unit
    const from = momentText(BigInt(layout.epochUs) + floor * BigInt(layout.unitUs))
    throw new FahaoError(
      'ERR',
      `ids of '${name}' before ${from} may be those of its earlier layout; give a later moment, or use another generator`,
    )
  }

  /** Has the bound of the worker id stand at or above this moment, in Unix µs, for good. */
  async #cover(untilUs: number): Promise<void> {
    const { worker } = this.#options
    await worker.secure(untilUs)
    if (worker.id < 0) throw new FahaoError('CONFLICT', "this node's worker id has just changed; retry")
    const used = worker.usedOf(usedKey)
    if (untilUs > used.untilUs) used.use(untilUs)
  }
}

function full(name: string, atUs: number, count: number, max: bigint): FahaoError {
  const moment = momentText(BigInt(atUs))
  return new FahaoError(
    'EXHAUSTED',
    `${moment} has fewer than ${count} of its ${max} past ids of '${name}' left; ask for fewer, give a moment beside it, or raise PAST`,
  )
}

function forgotten(name: string, lostUs: number): FahaoError {
  return new FahaoError(
    'ERR',
    `the store was advanced after it had lost writes, and may have forgotten which past ids of '${name}' were issued before ${momentText(BigInt(lostUs))}; give a later moment, or use another store`,
  )
}
