/** Reads the tokens of a statement one after the other, and bounds how deep the parser goes. */

import { reservedWords } from './keywords.ts'
import type { Token } from './lexer.ts'
import { SqlError, syntaxError } from './sql-error.ts'

/** How deep parentheses, subqueries and prefixes may nest. */
const nestingMax = 200

/** A cursor over tokens. */
export class TokenReader {
  readonly #tokens: readonly Token[]
  #index: number
  #nesting = 0

  /** @param from index of the first token to read. */
  constructor(tokens: readonly Token[], from = 0) {
    this.#tokens = tokens
    this.#index = from
  }

  /** The token that comes next, or `end`. */
  get token(): Token {
    return this.#tokens[this.#index]!
  }

  /** Index of the token that comes next. */
  get index(): number {
    return this.#index
  }

  /** The token `distance` behind the next one, or `end`. */
  ahead(distance: number): Token {
    return this.#tokens[Math.min(this.#index + distance, this.#tokens.length - 1)]!
  }

  /** Takes the next token. */
  take(): Token {
    const token = this.token
    if (token.kind !== 'end') this.#index++
    return token
  }

  /** Whether the next tokens are these key words. */
  isWord(...words: readonly string[]): boolean {
    return words.every((word, distance) => {
      const token = this.ahead(distance)
      return token.kind === 'name' && token.text === word
    })
  }

  /** Takes these key words if they come next. */
  takeWord(...words: readonly string[]): boolean {
    if (!this.isWord(...words)) return false
    this.#index += words.length
    return true
  }

  /** Takes these key words. Throws SqlError 42601 when others come next. */
  needWord(...words: readonly string[]): void {
    if (!this.takeWord(...words)) throw this.unexpected()
  }

  /** Whether this operator or punctuation comes next. */
  isSign(sign: string): boolean {
    return this.token.kind === 'operator' && this.token.text === sign
  }

  /** Takes this operator or punctuation if it comes next. */
  takeSign(sign: string): boolean {
    if (!this.isSign(sign)) return false
    this.#index++
    return true
  }

  /** Takes this operator or punctuation. Throws SqlError 42601 when something else comes next. */
  needSign(sign: string): Token {
    const token = this.token
    if (!this.takeSign(sign)) throw this.unexpected()
    return token
  }

  /** Takes a name that may stand for a column or a table. Throws SqlError 42601. */
  takeName(isFree: (word: string) => boolean = (word) => !reservedWords.has(word)): string {
    const { kind, text } = this.token
    if (kind === 'quoted' || (kind === 'name' && isFree(text))) return this.take().text
    throw this.unexpected()
  }

  /** Takes any word, reserved or not, as behind a dot or AS. Throws SqlError 42601. */
  takeLabel(): string {
    return this.takeName(() => true)
  }

  /** A comma-separated list of what `read` reads. */
  list<T>(read: () => T): T[] {
    const items = [read()]
    while (this.takeSign(',')) items.push(read())
    return items
  }

  /** What `read` reads, in parentheses. */
  parenthesised<T>(read: () => T): T {
    this.needSign('(')
    const value = read()
    this.needSign(')')
    return value
  }

  /** Runs `read` one level deeper. Throws SqlError 54001 when that is too deep. */
  nested<T>(read: () => T): T {
    if (++this.#nesting > nestingMax)
      throw new SqlError('54001', `the statement nests more than ${nestingMax} levels; write a flatter one`)
    try {
      return read()
    } finally {
      this.#nesting--
    }
  }

  /** The syntax error at the next token. */
  unexpected(): SqlError {
    const { kind, text, raw, at } = this.token
    return syntaxError(kind === 'string' ? `'${text}'` : (raw ?? text), at)
  }
}
