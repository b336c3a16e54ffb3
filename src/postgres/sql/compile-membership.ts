/** Compiles comparisons with lists and subqueries: ANY, ALL and IN. */
import { commonType } from './coercion.ts'
import { type Applied, applyShared, compareRows, negation, operandOf } from './compile-comparison.ts'
import { type Compiler, convert, convertValue, settle } from './compiler.ts'
import { comparisonType, findOperator, type Operator } from './operators.ts'
import type { Compiled, Context, Frame, Query } from './plan.ts'
import type { Scope } from './scope.ts'
import { positionOf, SqlError, unsupported } from './sql-error.ts'
import { remembered, rowsOf } from './subqueries.ts'
import type { Expression, Select } from './syntax.ts'
import { itemType } from './text-output.ts'
import { arrayOf, isArray, oids } from './types.ts'
import { keyOf, type Value } from './values.ts'

type Kind<K extends Expression['kind']> = Extract<Expression, { kind: K }>

/** `left operator ANY (…)`, `ALL (…)`. */
export function compileQuantified(
  compiler: Compiler,
  { operator, all, left, right, at }: Kind<'quantified'>,
  scope: Scope,
): Compiled {
  const operand = compiler.expression(left, scope)
  if (right.kind === 'select')
    return withSubquery(compiler, operator, all, operand, compiler.query(right, scope), scope, at)
  const list = compiler.expression(right, scope)
  const array =
    list.type === oids.unknown
      ? settle(compiler, list, arrayOf(operand.type === oids.unknown ? oids.text : operand.type))
      : list
  const item = itemType(array.type)
  if (item === 0)
    throw new SqlError('42809', `op ${all ? 'ALL' : 'ANY'} (array) requires array on right side`, {
      position: positionOf(at),
    })
  return overItems(compiler, findOperator(operator, operand.type, item, at), operator, all, operand, array)
}

function overItems(
  compiler: Compiler,
  found: Operator,
  operator: string,
  all: boolean,
  operand: Compiled,
  array: Compiled,
): Compiled {
  const a = operandOf(compiler, operand, found.left)
  const list =
    isArray(array.type) && itemType(array.type) !== found.right && arrayOf(found.right) !== 0
      ? convert(array, arrayOf(found.right))
      : array
  const run = (frame: Frame) => {
    const items = list.run(frame) as readonly Value[] | null
    if (items === null) return null
    return quantify(frame.context, found, all, a.run(frame), items)
  }
  const compiled = { type: oids.bool, modifier: -1, run, uses: a.uses | list.uses }
  const column = a.column
  if (!column || all || operator !== '=' || (list.uses & (1 << column.item)) !== 0) return compiled
  return {
    ...compiled,
    keys: { column, uses: list.uses, values: (frame) => (list.run(frame) as readonly Value[] | null) ?? [] },
  }
}

function quantify(
  context: Context,
  { apply }: Operator,
  all: boolean,
  left: Value,
  items: readonly Value[],
): boolean | null {
  context.budget.step(items.length)
  let isUnknown = false
  for (const item of items) {
    const holds = left === null || item === null ? null : apply(context, left, item)
    if (holds === null) isUnknown = true
    else if (holds !== all) return !all
  }
  return isUnknown ? null : all
}

function withSubquery(
  compiler: Compiler,
  operator: string,
  all: boolean,
  operand: Compiled,
  query: Query,
  scope: Scope,
  at: number,
): Compiled {
  if (query.columns.length !== 1)
    throw new SqlError('42601', 'subquery has too many columns', { position: positionOf(at) })
  const found = findOperator(operator, operand.type, query.columns[0]!.type, at)
  const a = operandOf(compiler, operand, found.left)
  const b = query.columns[0]!.type
  const read = rowsOf(query)
  const hashes = operator === '=' && !all && query.isConstant
  const run = (frame: Frame) => {
    const items = () =>
      read(frame).map(({ values }) => convertValue(frame.context, values[0] ?? null, b, found.right))
    const value = a.run(frame)
    if (!hashes) return quantify(frame.context, found, all, value, items())
    const known = remembered(frame.context, found, () => {
      const list = items()
      return { keys: new Set(list.map(keyOf)), hasNull: list.includes(null), size: list.length }
    })
    if (known.size === 0) return false
    if (value === null) return null
    return known.keys.has(keyOf(value)) ? true : known.hasNull ? null : false
  }
  return { type: oids.bool, modifier: -1, run, uses: a.uses | scope.uses }
}

