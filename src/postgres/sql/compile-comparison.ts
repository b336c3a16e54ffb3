/** Compiles operators, comparisons with lists and subqueries, and LIKE. */
import { type Compiler, convert, settle } from './compiler.ts'
import { counted, countRead } from './costs.ts'
import { findOperator, findPrefix, isComparison, like } from './operators.ts'
import { exactText } from './patterns.ts'
import type { Compiled, Frame } from './plan.ts'
import type { Scope } from './scope.ts'
import { positionOf, SqlError } from './sql-error.ts'
import type { Expression } from './syntax.ts'
import { formatType, oids } from './types.ts'
import { compareNullable, type Value } from './values.ts'

type Kind<K extends Expression['kind']> = Extract<Expression, { kind: K }>

/** `left operator right`, or a prefix operator. */
export function compileOperator(
  compiler: Compiler,
  { operator, left, right, at }: Kind<'operator'>,
  scope: Scope,
): Compiled {
  if (!left) return compilePrefix(compiler, operator, compiler.expression(right, scope), at)
  if (left.kind === 'row' && right.kind === 'row' && isComparison(operator))
    return compareRows(compiler, operator, left.items, right.items, scope, at)
  return applyOperator(
    compiler,
    operator,
    compiler.expression(left, scope),
    compiler.expression(right, scope),
    at,
  )
}

function compilePrefix(compiler: Compiler, operator: string, operand: Compiled, at: number): Compiled {
  const { right, result, apply } = findPrefix(operator, operand.type, at)
  const settled = settle(compiler, operand, right)
  const run = (frame: Frame) => {
    const value = settled.run(frame)
    return value === null ? null : apply(frame.context, null, value)
  }
  return { type: result, modifier: -1, run, uses: settled.uses }
}

/** An operator between two compiled operands. */
export function applyOperator(
  compiler: Compiler,
  operator: string,
  left: Compiled,
  right: Compiled,
  at: number,
): Compiled {
  const found = findOperator(operator, left.type, right.type, at)
  const a = operandOf(compiler, left, found.left)
  const b = operandOf(compiler, right, found.right)
  const { apply, takesNulls = false } = found
  const run = (frame: Frame) => {
    const x = a.run(frame)
    if (x === null && !takesNulls) return null
    const y = b.run(frame)
    if (y === null && !takesNulls) return null
    countRead(frame.context, x, y)
    return counted(frame.context, apply(frame.context, x, y))
  }
  const compiled = { type: found.result, modifier: -1, run, uses: a.uses | b.uses }
  if (operator === '=') return { ...compiled, equality: { left: a, right: b }, ...keysOf(a, b) }
  return operator === '~' ? { ...compiled, ...keysOfPattern(a, b) } : compiled
}

/** An operand in the type that an operator takes. */
export function operandOf(compiler: Compiler, compiled: Compiled, type: number): Compiled {
  return compiled.type === oids.unknown ? settle(compiler, compiled, type) : convert(compiled, type)
}

/** A column that equals something else can have only one value. */
function keysOf(a: Compiled, b: Compiled): Pick<Compiled, 'keys'> {
  const [column, other] = a.column ? [a.column, b] : [b.column, a]
  if (!column || (other.uses & (1 << column.item)) !== 0) return {}
  return { keys: { column, uses: other.uses, values: (frame) => [other.run(frame)] } }
}

function keysOfPattern(a: Compiled, b: Compiled): Pick<Compiled, 'keys'> {
  if (!a.column || b.uses !== 0) return {}
  const values = (frame: Frame) => {
    const pattern = b.run(frame)
    const text = typeof pattern === 'string' ? exactText(pattern) : undefined
    return text === undefined ? undefined : [text]
  }
  return { keys: { column: a.column, uses: 0, values } }
}

/** Two rows compared field by field. */
export function compareRows(
  compiler: Compiler,
  operator: string,
  left: readonly Expression[],
  right: readonly Expression[],
  scope: Scope,
  at: number,
): Compiled {
  if (left.length !== right.length)
    throw new SqlError('42601', 'unequal number of entries in row expressions', { position: positionOf(at) })
  const pairs = left.map(
    (item, index) => [compiler.expression(item, scope), compiler.expression(right[index]!, scope)] as const,
  )
  const uses = pairs.reduce((all, [a, b]) => all | a.uses | b.uses, 0)
  const equal = pairs.map(([a, b]) => applyOperator(compiler, '=', a, b, at))
  if (operator === '=' || operator === '<>') {
    const run = (frame: Frame) => {
      const all = conjunction(equal.map((each) => each.run(frame)))
      return all === null ? null : all === (operator === '=')
    }
    return { type: oids.bool, modifier: -1, run, uses }
  }
  const order = pairs.map(([a, b]) => applyOperator(compiler, operator, a, b, at))
  const run = (frame: Frame) => {
    for (const [index, each] of equal.entries()) {
      const same = each.run(frame)
      if (same === null) return null
      if (!same || index === equal.length - 1) return order[index]!.run(frame)
    }
    return null
  }
  return { type: oids.bool, modifier: -1, run, uses }
}

