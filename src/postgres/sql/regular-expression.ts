/**
 * Compiles PostgreSQL's regular expressions (the manual, chapter 9.7.3) into instructions. Without look-ahead, back references
 * and collating elements; `\m`, `\M`, `\y`, `\A`, `\Z` and classes such as `[[:alpha:]]` are there.
 */
import type { Budget } from './budget.ts'
import { SqlError, unsupported } from './sql-error.ts'

/** A step of the machine that matches. */
export type Instruction =
  /** `parts`: of how many parts a class in brackets consists, each of which is asked. */
  | { readonly kind: 'char'; readonly parts: number; readonly admits: (char: string) => boolean }
  | { readonly kind: 'split'; readonly first: number; readonly second: number }
  | { readonly kind: 'jump'; readonly to: number }
  | { readonly kind: 'save'; readonly slot: number }
  | { readonly kind: 'assert'; readonly holds: (chars: readonly string[], at: number) => boolean }
  | { readonly kind: 'match' }

/** A compiled pattern. */
export type Program = readonly Instruction[]

const instructionsMax = 5000
const nestingMax = 50
const repeatMax = 255
const instructionsPerStep = 16

type Piece = { readonly body: Instruction[] }
type Admits = (char: string) => boolean

/**
 * Compiles a pattern, and counts what it makes. Throws SqlError 2201B for one that is malformed, 0A000 for what is not
 * supported.
 */
export function compilePattern(pattern: string, caseless: boolean, budget: Budget): Program {
  const compiler = new PatternCompiler(pattern, caseless, budget)
  return [...compiler.compile(), { kind: 'match' }]
}

