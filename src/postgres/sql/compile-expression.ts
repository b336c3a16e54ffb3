/** Compiles expressions. */
import { compileArray, compileCall, unify } from './compile-call.ts'
import {
  type Applied,
  applyShared,
  compileBetween,
  compileCondition,
  compileDistinct,
  compileJunction,
  compileLike,
  compileOperator,
  negation,
} from './compile-comparison.ts'
import { compileIn, compileQuantified } from './compile-membership.ts'
import { type Compiler, compileCast, constant, namedType, settle } from './compiler.ts'
import { counted, countedRun, isLong } from './costs.ts'
import { lowerBound } from './functions/array-functions.ts'
import type { Compiled, Frame } from './plan.ts'
import type { Scope } from './scope.ts'
import { positionOf, SqlError, unsupported } from './sql-error.ts'
import { rowsOf } from './subqueries.ts'
import type { Expression } from './syntax.ts'
import { hasItems, itemType } from './text-output.ts'
import { arrayOf, formatType, oids } from './types.ts'
import { RowValue, type Value } from './values.ts'

type Kind<K extends Expression['kind']> = Extract<Expression, { kind: K }>

/** Compiles an expression. Throws SqlError. */
export function compileExpression(compiler: Compiler, expression: Expression, scope: Scope): Compiled {
  const before = scope.uses
  const { uncounted } = compiler
  scope.uses = 0
  compiler.uncounted = 0
  const compiled = dispatch(compiler, expression, scope)
  const { uses } = scope
  scope.uses = before | uses
  const parts = compiler.uncounted + 1
  compiler.uncounted = uncounted + (isLong(parts) ? 0 : parts)
  return { ...compiled, uses, ...(isLong(parts) ? { run: countedRun(compiled.run, parts) } : {}) }
}

function dispatch(compiler: Compiler, expression: Expression, scope: Scope): Compiled {
  switch (expression.kind) {
    case 'null':
      return { ...constant(null, oids.unknown), literal: null }
    case 'string':
      return { ...constant(expression.value, oids.unknown), literal: expression.value }
    case 'number':
      return compileNumber(expression.text)
    case 'boolean':
      return constant(expression.value, oids.bool)
    case 'parameter':
      return compileParameter(compiler, expression.index)
    case 'column':
      if (expression.star) throw unsupported('A row of all columns of a table', expression.at)
      return scope.resolve(expression.names, expression.at)
    case 'cast':
      return compileTyped(compiler, expression, scope)
    case 'operator':
      return compileOperator(compiler, expression, scope)
    case 'quantified':
      return compileQuantified(compiler, expression, scope)
    case 'not':
      return negation(compileCondition(compiler, expression.operand, scope, 'NOT'))
    case 'and':
    case 'or':
      return scope.within(expression.kind.toUpperCase(), () => compileJunction(compiler, expression, scope))
    case 'is':
      return compileTest(compiler, expression, scope)
    case 'distinct':
      return compileDistinct(compiler, expression, scope)
    case 'between':
      return scope.within('BETWEEN', () => compileBetween(compiler, expression, scope))
    case 'in':
      return compileIn(compiler, expression, scope)
    case 'like':
      return compileLike(compiler, expression, scope)
    case 'case':
      return scope.within('CASE', () => compileCase(compiler, expression, scope))
    case 'call':
      return compileCall(compiler, expression, scope)
    case 'array':
      return compileItems(compiler, expression, scope)
    case 'row':
      return compileRow(compiler, expression, scope)
    case 'query':
      return compileSubquery(compiler, expression, scope)
    case 'subscript':
      return compileSubscript(compiler, expression, scope)
    case 'field':
      return compileField(compiler, expression, scope)
  }
}

function compileNumber(text: string): Compiled {
  // Anything longer than an int8 is numeric, which bounds its digits.
  if (text.length > 20 || !/^-?\d+$/.test(text)) return constant(settleNumber(text), oids.numeric)
  const value = BigInt(text)
  if (value >= -(2n ** 31n) && value < 2n ** 31n) return constant(Number(value), oids.int4)
  return value >= -(2n ** 63n) && value < 2n ** 63n
    ? constant(value, oids.int8)
    : constant(text, oids.numeric)
}

