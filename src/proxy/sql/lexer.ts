/**
 * Bytes of SQL → tokens, as MySQL's and MariaDB's own lexers read them (`sql/sql_lex.cc`).
 *
 * Invariants
 *  1. No bytes make it throw.
 *  2. Every token but the last has at least one byte, and starts where the one before it ends: together they are the text.
 *  3. A token that has no end, that servers may read differently, or that would take long to read and means nothing to a
 *     server, is `broken` and reaches to the end of the text.
 */
import { isUtf8 } from 'node:buffer'
import { byteClass } from './charsets.ts'
import type { SqlSession } from './session.ts'
import { bitsEnd, commentEnd, digitsEnd, exponentEnd, isDigit, nestedCommentEnd, stringEnd } from './spans.ts'

/** Kinds of tokens. Those up to `odd` separate others and mean nothing by themselves. */
export const token = {
  space: 0,
  comment: 1,
  /** The start or the end of an executable comment whose content is read, or all of one that is not. */
  executable: 2,
  /** A byte that some servers take for a space and others for a letter. */
  odd: 3,
  /** The end of the text. */
  end: 4,
  /** An unquoted name or keyword. */
  word: 5,
  quotedName: 6,
  string: 7,
  /** N'…' */
  nationalString: 8,
  number: 9,
  /** 0x…, x'…', 0b…, b'…' */
  bits: 10,
  parameter: 11,
  /** @name, @@name, or the @ in front of a quoted name. */
  variable: 12,
  /** A single byte of punctuation. */
  mark: 13,
  broken: 14,
} as const

/** What a lexer may be told besides the session. */
export type Reading = {
  /** Whether the content of executable comments is read. */
  readonly executable: 'read' | 'leave'
  /** Whether `?` is a parameter, as in prepared statements. */
  readonly parameters: boolean
}

const [lineFeed, bang, quote, hash, star, plus, minus, dot, slash] = [10, 33, 34, 35, 42, 43, 45, 46, 47]
const [zero, question, atSign, letterB, letterM, letterN, letterX] = [48, 63, 64, 66, 77, 78, 88]
const [apostrophe, backquote] = [39, 96]

/** The longest name, in bytes; and the most comments and spaces between two other tokens. */
const [wordBytesMax, gapTokensMax] = [65_536, 20_000]

/** The most parameters that servers accept in a prepared statement. */
export const parametersMax = 65_535

/** Reads one text. `kind`, `start` and `end` describe the token that `next` or `solid` came to. */
export class Lexer {
  readonly bytes: Buffer
  kind: number = token.space
  start = 0
  end = 0
  /** The end of the last token that `solid` came to before this one. */
  previousEnd = 0
  /** Where the parameters are that were passed: the first `parametersMax` of them, and one more. */
  readonly parametersAt: number[] = []
  /** Whether an executable comment was passed. */
  sawExecutable = false
  /** Whether an optimizer hint was passed. */
  sawHint = false
  /** Whether a byte was passed that servers read differently. */
  sawOdd = false
  readonly #limit: number
  readonly #session: SqlSession
  readonly #reading: Reading
  readonly #classes: Uint8Array
  #insideExecutable = false
  /** The last token is a name or a dot behind one, directly before the next. */
  #afterName = false
  #afterDot = false

  constructor(bytes: Buffer, session: SqlSession, reading: Reading, start = 0) {
    this.bytes = bytes
    this.end = start
    this.#limit = bytes.length
    this.#session = session
    this.#reading = reading
    this.#classes = session.charset.classes
  }

  /** Goes to the next token that is none of space, comment and odd byte; returns its kind. */
  solid(): number {
    this.previousEnd = this.end
    let kind = this.next()
    for (let left = gapTokensMax; kind < token.end; left--) {
      if (left > 0) kind = this.next()
      else {
        this.start = this.end
        kind = this.kind = this.#broken()
      }
    }
    return kind
  }

  /** Goes to the next token; returns its kind. */
  next(): number {
    this.start = this.end
    if (this.start >= this.#limit) {
      this.kind = this.#insideExecutable ? token.broken : token.end
      return this.kind
    }
    const afterName = this.#afterName
    const afterDot = this.#afterDot
    this.#afterName = false
    this.#afterDot = false
    this.kind = this.#read(this.bytes[this.start]!, afterName, afterDot)
    return this.kind
  }

