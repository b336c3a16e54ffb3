/** What the counters of a generator with periods say, for all that reads and changes them. */
import { FahaoError } from '../base/errors.ts'
import { larger } from '../engine/advance-rules.ts'
import type { Counter, Engine } from '../engine/engine.ts'
import {
  floorOfMark,
  inIdsOf,
  type PeriodCounting,
  periodCounter,
  periodCounters,
  positionOf,
} from '../issuing/period-counters.ts'
import type { Definition } from './definition.ts'
import { periodsOf } from './periods.ts'
import { counterOf, type StoredGenerator } from './stored-generator.ts'

type Known = Pick<StoredGenerator, 'counter' | 'definition' | 'floor'>

/** How a definition counts in periods; undefined: it does not. */
export function countingOf(definition: Definition): PeriodCounting | undefined {
  const periods = periodsOf(definition)
  return periods && { periods, keep: definition.keep ?? 0, start: definition.start ?? 1n }
}

/** Every counter of a generator. */
export function countersOf(name: string, stored: Pick<StoredGenerator, 'counter' | 'definition'>): string[] {
  const own = counterOf(name, stored)
  const { period, keep = 0 } = stored.definition
  return period === undefined ? [own] : [own, ...periodCounters(own, { keep })]
}

/** Up to where ids of a period can have been issued. */
export type PeriodBound = {
  readonly ordinal: number
  /** The first id that was not issued yet. */
  readonly bound: bigint
  /** The first id that is not of the period. */
  readonly end: bigint
}

/** The bound of the newest period of which an id was issued, by this incarnation or before. `own`: its own counter, if it was read. Undefined: none was issued. */
export async function newestBound(
  engine: Engine,
  name: string,
  stored: Known,
  own?: Counter,
): Promise<PeriodBound | undefined> {
  const counting = countingOf(stored.definition)!
  const mark = own ?? (await engine.counter(counterOf(name, stored)))
  const { periods } = counting
  // An incarnation begins in the period of the last id before it.
  const ordinal = Math.max(
    positionOf(periods, mark.bound).ordinal,
    periods.split(stored.floor - 1n)?.ordinal ?? 0,
  )
  if (ordinal === 0) return undefined
  const floor = larger(stored.floor, floorOfMark(counting, mark.bound))
  return boundOfPeriod(engine, name, { ...stored, floor }, counting, ordinal)
}

/** The bounds of the newest period and those before that are open, the newest first. */
export async function openBounds(engine: Engine, name: string, stored: Known): Promise<PeriodBound[]> {
  const newest = await newestBound(engine, name, stored)
  if (newest === undefined) return []
  const counting = countingOf(stored.definition)!
  const before = Array.from({ length: counting.keep }, (_, index) => newest.ordinal - index - 1)
  const bounds = before.map((ordinal) => boundOfPeriod(engine, name, stored, counting, ordinal))
  return [newest, ...(await Promise.all(bounds))]
}

async function boundOfPeriod(
  engine: Engine,
  name: string,
  stored: Known,
  counting: PeriodCounting,
  ordinal: number,
): Promise<PeriodBound> {
  const { periods, start } = counting
  const counter = periodCounter(counterOf(name, stored), counting, ordinal)
  const { bound } = await inIdsOf(engine, periods, ordinal).counter(counter)
  const end = periods.endId(ordinal)
  const least = larger(stored.floor, periods.firstId(ordinal) + start)
  // A counter that a later period has taken over says nothing of this one.
  return { ordinal, bound: bound < least ? least : bound > end ? end : bound, end }
}

/**
 * The ids that an old incarnation with periods demands of the next one: above all of its own; and if both count in the same periods, the
 * numbers go on in the present one, because texts show numbers and labels alone.
 */
export function floorAbove({ ordinal, bound }: PeriodBound, old: Definition, next: Definition): bigint {
  const [before, after] = [periodsOf(old)!, periodsOf(next)]
  if (after === undefined || after.unit !== before.unit) return bound
  const goesOn = after.firstId(ordinal) + bound - before.firstId(ordinal)
  return goesOn > bound ? goesOn : bound
}

/** `least`: what the ids before demand, where a change names a higher floor. Throws ERR where an incarnation with periods would have no number left in the present period because of the ids before it. */
export function refuseFarPeriod(
  name: string,
  next: Definition,
  floor: bigint,
  nowUs: number,
  least = floor,
): void {
  const periods = periodsOf(next)
  if (periods === undefined) return
  const now = periods.ordinalOfMoment(nowUs)
  // The period of the ids before may be ahead of this clock.
  const before = periods.split(least - 1n)?.ordinal ?? now
  if (floor < periods.endId(Math.max(now, Math.min(before, now + 1)))) return
  throw new FahaoError(
    'ERR',
    `ids up to ${floor - 1n} may have been issued under '${name}', or are skipped, which leaves none in period ${periods.label(now)}; give a larger WIDTH, or use another name`,
  )
}
