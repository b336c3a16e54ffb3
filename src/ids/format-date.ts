/** The date in a format. Its text is made once a second: asking Intl costs microseconds. */
import { FahaoError } from '../base/errors.ts'
import { type FormatPart, type FormatValues, foreign, shown } from './format-part.ts'

/** What a date pattern is made of: token, width, largest value. */
const tokens = {
  yyyy: { width: 4, min: 1970, max: 9999 },
  yy: { width: 2, min: 0, max: 99 },
  MM: { width: 2, min: 1, max: 12 },
  dd: { width: 2, min: 1, max: 31 },
  HH: { width: 2, min: 0, max: 23 },
  mm: { width: 2, min: 0, max: 59 },
  ss: { width: 2, min: 0, max: 59 },
  SSS: { width: 3, min: 0, max: 999 },
} as const

type Token = keyof typeof tokens
type Piece = Token | '-' | '_' | '.' | '/'

const endUs = Date.UTC(9999, 11, 31) * 1000

/** A date by a pattern of yyyy yy MM dd HH mm ss SSS and - _ . / in a zone of the IANA database. */
export class DatePart implements FormatPart {
  readonly width: number
  readonly #pieces: readonly Piece[]
  readonly #fieldsAt: (unixMs: number) => Fields
  #second = Number.NaN
  /** The text of `#second`, cut where the milliseconds go. */
  #beforeMs = ''
  #afterMs = ''
  readonly #hasMs: boolean

  /** Throws ERR for another pattern or an unknown zone. */
  constructor(pattern: string, zone: string) {
    this.#pieces = pieces(pattern)
    this.#fieldsAt = zone === 'UTC' ? utcFields : zoneFields(zone)
    this.#hasMs = this.#pieces.includes('SSS')
    this.width = pattern.length
  }

  write(_id: bigint, { unixUs }: FormatValues): string {
    if (unixUs === undefined || !(unixUs >= 0 && unixUs < endUs)) {
      throw new FahaoError(
        'ERR',
        `the format shows the date, and ${unixUs} is no time in Unix µs; give unixUs`,
      )
    }
    const second = Math.floor(unixUs / 1_000_000)
    if (second !== this.#second) this.#turn(second)
    if (!this.#hasMs) return this.#beforeMs
    const ms = Math.floor(unixUs / 1000) - second * 1000
    return this.#beforeMs + String(ms).padStart(3, '0') + this.#afterMs
  }

  check(text: string): void {
    let at = 0
    for (const piece of this.#pieces) {
      const part = text.slice(at, at + piece.length)
      at += piece.length
      if (isToken(piece) ? !fits(part, piece) : part !== piece)
        throw foreign(`'${shown(text)}' is no such date`)
    }
  }

  #turn(second: number): void {
    const fields = this.#fieldsAt(second * 1000)
    const texts = this.#pieces.map((piece) => (isToken(piece) && piece !== 'SSS' ? fields[piece] : piece))
    const cut = this.#hasMs ? this.#pieces.indexOf('SSS') : texts.length
    this.#beforeMs = texts.slice(0, cut).join('')
    this.#afterMs = texts.slice(cut + 1).join('')
    this.#second = second
  }
}

type Fields = Readonly<Record<Exclude<Token, 'SSS'>, string>>

function pieces(pattern: string): Piece[] {
  const found: readonly string[] = pattern.match(/yyyy|yy|MM|dd|HH|mm|ss|SSS|[-_./]/g) ?? []
  const repeated = found.find((piece, at) => isToken(piece) && found.indexOf(piece) !== at)
  if (found.join('') !== pattern || !found.some(isToken) || repeated !== undefined) {
    throw new FahaoError(
      'ERR',
      `date '${shown(pattern)}' is not made of yyyy yy MM dd HH mm ss SSS, once each, and - _ . /; write it like yyyyMMdd`,
    )
  }
  return found as Piece[]
}

function isToken(piece: string): piece is Token {
  return Object.hasOwn(tokens, piece)
}

function fits(text: string, token: Token): boolean {
  const { width, min, max } = tokens[token]
  return text.length === width && /^\d+$/.test(text) && Number(text) >= min && Number(text) <= max
}

function utcFields(unixMs: number): Fields {
  const iso = new Date(unixMs).toISOString()
  return {
    yyyy: iso.slice(0, 4),
    yy: iso.slice(2, 4),
    MM: iso.slice(5, 7),
    dd: iso.slice(8, 10),
    HH: iso.slice(11, 13),
    mm: iso.slice(14, 16),
    ss: iso.slice(17, 19),
  }
}

/** A zone shifts UTC; the shift is what its wall clock shows, read as if it were UTC. */
function zoneFields(zone: string): (unixMs: number) => Fields {
  const wall = wallClock(zone)
  return (unixMs) => {
    const shown = Object.fromEntries(
      wall.formatToParts(unixMs).map(({ type, value }) => [type, Number(value)]),
    )
    const { year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0 } = shown
    return utcFields(Date.UTC(year, month - 1, day, hour, minute, second))
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
    throw new FahaoError('ERR', `zone '${shown(zone)}' is unknown; write it like Asia/Shanghai or UTC`, {
      cause,
    })
  }
}