  #read(byte: number, afterName: boolean, afterDot: boolean): number {
    switch (this.#classes[byte]) {
      case byteClass.space:
        return this.#space()
      case byteClass.letter:
        return this.#word(byte, afterDot)
      case byteClass.digit:
        return afterDot ? this.#name(this.start) : this.#number()
      case byteClass.odd:
        if (this.#high(this.start) > 0) return this.#name(this.start)
        this.sawOdd = true
        return this.#to(this.start + 1, token.odd)
      default:
        return this.#punctuation(byte, afterName)
    }
  }

  #space(): number {
    let at = this.start + 1
    while (at < this.#limit && this.#classes[this.bytes[at]!] === byteClass.space) at++
    return this.#to(at, token.space)
  }

  #word(byte: number, afterDot: boolean): number {
    if (!afterDot && this.bytes[this.start + 1] === apostrophe) {
      const upper = byte & ~32
      if (upper === letterN) return this.#string(this.start + 1, token.nationalString)
      if (upper === letterX || upper === letterB) return this.#quotedBits()
    }
    return this.#name(this.start)
  }

  /** A name that goes on from `from`. */
  #name(from: number): number {
    const end = this.#nameEnd(from)
    if (end - this.start > wordBytesMax) return this.#broken()
    this.#afterName = true
    return this.#to(end, token.word)
  }

  #nameEnd(from: number): number {
    const limit = Math.min(this.#limit, from + wordBytesMax + 1)
    let at = from
    for (;;) {
      const kind = at < limit ? this.#classes[this.bytes[at]!] : byteClass.other
      if (kind === byteClass.letter || kind === byteClass.digit) at++
      else if (kind === byteClass.odd && this.#high(at) > 0) at += this.#high(at)
      else return at
    }
  }

  #high(at: number): number {
    return this.#session.charset.lengthAt?.(this.bytes, at, this.#limit) ?? 0
  }

  #isNamePart(at: number): boolean {
    if (at >= this.#limit) return false
    const kind = this.#classes[this.bytes[at]!]
    return (
      kind === byteClass.letter || kind === byteClass.digit || (kind === byteClass.odd && this.#high(at) > 0)
    )
  }

  #number(): number {
    const bits = this.#prefixedBits()
    if (bits > 0) return this.#to(bits, token.bits)
    const at = digitsEnd(this.bytes, this.start)
    if (this.bytes[at] === dot) return this.#fraction(at + 1)
    const exponent = exponentEnd(this.bytes, at)
    if (exponent > at) return this.#to(exponent, token.number)
    return this.#isNamePart(at) ? this.#name(at) : this.#to(at, token.number)
  }

  /** The end of 0x… or 0b…, which have lower-case letters; 0 if there is neither. */
  #prefixedBits(): number {
    if (this.bytes[this.start] !== zero) return 0
    const letter = this.bytes[this.start + 1]
    if (letter !== (letterX | 32) && letter !== (letterB | 32)) return 0
    const at = bitsEnd(this.bytes, this.start + 2, letter === (letterX | 32))
    return at > this.start + 2 && !this.#isNamePart(at) ? at : 0
  }

  #fraction(from: number): number {
    const at = digitsEnd(this.bytes, from)
    return this.#to(exponentEnd(this.bytes, at), token.number)
  }

  #punctuation(byte: number, afterName: boolean): number {
    const following = this.bytes[this.start + 1]
    switch (byte) {
      case apostrophe:
        return this.#string(this.start, token.string)
      case quote:
        return this.#session.ansiQuotes ? this.#quotedName(byte) : this.#string(this.start, token.string)
      case backquote:
        return this.#quotedName(byte)
      case hash:
        return this.#lineComment()
      case minus:
        return following === minus ? this.#dashes() : this.#mark()
      case slash:
        return following === star ? this.#comment() : this.#mark()
      case star:
        if (following !== slash || !this.#insideExecutable) return this.#mark()
        this.#insideExecutable = false
        return this.#to(this.start + 2, token.executable)
      case atSign:
        return this.#variable()
      case dot:
        if (!afterName && isDigit(following)) return this.#fraction(this.start + 1)
        this.#afterDot = true
        return this.#mark()
      case question:
        return this.#question()
      default:
        return this.#mark()
    }
  }

  /** `?` directly before a name is no parameter. */
  #question(): number {
    if (!this.#reading.parameters || this.#isNamePart(this.start + 1)) return this.#mark()
    if (this.parametersAt.length <= parametersMax) this.parametersAt.push(this.start)
    return this.#to(this.start + 1, token.parameter)
  }

  #mark(): number {
    return this.#to(this.start + 1, token.mark)
  }

  #to(end: number, kind: number): number {
    this.end = end
    return kind
  }

  #broken(): number {
    return this.#to(this.#limit, token.broken)
  }

  #string(opening: number, kind: number): number {
    const { charset, noBackslashEscapes } = this.#session
    const end = stringEnd(this.bytes, opening, !noBackslashEscapes, charset.lengthAt)
    return end < 0 ? this.#broken() : this.#to(end, kind)
  }

  #quotedName(closing: number): number {
    const { lengthAt, isUtf8: utf8 } = this.#session.charset
    const limit = Math.min(this.#limit, this.start + wordBytesMax)
    let high = false
    for (let at = this.start + 1; at < limit; at++) {
      const byte = this.bytes[at]!
      if (byte === closing) {
        if (this.bytes[at + 1] !== closing) return this.#endName(at + 1, high && utf8)
        at++
      } else if (byte === 0) return this.#broken()
      else if (byte >= 0x80) {
        high = true
        const length = lengthAt ? lengthAt(this.bytes, at, this.#limit) : 1
        // Servers skip as many bytes as the first byte promises, and find another end of the name.
        if (length === 0) return this.#broken()
        at += length - 1
      }
    }
    return this.#broken()
  }

  #endName(end: number, checked: boolean): number {
    if (checked && !isUtf8(this.bytes.subarray(this.start, end))) return this.#broken()
    this.#afterName = true
    return this.#to(end, token.quotedName)
  }

  /** x'…' and b'…'. */
  #quotedBits(): number {
    const at = bitsEnd(this.bytes, this.start + 2, (this.bytes[this.start]! & ~32) === letterX)
    return this.bytes[at] === apostrophe ? this.#to(at + 1, token.bits) : this.#broken()
  }

  #variable(): number {
    let at = this.start + 1
    if (this.bytes[at] === atSign) at++
    for (;;) {
      const end = this.#nameEnd(at)
      if (end - this.start > wordBytesMax) return this.#broken()
      if (this.bytes[end] !== dot) return this.#to(end, token.variable)
      at = end + 1
    }
  }

  #lineComment(): number {
    const end = this.bytes.indexOf(lineFeed, this.start)
    return this.#to(end < 0 ? this.#limit : end + 1, token.comment)
  }

  /** `--` starts a comment before a space, a control character or the end of the text. */
  #dashes(): number {
    if (this.start + 2 >= this.#limit) return this.#lineComment()
    const following = this.bytes[this.start + 2]!
    const kind = this.#classes[following]
    if (kind === byteClass.odd && this.#high(this.start + 2) === 0) return this.#broken()
    return kind === byteClass.space || following < 32 || following === 127
      ? this.#lineComment()
      : this.#mark()
  }

  #comment(): number {
    const third = this.bytes[this.start + 2]
    if (third === bang) return this.#executable(this.start + 3)
    if (third === letterM && this.bytes[this.start + 3] === bang) return this.#executable(this.start + 4)
    if (third === plus) this.sawHint = true
    const end = commentEnd(this.bytes, this.start + 2)
    return end < 0 ? this.#broken() : this.#to(end, token.comment)
  }

  #executable(content: number): number {
    this.sawExecutable = true
    if (this.#reading.executable === 'read' && !this.#insideExecutable) {
      this.#insideExecutable = true
      let at = content
      while (at < content + 6 && isDigit(this.bytes[at])) at++
      return this.#to(at, token.executable)
    }
    const end = nestedCommentEnd(this.bytes, content)
    return end < 0 ? this.#broken() : this.#to(end, token.executable)
  }
}
