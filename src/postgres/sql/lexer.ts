/**
 * The words of a statement, by the rules of PostgreSQL's manual, chapter 4.1: names, quoted names, strings in all forms
 * (with `standard_conforming_strings` on), numbers, operators, parameters and comments.
 *
 * A parser of our own, because PostgreSQL's own in WebAssembly (libpg-query) does not fit a server: a statement such as
 * `SELECT 1+1+1…` of 20 kB ends in a trap that leaves its one instance broken for all later statements, each instance takes
 * 128 MB, and a statement of 2 MB blocks the event loop for seconds.
 *
 * Invariant: reading a text to its end takes a time that grows with its length, whatever it contains.
 */

import {
  endOfComment,
  foldCase,
  isBlank,
  isDigit,
  isOperatorChar,
  isWordChar,
  isWordStart,
  unterminated,
} from './characters.ts'
import { ownText } from './own-text.ts'
import { positionOf, SqlError } from './sql-error.ts'
import { readQuoted, readString, unicodeUnescaped } from './strings.ts'

/** What a token is. `name`: a word in lower case; `quoted`: a name in double quotes; `end`: after the last token. */
export type TokenKind = 'name' | 'quoted' | 'string' | 'bits' | 'number' | 'operator' | 'parameter' | 'end'

/** One word of a statement. */
export type Token = {
  readonly kind: TokenKind
  /** Of a name: folded to lower case; of a string: its value; of others: as they stand. */
  readonly text: string
  /** A name as it stands; of others: `text`. */
  readonly raw: string
  /** Where it starts and ends, in UTF-16 units. */
  readonly at: number
  readonly to: number
}