function settleNumber(text: string): Value {
  const { run } = settle(undefined as never, { ...constant(text, oids.unknown), literal: text }, oids.numeric)
  return run(undefined as never)
}

function compileParameter(compiler: Compiler, index: number): Compiled {
  const type = compiler.parameters.get(index)
  const run = ({ context }: Frame) => context.parameters[index] ?? null
  if (type !== 0 && type !== oids.unknown) return { type, modifier: -1, run, uses: 0 }
  return { type: oids.unknown, modifier: -1, run, uses: 0, parameter: index }
}

function compileTyped(compiler: Compiler, { operand, type, at }: Kind<'cast'>, scope: Scope): Compiled {
  // `ARRAY[]::text[]` and `ARRAY['a']::name[]` take the type of their elements from the cast.
  if (operand.kind === 'array' && type.isArray) {
    const element = { ...type, isArray: false }
    const items = operand.items.map(
      (item): Expression =>
        item.kind === 'array'
          ? { kind: 'cast', operand: item, type, at }
          : { kind: 'cast', operand: item, type: element, at },
    )
    const compiled = items.map((item) => compiler.expression(item, scope))
    return {
      type: namedType(type),
      modifier: -1,
      run: (frame) =>
        counted(
          frame.context,
          compiled.map((item) => item.run(frame)),
        ),
      uses: 0,
    }
  }
  return compileCast(compiler, compiler.expression(operand, scope), type)
}

function compileTest(compiler: Compiler, { test, negated, operand }: Kind<'is'>, scope: Scope): Compiled {
  if (test === 'null') {
    const compiled = settle(compiler, compiler.expression(operand, scope), oids.text)
    const run = (frame: Frame) => {
      const value = compiled.run(frame)
      if (value instanceof RowValue) return value.values.every((each) => (each === null) !== negated)
      return (value === null) !== negated
    }
    return { type: oids.bool, modifier: -1, run, uses: 0 }
  }
  const compiled = compileCondition(compiler, operand, scope, `IS ${test.toUpperCase()}`)
  const wanted = test === 'unknown' ? null : test === 'true'
  return {
    type: oids.bool,
    modifier: -1,
    run: (frame) => (compiled.run(frame) === wanted) !== negated,
    uses: 0,
  }
}

function compileCase(
  compiler: Compiler,
  { operand, branches, otherwise, at }: Kind<'case'>,
  scope: Scope,
): Compiled {
  // PostgreSQL takes a literal for a text before it looks at the branches.
  const subject = operand ? settle(compiler, compiler.expression(operand, scope), oids.text) : undefined
  const conditions = branches.map(({ when }): Applied => {
    if (subject) return applyShared(compiler, '=', subject, compiler.expression(when, scope), when.at)
    const condition = compileCondition(compiler, when, scope, 'CASE/WHEN')
    return (frame) => condition.run(frame)
  })
  // PostgreSQL looks at ELSE first when it chooses the type.
  const last: Expression = otherwise ?? { kind: 'null', at }
  const results = [last, ...branches.map(({ result }) => result)].map((each) =>
    compiler.expression(each, scope),
  )
  const { type, items } = unify(compiler, results, 'CASE', at)
  const modifiers = new Set(results.map((each) => (each.type === type ? each.modifier : -1)))
  const run = (frame: Frame) => {
    const value = subject ? subject.run(frame) : null
    const index = conditions.findIndex((condition) => condition(frame, value) === true)
    return items[index + 1]!.run(frame)
  }
  return { type, modifier: modifiers.size === 1 ? [...modifiers][0]! : -1, run, uses: 0 }
}

function compileItems(compiler: Compiler, { items, at }: Kind<'array'>, scope: Scope): Compiled {
  if (items.length > 0) return compileArray(compiler, items, scope, at)
  throw new SqlError('42P18', 'cannot determine type of empty array', {
    position: positionOf(at),
    hint: 'Explicitly cast to the desired type, for example ARRAY[]::integer[].',
  })
}

function compileRow(compiler: Compiler, { items }: Kind<'row'>, scope: Scope): Compiled {
  const compiled = items.map((item) => settle(compiler, compiler.expression(item, scope), oids.text))
  const names = compiled.map((_, index) => `f${index + 1}`)
  const types = compiled.map(({ type }) => type)
  const run = (frame: Frame) =>
    counted(
      frame.context,
      new RowValue(
        names,
        types,
        compiled.map((item) => item.run(frame)),
      ),
    )
  const fields = names.map((name, index) => ({ name, type: types[index]! }))
  return { type: oids.record, modifier: -1, run, uses: 0, fields }
}

