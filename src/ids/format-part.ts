/** The parts of a format: text, the id, the node, the date, the check digit. */
import { FahaoError } from '../base/errors.ts'
import { type Alphabet, crockford } from './alphabet.ts'
import type { CheckDigits, CheckName } from './check-digit.ts'
import { isoWeekOf } from './iso-week.ts'
import { max63 } from './limits.ts'
import { shortened } from './shortened.ts'
import { isPlainZone, type LocalTime, localTimeIn, refusedZone } from './zone.ts'

/** The values that a format may show beside the id. */
export type FormatValues = {
  /** The node's index; `needsNode` tells whether it is wanted. */
  readonly node?: number | undefined
  /** The moment to show, in Unix µs; `needsTime` tells whether it is wanted. */
  readonly unixUs?: number | undefined
  /** The last moment of a period, in Unix µs: its end shows it. */
  readonly endUs?: number | undefined
}

/** A part of a format beside the id. It has a fixed width, which is why every format can be read back. */
export interface FormatPart {
  /** Characters (UTF-16 units). */
  readonly width: number
  write(id: bigint, values: FormatValues): string
  /** What this part writes where a reader typed `typed`. Throws ERR if it can be nothing that it writes. */
  read(typed: string): string
}

/** What the text of an id consists of. Only the id and the check digits differ from one id to the next. */
export type TextShape = {
  readonly before: string
  readonly id: IdPart
  /** Between the id and the check digits; without check digits all that follows the id. */
  readonly between: string
  readonly check: CheckDigits | undefined
  /** Whether the check digits stand in front of the id: then `between` stands between them and the id. */
  readonly checksFirst: boolean
  readonly after: string
}

/** Fixed text. */
export class LiteralPart implements FormatPart {
  readonly width: number
  readonly #text: string

  constructor(text: string) {
    this.#text = text
    this.width = text.length
  }

  write(): string {
    return this.#text
  }

