/**
 * Redis's glob patterns (`*`, `?`, `[a-z]`, `[^x]`, `\` to escape). Compares code points.
 *
 * A pattern is a row of items that match one code point each, with stars between them. A set of bits holds how many items
 * can have been matched up to here: it follows all possibilities at once, so no pattern makes it go back. The time is at most
 * text length × pattern length ÷ 32.
 */

/** Whether the whole text matches the pattern. For many texts, `globMatcher` reads the pattern once. */
export function globMatches(pattern: string, text: string): boolean {
  return globMatcher(pattern)(text)
}

/** The text that every match of the pattern begins with. */
export function literalPrefix(pattern: string): string {
  return /^[^*?[\\]*/.exec(pattern)![0]
}

/** Whether the pattern matches one text only: itself. */
export function isLiteral(pattern: string): boolean {
  return literalPrefix(pattern) === pattern
}

/** The time to go through a text of 256 characters, as the bytes of a reply that take as long. */
const textWork = 512
/** The time of one step of each of its characters. A step compares 32 items, or one range of a class with a character. */
const stepWork = 24

/** The longest time to match a text of 256 characters, as the bytes of a reply that take as long. */
export function matchWork(pattern: string): number {
  const prefix = literalPrefix(pattern)
  if (prefix === pattern || pattern === `${prefix}*`) return 1
  return textWork + new Glob([...pattern]).steps * stepWork
}

/** `globMatches` of one pattern, for many texts: literal patterns, and those with one star at the end, are compared at once. */
export function globMatcher(pattern: string): (text: string) => boolean {
  const prefix = literalPrefix(pattern)
  if (prefix === pattern) return (text) => text === pattern
  if (pattern === `${prefix}*`) return (text) => text.startsWith(prefix)
  const glob = new Glob([...pattern])
  return (text) => text.startsWith(prefix) && glob.matches(text)
}

/** A range of code points, both ends included. */
type Range = readonly [low: number, high: number]
type Class = { readonly item: number; readonly ranges: readonly Range[]; readonly negated: boolean }

/** The most code points whose items a pattern with classes keeps. Names mostly have fewer. */
const knownMax = 256

class Glob {
  /** How many items there are. */
  #count = 0
  readonly #classes: Class[] = []
  /** The items that are one code point; with those that every code point matches, once the pattern is read. */
  readonly #literals = new Map<number, Uint32Array>()
  /** The items that every code point matches: `?`. */
  readonly #any: Uint32Array
  /** Each bit stands for the number of items before it: those before a star, and those that can have been matched. */
  readonly #stars: Uint32Array
  readonly #matched: Uint32Array
  /** For a code point, the items that match it. */
  readonly #known = new Map<number, Uint32Array>()

  constructor(pattern: readonly string[]) {
    this.#stars = new Uint32Array((pattern.length >> 5) + 1)
    this.#any = new Uint32Array(this.#stars.length)
    for (let at = 0; at < pattern.length; ) at = this.#read(pattern, at)
    for (const items of this.#literals.values())
      for (const [word, bits] of this.#any.entries()) items[word]! |= bits
    this.#matched = new Uint32Array((this.#count >> 5) + 1)
  }

  /** The most steps that one character of a text takes: one for each word of `#matched`, one for each range of a class. */
  get steps(): number {
    return this.#classes.reduce((sum, { ranges }) => sum + ranges.length, this.#matched.length)
  }

  matches(text: string): boolean {
    const matched = this.#matched.fill(0)
    matched[0] = 1
    for (const character of text) {
      const items = this.#itemsOf(character.codePointAt(0)!)
      let carry = 0
      let any = 0
      for (let word = 0; word < matched.length; word++) {
        const before = matched[word]!
        const further = before & items[word]!
        matched[word] = (before & this.#stars[word]!) | (further << 1) | carry
        carry = further >>> 31
        any |= matched[word]!
      }
      if (any === 0) return false
    }
    return has(matched, this.#count)
  }

  /** Reads the item or the star that begins at `at`; returns the index after it. */
  #read(pattern: readonly string[], at: number): number {
    const first = pattern[at]!
    if (first === '*') set(this.#stars, this.#count)
    else if (first === '[') return this.#readClass(pattern, at)
    else if (first === '?') set(this.#any, this.#count++)
    else {
      const escapes = first === '\\' && at + 1 < pattern.length ? 1 : 0
      this.#addLiteral(pointOf(pattern[at + escapes]!), this.#count++)
      return at + escapes + 1
    }
    return at + 1
  }

  #addLiteral(point: number, item: number): void {
    const items = this.#literals.get(point) ?? new Uint32Array(this.#stars.length)
    this.#literals.set(point, items)
    set(items, item)
  }

  #readClass(pattern: readonly string[], open: number): number {
    const negated = pattern[open + 1] === '^'
    const ranges: Range[] = []
    let at = open + (negated ? 2 : 1)
    while (at < pattern.length && pattern[at] !== ']') {
      if (pattern[at] === '\\' && at + 1 < pattern.length) at++
      const low = pointOf(pattern[at]!)
      const isRange = pattern[at + 1] === '-' && at + 2 < pattern.length && pattern[at + 2] !== ']'
      const high = isRange ? pointOf(pattern[at + 2]!) : low
      ranges.push([Math.min(low, high), Math.max(low, high)])
      at += isRange ? 3 : 1
    }
    this.#classes.push({ item: this.#count++, ranges, negated })
    return at + 1
  }

  #itemsOf(point: number): Uint32Array {
    const literals = this.#literals.get(point) ?? this.#any
    if (this.#classes.length === 0) return literals
    const known = this.#known.get(point)
    if (known !== undefined) return known
    const items = literals.slice()
    for (const { item, ranges, negated } of this.#classes)
      if (ranges.some(([low, high]) => low <= point && point <= high) !== negated) set(items, item)
    if (this.#known.size < knownMax) this.#known.set(point, items)
    return items
  }
}

function pointOf(character: string): number {
  return character.codePointAt(0)!
}

function set(bits: Uint32Array, index: number): void {
  bits[index >> 5]! |= 1 << (index & 31)
}

function has(bits: Uint32Array, index: number): boolean {
  return ((bits[index >> 5]! >>> (index & 31)) & 1) === 1
}
