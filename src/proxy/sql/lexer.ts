/**
 * Bytes of SQL → tokens, as far as MySQL's and MariaDB's own lexers (`sql/sql_lex.cc`) agree on them.
 *
 * Invariants
 *  1. No bytes make it throw.
 *  2. What servers of other versions or settings may read differently is `unsure`. Nothing behind it is read.
 *  3. Every token but `end` and `unsure` has at least one byte.
 *  4. At most `partWorkMax` work is done until `endsPart` says yes: what follows is `unsure`. No other client is served meanwhile.
 */
import { isUtf8 } from 'node:buffer'
import type { SqlSession } from './session.ts'

/** Kinds of tokens. */
export const token = {
  end: 0,
  unsure: 1,
  /** An unquoted name or keyword. */
  word: 2,
  quotedName: 3,
  string: 4,
  /** Digits, and letters directly behind them: 5, 5.0e-1, 0x1F, 1a. */
  number: 5,
  /** `?`, where the text is prepared. */
  parameter: 6,
  /** @name, @@name, or the @ in front of a quoted name. */
  variable: 7,
  /** A single byte of punctuation. */
  mark: 8,
} as const

const [quote, hash, apostrophe, star, plus, minus, dot, slash] = [34, 35, 39, 42, 43, 45, 46, 47]
const [dollar, question, atSign, backslash, backquote, bang, letterM, lineFeed] = [
  36, 63, 64, 92, 96, 33, 77, 10,
]
/** After this many bytes of a string without a quote or an escape, the end of the string is searched for. */
const plainBytes = 256
/** No server takes a longer name. */
const nameBytesMax = 1024
/** The most parameters that servers accept in a prepared statement. */
export const parametersMax = 65_535
/** The longest run of spaces, comment, word or number. */
const spanBytesMax = 2_097_152
/**
 * The work of a part, where one can end, and the most: some 3 and 20 ms. A token is 1, and so are a comment, 128 bytes of a
 * string, and 8 of everything else.
 */
const [partWork, partWorkMax] = [32_768, 262_144]

const [other, space, letter, digit, high] = [0, 1, 2, 3, 4]
const classes = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte >= 0x80) return high
  if (byte === 0x20 || (byte >= 0x09 && byte <= 0x0d)) return space
  const char = String.fromCharCode(byte)
  if (/\d/.test(char)) return digit
  return /[A-Za-z_$]/.test(char) ? letter : other
})

/** Reads one text. `kind`, `start` and `end` describe the current token, to which `step` came. */
export class Lexer {
  readonly bytes: Buffer
  kind: number = token.mark
  start = 0
  end = 0
  /** The end of the token in front of this one. */
  previousEnd = 0
  /** Where the parameters are that were passed. */
  readonly parametersAt: number[] = []
  readonly #session: SqlSession
  readonly #isPrepared: boolean
  #work = 0

  /** @param isPrepared whether `?` is a parameter. */
  constructor(bytes: Buffer, session: SqlSession, isPrepared: boolean) {
    this.bytes = bytes
    this.#session = session
    this.#isPrepared = isPrepared
  }

  /** Whether others have to be served now; `work` is counted in addition to the tokens. */
  endsPart(work = 0): boolean {
    this.#work += work
    if (this.#work < partWork) return false
    this.#work = 0
    return true
  }

  /** Goes to the next token. */
  step(): void {
    const { bytes } = this
    this.previousEnd = this.end
    let at = this.end
    const limit = Math.min(bytes.length, at + spanBytesMax)
    for (;;) {
      while (at < limit && classes[bytes[at]!] === space) at++
      const byte = bytes[at]
      if (byte !== slash && byte !== minus && byte !== hash) break
      const behind = this.#behindComment(at)
      if (behind === at) break
      at = ++this.#work > partWorkMax ? -1 : behind
      if (at < 0 || at > limit) break
    }
    const isUnsure = at < 0 || (at >= limit && limit < bytes.length)
    this.start = isUnsure ? this.previousEnd : at
    if (isUnsure) this.kind = token.unsure
    else if (at >= bytes.length) {
      this.kind = token.end
      this.end = at
    } else this.kind = this.#read(bytes[at]!)
    const length = this.end - this.start
    const skipped = this.start - this.previousEnd
    this.#work += 1 + (skipped >> 3) + (length >> (this.kind === token.string ? 7 : 3))
    if (this.#work > partWorkMax) this.kind = token.unsure
  }

  /**
   * The index behind the comment that starts at `at`; `at` itself if none starts there; -1 if servers may execute the comment,
   * or read its end elsewhere, or if the end is not found.
   */
  #behindComment(at: number): number {
    const { bytes } = this
    const [first, second, third] = [bytes[at], bytes[at + 1], bytes[at + 2]]
    if (first === hash || (first === minus && second === minus && (third === undefined || third <= 32)))
      return this.#lineEnd(at)
    if (first !== slash || second !== star) return at
    // Some servers execute its content.
    if (third === bang || (third === letterM && bytes[at + 3] === bang)) return -1
    // A search for each star would take 30 times as long where most bytes are stars.
    const limit = Math.min(bytes.length, at + spanBytesMax)
    let end = at + 2
    while (end < limit && (bytes[end] !== star || bytes[end + 1] !== slash)) end++
    // MySQL reads quotes in a hint, MariaDB does not.
    for (let inside = third === plus ? at : end; inside < end; inside++) if (isQuote(bytes[inside])) return -1
    return end >= limit ? -1 : end + 2
  }

  /** A byte 0 ends the comment for a server. */
  #lineEnd(at: number): number {
    const { bytes } = this
    let end = at
    while (end < bytes.length && bytes[end] !== lineFeed && bytes[end] !== 0) end++
    if (end === bytes.length) return end
    return bytes[end] === 0 ? -1 : end + 1
  }

