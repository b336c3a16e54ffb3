/**
 * Strings and quoted names as a statement writes them, and their values.
 * https://www.postgresql.org/docs/15/sql-syntax-lexical.html
 *
 * Values with escapes are put together in an array of units: a text that grows by each escape would take 30 bytes for each.
 */
import { isBlank, unterminated } from './characters.ts'
import { positionOf, SqlError } from './sql-error.ts'

/** A value, and where that which stands for it ends. */
export type Unquoted = { readonly value: string; readonly to: number }

const backslash = 92
const quote = 39
const doubleQuote = 34
const lineFeed = 10

/** A string whose content begins at `from`, and its first sign at `at`. Pieces on several lines are one string. */
export function readString(text: string, at: number, from: number, escapes: boolean): Unquoted {
  let value = ''
  for (let start = from; ; ) {
    const end = endOfString(text, at, start, escapes)
    const piece = text.slice(start, end)
    if (escapes && piece.includes('\\')) value += withoutEscapes(piece, start)
    else value += piece.includes("'") ? undoubled(piece, quote) : piece
    const next = nextPiece(text, end + 1)
    if (next === undefined) return { value, to: end + 1 }
    start = next
  }
}

function endOfString(text: string, at: number, from: number, escapes: boolean): number {
  for (let index = from; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit === backslash && escapes) index++
    else if (unit === quote) {
      if (index + 1 === text.length || text.charCodeAt(index + 1) !== quote) return index
      index++
    }
  }
  throw unterminated('quoted string', text, at)
}

/** Where the next piece of a string begins: behind white space with a line feed in it. */
function nextPiece(text: string, from: number): number | undefined {
  let at = from
  let isNextLine = false
  for (let unit = text.charCodeAt(at); isBlank(unit); unit = text.charCodeAt(++at))
    isNextLine ||= unit === lineFeed
  return isNextLine && text.charCodeAt(at) === quote ? at + 1 : undefined
}

/** A text that is put together of units. */
class Units {
  readonly #units: Uint16Array<ArrayBuffer>
  #length = 0
  /** Bytes of a character that is not complete. */
  #bytes: number[] = []

  /** @param max it has at most so many. */
  constructor(max: number) {
    this.#units = new Uint16Array(max)
  }

