/**
 * Decimal digits of ids, written as ASCII into bytes. A run costs no number, no text and no division for each id: the
 * digits of an id are those of the previous id, incremented in place.
 */
import { type Run, safeHi, two32 } from './run.ts'

const zero = 48
const billion = 1_000_000_000
const two31 = 0x8000_0000

/** The most bytes that an id takes: 19 digits, and room for a carry. */
export const idBytesMax = 20

/**
 * Writes every id of `run` at `at`, with `separator` between one and the next, and returns where the last one ends.
 * There has to be room for `idBytesMax` and a separator for each.
 */
export function writeRun(bytes: Uint8Array, at: number, run: Run, separator: Uint8Array): number {
  let end = writeDecimal(bytes, at, run.hi, run.lo)
  if (run.count === 1) return end
  let digits = end - at
  for (let left = run.count - 1; left > 0; left--) {
    for (let index = 0; index < separator.length; index++) bytes[end + index] = separator[index]!
    const first = end + separator.length
    for (let index = 0; index < digits; index++) bytes[first + index] = bytes[end - digits + index]!
    digits += addTo(bytes, first, first + digits, run.stride)
    end = first + digits
  }
  return end
}

/** Writes the digits of a value of 63 bits that is given in halves, and returns where they end. */
export function writeDecimal(bytes: Uint8Array, at: number, hi: number, lo: number): number {
  if (hi < safeHi) {
    const value = hi * two32 + lo
    if (value < billion) return writeDigits(bytes, at, value, 1)
    const upper = Math.floor(value / billion)
    return writeDigits(bytes, writeDigits(bytes, at, upper, 1), value - upper * billion, 9)
  }
  // Long division in pieces that a double holds exactly.
  const middle = (hi % billion) * 0x1_0000 + (lo >>> 16)
  const low = (middle % billion) * 0x1_0000 + (lo & 0xffff)
  const upper =
    Math.floor(hi / billion) * two32 + Math.floor(middle / billion) * 0x1_0000 + Math.floor(low / billion)
  return writeDigits(bytes, writeDigits(bytes, at, upper, 1), low % billion, 9)
}

/** Writes `value` < 10^10, with 9 digits if `digitsMin` is 9, and returns where they end. */
function writeDigits(bytes: Uint8Array, at: number, value: number, digitsMin: 1 | 9): number {
  let digits: number = digitsMin
  if (digitsMin === 1) for (let power = 10; power <= value; power *= 10) digits++
  let last = at + digits - 1
  let left = value
  for (; left >= two31; last--) {
    const tenth = Math.floor(left / 10)
    bytes[last] = zero + (left - tenth * 10)
    left = tenth
  }
  // A division of integers is several times as fast.
  let small = left | 0
  for (; last >= at; last--) {
    const tenth = (small / 10) | 0
    bytes[last] = zero + (small - tenth * 10)
    small = tenth
  }
  return at + digits
}

/**
 * Adds `stride` to the digits in `[first, end)`. Returns by how many digits the text has grown; the bytes behind it are
 * overwritten then.
 */
function addTo(bytes: Uint8Array, first: number, end: number, stride: number): number {
  let at = end - 1
  let carry = stride
  for (; carry > 0 && at >= first; at--) {
    const tenth = Math.floor(carry / 10)
    const digit = bytes[at]! + (carry - tenth * 10)
    carry = tenth
    if (digit > zero + 9) {
      bytes[at] = digit - 10
      carry++
    } else {
      bytes[at] = digit
    }
  }
  let grown = 0
  for (; carry > 0; grown++) {
    const tenth = Math.floor(carry / 10)
    bytes.copyWithin(first + 1, first, end + grown)
    bytes[first] = zero + (carry - tenth * 10)
    carry = tenth
  }
  return grown
}