  #read(byte: number): number {
    const { bytes, start } = this
    const kind = classes[byte]
    // $$ … $$ is a string of MySQL 9.
    if (byte === dollar) return token.unsure
    if (kind === letter || kind === high) return this.#to(this.#wordEnd(start), token.word)
    if (kind === digit) return this.#number()
    switch (byte) {
      case apostrophe:
        return this.#string(byte)
      case quote:
        return this.#session.ansiQuotes ? this.#quotedName(byte) : this.#string(byte)
      case backquote:
        return this.#quotedName(byte)
      case dot:
        return classes[bytes[start + 1] ?? 0] === digit ? this.#number() : this.#to(start + 1, token.mark)
      case atSign: {
        const from = bytes[start + 1] === atSign ? start + 2 : start + 1
        return this.#to(this.#wordEnd(from, true), token.variable)
      }
      case question:
        if (!this.#isPrepared) return this.#to(start + 1, token.mark)
        // Servers refuse a parameter directly in front of a name, and would not if the text were edited between.
        if (this.#wordEnd(start + 1) !== start + 1 || this.parametersAt.length === parametersMax)
          return token.unsure
        this.parametersAt.push(start)
        return this.#to(start + 1, token.parameter)
      default:
        // Servers take some control characters for the end of the text.
        return byte < 32 || byte === 127 ? token.unsure : this.#to(start + 1, token.mark)
    }
  }

  /** @param end -1: unsure. */
  #to(end: number, kind: number): number {
    if (end < 0) return token.unsure
    this.end = end
    return kind
  }

  /** The end of the letters and digits from `from` on; -1: a server may take one of the bytes for a space. */
  #wordEnd(from: number, dots = false): number {
    const { bytes } = this
    const limit = Math.min(bytes.length, from + spanBytesMax)
    for (let at = from; ; at++) {
      const kind = at < limit ? classes[bytes[at]!] : other
      if (kind === letter || kind === digit || (dots && bytes[at] === dot)) continue
      if (at === limit && limit < bytes.length) return -1
      if (kind !== high) return at
      if (!this.#session.isUtf8) return -1
    }
  }

  #number(): number {
    const { bytes, start } = this
    const limit = Math.min(bytes.length, start + spanBytesMax)
    let end = start
    while (end < limit && (classes[bytes[end]!] === digit || bytes[end] === dot)) end++
    if (end === limit && limit < bytes.length) return token.unsure
    if (classes[bytes[end] ?? 0] !== letter && classes[bytes[end] ?? 0] !== high)
      return this.#to(end, token.number)
    end = this.#wordEnd(start, true)
    const sign = bytes[end]
    if ((sign === plus || sign === minus) && /^[\d.]+e$/i.test(bytes.toString('latin1', start, end)))
      end = this.#wordEnd(end + 1)
    // A keyword may stand directly behind the digits: 1.0ON, 1e5ON.
    const isCertain = /^(?:[\d.]+e[+-]?\d+|(?!\d+e\d)\d\w*)$/i.test(bytes.toString('latin1', start, end))
    return this.#to(isCertain ? end : -1, token.number)
  }

  #string(closing: number): number {
    const { bytes } = this
    const escaping = this.#session.noBackslashEscapes ? closing : backslash
    let quoteAt = 0
    for (let at = this.start + 1; ; at += 2) {
      const near = Math.min(at + plainBytes, bytes.length)
      while (at < near && bytes[at] !== closing && bytes[at] !== escaping) at++
      if (at >= near) {
        if (quoteAt < at) quoteAt = bytes.indexOf(closing, at)
        if (quoteAt < 0) return token.unsure
        const escapeAt = escaping === closing ? -1 : bytes.subarray(at, quoteAt).indexOf(escaping)
        at = escapeAt < 0 ? quoteAt : at + escapeAt
      }
      if (bytes[at] === closing && bytes[at + 1] !== closing) return this.#to(at + 1, token.string)
    }
  }

  #quotedName(closing: number): number {
    const { bytes, start } = this
    let hasHigh = false
    const limit = Math.min(start + nameBytesMax, bytes.length)
    for (let at = start + 1; at < limit; at++) {
      const byte = bytes[at]!
      if (byte === 0) return token.unsure
      if (byte >= 0x80) hasHigh = true
      if (byte !== closing) continue
      if (bytes[at + 1] === closing) at++
      // Servers skip as many bytes as the first byte of a character promises, and find another end of a broken name.
      else if (hasHigh && !(this.#session.isUtf8 && isUtf8(bytes.subarray(start, at)))) return token.unsure
      else return this.#to(at + 1, token.quotedName)
    }
    return token.unsure
  }
}

function isQuote(byte: number | undefined): boolean {
  return byte === quote || byte === apostrophe || byte === backquote
}