const isWord: Admits = (char) => /[\p{L}\p{N}_]/u.test(char)
const classes: Readonly<Record<string, Admits>> = {
  d: (char) => /\p{Nd}/u.test(char),
  s: (char) => /\s/.test(char),
  w: isWord,
  D: (char) => !/\p{Nd}/u.test(char),
  S: (char) => !/\s/.test(char),
  W: (char) => !isWord(char),
}
const namedClasses: Readonly<Record<string, Admits>> = {
  alpha: (char) => /\p{L}/u.test(char),
  alnum: (char) => /[\p{L}\p{N}]/u.test(char),
  digit: classes.d!,
  space: classes.s!,
  upper: (char) => /\p{Lu}/u.test(char),
  lower: (char) => /\p{Ll}/u.test(char),
  punct: (char) => /[!-/:-@[-`{-~]/.test(char),
  xdigit: (char) => /[0-9A-Fa-f]/.test(char),
  blank: (char) => char === ' ' || char === '\t',
  word: isWord,
}
const escapes: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\r',
  t: '\t',
  f: '\f',
  v: '\v',
  a: '\x07',
  e: '\x1b',
}
const atWord = (chars: readonly string[], at: number) => at >= 0 && at < chars.length && isWord(chars[at]!)
const assertions: Readonly<Record<string, (chars: readonly string[], at: number) => boolean>> = {
  A: (_, at) => at === 0,
  Z: (chars, at) => at === chars.length,
  m: (chars, at) => !atWord(chars, at - 1) && atWord(chars, at),
  M: (chars, at) => atWord(chars, at - 1) && !atWord(chars, at),
  y: (chars, at) => atWord(chars, at - 1) !== atWord(chars, at),
  Y: (chars, at) => atWord(chars, at - 1) === atWord(chars, at),
}

class PatternCompiler {
  readonly #chars: readonly string[]
  readonly #caseless: boolean
  readonly #budget: Budget
  #at = 0
  #groups = 0
  #depth = 0

  constructor(pattern: string, caseless: boolean, budget: Budget) {
    this.#budget = budget
    const plain = /^\(\?([ic]*)\)/.exec(pattern)
    this.#chars = Array.from(plain ? pattern.slice(plain[0].length) : pattern.replace(/^\*\*\*:/, ''))
    this.#caseless = caseless || (plain?.[1] ?? '').includes('i')
    if (pattern.length > 10_000) throw invalid('regular expression is too complex')
  }

  compile(): Instruction[] {
    const { body } = this.#alternatives()
    if (this.#at < this.#chars.length) throw invalid('parentheses () not balanced')
    return body
  }

  #alternatives(): Piece {
    if (++this.#depth > nestingMax) throw invalid('regular expression is too complex')
    const branches = [this.#sequence()]
    while (this.#take('|')) branches.push(this.#sequence())
    this.#depth--
    return this.#anyOf(branches)
  }

  #sequence(): Piece {
    const body: Instruction[] = []
    while (this.#at < this.#chars.length && !this.#is('|') && !this.#is(')'))
      this.#append(body, this.#repeated(this.#atom()).body)
    return { body }
  }

  #repeated(atom: Piece): Piece {
    const bounds = this.#bounds()
    if (!bounds) return atom
    const greedy = !this.#take('?')
    const [min, max] = bounds
    const body: Instruction[] = []
    for (let count = 0; count < min; count++) this.#append(body, atom.body)
    if (max === Number.POSITIVE_INFINITY) return this.#append(body, star(atom.body, greedy))
    let optional: Instruction[] = []
    for (let count = min; count < max; count++)
      optional = option(this.#append([...atom.body], optional).body, greedy)
    return this.#append(body, optional)
  }

  /** Adds a body behind another one. A long sequence is not copied for each of its atoms. */
  #append(body: Instruction[], more: readonly Instruction[]): Piece {
    if (body.length + more.length > instructionsMax) throw invalid('regular expression is too complex')
    this.#budget.step(1 + more.length / instructionsPerStep)
    for (const each of moved(more, body.length)) body.push(each)
    return { body }
  }

  /** One of several sequences: each but the last has an instruction in front, and a jump to the end behind it. */
  #anyOf(branches: readonly Piece[]): Piece {
    const body: Instruction[] = []
    const end = branches.reduce((length, branch) => length + branch.body.length + 2, -2)
    for (const [index, branch] of branches.entries()) {
      const second = body.length + branch.body.length + 2
      if (index === branches.length - 1) return this.#append(body, branch.body)
      body.push({ kind: 'split', first: body.length + 1, second })
      this.#append(body, branch.body)
      body.push({ kind: 'jump', to: end })
    }
    return { body }
  }

  #bounds(): readonly [number, number] | undefined {
    if (this.#take('*')) return [0, Number.POSITIVE_INFINITY]
    if (this.#take('+')) return [1, Number.POSITIVE_INFINITY]
    if (this.#take('?')) return [0, 1]
    if (!this.#is('{') || !/\d/.test(this.#chars[this.#at + 1] ?? '')) return undefined
    const read = /^\{(\d{1,3})(,?)(\d{0,3})\}/.exec(this.#chars.slice(this.#at, this.#at + 9).join(''))
    if (!read) throw invalid('invalid repetition count(s)')
    this.#at += read[0].length
    const min = Number(read[1])
    const max = read[2] === '' ? min : read[3] === '' ? Number.POSITIVE_INFINITY : Number(read[3])
    if (min > repeatMax || max < min || (max > repeatMax && Number.isFinite(max)))
      throw invalid('invalid repetition count(s)')
    return [min, max]
  }

  #atom(): Piece {
    const char = this.#chars[this.#at++]!
    if (char === '(') return this.#group()
    if (char === '[') return this.#bracket()
    if (char === '.') return single(() => true)
    if (char === '^') return assertion((_, at) => at === 0)
    if (char === '$') return assertion((chars, at) => at === chars.length)
    if (char === '\\') return this.#escape()
    if (/[*+?]/.test(char)) throw invalid('quantifier operand invalid')
    return single(this.#literal(char))
  }

  #group(): Piece {
    if (this.#is('?')) {
      if (this.#chars[this.#at + 1] !== ':') throw unsupported('A look-around of a regular expression')
      this.#at += 2
      return this.#closed(this.#alternatives())
    }
    const slot = 2 * ++this.#groups
    const { body } = this.#closed(this.#alternatives())
    const saved = this.#append([{ kind: 'save', slot }], body)
    return this.#append(saved.body, [{ kind: 'save', slot: slot + 1 }])
  }

  #closed(piece: Piece): Piece {
    if (!this.#take(')')) throw invalid('parentheses () not balanced')
    return piece
  }

  #escape(): Piece {
    const char = this.#chars[this.#at++]
    if (char === undefined) throw invalid('invalid escape \\ sequence')
    if (/[1-9]/.test(char)) throw unsupported('A back reference of a regular expression')
    const holds = assertions[char]
    if (holds) return assertion(holds)
    return single(classes[char] ?? this.#literal(escapes[char] ?? char))
  }

  #bracket(): Piece {
    const negated = this.#take('^')
    const parts: Admits[] = []
    for (let isFirst = true; isFirst || !this.#is(']'); isFirst = false) {
      if (this.#at >= this.#chars.length) throw invalid('brackets [] not balanced')
      parts.push(this.#bracketPart())
    }
    this.#at++
    return single((char) => parts.some((admits) => admits(char)) !== negated, parts.length)
  }

  #bracketPart(): Admits {
    const from = this.#chars[this.#at++]!
    if (from === '[' && this.#is(':')) {
      const end = this.#chars.indexOf(']', this.#at)
      const named = namedClasses[this.#chars.slice(this.#at + 1, end - 1).join('')]
      if (!named || end < 0) throw invalid('invalid character class')
      this.#at = end + 1
      return named
    }
    const first = from === '\\' ? this.#chars[this.#at++] : from
    if (first === undefined) throw invalid('brackets [] not balanced')
    if (from === '\\' && classes[first]) return classes[first]
    const low = from === '\\' ? (escapes[first] ?? first) : first
    if (!this.#is('-') || this.#chars[this.#at + 1] === ']') return this.#literal(low)
    this.#at++
    const high = this.#chars[this.#at] === '\\' ? this.#chars[++this.#at] : this.#chars[this.#at]
    this.#at++
    if (high === undefined || high < low) throw invalid('invalid character range')
    const inside: Admits = (char) => char >= low && char <= high
    return this.#caseless ? (char) => inside(char.toLowerCase()) || inside(char.toUpperCase()) : inside
  }

  #literal(literal: string): Admits {
    if (!this.#caseless) return (char) => char === literal
    const folded = literal.toLowerCase()
    return (char) => char.toLowerCase() === folded
  }

  #is(char: string): boolean {
    return this.#chars[this.#at] === char
  }

  #take(char: string): boolean {
    if (!this.#is(char)) return false
    this.#at++
    return true
  }
}

function invalid(reason: string): SqlError {
  return new SqlError('2201B', `invalid regular expression: ${reason}`)
}

function single(admits: Admits, parts = 1): Piece {
  return { body: [{ kind: 'char', parts, admits }] }
}

function assertion(holds: (chars: readonly string[], at: number) => boolean): Piece {
  return { body: [{ kind: 'assert', holds }] }
}

/** Places of instructions count from the start of their body: behind another body they move. */
function moved(body: readonly Instruction[], by: number): Instruction[] {
  return body.map((each) => {
    if (each.kind === 'split') return { ...each, first: each.first + by, second: each.second + by }
    return each.kind === 'jump' ? { ...each, to: each.to + by } : each
  })
}

function star(body: readonly Instruction[], greedy: boolean): Instruction[] {
  const end = body.length + 2
  const split: Instruction = greedy
    ? { kind: 'split', first: 1, second: end }
    : { kind: 'split', first: end, second: 1 }
  return [split, ...moved(body, 1), { kind: 'jump', to: 0 }]
}

function option(body: readonly Instruction[], greedy: boolean): Instruction[] {
  const end = body.length + 1
  const split: Instruction = greedy
    ? { kind: 'split', first: 1, second: end }
    : { kind: 'split', first: end, second: 1 }
  return [split, ...moved(body, 1)]
}
