/**
 * Periods of a calendar: hours, days, ISO weeks, months, quarters and years of a zone, whose counters begin again.
 *
 * An id of a period is `label · 10^width + number`. The label is what people call the period: 2026112613 (hour), 20261126,
 * 202648 (ISO week), 202611, 20264 (quarter), 2026 (year; the year in which it begins, where years begin on another day).
 *
 * The local calendar of a zone can go back, and can skip. A period begins at the first moment at which the calendar shows it
 * or a later one, and ends where the next one begins. So periods follow one another whatever the calendar does: an hour that
 * comes again goes on, and a day that is skipped has no moments.
 *
 * Invariants
 *  1. Periods have ordinals, consecutive whole numbers from 0. A larger ordinal has a larger label, and larger ids.
 *  2. `ordinalAt` never falls where time grows: `startUs` is monotone, and `startUs(ordinalAt(t)) ≤ t < endUs(ordinalAt(t))`.
 *  3. `[#fromUs, #untilUs)` is the period `#ordinal`, or empty.
 */
import { FahaoError } from '../base/errors.ts'
import { daysBefore1970, isoWeekOf, mondayOf } from './iso-week.ts'
import { type MomentInput, parseMomentUs } from './moment.ts'
import { shortened } from './shortened.ts'
import { isPlainZone, type LocalTime, localTimeIn, refusedZone } from './zone.ts'

/** The lengths of periods, the shortest first. */
export const periodUnits = ['hour', 'day', 'week', 'month', 'quarter', 'year'] as const

/** The length of a period. */
export type PeriodUnit = (typeof periodUnits)[number]

/** How many digits the label of a period has. */
export const labelDigits: Readonly<Record<PeriodUnit, number>> = {
  hour: 10,
  day: 8,
  week: 6,
  month: 6,
  quarter: 5,
  year: 4,
}

/** The most digits of an id of a period. */
export const periodDigitsMax = 18

/** What periods are made from. */
export type PeriodOptions = {
  readonly unit: PeriodUnit
  /** UTC, an offset such as +08:00, or Area/City. */
  readonly zone: string
  /** The day on which years begin, `MM-DD`: not 02-29. */
  readonly yearStart: string
  /** How many digits the number in a period has. */
  readonly width: number
  /** The local time of the zone: for tests. */
  readonly localTime?: LocalTime
}

/** What is in the definition of a generator with periods. */
export type PeriodDefinition = {
  readonly period?: PeriodUnit | undefined
  readonly zone?: string | undefined
  /** `MM-DD`; of years alone. */
  readonly yearStart?: string | undefined
  /** How many digits the number in a period has. */
  readonly width?: number | undefined
  /** How many periods before the current one can still be numbered. */
  readonly keep?: number | undefined
}

/** An id of a period, taken apart. */
export type PeriodId = { readonly ordinal: number; readonly label: bigint; readonly number: bigint }

const hourMs = 3_600_000
const dayMs = 24 * hourMs
/** No zone has ever been further from UTC. */
const zoneMaxMs = 16 * hourMs
/** No zone changes twice within this time. */
const probeMs = 8 * hourMs
const startsMax = 16

/** The periods of one unit in one zone. */
export class Periods {
  readonly unit: PeriodUnit
  readonly zone: string
  readonly yearStart: string
  readonly width: number
  /** 10^width: the ids from one label to the next. */
  readonly size: bigint
  readonly #local: LocalTime
  readonly #startMonth: number
  readonly #startDay: number
  /** When some periods begin: a zone takes long to tell. */
  readonly #starts = new Map<number, number>()
  #fromUs = 0
  #untilUs = 0
  #ordinal = 0