  read(typed: string): string {
    if (small(typed) === small(this.#text)) return this.#text
    throw notOfFormat(`'${shortened(typed)}' stands where '${shortened(this.#text)}' belongs`)
  }
}

/** The most digits of an id. */
export const idWidthMax = 64

/** Between two characters of an id, where hyphens and spaces help the eye. */
const separators = /(?<=[^- ])[- ](?=[^- ])/g

/** The id itself. */
export class IdPart {
  /** Characters; undefined: as many as the id needs. */
  readonly width: number | undefined
  /** Digits; undefined: as many as the id needs. */
  readonly digits: number | undefined
  readonly alphabet: Alphabet
  /** How many digits stand between two hyphens, from the first on. 0: there are no hyphens. */
  readonly group: number
  /** The fewest digits, where there is no fixed number of them. */
  readonly least: number
  /** Whether the id may be typed with hyphens and spaces that help the eye, or without. */
  readonly isSpaced: boolean
  /** The largest id that fits. */
  readonly maxId: bigint

  constructor(digits: number | undefined, alphabet: Alphabet, group = 0, least = 0) {
    this.digits = digits
    this.alphabet = alphabet
    this.group = group
    this.least = least
    this.isSpaced = group > 0 || alphabet === crockford
    this.width = digits && digits + this.hyphensIn(digits)
    const fits = digits === undefined ? max63 : BigInt(alphabet.radix) ** BigInt(digits) - 1n
    this.maxId = fits < max63 ? fits : max63
  }

  /** The number of hyphens that group a number of digits. */
  hyphensIn(digits: number): number {
    return this.group === 0 ? 0 : Math.floor((digits - 1) / this.group)
  }

  write(id: bigint): string {
    return this.grouped(this.digitsOf(id))
  }

  /** The digits of an id. */
  digitsOf(id: bigint): string {
    if (id < 0n) throw new FahaoError('ERR', `id ${id} is negative; ids are 0 or more`)
    if (id > this.maxId) {
      throw new FahaoError(
        'EXHAUSTED',
        `id ${id} is wider than its format allows; the largest is ${this.maxId}`,
      )
    }
    const text = this.alphabet.write(id)
    return text.padStart(this.digits ?? this.least, this.alphabet.digits[0])
  }

  /** Digits with hyphens. */
  grouped(digits: string): string {
    if (this.group === 0) return digits
    let text = digits.slice(0, this.group)
    for (let at = this.group; at < digits.length; at += this.group)
      text += `-${digits.slice(at, at + this.group)}`
    return text
  }

  /** The id that a reader meant. Throws ERR. */
  read(typed: string): bigint {
    const plain = this.isSpaced && typed.length <= 2 * idWidthMax ? typed.replace(separators, '') : typed
    const isSized = this.digits === undefined ? plain.length <= idWidthMax : plain.length === this.digits
    const id = plain !== '' && isSized ? this.alphabet.read(plain) : undefined
    if (id === undefined || id > this.maxId) {
      throw notOfFormat(`'${shortened(typed)}' is no id of ${this.alphabet.name} up to ${this.maxId}`)
    }
    if (plain.length !== this.digitsOf(id).length) {
      throw notOfFormat(`'${shortened(typed)}' has zeros in front`)
    }
    return id
  }
}

/** The node's index, padded to a fixed width. */
export class NodePart implements FormatPart {
  readonly width: number

  constructor(width: number) {
    this.width = width
  }

  write(_id: bigint, { node }: FormatValues): string {
    if (node === undefined) {
      throw new FahaoError('ERR', 'the format shows the node, and this node has no index; give --node-index')
    }
    if (!Number.isSafeInteger(node) || node < 0 || node >= 10 ** this.width) {
      throw new FahaoError(
        'ERR',
        `node ${node} does not fit ${this.width} digits; write {node:N} with a larger N`,
      )
    }
    return String(node).padStart(this.width, '0')
  }

  read(typed: string): string {
    if (!/^\d+$/.test(typed)) throw notOfFormat(`'${shortened(typed)}' is no node`)
    return typed
  }
}

/** What a format can show of its generator: its name, or the part of it that a template calls `{tenant}`. */
export type Shown = 'name' | 'tenant'

/** The name of the generator, or its tenant, before it is known. */
export class NamePart implements FormatPart {
  readonly width = 0
  readonly shows: Shown

  constructor(shows: Shown) {
    this.shows = shows
  }

  write(): string {
    throw new FahaoError(
      'ERR',
      `the format shows {${this.shows}}; ask for texts by the name of the generator`,
    )
  }

  read(): string {
    return this.write()
  }
}

/** Where the check digits stand. What they are follows from the other parts. */
export class CheckPart {
  readonly name: CheckName

  constructor(name: CheckName) {
    this.name = name
  }
}

/** The tokens of a date pattern: where each stands in `dateText`, and its range. */
const tokens = {
  yyyy: { at: 0, min: 1970, max: 9999 },
  yy: { at: 2, min: 0, max: 99 },
  MM: { at: 5, min: 1, max: 12 },
  dd: { at: 8, min: 1, max: 31 },
  HH: { at: 11, min: 0, max: 23 },
  mm: { at: 14, min: 0, max: 59 },
  ss: { at: 17, min: 0, max: 59 },
  SSS: { at: 20, min: 0, max: 999 },
  YYYY: { at: 24, min: 1970, max: 9999 },
  ww: { at: 28, min: 1, max: 53 },
  Q: { at: 30, min: 1, max: 4 },
} as const

/** A token of a date pattern. */
export type DateToken = keyof typeof tokens

const dateEndUs = Date.UTC(9999, 11, 31) * 1000

/** How a date is read and written. */
export type DateOptions = {
  /** Takes ambiguous zones too. */
  readonly anyZone?: boolean | undefined
  /** Shows the end of a period instead of its beginning. */
  readonly isEnd?: boolean
}

/**
 * A date by a pattern of yyyy yy MM dd HH mm ss SSS YYYY ww Q and - _ . / in a zone of the IANA database. Its text is made once a
 * second, because a call of Intl takes microseconds.
 */
export class DatePart implements FormatPart {
  readonly width: number
  /** Whether it shows the end of a period. */
  readonly isEnd: boolean
  readonly #pieces: readonly string[]
  readonly #local: LocalTime
  #second = Number.NaN
  /** The text of `#second`, cut where the milliseconds go. */
  #beforeMs = ''
  #afterMs = ''
  readonly #hasMs: boolean

  /** The zone, if it is an abbreviation that means different times to different people. */
  readonly ambiguousZone: string | undefined

  /** Throws ERR for another pattern or an unknown zone, and, unless `anyZone`, for an ambiguous one. */
  constructor(pattern: string, zone: string, { anyZone = false, isEnd = false }: DateOptions = {}) {
    this.#pieces = piecesOf(pattern)
    this.isEnd = isEnd
    this.ambiguousZone = isPlainZone(zone) ? undefined : zone
    if (this.ambiguousZone !== undefined && !anyZone) throw refusedZone(zone)
    this.#local = localTimeIn(zone)
    this.#hasMs = this.#pieces.includes('SSS')
    this.width = pattern.length
  }

  write(_id: bigint, values: FormatValues): string {
    const unixUs = this.isEnd ? values.endUs : values.unixUs
    if (unixUs === undefined || !(unixUs >= 0 && unixUs < dateEndUs)) {
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

  read(typed: string): string {
    let at = 0
    for (const piece of this.#pieces) {
      const part = typed.slice(at, at + piece.length)
      at += piece.length
      if (isToken(piece) ? !fits(part, piece) : part !== piece)
        throw notOfFormat(`'${shortened(typed)}' is no such date`)
    }
    return typed
  }

  /** Whether its pattern has a token. */
  shows(token: DateToken): boolean {
    return this.#pieces.includes(token)
  }

  /** The values of its tokens in a text that it wrote. */
  values(text: string): Partial<Record<DateToken, number>> {
    let at = 0
    const found = this.#pieces.map((piece) => {
      at += piece.length
      return [piece, Number(text.slice(at - piece.length, at))] as const
    })
    return Object.fromEntries(found.filter(([piece]) => isToken(piece)))
  }

  #turn(second: number): void {
    const iso = dateText(this.#local(second * 1000))
    const cut = this.#hasMs ? this.#pieces.indexOf('SSS') : this.#pieces.length
    this.#beforeMs = textOf(this.#pieces.slice(0, cut), iso)
    this.#afterMs = textOf(this.#pieces.slice(cut + 1), iso)
    this.#second = second
  }
}

/** A local time as ISO text, and behind that its ISO year and week, and its quarter. */
function dateText(localMs: number): string {
  const iso = new Date(localMs).toISOString()
  const { year, week } = isoWeekOf(localMs)
  return `${iso}${year}${String(week).padStart(2, '0')}${Math.ceil(Number(iso.slice(5, 7)) / 3)}`
}

function textOf(pieces: readonly string[], iso: string): string {
  return pieces
    .map((piece) => (isToken(piece) ? iso.slice(tokens[piece].at).slice(0, piece.length) : piece))
    .join('')
}

function piecesOf(pattern: string): readonly string[] {
  const found: readonly string[] = pattern.match(/yyyy|yy|MM|dd|HH|mm|ss|SSS|YYYY|ww|Q|[-_./]/g) ?? []
  const repeated = found.find((piece, at) => isToken(piece) && found.indexOf(piece) !== at)
  if (found.join('') !== pattern || !found.some(isToken) || repeated !== undefined) {
    throw new FahaoError(
      'ERR',
      `date '${shortened(pattern)}' is not made of yyyy yy MM dd HH mm ss SSS YYYY ww Q, once each, and - _ . /; write it like yyyyMMdd`,
    )
  }
  return found
}

function isToken(piece: string): piece is DateToken {
  return Object.hasOwn(tokens, piece)
}

function fits(text: string, token: DateToken): boolean {
  const { min, max } = tokens[token]
  return text.length === token.length && /^\d+$/.test(text) && Number(text) >= min && Number(text) <= max
}

/** The error of `parse`: this text was not written by the format. */
export function notOfFormat(reason: string): FahaoError {
  return new FahaoError('ERR', `the text was not written by this format: ${reason}; check what was typed`)
}

/** ASCII letters as small ones: the length stays. */
function small(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
}