function compileSubquery(compiler: Compiler, { use, select, at }: Kind<'query'>, scope: Scope): Compiled {
  const query = compiler.query(select, scope)
  const read = rowsOf(query)
  if (use === 'exists')
    return { type: oids.bool, modifier: -1, run: (frame) => read(frame).length > 0, uses: 0 }
  const [column] = query.columns
  if (!column || query.columns.length > 1)
    throw new SqlError('42601', 'subquery must return only one column', { position: positionOf(at) })
  if (use === 'array') {
    const type = hasItems(column.type) ? column.type : arrayOf(column.type)
    if (type === 0)
      throw new SqlError('42704', `could not find array type for data type ${formatType(column.type)}`, {
        position: positionOf(at),
      })
    const run = (frame: Frame) =>
      counted(
        frame.context,
        read(frame).map(({ values }) => values[0] ?? null),
      )
    return { type, modifier: -1, run, uses: 0 }
  }
  const run = (frame: Frame) => {
    const rows = read(frame)
    if (rows.length > 1)
      throw new SqlError('21000', 'more than one row returned by a subquery used as an expression')
    return rows[0]?.values[0] ?? null
  }
  const { fields } = column
  return { type: column.type, modifier: column.modifier, run, uses: 0, ...(fields ? { fields } : {}) }
}

function compileSubscript(
  compiler: Compiler,
  { operand, slice, lower, upper, at }: Kind<'subscript'>,
  scope: Scope,
): Compiled {
  const list = compiler.expression(operand, scope)
  if (!hasItems(list.type))
    throw new SqlError(
      '42804',
      `cannot subscript type ${formatType(list.type)} because it does not support subscripting`,
      { position: positionOf(at) },
    )
  const low = lowerBound(list.type)
  const index = (each: Expression | undefined) =>
    each ? settle(compiler, compiler.expression(each, scope), oids.int4) : undefined
  const [from, to] = [index(lower), index(upper)]
  if (!slice) {
    const run = (frame: Frame) => {
      const [items, place] = [list.run(frame) as readonly Value[] | null, from!.run(frame)]
      return items === null || place === null ? null : (items[Number(place) - low] ?? null)
    }
    return { type: itemType(list.type), modifier: -1, run, uses: 0 }
  }
  const run = (frame: Frame) => {
    const items = list.run(frame) as readonly Value[] | null
    const [start, end] = [from?.run(frame), to?.run(frame)]
    if (items === null || start === null || end === null) return null
    const until = end === undefined ? undefined : Math.max(0, Number(end) - low + 1)
    return counted(frame.context, items.slice(Math.max(0, Number(start ?? low) - low), until))
  }
  return { type: list.type, modifier: -1, run, uses: 0 }
}

function compileField(compiler: Compiler, { operand, name, at }: Kind<'field'>, scope: Scope): Compiled {
  const compiled = compiler.expression(innerOf(operand), scope)
  const index = compiled.fields?.findIndex((field) => field.name === name) ?? -1
  if (!compiled.fields)
    throw new SqlError(
      '42809',
      `column notation .${name} applied to type ${formatType(compiled.type)}, which is not a composite type`,
      { position: positionOf(at) },
    )
  if (index < 0)
    throw new SqlError('42703', `column "${name}" not found in data type ${formatType(compiled.type)}`, {
      position: positionOf(at),
    })
  return fieldOf(compiled, index)
}

/** What `(x).y` selects from: the parser wraps a column x into a row of one column. */
export function innerOf(operand: Expression): Expression {
  const [item, ...others] = operand.kind === 'row' ? operand.items : []
  return item?.kind === 'column' && others.length === 0 ? item : operand
}

/** A field of a row by its place. */
export function fieldOf({ run, fields, uses }: Compiled, index: number): Compiled {
  const field = (frame: Frame) => {
    const row = run(frame)
    return row instanceof RowValue ? row.values[index]! : null
  }
  return { type: fields![index]!.type, modifier: -1, run: field, uses }
}
