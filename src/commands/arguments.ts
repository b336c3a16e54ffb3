/** The arguments of one request: bytes, parsed as the command needs them, or refused with Redis's errors. */

import { FahaoError } from '../base/errors.ts'
import { max63 } from '../ids/limits.ts'

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const integerShape = /^(0|-?[1-9][0-9]*)$/
/** Longer than any name; matching costs the pattern's length times the name's. */
const patternMax = 1024

/** Arguments without the command's own word. */
export class Arguments {
  /** The bytes of each argument. Valid only until the handler returns or first awaits: copy what is kept. */
  readonly parts: readonly Uint8Array[]
  /** The text of the first argument, which most often is the name of a generator, and is read several times. */
  #first: string | undefined

  constructor(parts: readonly Uint8Array[]) {
    this.parts = parts
  }

  /** Arguments from text, for transports and tests that have strings. */
  static of(...texts: string[]): Arguments {
    const encoder = new TextEncoder()
    return new Arguments(texts.map((text) => encoder.encode(text)))
  }

  get length(): number {
    return this.parts.length
  }

  /** The bytes of argument `index`, copied. */
  bytes(index: number): Uint8Array {
    // Not slice: a Buffer's shares its memory.
    return new Uint8Array(this.parts[index]!)
  }

  /** Argument `index` as text; ERR when it is not UTF-8. */
  text(index: number): string {
    if (index !== 0) return this.#decoded(index)
    this.#first ??= this.#decoded(0)
    return this.#first
  }

  /** Every argument as text. */
  texts(): string[] {
    return this.parts.map((_, index) => this.text(index))
  }

  /** Argument `index` in upper case, for comparing it to a token. */
  token(index: number): string {
    return this.text(index).toUpperCase()
  }

  /** Argument `index` as one of these tokens, in any case; ERR for any other word. */
  oneOf<Token extends string>(index: number, ...tokens: Token[]): Token {
    const given = this.token(index)
    const found = tokens.find((token) => token === given)
    if (found === undefined) throw syntaxError()
    return found
  }

  /** The options from `from` on: each token with the index of its value. ERR if the last has no value, or one stands twice. */
  *options(from: number): Iterable<readonly [token: string, valueIndex: number]> {
    const seen = new Set<string>()
    for (let index = from; index < this.length; index += 2) {
      if (index + 1 === this.length) throw syntaxError()
      const token = this.token(index)
      if (seen.has(token)) throw givenTwice(token)
      seen.add(token)
      yield [token, index + 1]
    }
  }

  /** Argument `index` as a signed 64-bit integer, in the one spelling that Redis accepts. */
  integer(index: number): bigint {
    const text = this.text(index)
    if (!integerShape.test(text) || text.length > 20) throw notInteger()
    const value = BigInt(text)
    if (value > max63 || value < -max63 - 1n) throw notInteger()
    return value
  }

  /** The pattern at `index`, Redis's glob. LIMIT if it is too long. */
  pattern(index: number): string {
    const pattern = this.text(index)
    if (pattern.length > patternMax) {
      throw new FahaoError(
        'LIMIT',
        `a pattern has at most ${patternMax} characters; names have at most 256 bytes`,
      )
    }
    return pattern
  }

  #decoded(index: number): string {
    try {
      return strict.decode(this.parts[index]!)
    } catch {
      throw new FahaoError('ERR', `argument ${index + 1} is not valid UTF-8`)
    }
  }
}

/** Redis's error for anything but a 64-bit integer. */
export function notInteger(): FahaoError {
  return new FahaoError('ERR', 'value is not an integer or out of range')
}

/** The error for an option that takes one value: of two, one would be ignored. */
export function givenTwice(token: string): FahaoError {
  return new FahaoError('ERR', `option ${token.slice(0, 64)} is given twice; give it once`)
}

/** Redis's error for unknown or misplaced words. */
export function syntaxError(): FahaoError {
  return new FahaoError('ERR', 'syntax error')
}
