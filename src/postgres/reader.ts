/** Reads the tokens of one statement from the first to the last. */
import { parseName, shortened } from './names.ts'
import type { Token } from './sql/lexer.ts'
import { ownText } from './sql/own-text.ts'
import { positionOf, SqlError, syntaxError } from './sql/sql-error.ts'

/** A statement, and the position in it. */
export class Reader {
  readonly #tokens: readonly Token[]
  readonly #source: string
  #at = 0

  /** @param tokens the tokens of the statement, with `end` after them. */
  constructor(tokens: readonly Token[], source: string) {
    this.#tokens = tokens
    this.#source = source
  }

  /** The next token. */
  get token(): Token {
    return this.#tokens[this.#at]!
  }

  /** Where the reader stands, for `reset`. */
  get mark(): number {
    return this.#at
  }

  /** Goes back to a mark. */
  reset(mark: number): void {
    this.#at = mark
  }

  /** Whether the statement is over. */
  get isDone(): boolean {
    return this.token.kind === 'end'
  }

  /** Takes the next token. */
  take(): Token {
    const { token } = this
    if (token.kind !== 'end') this.#at++
    return token
  }

  /** Takes these words, if all of them follow. */
  words(...texts: readonly string[]): boolean {
    const isThere = texts.every((text, index) => {
      const token = this.#tokens[this.#at + index]
      return token?.kind === 'name' && token.text === text
    })
    if (isThere) this.#at += texts.length
    return isThere
  }

  /** Takes one of these words, and returns it. */
  oneOf(...texts: readonly string[]): string | undefined {
    return texts.find((text) => this.words(text))
  }

  /** Takes this symbol, if it follows. */
  symbol(text: string): boolean {
    const { token } = this
    if (token.kind !== 'operator' || token.text !== text) return false
    this.#at++
    return true
  }

  /** Takes a token of this kind, and returns its text. */
  typed(kind: Token['kind']): string | undefined {
    return this.token.kind === kind ? this.take().text : undefined
  }

  /** Demands these words. */
  demandWords(...texts: readonly string[]): void {
    for (const text of texts) if (!this.words(text)) throw this.error()
  }

  /** Demands this symbol. */
  demandSymbol(text: string): void {
    if (!this.symbol(text)) throw this.error()
  }

  /** Demands the end of the statement. */
  demandEnd(): void {
    if (!this.isDone) throw this.error()
  }

  /** The text of the whole statement. */
  get text(): string {
    return ownText(this.#source.slice(this.#tokens[0]!.at, this.#tokens.at(-1)!.at).trimEnd())
  }

  /** Takes what is left, as a statement of its own. */
  takeRest(): { readonly reader: Reader; readonly tokens: readonly Token[] } {
    const tokens = this.#tokens.slice(this.#at)
    this.#at = this.#tokens.length - 1
    return { reader: new Reader(tokens, this.#source), tokens }
  }

  /** A name, quoted or not, without what qualifies it. */
  identifier(): string {
    const { kind } = this.token
    if (kind !== 'name' && kind !== 'quoted') throw this.error()
    return this.take().text
  }

  /** The name of something of a session, of at most 63 bytes: see `shortened`. */
  shortName(): string {
    return shortened(this.identifier())
  }

  /** The name of a generator: see `names.ts`. */
  generator(): string {
    const parts = [this.identifier()]
    while (this.symbol('.')) parts.push(this.identifier())
    return parseName(parts)
  }

  /** A whole number with an optional sign. 22P02 for another number. */
  integer(): bigint {
    const sign = this.symbol('-') ? '-' : ''
    if (sign === '') this.symbol('+')
    const { token } = this
    const text = this.typed('number')
    if (text === undefined) throw this.error()
    if (!/^\d{1,40}$/.test(text))
      throw new SqlError('22P02', `invalid input syntax for type bigint: "${text}"`, {
        position: positionOf(token.at),
      })
    return BigInt(sign + text)
  }

  /** 42601 at the next token. */
  error(): SqlError {
    const { token } = this
    return syntaxError(this.#source.slice(token.at, token.to), token.at)
  }
}
