/** The present period of a generator whose numbers begin again: what is left of it, and whether that lasts. */
import { momentText } from '../ids/moment.ts'
import type { Definition } from './definition.ts'
import { periodsOf } from './periods.ts'

/** The present period. */
export type PresentPeriod = {
  readonly label: string
  /** The first moment behind it, as ISO 8601. */
  readonly ends: string
  readonly startsUs: number
  readonly endsUs: number
  /** How many numbers it has. */
  readonly size: bigint
  /** How many of its numbers are at or above the bound. */
  readonly left: bigint
  /** Its last id. */
  readonly lastId: bigint
}

/**
 * The present period of a definition; undefined: it has none. `bound`: the first id of all that was not issued. The period of the ids
 * below it goes on where it is ahead of the clock.
 */
export function presentPeriod(
  definition: Definition,
  bound: bigint,
  nowUs: number,
): PresentPeriod | undefined {
  const periods = periodsOf(definition)
  if (periods === undefined) return undefined
  const ordinal = Math.max(periods.ordinalAt(nowUs), periods.split(bound - 1n)?.ordinal ?? 0)
  const [first, end] = [periods.firstId(ordinal) + definition.start!, periods.endId(ordinal)]
  const endsUs = periods.endUs(ordinal)
  return {
    label: String(periods.label(ordinal)),
    ends: momentText(BigInt(endsUs)),
    startsUs: periods.startUs(ordinal),
    endsUs,
    size: end - first,
    left: end - (bound < first ? first : bound),
    lastId: end - 1n,
  }
}

/**
 * When the numbers of a period run out, in Unix µs; undefined: not before it ends. They go on as they have gone since it began, or since
 * a tenth of it; and where less than a quarter is left, as they go now, if that is faster. A burst of minutes says nothing of a year.
 * `left`: with those that are buffered. `perSecond`: now.
 */
export function overflowUs(
  { startsUs, endsUs, size }: Pick<PresentPeriod, 'startsUs' | 'endsUs' | 'size'>,
  left: number,
  perSecond: number,
  nowUs: number,
): number | undefined {
  if (left <= 0) return nowUs
  const passedUs = Math.max(nowUs - startsUs, (endsUs - startsUs) / 10)
  const average = (Number(size) - left) / passedUs
  const perUs = left * 4 < Number(size) ? Math.max(average, perSecond / 1_000_000) : average
  const us = nowUs + left / perUs
  return us < endsUs ? us : undefined
}

/** What to know about the present period, in one sentence. `endUs`: when its numbers run out, if before its end. */
export function presentNotes({ label, ends, left }: PresentPeriod, endUs: number | undefined): string[] {
  if (endUs === undefined) return []
  const when =
    left === 0n ? 'have run out' : `run out on ${momentText(BigInt(Math.round(endUs)))} if they go on so`
  return [
    `the numbers of period ${label} ${when}, before it ends on ${ends}: alter it to a larger width, with a format that has room, as {id:8+}`,
  ]
}
