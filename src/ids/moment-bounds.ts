/**
 * Which ids are of which moments. The ids of a span of time lie in one half-open range where time is the highest field that
 * differs. Where others stand above it, there is one range for each of their values.
 */
import { FahaoError } from '../base/errors.ts'
import { unitsAt } from './id-parts.ts'
import { type Layout, ones, timeEndUs } from './layout.ts'
import { max63 } from './limits.ts'
import { type MomentInput, momentText, parseMomentUs } from './moment.ts'
import type { Periods } from './period.ts'

/** Raw ids from `start` on, without `end`. Undefined: all above, because the end is 2^63, which is no id. */
export type IdBounds = { readonly start: bigint; readonly end: bigint | undefined }

/** The ranges of a span of time. */
export type SpanBounds = {
  /** In ascending order, without overlaps. None: the span holds no ids. */
  readonly ranges: readonly IdBounds[]
  /** What to know about them, each in one sentence. */
  readonly notes: readonly string[]
}

/** The ranges of a generator. */
export type GeneratorBounds = SpanBounds & {
  /** The same in its format; undefined where there is none, or its texts are not in the order of ids. */
  readonly texts: readonly { readonly start: string; readonly end: string | undefined }[] | undefined
  /** A condition of SQL on a column `id`: of texts where there are some, else of raw ids. */
  readonly where: string
}

/** More ranges than these make no condition that a database would plan well. */
const rangesMax = 1024

/**
 * The raw ids of the moments from `from` up to, and without, `to`; without `to` of all later moments too. A moment counts as
 * the beginning of its unit, so that spans which follow one another have ranges which do. A moment before the epoch counts as the
 * epoch. Throws ERR where `to` is before `from`, and where the layout has too many ranges.
 */
export function bounds(layout: Layout, from: MomentInput, to?: MomentInput): SpanBounds {
  const fromUs = parseMomentUs(from, 'from')
  const toUs = to === undefined ? undefined : parseMomentUs(to, 'to')
  if (toUs !== undefined && toUs < fromUs)
    throw new FahaoError(
      'ERR',
      `to ${momentText(BigInt(toUs))} is before from ${momentText(BigInt(fromUs))}; exchange them`,
    )
  const ends = 1n << BigInt(layout.timeBits)
  const [first, last] = [fromUs, toUs].map((us) =>
    us === undefined ? ends : within(unitsAt(layout, us), ends),
  )
  const above = valuesAbove(layout)
  const ranges = first! < last! ? above.map((value) => range(layout, value, first!, last!)) : []
  return { ranges, notes: notesOf(layout, fromUs, toUs, above.length, ranges.length === 0) }
}

/**
 * As `bounds`, of ids of periods: a day, or a moment, counts as the beginning of its period. Throws ERR where `to` is before `from`, and for
 * a day where periods are hours.
 */
export function periodBounds(periods: Periods, from: MomentInput, to?: MomentInput): SpanBounds {
  const first = periods.ordinalOfDay(from)
  const last = to === undefined ? undefined : periods.ordinalOfDay(to)
  if (last !== undefined && last < first)
    throw new FahaoError('ERR', `to ${to} is before from ${from}; exchange them`)
  if (last === first)
    return {
      ranges: [],
      notes: [`the span begins no ${periods.unit}, so it has no ids; give a TO in a later one`],
    }
  return {
    ranges: [{ start: periods.firstId(first), end: last === undefined ? undefined : periods.firstId(last) }],
    notes: [],
  }
}

/** A condition of SQL on a column for the ids of these ranges, which are numbers, or texts. */
export function condition(
  ranges: readonly { readonly start: bigint | string; readonly end: bigint | string | undefined }[],
  column: string,
): string {
  if (ranges.length === 0) return '1 = 0'
  const terms = ranges.map(({ start, end }) => {
    const below = end === undefined ? '' : ` AND ${column} < ${literal(end)}`
    return `${column} >= ${literal(start)}${below}`
  })
  return terms.length === 1 ? terms[0]! : terms.map((term) => `(${term})`).join(' OR ')
}

function literal(id: bigint | string): string {
  return typeof id === 'bigint' ? String(id) : `'${id.replaceAll("'", "''")}'`
}

function within(units: bigint, ends: bigint): bigint {
  if (units < 0n) return 0n
  return units < ends ? units : ends
}

function range(layout: Layout, above: bigint, first: bigint, last: bigint): IdBounds {
  // The smallest id of a moment, with the fixed bits below its time.
  const smallest = layout.fixed & ones(layout.timeShift)
  const at = (units: bigint) => above + (units << BigInt(layout.timeShift))
  const isFull = last === 1n << BigInt(layout.timeBits)
  const end = isFull ? at(last) : at(last) | smallest
  return { start: at(first) | smallest, end: end > max63 ? undefined : end }
}

/** All values of the bits above time, in place. */
function valuesAbove(layout: Layout): bigint[] {
  const bottom = BigInt(layout.timeShift + layout.timeBits)
  const fixed = (layout.fixed >> bottom) << bottom
  const free = ((ones(layout.totalBits) & ~layout.fixedMask) >> bottom) << bottom
  const count = 1n << BigInt(free.toString(2).replaceAll('0', '').length)
  if (count > rangesMax)
    throw new FahaoError(
      'ERR',
      `the layout has ${count} ranges of ids for any span, one for each value of the fields above time; keep the time in a column of its own, or use a layout with time above the others`,
    )
  const values: bigint[] = []
  let value = 0n
  do {
    values.push(fixed | value)
    value = (value - free) & free
  } while (value !== 0n)
  return values
}

function notesOf(
  layout: Layout,
  fromUs: number,
  toUs: number | undefined,
  count: number,
  isEmpty: boolean,
): string[] {
  const endUs = timeEndUs(layout)
  const epoch = momentText(BigInt(layout.epochUs))
  const notes: string[] = []
  if (fromUs < layout.epochUs) notes.push(`no id is of a moment before the layout’s epoch, ${epoch}`)
  const isPastEnd = fromUs >= endUs
  if (isPastEnd || (toUs !== undefined && toUs > endUs))
    notes.push(`no id is of a moment after the end of the time field, ${momentText(endUs)}`)
  if (count > 1) notes.push(`each span has ${count} ranges, one for each value of the fields above time`)
  if (isEmpty && !isPastEnd) notes.push('the span holds no whole unit of the layout, so no ids')
  return notes
}
