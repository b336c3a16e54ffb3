/** Reads expressions by precedence (PostgreSQL's manual, chapter 4.1.6, and the grammar's `a_expr` and `c_expr`). */
import { PrimaryParser } from './primary-parser.ts'
import { positionOf, SqlError, unsupported } from './sql-error.ts'
import type { Call, Expression } from './syntax.ts'
import { readTypeName } from './type-name-parser.ts'

/** How tightly operators bind; a higher number binds tighter. */
const binding = {
  or: 1,
  and: 2,
  not: 3,
  is: 4,
  comparison: 5,
  range: 6,
  other: 7,
  sum: 8,
  product: 9,
  power: 10,
}
const negation = 12
const comparisons: ReadonlySet<string> = new Set(['<', '>', '=', '<=', '>=', '<>', '!='])

/** The part of the parser that knows expressions; subqueries are read by `readSelect`. */
export class ExpressionParser extends PrimaryParser {
  /** Reads an expression whose operators bind tighter than `above`. */
  read(above = 0): Expression {
    return this.reader.nested(() => {
      let left = this.#prefix()
      let isRange = false
      for (;;) {
        const range: Expression | undefined = above < binding.range ? this.#range(left, isRange) : undefined
        const next: Expression | undefined = range ?? this.#infix(left, above)
        if (!next) return left
        left = next
        isRange = range !== undefined && range.kind !== 'in'
      }
    })
  }

  /** A call of a function, for FROM. */
  call(): Call {
    const { at } = this.reader.token
    const call = this.primary()
    if (call.kind === 'call') return call
    throw new SqlError('42601', 'syntax error: a function must be called here', { position: positionOf(at) })
  }

