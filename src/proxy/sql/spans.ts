/** Where pieces of SQL end. */

const [star, slash, plus, minus, semicolon, letterE, backslash] = [42, 47, 43, 45, 59, 69, 92]
/** Behind so many bytes of a string that are plain, its end is searched for. */
const plainBytes = 64

/**
 * Where a text ends for the server: it drops semicolons and spaces at the end (`alloc_query` in `sql/sql_parse.cc`), and its
 * lexer takes one byte 0 behind them for the end.
 */
export function textEnd(bytes: Uint8Array): number {
  let end = bytes.length
  while (end > 0 && (bytes[end - 1] === semicolon || isSpace(bytes[end - 1]!))) end--
  return end > 0 && bytes[end - 1] === 0 ? end - 1 : end
}

function isSpace(byte: number): boolean {
  return byte === 32 || (byte >= 9 && byte <= 13)
}

/**
 * Behind the string whose quote is at `opening`; -1 if it has no end.
 * @param escapes whether a backslash escapes the byte behind it.
 * @param lengthAt as `Charset` has it.
 */
export function stringEnd(
  bytes: Buffer,
  opening: number,
  escapes: boolean,
  lengthAt: ((bytes: Buffer, at: number, end: number) => number) | undefined,
): number {
  const closing = bytes[opening]!
  const limit = bytes.length
  // The next quote, once it is known: it is searched for once.
  let [quoteAt, plain] = [0, 0]
  for (let at = opening + 1; at < limit; at++) {
    const byte = bytes[at]!
    if (byte === closing) {
      if (bytes[at + 1] !== closing) return at + 1
      at++
      plain = 0
    } else if (byte === backslash && escapes) {
      at++
      plain = 0
    } else if (lengthAt) {
      if (byte >= 0x80) at += Math.max(lengthAt(bytes, at, limit), 1) - 1
    } else if (++plain === plainBytes) {
      plain = 0
      if (quoteAt <= at) quoteAt = bytes.indexOf(closing, at + 1)
      if (quoteAt < 0) return -1
      const escapeAt = escapes ? bytes.subarray(at + 1, quoteAt).indexOf(backslash) : -1
      at = escapeAt < 0 ? quoteAt - 1 : at + escapeAt
    }
  }
  return -1
}

/**
 * Where the comment ends whose content starts at `from`; -1 if it has no end. A search for each star would take 30 times as
 * long where most bytes are stars.
 */
export function commentEnd(bytes: Buffer, from: number): number {
  for (let at = from; at < bytes.length; at++)
    if (bytes[at] === star && bytes[at + 1] === slash) return at + 2
  return -1
}

/** The same for an executable comment that is not executed: servers let one level of comments stand in it. */
export function nestedCommentEnd(bytes: Buffer, from: number): number {
  for (let at = from; at < bytes.length; at++) {
    if (bytes[at] === star && bytes[at + 1] === slash) return at + 2
    if (bytes[at] !== slash || bytes[at + 1] !== star) continue
    const end = commentEnd(bytes, at + 2)
    if (end < 0) return -1
    at = end - 1
  }
  return -1
}

/** The end of the decimal digits from `from` on. */
export function digitsEnd(bytes: Buffer, from: number): number {
  let at = from
  while (isDigit(bytes[at])) at++
  return at
}

/** The end of the exponent that starts at `at`; `at` if there is none. */
export function exponentEnd(bytes: Buffer, at: number): number {
  if ((bytes[at] ?? 0) !== letterE && bytes[at] !== (letterE | 32)) return at
  const sign = bytes[at + 1]
  const from = sign === plus || sign === minus ? at + 2 : at + 1
  const to = digitsEnd(bytes, from)
  return to > from ? to : at
}

/** The end of the hexadecimal digits, or of the bits, from `from` on. */
export function bitsEnd(bytes: Buffer, from: number, hexadecimal: boolean): number {
  let at = from
  while (hexadecimal ? isHex(bytes[at]) : bytes[at] === 48 || bytes[at] === 49) at++
  return at
}

/** Whether a byte is a decimal digit. */
export function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 48 && byte <= 57
}

function isHex(byte: number | undefined): boolean {
  return isDigit(byte) || (byte !== undefined && (byte & ~32) >= 65 && (byte & ~32) <= 70)
}