const number = /(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/y
const parameter = /\$\d+/y
const dollarTag = /\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/y

/** A savepoint, a setting or a portal may keep a token of a longer text, and must not keep the text. */
const keptMax = 4096
/** The most words of a text. */
const tokensMax = 20_000
/** An operator is shorter, as in PostgreSQL. */
const operatorMax = 64

const unit = Object.freeze({
  doubleQuote: 34,
  dollar: 36,
  ampersand: 38,
  quote: 39,
  star: 42,
  minus: 45,
  dot: 46,
  slash: 47,
})

/** The tokens of a text, with `end` last. Throws SqlError 42601, and 54000 when there are too many. */
export function tokenize(text: string): Token[] {
  const lexer = new Lexer(text)
  const tokens: Token[] = []
  for (;;) {
    const token = lexer.next()
    tokens.push(token)
    if (token.kind === 'end') return tokens
  }
}

/** Reads the tokens of a text from the first to the last. */
export class Lexer {
  readonly text: string
  readonly #isLong: boolean
  #at = 0
  #count = 0

  constructor(text: string) {
    this.text = text
    this.#isLong = text.length > keptMax
  }

  /** How much of the text has been read, in UTF-16 units. */
  get at(): number {
    return this.#at
  }

  /** The next token; `end` behind the last one. Throws SqlError 42601, and 54000 behind the last one that is admitted. */
  next(): Token {
    const { text } = this
    const at = skip(text, this.#at)
    if (at >= text.length) return this.#token('end', '', text.length, text.length)
    if (++this.#count > tokensMax)
      throw new SqlError('54000', `the statement has more than ${tokensMax} words; send shorter statements`)
    return this.#read(at)
  }

  #read(at: number): Token {
    const { text } = this
    const first = text.charCodeAt(at)
    if (first === unit.quote) return this.#string(at, at + 1, false)
    if (first === unit.doubleQuote) return this.#quoted(at, at + 1, false)
    if (isWordStart(first)) return this.#prefixed(at) ?? this.#name(at)
    if (isDigit(first) || (first === unit.dot && isDigit(text.charCodeAt(at + 1)))) return this.#number(at)
    if (first === unit.dollar) return this.#dollar(at)
    return isOperatorChar(first) ? this.#operator(at) : this.#punctuation(at)
  }

  /** Makes the token, and goes on behind it. */
  #token(kind: TokenKind, value: string, at: number, to: number): Token {
    this.#at = to
    const text = this.#isLong ? ownText(value) : value
    return { kind, text, raw: text, at, to }
  }

  #string(at: number, from: number, escapes: boolean): Token {
    const { value, to } = readString(this.text, at, from, escapes)
    return this.#token('string', value, at, to)
  }

  #quoted(at: number, from: number, isUnicode: boolean): Token {
    const { value, to } = readQuoted(this.text, at, from)
    return this.#token('quoted', isUnicode ? unicodeUnescaped(value, at) : value, at, to)
  }

  #name(at: number): Token {
    const { text } = this
    let to = at + 1
    while (isWordChar(text.charCodeAt(to))) to++
    const token = this.#token('name', text.slice(at, to), at, to)
    const folded = foldCase(token.text)
    return folded === token.text ? token : { ...token, text: folded }
  }

  /** `E'…'`, `N'…'`, `B'…'`, `X'…'`, `U&'…'`, `U&"…"`. */
  #prefixed(at: number): Token | undefined {
    const { text } = this
    const next = text.charCodeAt(at + 1)
    if (next !== unit.quote && next !== unit.ampersand) return undefined
    const letter = text[at]!.toLowerCase()
    if (next === unit.quote) {
      if (letter === 'e') return this.#string(at, at + 2, true)
      if (letter === 'n') return this.#string(at, at + 2, false)
      if (letter !== 'b' && letter !== 'x') return undefined
      const { value, to } = readString(text, at, at + 2, false)
      return this.#token('bits', letter + value, at, to)
    }
    if (letter !== 'u') return undefined
    const quote = text.charCodeAt(at + 2)
    if (quote === unit.doubleQuote) return this.#quoted(at, at + 3, true)
    if (quote !== unit.quote) return undefined
    const { value, to } = readString(text, at, at + 3, false)
    return this.#token('string', unicodeUnescaped(value, at), at, to)
  }

  #number(at: number): Token {
    const { text } = this
    const digits = matchAt(number, text, at)!
    // `1..2` is a range of PL/pgSQL: the dots belong to no number.
    const isRange = digits.endsWith('.') && text[at + digits.length] === '.'
    const clipped = isRange ? digits.slice(0, -1) : digits
    const to = at + clipped.length
    if (isWordStart(text.charCodeAt(to)))
      throw new SqlError(
        '42601',
        `trailing junk after numeric literal at or near "${clipped.slice(0, 60)}${text[to]}"`,
        { position: positionOf(at) },
      )
    return this.#token('number', clipped, at, to)
  }

  #dollar(at: number): Token {
    const { text } = this
    const number = matchAt(parameter, text, at)
    if (number !== undefined) return this.#token('parameter', number.slice(1), at, at + number.length)
    const tag = matchAt(dollarTag, text, at)
    if (tag === undefined)
      throw new SqlError('42601', 'syntax error at or near "$"', { position: positionOf(at) })
    const end = text.indexOf(tag, at + tag.length)
    if (end < 0) throw unterminated('dollar-quoted string', text, at)
    return this.#token('string', text.slice(at + tag.length, end), at, end + tag.length)
  }

  /**
   * An operator ends before a comment, and in + or - only if it has one of the characters that no standard operator has. No more
   * than one of the greatest length is looked at: a megabyte of + would be read once for each of them.
   */
  #operator(at: number): Token {
    const { text } = this
    let to = at
    while (to - at < operatorMax && isOperatorChar(text.charCodeAt(to)) && !opensComment(text, to)) to++
    if (to - at === operatorMax)
      throw new SqlError('42601', 'operator too long', { position: positionOf(at) })
    const operator = text.slice(at, to)
    if (!/[~!@#^&|`?%]/.test(operator)) while (to - at > 1 && /[+-]/.test(text[to - 1]!)) to--
    return this.#token('operator', text.slice(at, to), at, to)
  }

  #punctuation(at: number): Token {
    const { text } = this
    const pair = text.slice(at, at + 2)
    if (pair === '::' || pair === ':=' || pair === '..') return this.#token('operator', pair, at, at + 2)
    if (/[()[\],;.:]/.test(text[at]!)) return this.#token('operator', text[at]!, at, at + 1)
    throw new SqlError('42601', `syntax error at or near "${text[at]}"`, { position: positionOf(at) })
  }
}

/** Where the next token starts: behind white space and comments, which nest. */
function skip(text: string, from: number): number {
  let at = from
  for (;;) {
    while (isBlank(text.charCodeAt(at))) at++
    if (!opensComment(text, at)) return at
    if (text.charCodeAt(at) === unit.slash) at = endOfComment(text, at)
    else {
      const end = text.indexOf('\n', at)
      at = end < 0 ? text.length : end
    }
  }
}

function opensComment(text: string, at: number): boolean {
  const first = text.charCodeAt(at)
  const second = text.charCodeAt(at + 1)
  return (first === unit.minus && second === unit.minus) || (first === unit.slash && second === unit.star)
}

function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0]
}
