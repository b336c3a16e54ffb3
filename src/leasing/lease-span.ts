/** How long the span of a worker lease is. */
import type { Layout } from '../ids/layout.ts'

/** The limits of a lease: its TTL, and the units of time of a layout. */
export const leaseLimits = Object.freeze({
  ttlDefaultMs: 60_000,
  ttlMinMs: 1000,
  ttlMaxMs: 15 * 60_000,
  unitMaxUs: 30_000_000,
})

/**
 * A span that starts ahead of the clock, after an advance or an alteration, is at most so long, in µs, and a unit of time:
 * how far ahead time is reserved has a limit (issuing/ahead-limit.ts), and ids of it are ahead of the clock.
 */
const aheadMaxUs = 60_000_000

/**
 * The end of a span that starts at `fromUs`: `ttlUs` after now, or after a start that is ahead of the clock. It is the end of
 * a unit of time of the layout, and the span has at least one whole unit. All in Unix µs.
 */
export function boundFor(layout: Layout, nowUs: number, fromUs: number, ttlUs: number): number {
  const aheadUs = fromUs > nowUs ? fromUs + Math.min(ttlUs, aheadMaxUs) : 0
  const oneUnitUs = endOfUnit(layout, fromUs) + layout.unitUs
  return endOfUnit(layout, Math.max(nowUs + ttlUs, aheadUs, oneUnitUs))
}

/** The first start of a unit of time at or after a moment. */
function endOfUnit({ epochUs, unitUs }: Layout, us: number): number {
  return epochUs + Math.ceil((us - epochUs) / unitUs) * unitUs
}