/** `left [NOT] IN (…)`. */
export function compileIn(
  compiler: Compiler,
  { negated, left, right, at }: Kind<'in'>,
  scope: Scope,
): Compiled {
  const compiled = Array.isArray(right)
    ? inList(compiler, left, right as readonly Expression[], scope, at)
    : inQuery(compiler, left, right as Select, scope, at)
  return negated ? negation(compiled) : compiled
}

function inQuery(compiler: Compiler, left: Expression, select: Select, scope: Scope, at: number): Compiled {
  if (left.kind !== 'row')
    return withSubquery(
      compiler,
      '=',
      false,
      compiler.expression(left, scope),
      compiler.query(select, scope),
      scope,
      at,
    )
  const query = compiler.query(select, scope)
  if (query.columns.length !== left.items.length)
    throw new SqlError('42601', 'subquery has too few columns', { position: positionOf(at) })
  const items = left.items.map((item) => compiler.expression(item, scope))
  const read = rowsOf(query)
  const run = (frame: Frame) => {
    const values = items.map((item) => item.run(frame))
    if (values.includes(null)) return null
    return read(frame).some((row) =>
      values.every(
        (value, index) => row.values[index] !== null && keyOf(value) === keyOf(row.values[index] ?? null),
      ),
    )
  }
  return {
    type: oids.bool,
    modifier: -1,
    run,
    uses: items.reduce((all, item) => all | item.uses, scope.uses),
  }
}

function inList(
  compiler: Compiler,
  left: Expression,
  list: readonly Expression[],
  scope: Scope,
  at: number,
): Compiled {
  if (left.kind === 'row') {
    const items = left.items.map((item) => compiler.expression(item, scope))
    const equal = list.map((item) => {
      if (item.kind !== 'row') throw unsupported('IN with rows and values', item.at)
      return compareRows(compiler, '=', items, item.items, scope, at)
    })
    return sharedDisjunction((frame) => items.map((item) => item.run(frame)), equal)
  }
  const operand = compiler.expression(left, scope)
  const items = list.map((item) => compiler.expression(item, scope))
  const type = commonType([operand, ...items].map((each) => each.type))
  const element = comparisonType(operand.type, type ?? oids.unknown)
  if (type === undefined || element === undefined || arrayOf(element) === 0)
    return sharedDisjunction(
      operand.run,
      items.map((item) => applyShared(compiler, '=', operand, item, at)),
    )
  const found = findOperator('=', operand.type, element, at)
  const settled = items.map((item) => operandOf(compiler, item, found.right))
  const isFixed = settled.every(({ uses }) => uses === 0)
  const array: Compiled = {
    type: arrayOf(found.right),
    modifier: -1,
    run: (frame) => settled.map((item) => item.run(frame)),
    uses: settled.reduce((all, item) => all | item.uses, 0),
  }
  const literal = isFixed && items.every((item) => item.literal !== undefined && item.parameter === undefined)
  return overItems(compiler, found, '=', false, operand, literal ? frozen(array) : array)
}

/** Whether one of the comparisons of an operand holds. */
function sharedDisjunction(evaluate: (frame: Frame) => Value, applied: readonly Applied[]): Compiled {
  const run = (frame: Frame) => {
    const value = evaluate(frame)
    let isUnknown = false
    for (const each of applied) {
      const holds = each(frame, value)
      if (holds === true) return true
      if (holds === null) isUnknown = true
    }
    return isUnknown ? null : false
  }
  return { type: oids.bool, modifier: -1, run, uses: 0 }
}

/** A list of literals is built once for the statement. */
function frozen(array: Compiled): Compiled {
  const run = (frame: Frame) => remembered(frame.context, array, () => array.run(frame))
  return { ...array, run }
}