  /** Throws ERR for a zone that is unknown or ambiguous, a day that not every year has, and ids of too many digits. */
  constructor({ unit, zone, yearStart, width, localTime }: PeriodOptions) {
    this.unit = unit
    this.zone = zone
    this.yearStart = yearStart
    this.width = width
    this.size = 10n ** BigInt(width)
    if (!isPlainZone(zone)) throw refusedZone(zone)
    this.#local = localTime ?? localTimeIn(zone)
    const [, month, day] = /^(\d\d)-(\d\d)$/.exec(yearStart) ?? []
    this.#startMonth = Number(month) - 1
    this.#startDay = Number(day)
    if (!isDayOf(2001, this.#startMonth, this.#startDay))
      throw refused(
        `yearStart '${shortened(yearStart)}' is no day of every year; write it as MM-DD, like 04-01`,
      )
    const digits = labelDigits[unit] + width
    if (width < 1 || digits > periodDigitsMax)
      throw refused(
        `ids of a period would have ${labelDigits[unit]} digits for the ${unit} and ${width} for the number; give a width from 1 to ${periodDigitsMax - labelDigits[unit]}`,
      )
  }

  /** The period of a moment in Unix µs. */
  ordinalAt(unixUs: number): number {
    if (unixUs >= this.#fromUs && unixUs < this.#untilUs) return this.#ordinal
    const ordinal = this.ordinalOfMoment(unixUs)
    this.#fromUs = this.startUs(ordinal)
    this.#untilUs = this.endUs(ordinal)
    this.#ordinal = ordinal
    return ordinal
  }

  /** As `ordinalAt`, of a moment that is not the present one. */
  ordinalOfMoment(unixUs: number): number {
    let ordinal = this.ordinalOfWall(this.#local(Math.floor(unixUs / 1000)))
    // The calendar may have gone back behind a beginning that it has shown.
    while (this.startUs(ordinal + 1) <= unixUs) ordinal++
    return ordinal
  }

  /** The period of a day, `2026-11-25`, or of a moment. Throws ERR for neither, and for a day where periods are hours. */
  ordinalOfDay(day: MomentInput): number {
    const [, year, month, date] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(String(day)) ?? []
    if (year === undefined) return this.ordinalOfMoment(parseMomentUs(day, 'at'))
    const parts = [Number(year), Number(month) - 1, Number(date)] as const
    if (!isDayOf(...parts) || parts[0] < 1970 || parts[0] >= 2200)
      throw refused(`at '${day}' is no day from 1970 to 2199; correct it`)
    if (this.unit === 'hour')
      throw refused(`at '${day}' has 24 periods of an hour; give a moment like ${day}T13:00:00Z`)
    return this.ordinalOfWall(Date.UTC(...parts))
  }

  /** The first moment of a period, in Unix µs. */
  startUs(ordinal: number): number {
    const known = this.#starts.get(ordinal)
    if (known !== undefined) return known
    const us = this.#firstMs(this.wallMs(ordinal)) * 1000
    if (this.#starts.size >= startsMax) this.#starts.clear()
    this.#starts.set(ordinal, us)
    return us
  }

  /** The first moment behind a period, in Unix µs. */
  endUs(ordinal: number): number {
    return this.startUs(ordinal + 1)
  }

  /** The local time at which a period begins by the calendar, in ms as if it were UTC. */
  wallMs(ordinal: number): number {
    switch (this.unit) {
      case 'hour':
        return (ordinal - daysBefore1970 * 24) * hourMs
      case 'day':
        return (ordinal - daysBefore1970) * dayMs
      case 'week':
        return (ordinal * 7 - daysBefore1970) * dayMs
      case 'month':
        return Date.UTC(1970, ordinal - 1970 * 12)
      case 'quarter':
        return Date.UTC(1970, (ordinal - 1970 * 4) * 3)
      case 'year':
        return Date.UTC(ordinal, this.#startMonth, this.#startDay)
    }
  }

  /** What people call a period. */
  label(ordinal: number): bigint {
    if (this.unit === 'week') {
      const { year, week } = isoWeekOf(this.wallMs(ordinal))
      return BigInt(year * 100 + week)
    }
    const iso = new Date(this.wallMs(ordinal)).toISOString()
    if (this.unit === 'quarter') return BigInt(iso.slice(0, 4) + ((ordinal % 4) + 1))
    return BigInt(iso.replace(/\D/g, '').slice(0, labelDigits[this.unit]))
  }

  /** The period that people call so. */
  ordinalOf(label: bigint): number | undefined {
    const digits = String(label)
    if (digits.length !== labelDigits[this.unit]) return undefined
    const [year, two, day, hour] = [0, 4, 6, 8].map((at) => Number(digits.slice(at, at === 0 ? 4 : at + 2)))
    const wallMs =
      this.unit === 'week'
        ? mondayOf(year!) + (two! - 1) * 7 * dayMs
        : this.unit === 'year'
          ? Date.UTC(year!, this.#startMonth, this.#startDay)
          : Date.UTC(year!, (this.unit === 'quarter' ? two! * 3 - 2 : two!) - 1, day || 1, hour)
    const ordinal = year! < 1969 ? -1 : this.ordinalOfWall(wallMs)
    return ordinal >= 0 && this.label(ordinal) === label ? ordinal : undefined
  }

  /** The id before the first number of a period: its number is 0. */
  firstId(ordinal: number): bigint {
    return this.label(ordinal) * this.size
  }

  /** The first id behind all of a period. */
  endId(ordinal: number): bigint {
    return (this.label(ordinal) + 1n) * this.size
  }

  /** Takes an id apart; undefined: it is of no period. */
  split(id: bigint): PeriodId | undefined {
    const label = id / this.size
    const ordinal = this.ordinalOf(label)
    return ordinal === undefined ? undefined : { ordinal, label, number: id % this.size }
  }

  /** The period that the calendar shows at a local time, in ms as if it were UTC. */
  ordinalOfWall(wallMs: number): number {
    const days = Math.floor(wallMs / dayMs) + daysBefore1970
    const date = new Date(wallMs)
    const year = date.getUTCFullYear()
    const month = date.getUTCMonth()
    switch (this.unit) {
      case 'hour':
        return Math.floor(wallMs / hourMs) + daysBefore1970 * 24
      case 'day':
        return days
      case 'week':
        return Math.floor(days / 7)
      case 'month':
        return year * 12 + month
      case 'quarter':
        return year * 4 + Math.floor(month / 3)
      case 'year':
        return wallMs < Date.UTC(year, this.#startMonth, this.#startDay) ? year - 1 : year
    }
  }

  /** The first moment at which the calendar shows a local time or a later one, in Unix ms. */
  #firstMs(wallMs: number): number {
    let fromMs = wallMs - zoneMaxMs
    while (true) {
      const shiftMs = this.#local(fromMs) - fromMs
      const untilMs = fromMs + probeMs
      const changeMs = this.#local(untilMs) - untilMs === shiftMs ? untilMs : this.#changeMs(fromMs, untilMs)
      if (wallMs - shiftMs < changeMs) return Math.max(wallMs - shiftMs, fromMs)
      fromMs = changeMs
    }
  }

  /** The first moment of another shift than the one at `fromMs`. */
  #changeMs(fromMs: number, untilMs: number): number {
    const shiftMs = this.#local(fromMs) - fromMs
    let [low, high] = [fromMs, untilMs]
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2)
      if (this.#local(middle) - middle === shiftMs) low = middle
      else high = middle
    }
    return high
  }
}

const known = new Map<string, Periods>()
const knownMax = 1000

/** The periods of a definition; undefined: it has none. Equal ones are one object. */
export function periodsOf(definition: PeriodDefinition): Periods | undefined {
  const { period: unit, zone = 'UTC', yearStart = '01-01', width } = definition
  if (unit === undefined) return undefined
  const key = `${unit} ${zone} ${yearStart} ${width}`
  const found = known.get(key)
  if (found !== undefined) return found
  const periods = new Periods({ unit, zone, yearStart, width: width! })
  if (known.size >= knownMax) known.clear()
  known.set(key, periods)
  return periods
}

function isDayOf(year: number, month: number, day: number): boolean {
  const date = new Date(Date.UTC(year, month, day))
  return date.getUTCFullYear() === year && date.getUTCMonth() === month && date.getUTCDate() === day
}

function refused(reason: string): FahaoError {
  return new FahaoError('ERR', reason)
}