  add(unit: number): void {
    if (this.#bytes.length > 0) this.#endBytes()
    this.#units[this.#length++] = unit
  }

  /** Adds a character: those above 0xffff are two units. */
  addPoint(point: number): void {
    if (point <= 0xffff) return this.add(point)
    this.add(0xd800 + ((point - 0x10000) >> 10))
    this.add(0xdc00 + ((point - 0x10000) & 0x3ff))
  }

  /** Adds a byte of UTF-8. 22021 at the end of bytes that are no characters. */
  addByte(byte: number): void {
    if (byte < 0x80) this.add(byte)
    else this.#bytes.push(byte)
  }

  #endBytes(): void {
    const bytes = Buffer.from(this.#bytes)
    this.#bytes = []
    const text = bytes.toString()
    if (!Buffer.from(text).equals(bytes))
      throw new SqlError(
        '22021',
        `invalid byte sequence for encoding "UTF8": 0x${bytes.toString('hex', 0, 1)}`,
      )
    for (let index = 0; index < text.length; index++) this.add(text.charCodeAt(index))
  }

  get text(): string {
    if (this.#bytes.length > 0) this.#endBytes()
    return Buffer.from(this.#units.buffer, 0, this.#length * 2).toString('utf16le')
  }
}

/** What follows a backslash: the unit that it stands for, or how many digits of which radix. Others stand for themselves. */
type Escape = { readonly radix: 8 | 16; readonly min: number; readonly max: number; readonly from: number }
const escapes: readonly (number | Escape | undefined)[] = Array.from({ length: 128 }, (_, unit) => {
  const char = String.fromCharCode(unit)
  if (char >= '0' && char <= '7') return { radix: 8, min: 1, max: 3, from: 0 }
  if (char === 'x') return { radix: 16, min: 1, max: 2, from: 1 }
  if (char === 'u' || char === 'U')
    return { radix: 16, min: char === 'u' ? 4 : 8, max: char === 'u' ? 4 : 8, from: 1 }
  return { b: 8, f: 12, n: 10, r: 13, t: 9 }[char]
})

/** Two quotes stand for one. */
function undoubled(piece: string, quote: number): string {
  const units = new Units(piece.length)
  for (let index = 0; index < piece.length; index++) {
    units.add(piece.charCodeAt(index))
    if (piece.charCodeAt(index) === quote) index++
  }
  return units.text
}

/** What a piece of `E'…'` stands for. @param at where it stands in the statement. */
function withoutEscapes(piece: string, at: number): string {
  const units = new Units(piece.length)
  for (let index = 0; index < piece.length; index++) {
    const unit = piece.charCodeAt(index)
    if (unit === backslash) index += addEscape(units, piece, index, at + index)
    else {
      units.add(unit)
      // Two quotes stand for one.
      if (unit === quote) index++
    }
  }
  return units.text
}

/** Adds what an escape stands for; returns how many units follow its backslash. */
function addEscape(units: Units, piece: string, index: number, at: number): number {
  const unit = piece.charCodeAt(index + 1)
  const meaning = escapes[unit]
  if (typeof meaning === 'object') return addNumber(units, piece, index + 1, meaning, at)
  units.add(meaning ?? unit)
  return 1
}

function addNumber(
  units: Units,
  piece: string,
  index: number,
  { radix, min, max, from }: Escape,
  at: number,
) {
  const start = index + from
  const digits = countDigits(piece, start, radix, max)
  const number = Number.parseInt(piece.slice(start, start + digits), radix)
  // The short forms are bytes, the long ones characters.
  if (digits >= min && min === 1) units.addByte(codePoint(number & 0xff, at))
  else if (digits >= min) units.addPoint(codePoint(number, at))
  else if (min > 1) throw new SqlError('22025', 'invalid Unicode escape', { position: positionOf(at) })
  // `\x` without a digit is the letter.
  else units.add(piece.charCodeAt(index))
  return Math.max(from + digits, 1)
}

/** How many digits there are from `from` on, up to `max`. */
function countDigits(text: string, from: number, radix: 8 | 16, max: number): number {
  let count = 0
  while (count < max && digitOf(text.charCodeAt(from + count)) < radix) count++
  return count
}

/** 16: no digit. */
function digitOf(unit: number): number {
  if (unit >= 48 && unit <= 57) return unit - 48
  const lower = unit | 32
  return lower >= 97 && lower <= 102 ? lower - 87 : 16
}

function codePoint(code: number, at: number): number {
  if (code === 0 || code > 0x10ffff)
    throw new SqlError('22021', 'invalid byte sequence for encoding "UTF8": 0x00', {
      position: positionOf(at),
    })
  return code
}

/** What a value of `U&'…'` stands for. @param at where the token begins. */
export function unicodeUnescaped(value: string, at: number): string {
  if (!value.includes('\\')) return value
  const units = new Units(value.length)
  for (let index = 0; index < value.length; index++) {
    const unit = value.charCodeAt(index)
    if (unit !== backslash) units.add(unit)
    else if (value.charCodeAt(index + 1) === backslash) {
      units.add(backslash)
      index++
    } else {
      const [from, digits] = value[index + 1] === '+' ? [index + 2, 6] : [index + 1, 4]
      if (countDigits(value, from, 16, digits) < digits)
        throw new SqlError('42601', 'invalid Unicode escape', { position: positionOf(at) })
      units.addPoint(codePoint(Number.parseInt(value.slice(from, from + digits), 16), at))
      index = from + digits - 1
    }
  }
  return units.text
}

/** A quoted name whose content begins at `from`, and its first sign at `at`. Throws SqlError 42601. */
export function readQuoted(text: string, at: number, from: number): Unquoted {
  let index = from
  let isDoubled = false
  for (; ; index++) {
    if (index >= text.length) throw unterminated('quoted identifier', text, at)
    if (text.charCodeAt(index) !== doubleQuote) continue
    if (index + 1 === text.length || text.charCodeAt(index + 1) !== doubleQuote) break
    isDoubled = true
    index++
  }
  const value = text.slice(from, index)
  if (value === '')
    throw new SqlError('42601', 'zero-length delimited identifier at or near """"', {
      position: positionOf(at),
    })
  return { value: isDoubled ? undoubled(value, doubleQuote) : value, to: index + 1 }
}
