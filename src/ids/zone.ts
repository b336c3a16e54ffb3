/** What the clocks on the wall of a zone show. */
import { FahaoError } from '../base/errors.ts'
import { shortened } from './shortened.ts'

/** The time on the wall at a moment: both are in ms since 1970, the time on the wall is read as if it were UTC. */
export type LocalTime = (unixMs: number) => number

const offsetPattern = /^([+-])(\d\d):([0-5]\d)$/
const walls = new Map<string, LocalTime>()
const wallsMax = 1000

/** UTC, a fixed offset, or a place. `Etc/GMT+8` is eight hours *behind* UTC, so it is not plain. */
export function isPlainZone(zone: string): boolean {
  return zone === 'UTC' || zone === 'GMT' || offsetPattern.test(zone) || /^(?!Etc\/GMT[+-]).+\/./i.test(zone)
}

/** The error of a zone that is unknown, or ambiguous. */
export function refusedZone(zone: string): FahaoError {
  return new FahaoError(
    'ERR',
    `zone '${shortened(zone)}' is unknown, or means different times to different people; write a place like Asia/Shanghai, an offset like +08:00, or UTC`,
  )
}

/** The local time of a zone. Throws ERR if it is unknown. */
export function localTimeIn(zone: string): LocalTime {
  const known = walls.get(zone)
  if (known !== undefined) return known
  const made = madeFor(zone)
  if (walls.size >= wallsMax) walls.clear()
  walls.set(zone, made)
  return made
}

function madeFor(zone: string): LocalTime {
  if (zone === 'UTC' || zone === 'GMT') return (unixMs) => unixMs
  const [, sign, hours, minutes] = offsetPattern.exec(zone) ?? []
  if (sign === undefined) return ofPlace(zone)
  if (Number(hours) > 14) throw refusedZone(zone)
  const shiftMs = (Number(hours) * 60 + Number(minutes)) * (sign === '-' ? -60_000 : 60_000)
  return (unixMs) => unixMs + shiftMs
}

function ofPlace(zone: string): LocalTime {
  const wall = wallClock(zone)
  return (unixMs) => {
    const parts = wall.formatToParts(unixMs).map(({ type, value }) => [type, Number(value)])
    const { year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0 } = Object.fromEntries(parts)
    return Date.UTC(year, month - 1, day, hour, minute, second) + (((unixMs % 1000) + 1000) % 1000)
  }
}

function wallClock(zone: string): Intl.DateTimeFormat {
  const two = '2-digit'
  try {
    return new Intl.DateTimeFormat('en-US-u-ca-gregory-nu-latn', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: two,
      day: two,
      hour: two,
      minute: two,
      second: two,
    })
  } catch (cause) {
    throw new FahaoError(
      'ERR',
      `zone '${shortened(zone)}' is unknown; write a place like Asia/Shanghai, an offset like +08:00, or UTC`,
      { cause },
    )
  }
}
