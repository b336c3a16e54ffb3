/** Moments and spans of time as people write them, and back. */
import { FahaoError } from '../base/errors.ts'
import { shortened } from './shortened.ts'

/** How people give a moment: ISO date-time with a zone, Unix milliseconds (a number, or its digits), or a Date. */
export type MomentInput = string | number | bigint | Date

const isoPattern = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(:\d\d(?:\.\d{1,3})?)?(Z|([+-])(\d\d):(\d\d))$/
const latestMs = Date.UTC(2200, 0, 1)
const dateLimitUs = 8_640_000_000_000_000_000n
const yearUs = 31_556_952_000_000n

/**
 * The moment in µs since 1970-01-01T00:00:00Z. Throws ERR for a date without a zone (it would mean another
 * moment on another machine), for a date that no calendar has, and outside the years 1970 to 2199.
 */
export function parseMomentUs(input: MomentInput, what: string): number {
  const ms = typeof input === 'string' && !/^\d+$/.test(input) ? parseIsoMs(input, what) : Number(input)
  if (!Number.isSafeInteger(ms) || ms < 0 || ms >= latestMs) {
    throw new FahaoError(
      'ERR',
      `${what} ${shortened(String(input))} is no moment from 1970 to 2199; give an ISO date-time with a zone, or whole Unix milliseconds`,
    )
  }
  return ms * 1000
}

function parseIsoMs(text: string, what: string): number {
  const match = isoPattern.exec(text)
  if (match === null) {
    const zoneless = /^\d{4}-\d\d-\d\d(?:[T ][\d:.]*)?$/.test(text)
    const reason = zoneless
      ? 'has no time and zone, so it would mean another moment in another place'
      : 'is no date-time'
    throw new FahaoError(
      'ERR',
      `${what} '${shortened(text)}' ${reason}; write it like 2020-01-01T00:00:00Z or …+08:00`,
    )
  }
  const [, day, minute, second, , sign, zoneHour, zoneMinute] = match
  const local = `${day}T${minute}${second ?? ':00'}`
  const localMs = Date.parse(`${local}Z`)
  // Date.parse lets 30 February slip into March, and 24:00 into the next day.
  const exists = !Number.isNaN(localMs) && new Date(localMs).toISOString().startsWith(`${day}T${minute}`)
  const zoneMinutes = sign === undefined ? 0 : Number(zoneHour) * 60 + Number(zoneMinute)
  if (!exists || Number(zoneMinute ?? 0) > 59 || zoneMinutes > 14 * 60) {
    throw new FahaoError('ERR', `${what} '${text}' is a date-time that does not exist; correct it`)
  }
  return localMs - (sign === '-' ? -zoneMinutes : zoneMinutes) * 60_000
}

/**
 * A moment as ISO text in UTC: with milliseconds where it has some, with microseconds where it has those.
 * Beyond what a Date can hold (the year 275760): `about the year 584542`.
 */
export function momentText(unixUs: bigint): string {
  if (unixUs > dateLimitUs || unixUs < -dateLimitUs) return `about the year ${1970n + unixUs / yearUs}`
  const microseconds = Number(((unixUs % 1000n) + 1000n) % 1000n)
  const iso = new Date(Number((unixUs - BigInt(microseconds)) / 1000n)).toISOString()
  if (microseconds !== 0) return iso.replace('Z', `${String(microseconds).padStart(3, '0')}Z`)
  return iso.replace('.000Z', 'Z')
}

const unitNamesUs = { us: 1, ms: 1000, s: 1_000_000, m: 60_000_000, h: 3_600_000_000 } as const
const unitMaxUs = 86_400_000_000

/** The unit of a time field in µs, from `us`, `ms`, `10ms`, `s`, `250us`, `1m`. Throws ERR. */
export function parseUnitUs(text: string): number {
  const match = /^(\d{1,11})?(us|ms|s|m|h)$/.exec(text)
  const unitUs =
    match === null ? 0 : Number(match[1] ?? 1) * unitNamesUs[match[2] as keyof typeof unitNamesUs]
  if (unitUs < 1 || unitUs > unitMaxUs) {
    throw new FahaoError(
      'ERR',
      `unit '${text}' is no span from 1us to 24h; write us, ms, 10ms, s or the like`,
    )
  }
  return unitUs
}

/** The shortest text that `parseUnitUs` reads as this unit; in seconds at most, so that there is only one. */
export function unitText(unitUs: number): string {
  const name = unitUs % 1_000_000 === 0 ? 's' : unitUs % 1000 === 0 ? 'ms' : 'us'
  const count = unitUs / unitNamesUs[name]
  return count === 1 ? name : `${count}${name}`
}
