/** Compiles operators, comparisons with lists and subqueries, and LIKE. */
import { type Compiler, convert, convertValue, settle } from './compiler.ts'
import { counted, countRead } from './costs.ts'
import { findOperator, findPrefix, isComparison, like, type Operator } from './operators.ts'
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
  if (left.kind === 'row' && right.kind === 'row' && isComparison(operator)) {
    const { run, applied } = sharing(compiler, left, [{ operator, right }], scope, at)
    return { type: oids.bool, modifier: -1, run: (frame) => applied[0]!(frame, run(frame)), uses: 0 }
  }
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

/** An operator whose left operand has been evaluated already. */
export type Applied = (frame: Frame, left: Value) => Value

/**
 * An operator whose left operand other operators share: it is evaluated once for all of them, or operands inside of operands
 * would take twice as long with each level.
 */
export function applyShared(
  compiler: Compiler,
  operator: string,
  left: Compiled,
  right: Compiled,
  at: number,
): Applied {
  const found = findOperator(operator, left.type, right.type, at)
  const operands = operandsOf(compiler, found, left, right)
  return (frame, value) => {
    const both = operands(frame, value)
    return both && found.apply(frame.context, ...both)
  }
}

/** The values of both operands in the types that an operator takes, or null if one of them is null. */
function operandsOf(
  compiler: Compiler,
  { left: type, right: other }: Operator,
  left: Compiled,
  right: Compiled,
): (frame: Frame, left: Value) => readonly [Value, Value] | null {
  // A literal or parameter of open type has a value for each type.
  const isOpen = left.literal !== undefined || left.parameter !== undefined
  const own = isOpen ? operandOf(compiler, left, type) : undefined
  const b = operandOf(compiler, right, other)
  return (frame, value) => {
    const x = own ? own.run(frame) : convertValue(frame.context, value, left.type, type)
    const y = x === null ? null : b.run(frame)
    if (y === null) return null
    countRead(frame.context, x, y)
    return [x, y]
  }
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

/** Two rows compared field by field; the values of the left one have been evaluated already. */
export function compareRows(
  compiler: Compiler,
  operator: string,
  left: readonly Compiled[],
  right: readonly Expression[],
  scope: Scope,
  at: number,
): Applied {
  if (left.length !== right.length)
    throw new SqlError('42601', 'unequal number of entries in row expressions', { position: positionOf(at) })
  const others = right.map((item) => compiler.expression(item, scope))
  if (operator === '=' || operator === '<>') {
    const equal = left.map((item, index) => applyShared(compiler, '=', item, others[index]!, at))
    return (frame, row) => {
      const values = row as readonly Value[]
      const all = conjunction(equal.map((each, index) => each(frame, values[index]!)))
      return all === null ? null : all === (operator === '=')
    }
  }
  const fields = left.map((item, index) => {
    const { type } = others[index]!
    const [same, order] = ['=', operator].map((each) => findOperator(each, item.type, type, at))
    return { same, order, operands: operandsOf(compiler, order!, item, others[index]!) }
  })
  return (frame, row) => {
    for (const [index, { same, order, operands }] of fields.entries()) {
      const both = operands(frame, (row as readonly Value[])[index]!)
      if (both === null) return null
      const isLast = index === fields.length - 1
      if (isLast || !same!.apply(frame.context, ...both)) return order!.apply(frame.context, ...both)
    }
    return null
  }
}

/** BETWEEN. */
export function compileBetween(
  compiler: Compiler,
  { negated, operand, low, high, at }: Kind<'between'>,
  scope: Scope,
): Compiled {
  const { run: evaluate, applied } = sharing(
    compiler,
    operand,
    [
      { operator: '>=', right: low },
      { operator: '<=', right: high },
    ],
    scope,
    at,
  )
  const run = (frame: Frame) => {
    const value = evaluate(frame)
    const isAbove = applied[0]!(frame, value)
    const holds = isAbove === false ? false : conjunction([isAbove, applied[1]!(frame, value)])
    return holds === null ? null : holds !== negated
  }
  return { type: oids.bool, modifier: -1, run, uses: 0 }
}

/** Comparisons of one operand, a row if all are with rows: its value, and what each of them makes of it. */
function sharing(
  compiler: Compiler,
  left: Expression,
  others: readonly { readonly operator: string; readonly right: Expression }[],
  scope: Scope,
  at: number,
): { readonly run: (frame: Frame) => Value; readonly applied: readonly Applied[] } {
  if (left.kind === 'row' && others.every(({ right }) => right.kind === 'row')) {
    const items = left.items.map((item) => compiler.expression(item, scope))
    return {
      run: (frame) => items.map((item) => item.run(frame)),
      applied: others.map(({ operator, right }) =>
        compareRows(compiler, operator, items, (right as Kind<'row'>).items, scope, at),
      ),
    }
  }
  const operand = compiler.expression(left, scope)
  return {
    run: operand.run,
    applied: others.map(({ operator, right }) =>
      applyShared(compiler, operator, operand, compiler.expression(right, scope), at),
    ),
  }
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
function disjunction(conditions: readonly Compiled[]): Compiled {
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
