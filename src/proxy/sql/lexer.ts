/**
 * Bytes of SQL → tokens, as far as MySQL's and MariaDB's own lexers (`sql/sql_lex.cc`) agree on them.
 *
 * Invariants
 *  1. No bytes make it throw.
 *  2. What servers of other versions or settings may read differently is `unsure`. Nothing behind it is read.
 *  3. Every token but `end` and `unsure` has at least one byte.
 *  4. At most `tokensMax` tokens are read.
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
/** Bytes of a string without a quote or an escape, after which its end is searched for. */
const plainBytes = 64
/** The most parameters that servers accept in a prepared statement. */
export const parametersMax = 65_535
/** A text with more tokens is not read to its end: reading keeps all other clients waiting. */
const tokensMax = 500_000

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
  #tokens = 0

  /** @param isPrepared whether `?` is a parameter. */
  constructor(bytes: Buffer, session: SqlSession, isPrepared: boolean) {
    this.bytes = bytes
    this.#session = session
    this.#isPrepared = isPrepared
  }

  /** Goes to the next token. */
  step(): void {
    const { bytes } = this
    this.previousEnd = this.end
    let at = this.end
    for (;;) {
      while (at < bytes.length && classes[bytes[at]!] === space) at++
      const byte = bytes[at]
      if (byte !== slash && byte !== minus && byte !== hash) break
      const behind = this.#behindComment(at)
      if (behind === at) break
      at = behind
      if (at < 0) break
    }
    this.start = at < 0 ? this.previousEnd : at
    if (at < 0 || ++this.#tokens > tokensMax) this.kind = token.unsure
    else if (at >= bytes.length) {
      this.kind = token.end
      this.end = at
    } else this.kind = this.#read(bytes[at]!)
  }

  /** Behind the comment that starts at `at`; `at`: there is none; -1: unsure. */
  #behindComment(at: number): number {
    const { bytes } = this
    const [first, second, third] = [bytes[at], bytes[at + 1], bytes[at + 2]]
    if (first === hash || (first === minus && second === minus && (third === undefined || third <= 32)))
      return this.#lineEnd(at)
    if (first !== slash || second !== star) return at
    // Some servers execute its content.
    if (third === bang || (third === letterM && bytes[at + 3] === bang)) return -1
    // A search for each star would take 30 times as long where most bytes are stars.
    let end = at + 2
    while (end < bytes.length && (bytes[end] !== star || bytes[end + 1] !== slash)) end++
    if (end >= bytes.length) return -1
    // MySQL reads quotes in a hint, MariaDB does not.
    if (third === plus && /['"`]/.test(bytes.toString('latin1', at, end))) return -1
    return end + 2
  }

  #lineEnd(at: number): number {
    const found = this.bytes.indexOf(lineFeed, at)
    const end = found < 0 ? this.bytes.length : found + 1
    // A byte 0 ends the comment for a server.
    return this.bytes.subarray(at, end).includes(0) ? -1 : end
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
    for (let at = from; ; at++) {
      const kind = at < bytes.length ? classes[bytes[at]!] : other
      if (kind === letter || kind === digit || (dots && bytes[at] === dot)) continue
      if (kind !== high) return at
      if (!this.#session.isUtf8) return -1
    }
  }

  #number(): number {
    const { bytes, start } = this
    let end = start
    while (classes[bytes[end] ?? 0] === digit || bytes[end] === dot) end++
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
    const escapes = !this.#session.noBackslashEscapes
    let [quoteAt, plain] = [0, 0]
    for (let at = this.start + 1; at < bytes.length; at++) {
      const byte = bytes[at]!
      if (byte === closing) {
        if (bytes[at + 1] !== closing) return this.#to(at + 1, token.string)
        at++
        plain = 0
      } else if (byte === backslash && escapes) {
        at++
        plain = 0
      } else if (++plain === plainBytes) {
        plain = 0
        if (quoteAt <= at) quoteAt = bytes.indexOf(closing, at + 1)
        if (quoteAt < 0) return token.unsure
        const escapeAt = escapes ? bytes.subarray(at + 1, quoteAt).indexOf(backslash) : -1
        at = escapeAt < 0 ? quoteAt - 1 : at + escapeAt
      }
    }
    return token.unsure
  }

  #quotedName(closing: number): number {
    const { bytes, start } = this
    let hasHigh = false
    for (let at = start + 1; at < bytes.length; at++) {
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