/** AND of values that may be null. */
export function conjunction(values: readonly Value[]): boolean | null {
  if (values.includes(false)) return false
  return values.includes(null) ? null : true
}

/** IS [NOT] DISTINCT FROM. */
export function compileDistinct(
  compiler: Compiler,
  { negated, left, right, at }: Kind<'distinct'>,
  scope: Scope,
): Compiled {
  const equal = applyOperator(
    compiler,
    '=',
    compiler.expression(left, scope),
    compiler.expression(right, scope),
    at,
  )
  const { left: a, right: b } = equal.equality!
  const type = a.type
  const run = (frame: Frame) => (compareNullable(a.run(frame), b.run(frame), type) === 0) === negated
  return { type: oids.bool, modifier: -1, run, uses: equal.uses }
}

/** NOT of a condition. */
export function negation(compiled: Compiled): Compiled {
  const run = (frame: Frame) => {
    const value = compiled.run(frame)
    return value === null ? null : !value
  }
  return { type: oids.bool, modifier: -1, run, uses: compiled.uses }
}

/** Conditions of which one must hold. */
export function disjunction(conditions: readonly Compiled[]): Compiled {
  const run = (frame: Frame) => {
    let isUnknown = false
    for (const each of conditions) {
      const value = each.run(frame)
      if (value === true) return true
      if (value === null) isUnknown = true
    }
    return isUnknown ? null : false
  }
  return { type: oids.bool, modifier: -1, run, uses: conditions.reduce((all, each) => all | each.uses, 0) }
}

/** AND and OR. */
export function compileJunction(
  compiler: Compiler,
  { kind, operands }: Kind<'and' | 'or'>,
  scope: Scope,
): Compiled {
  const conditions = operands.map((operand) => compileCondition(compiler, operand, scope, kind.toUpperCase()))
  if (kind === 'or') return disjunction(conditions)
  const run = (frame: Frame) => {
    let isUnknown = false
    for (const each of conditions) {
      const value = each.run(frame)
      if (value === false) return false
      if (value === null) isUnknown = true
    }
    return isUnknown ? null : true
  }
  return { type: oids.bool, modifier: -1, run, uses: conditions.reduce((all, each) => all | each.uses, 0) }
}

/** An expression that must be a condition. `where` names its place in the error. */
export function compileCondition(
  compiler: Compiler,
  expression: Expression,
  scope: Scope,
  where: string,
): Compiled {
  const compiled = compiler.expression(expression, scope)
  if (compiled.type === oids.unknown) return settle(compiler, compiled, oids.bool)
  if (compiled.type === oids.bool) return compiled
  throw new SqlError(
    '42804',
    `argument of ${where} must be type boolean, not type ${formatType(compiled.type)}`,
    {
      position: positionOf(expression.at),
    },
  )
}

/** LIKE and ILIKE. */
export function compileLike(
  compiler: Compiler,
  { caseless, negated, left, right, escapeChar, at }: Kind<'like'>,
  scope: Scope,
): Compiled {
  const operator = `${negated ? '!' : ''}~~${caseless ? '*' : ''}`
  const [a, b] = [compiler.expression(left, scope), compiler.expression(right, scope)]
  if (!escapeChar) return applyOperator(compiler, operator, a, b, at)
  const found = findOperator(operator, a.type, b.type, at)
  const sign = settle(compiler, compiler.expression(escapeChar, scope), oids.text)
  const [text, pattern] = [operandOf(compiler, a, found.left), operandOf(compiler, b, found.right)]
  const run = (frame: Frame) => {
    const values = [text, pattern, sign].map((each) => each.run(frame))
    if (values.includes(null)) return null
    const [x, y, z] = values as [string, string, string]
    if (Array.from(z).length > 1)
      throw new SqlError('22025', 'invalid escape string', {
        hint: 'Escape string must be empty or one character.',
      })
    return like(frame.context, x, y, z, caseless) !== negated
  }
  return { type: oids.bool, modifier: -1, run, uses: a.uses | b.uses | sign.uses }
}