  #infix(left: Expression, above: number): Expression | undefined {
    const reader = this.reader
    const { kind, text, at } = reader.token
    if (kind === 'operator') return this.#infixOperator(left, above, text, at)
    if (kind !== 'name') return undefined
    if (text === 'or' || text === 'and') return this.#junction(left, above, text)
    if (text === 'operator' && above < binding.other && reader.ahead(1).text === '(') {
      return this.#binary(left, this.#namedOperator(), binding.other, at)
    }
    if (text === 'is' || text === 'isnull' || text === 'notnull')
      return above < binding.is ? this.#is(left) : undefined
    if (text === 'collate') {
      reader.take()
      this.qualifiedName()
      return left
    }
    if (text === 'at' && reader.ahead(1).text === 'time') throw unsupported('AT TIME ZONE', at)
    return undefined
  }

  #infixOperator(left: Expression, above: number, operator: string, at: number): Expression | undefined {
    const reader = this.reader
    if (operator === '::') {
      reader.take()
      return { kind: 'cast', operand: left, type: readTypeName(reader), at }
    }
    if (operator === '[') return this.#subscript(left)
    if (/^[()\],;.:]$|^(?::=|\.\.)$/.test(operator)) return undefined
    const level = levelOf(operator)
    if (above >= level) return undefined
    reader.take()
    return this.#binary(left, operator === '!=' ? '<>' : operator, level, at)
  }

  #binary(left: Expression, operator: string, level: number, at: number): Expression {
    const quantifier = this.reader.token
    const next = this.reader.ahead(1)
    const isQuantified = quantifier.kind === 'name' && /^(?:any|some|all)$/.test(quantifier.text)
    if (!isQuantified || next.text !== '(')
      return { kind: 'operator', operator, left, right: this.read(level), at }
    this.reader.take()
    const right = this.reader.parenthesised(() => (this.startsSelect() ? this.readSelect() : this.read()))
    return { kind: 'quantified', operator, all: quantifier.text === 'all', left, right, at }
  }

  #junction(left: Expression, above: number, kind: 'or' | 'and'): Expression | undefined {
    if (above >= binding[kind]) return undefined
    const { at } = this.reader.token
    const operands = [left]
    while (this.reader.takeWord(kind)) operands.push(this.read(binding[kind]))
    return { kind, operands, at }
  }

  #is(operand: Expression): Expression {
    const reader = this.reader
    const { text, at } = reader.take()
    if (text !== 'is') return { kind: 'is', test: 'null', negated: text === 'notnull', operand, at }
    const negated = reader.takeWord('not')
    if (reader.takeWord('distinct', 'from'))
      return { kind: 'distinct', negated, left: operand, right: this.read(binding.is), at }
    for (const test of ['null', 'true', 'false', 'unknown'] as const)
      if (reader.takeWord(test)) return { kind: 'is', test, negated, operand, at }
    throw reader.unexpected()
  }

  /**
   * BETWEEN, IN, LIKE, ILIKE. All but IN end with an operand, and do not associate: `isAgain` says that `left` is one of
   * these, without parentheses.
   */
  #range(left: Expression, isAgain: boolean): Expression | undefined {
    const reader = this.reader
    const { at } = reader.token
    const not = reader.isWord('not') ? 1 : 0
    const { kind, text } = reader.ahead(not)
    if (kind !== 'name' || !/^(?:between|in|like|ilike|similar)$/.test(text)) return undefined
    if (isAgain) throw reader.unexpected()
    const negated = reader.takeWord('not')
    reader.take()
    if (text === 'between') return this.#between(left, negated, at)
    if (text === 'similar') throw unsupported('SIMILAR TO', at)
    if (text === 'in') {
      const right = reader.parenthesised(() =>
        this.startsSelect() ? this.readSelect() : reader.list(() => this.read()),
      )
      return { kind: 'in', negated, left, right, at }
    }
    const right = this.read(binding.range)
    const escapeChar = reader.takeWord('escape') ? this.read(binding.range) : undefined
    return { kind: 'like', caseless: text === 'ilike', negated, left, right, escapeChar, at }
  }

  #between(operand: Expression, negated: boolean, at: number): Expression {
    if (this.reader.takeWord('symmetric')) throw unsupported('BETWEEN SYMMETRIC', at)
    this.reader.takeWord('asymmetric')
    const low = this.read(binding.range)
    this.reader.needWord('and')
    const high = this.read(binding.range)
    return { kind: 'between', negated, operand, low, high, at }
  }

  #prefix(): Expression {
    const reader = this.reader
    const { kind, text, at } = reader.token
    if (kind === 'name' && text === 'not') {
      reader.take()
      return { kind: 'not', operand: this.read(binding.not), at }
    }
    if (kind === 'operator' && /^[-+]$/.test(text)) {
      reader.take()
      return this.#signed(text, this.read(negation), at)
    }
    if (kind === 'operator' && /^[~!@#^&|`?%*/<>=]/.test(text)) {
      reader.take()
      return { kind: 'operator', operator: text, left: undefined, right: this.read(binding.other), at }
    }
    return this.#selections(this.primary())
  }

  /** A minus in front of a number belongs to the number, as in PostgreSQL. */
  #signed(sign: string, operand: Expression, at: number): Expression {
    if (operand.kind === 'number') {
      if (sign === '+') return operand
      const { text } = operand
      return { ...operand, text: text.startsWith('-') ? text.slice(1) : `-${text}`, at }
    }
    return { kind: 'operator', operator: sign, left: undefined, right: operand, at }
  }

  /** Fields and elements behind an operand in parentheses: `(x).y`, `(x)[1]`. */
  #selections(operand: Expression): Expression {
    const reader = this.reader
    let selected = operand
    for (;;) {
      const { at } = reader.token
      if (reader.isSign('[')) selected = this.#subscript(selected)
      else if (reader.isSign('.') && selected.kind !== 'column') {
        reader.take()
        selected = {
          kind: 'field',
          operand: selected,
          name: reader.takeSign('*') ? '*' : reader.takeLabel(),
          at,
        }
      } else return selected
    }
  }

  #subscript(operand: Expression): Expression {
    const reader = this.reader
    const { at } = reader.needSign('[')
    const lower = reader.isSign(':') ? undefined : this.read()
    const slice = reader.takeSign(':')
    const upper = slice && !reader.isSign(']') ? this.read() : undefined
    reader.needSign(']')
    return { kind: 'subscript', operand, slice, lower, upper, at }
  }

  /** `OPERATOR(pg_catalog.~)`. */
  #namedOperator(): string {
    const reader = this.reader
    reader.take()
    return reader.parenthesised(() => {
      while (reader.token.kind !== 'operator') {
        reader.takeLabel()
        reader.needSign('.')
      }
      const { text } = reader.take()
      return text === '!=' ? '<>' : text
    })
  }
}

function levelOf(operator: string): number {
  if (comparisons.has(operator)) return binding.comparison
  if (operator === '+' || operator === '-') return binding.sum
  if (operator === '*' || operator === '/' || operator === '%') return binding.product
  return operator === '^' ? binding.power : binding.other
}
