/** How long the span of a worker lease is. */
import type { Layout } from '../ids/layout.ts'
import type { WorkerRecord } from '../issuing/worker-records.ts'

/** The limits of a worker lease: its TTL, and the units of time of a layout. */
export const workerLeaseLimits = Object.freeze({
  ttlDefaultMs: 60_000,
  ttlMinMs: 1000,
  ttlMaxMs: 15 * 60_000,
  unitMaxUs: 30_000_000,
})

/**
 * The longest span that starts ahead of the clock, after an advance or an alteration, in µs, beyond one unit of time. How far
 * ahead time is reserved has a limit (issuing/ahead-limit.ts), and ids of such a span are ahead of the clock.
 */
const aheadMaxUs = 60_000_000

/** A span ahead of the clock grows by this part of the time that passes: so the clock comes up with it. */
const aheadSpeed = 0.75

/** A start ahead of the clock, and the clock then, in Unix µs. */
export type Ahead = NonNullable<WorkerRecord['ahead']>

/** From when on a span that starts at `fromUs` is ahead: as its record says, unless it starts above that. */
export function aheadFrom(nowUs: number, fromUs: number, known?: Ahead): Ahead | undefined {
  if (known !== undefined && fromUs <= known.fromUs) return known
  return fromUs > nowUs ? { fromUs, sinceUs: nowUs } : known
}

/**
 * The end of a span that starts at `fromUs`: `ttlUs` after now, or after a start that is or was ahead of the clock, from where
 * it grows while time passes. It is the end of a unit of time of the layout, and the span has at least one whole unit. All in
 * Unix µs.
 */
export function boundFor(
  layout: Layout,
  nowUs: number,
  fromUs: number,
  ttlUs: number,
  ahead?: Ahead,
): number {
  const spanUs = Math.min(ttlUs, aheadMaxUs)
  const grownUs = ahead === undefined ? 0 : Math.max(0, nowUs - ahead.sinceUs) * aheadSpeed
  const aheadUs = ahead === undefined ? 0 : ahead.fromUs + grownUs + spanUs
  const oneUnitUs = endOfUnit(layout, fromUs) + layout.unitUs
  return endOfUnit(layout, Math.max(nowUs + ttlUs, aheadUs, oneUnitUs))
}

/** The first start of a unit of time at or after a moment. */
function endOfUnit({ epochUs, unitUs }: Layout, us: number): number {
  return epochUs + Math.ceil((us - epochUs) / unitUs) * unitUs
}

/** The last start of a unit of time at or before a moment. */
export function wholeUnits({ epochUs, unitUs }: Layout, us: number): number {
  return epochUs + Math.floor((us - epochUs) / unitUs) * unitUs
}
