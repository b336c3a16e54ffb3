/** Compiles calls: functions, aggregates, COALESCE and its relatives, sets in the list behind SELECT, functions with effects. */
import { canCast, canCoerce, commonType } from './coercion.ts'
import { compileAggregate } from './compile-aggregate.ts'
import { applyShared } from './compile-comparison.ts'
import { type Compiler, convert, mismatch, noFunction, settle } from './compiler.ts'
import { counted, countRead } from './costs.ts'
import {
  type FunctionDefinition,
  type Implementation,
  pseudo,
  type SetImplementation,
} from './function-table.ts'
import {
  aggregateNames,
  findFunction,
  hasEffects,
  type ServerFunction,
  serverFunctions,
} from './functions.ts'
import { findOperator } from './operators.ts'
import type { Compiled, Frame } from './plan.ts'
import type { Scope } from './scope.ts'
import { positionOf, SqlError, unsupported } from './sql-error.ts'
import type { Call, Expression } from './syntax.ts'
import { hasItems, isText, itemType } from './text-output.ts'
import { arrayOf, formatType, oids, typeNamed } from './types.ts'
import { compareValues, type Value } from './values.ts'

/** Compiles a call. Throws SqlError 42883 for one that there is not. */
export function compileCall(compiler: Compiler, call: Call, scope: Scope): Compiled {
  const name = functionName(call)
  if (/^(?:coalesce|greatest|least|nullif)$/.test(name) && call.names.length === 1)
    return compileChoice(compiler, name, call, scope)
  if (call.over) return compileWindow(compiler, name, call, scope)
  if (aggregateNames.includes(name)) return compileAggregate(compiler, name, call, scope)
  demandPlain(call, name)
  const calls = scope.serverCalls
  const args = call.args.map((arg) => compiler.expression(arg, scope))
  const server = serverFunctions.filter((each) => each.name === name && each.args.length === args.length)
  if (server[0]) return compileServerCall(compiler, server[0], args, call, scope)
  const { definition, settled, types } = matchCall(compiler, call, args)
  if (!definition) return castCall(name, args, call)
  if (definition.isSet) {
    if (scope.serverCalls > calls) throw tooLate(`an argument of ${name}`, call.at)
    return compileSet(definition, settled, types, scope, call)
  }
  return scalarCall(definition, settled, types)
}

/** The value of a function that gives no set. */
export function scalarCall(
  definition: FunctionDefinition,
  args: readonly Compiled[],
  types: readonly number[],
): Compiled {
  const implementation = definition.call as Implementation
  const { isStrict } = definition
  const run = (frame: Frame) => {
    const values = args.map((arg) => arg.run(frame))
    if (isStrict && values.includes(null)) return null
    countRead(frame.context, ...values)
    return counted(frame.context, implementation(frame.context, values, types))
  }
  return { type: resultType(definition, types), modifier: -1, run, uses: 0 }
}

/** Throws SqlError 42809 for what only aggregates take. */
export function demandPlain(call: Call, name: string): void {
  if (call.distinct || call.filter || call.star || call.orderBy.length > 0)
    throw new SqlError(
      '42809',
      `DISTINCT, ORDER BY, FILTER or * specified, but ${name} is not an aggregate function`,
      { position: positionOf(call.at) },
    )
}

function functionName({ names, at }: Call): string {
  const [name, schema] = [names.at(-1)!, names.at(-2)]
  if (schema !== undefined && schema !== 'pg_catalog' && schema !== 'information_schema')
    throw new SqlError('42883', `function ${names.join('.')}() does not exist`, { position: positionOf(at) })
  return name
}

/** The definition that fits a call, and its arguments in its types. */
export function matchCall(compiler: Compiler, call: Call, args: readonly Compiled[]) {
  const name = functionName(call)
  const definition = findFunction(
    name,
    args.map(({ type }) => type),
  )
  if (!definition) return { definition, settled: [], types: [] }
  const element = elementFor(definition, args)
  const settled = args.map((arg, index) => {
    const wanted = definition.args[Math.min(index, definition.args.length - 1)]!
    return argument(compiler, arg, wanted, element)
  })
  return { definition, settled, types: settled.map(({ type }) => type) }
}

/** What `anyelement` and `anyarray` stand for in a call. */
function elementFor({ args: wanted }: FunctionDefinition, args: readonly Compiled[]): number {
  for (const [index, arg] of args.entries()) {
    if (arg.type === oids.unknown) continue
    if (wanted[index] === pseudo.anyarray) return itemType(arg.type)
    if (wanted[index] === pseudo.anyelement) return arg.type
  }
  return oids.text
}

function argument(compiler: Compiler, arg: Compiled, wanted: number, element: number): Compiled {
  if (wanted === pseudo.anyarray)
    return arg.type === oids.unknown ? settle(compiler, arg, arrayOf(element)) : arg
  if (wanted === pseudo.anyelement) {
    if (arg.type === oids.unknown) return settle(compiler, arg, element)
    return canCoerce(arg.type, element) ? convert(arg, element) : arg
  }
  if (wanted === pseudo.any || wanted === oids.record) return settle(compiler, arg, oids.text)
  return arg.type === oids.unknown ? settle(compiler, arg, wanted) : convert(arg, wanted)
}

function resultType({ result, args: wanted }: FunctionDefinition, types: readonly number[]): number {
  if (result === pseudo.anyarray) {
    const index = wanted.indexOf(pseudo.anyarray)
    return types[index] ?? oids.textArray
  }
  if (result !== pseudo.anyelement) return result
  const array = wanted.indexOf(pseudo.anyarray)
  return array >= 0 ? itemType(types[array]!) : types[wanted.indexOf(pseudo.anyelement)]!
}

/** `text(x)` is a cast where there is no such function. Throws SqlError 42883. */
function castCall(name: string, args: readonly Compiled[], call: Call): Compiled {
  const type = typeNamed(name)
  const [arg] = args
  if (type && arg && args.length === 1 && arg.type !== oids.unknown && canCast(arg.type, type.oid))
    return convert(arg, type.oid)
  throw noFunction(call, args)
}

function compileSet(
  definition: FunctionDefinition,
  args: readonly Compiled[],
  types: readonly number[],
  scope: Scope,
  call: Call,
): Compiled {
  if (!scope.slots)
    throw new SqlError('0A000', 'set-returning functions are not allowed here', {
      position: positionOf(call.at),
    })
  const items = itemsOf(definition, args, types)
  const slot = scope.slots.push({ kind: 'set', items }) - 1
  const type = resultType(definition, types)
  const fields = fieldsOf(definition, types)
  return {
    type,
    modifier: -1,
    run: ({ slots }) => slots?.[slot] ?? null,
    uses: 0,
    ...(fields ? { fields } : {}),
  }
}

/** The values of a function that gives a set. */
export function itemsOf(definition: FunctionDefinition, args: readonly Compiled[], types: readonly number[]) {
  return (frame: Frame): Iterable<Value> => {
    const values = args.map((arg) => arg.run(frame))
    if (definition.isStrict && values.includes(null)) return []
    countRead(frame.context, ...values)
    return (definition.call as SetImplementation)(frame.context, values, types)
  }
}

/** The columns of a function that gives rows. */
export function fieldsOf({ columns }: FunctionDefinition, types: readonly number[]): Compiled['fields'] {
  return columns?.map(({ name, type }) => ({
    name,
    type: type === pseudo.anyelement ? itemType(types[0]!) : type,
  }))
}

/** The type of a call's values. */
export function itemTypeOf(definition: FunctionDefinition, types: readonly number[]): number {
  return resultType(definition, types)
}

/** Numbers of rows within a partition. */
function compileWindow(compiler: Compiler, name: string, call: Call, scope: Scope): Compiled {
  if (!scope.slots)
    throw new SqlError('42P20', 'window functions are not allowed here', { position: positionOf(call.at) })
  if (!/^(?:row_number|rank|dense_rank)$/.test(name) || call.args.length > 0)
    throw unsupported(`${name} as a window function`, call.at)
  const { slots } = scope
  scope.slots = undefined
  const partition = call.over!.partition.map((each) => compiler.expression(each, scope))
  const order = call.over!.orderBy.map(({ expression, descending, nullsFirst }) => {
    const key = settle(compiler, compiler.expression(expression, scope), oids.text)
    return { key, descending, nullsFirst }
  })
  scope.slots = slots
  const slot = slots.push({ kind: 'window', name, partition, order }) - 1
  return { type: oids.int8, modifier: -1, run: ({ slots }) => slots?.[slot] ?? null, uses: 0 }
}

function compileServerCall(
  compiler: Compiler,
  { name, args: wanted, result }: ServerFunction,
  args: readonly Compiled[],
  call: Call,
  scope: Scope,
): Compiled {
  if (!scope.slots) throw unsupported(`${name} anywhere but in the list behind SELECT`, call.at)
  if (scope.condition && hasEffects(name))
    throw new SqlError(
      '0A000',
      `${name} in ${scope.condition} is not supported: it would be carried out also where its value is not used`,
      { position: positionOf(call.at) },
    )
  const settled = args.map((arg, index) => {
    // A sequence is given by its name: the server around looks it up.
    if (wanted[index] === oids.regclass) {
      const isOid = arg.type !== oids.regclass && canCoerce(arg.type, oids.regclass) && !isText(arg.type)
      if (isOid) return convert(convert(arg, oids.regclass), oids.text)
      return arg.type === oids.unknown ? settle(compiler, arg, oids.text) : convert(arg, oids.text)
    }
    if (arg.type !== oids.unknown && !canCoerce(arg.type, wanted[index]!)) throw noFunction(call, args)
    return arg.type === oids.unknown ? settle(compiler, arg, wanted[index]!) : convert(arg, wanted[index]!)
  })
  scope.markVariable()
  scope.serverCalls++
  const slot = scope.slots.push({ kind: 'server', name, args: settled }) - 1
  return { type: result, modifier: -1, run: ({ slots }) => slots?.[slot] ?? null, uses: 0 }
}

/** The error for a place whose value is needed before the server around is called. */
export function tooLate(where: string, at: number): SqlError {
  return new SqlError(
    '0A000',
    `nextval and its relatives are not supported in ${where}: they are called when all rows are known and in order; call them in a subquery behind FROM`,
    { position: positionOf(at) },
  )
}

/** COALESCE, GREATEST, LEAST, NULLIF. */
function compileChoice(compiler: Compiler, name: string, call: Call, scope: Scope): Compiled {
  const args = call.args.map((arg, index) => {
    const compile = () => compiler.expression(arg, scope)
    return name === 'coalesce' && index > 0 ? scope.within('COALESCE', compile) : compile()
  })
  if (name === 'nullif') return compileNullif(compiler, args, call.at)
  const { items, type } = unify(compiler, args, name.toUpperCase(), call.at)
  const modifier = args.every((arg) => arg.modifier === args[0]!.modifier && arg.type === type)
    ? args[0]!.modifier
    : -1
  if (name === 'coalesce') {
    const run = (frame: Frame) => {
      for (const item of items) {
        const value = item.run(frame)
        if (value !== null) return value
      }
      return null
    }
    return { type, modifier, run, uses: 0 }
  }
  const sign = name === 'greatest' ? 1 : -1
  const run = (frame: Frame) =>
    items
      .map((item) => item.run(frame))
      .reduce(
        (best, value) =>
          value === null || (best !== null && compareValues(value, best, type) * sign <= 0) ? best : value,
        null,
      )
  return { type, modifier, run, uses: 0 }
}

/** Types that PostgreSQL compares with one another without a conversion. */
const comparedAsTheyAre: readonly (readonly number[])[] = [
  [oids.int2, oids.int4, oids.int8],
  [oids.float4, oids.float8],
  [oids.date, oids.timestamp, oids.timestamptz],
  [oids.name, oids.text],
]

function compileNullif(compiler: Compiler, args: readonly Compiled[], at: number): Compiled {
  const [first, second] = args
  if (!first || !second || args.length > 2)
    throw new SqlError('42601', 'NULLIF takes two arguments', { position: positionOf(at) })
  const { left } = findOperator('=', first.type, second.type, at)
  const isKept = comparedAsTheyAre.some((each) => each.includes(first.type) && each.includes(left))
  const type = isKept ? first.type : left
  const settled = first.type === oids.unknown ? settle(compiler, first, type) : convert(first, type)
  const equals = applyShared(compiler, '=', settled, second, at)
  const run = (frame: Frame) => {
    const value = settled.run(frame)
    return equals(frame, value) === true ? null : value
  }
  return { type: settled.type, modifier: -1, run, uses: 0 }
}

/** Expressions that must have one type, in that type. Throws SqlError 42804; `what` opens its sentence. */
export function unify(compiler: Compiler, expressions: readonly Compiled[], what: string, at: number) {
  const type = commonType(expressions.map((each) => each.type))
  if (type === undefined) {
    const [left, right] = differing(expressions)
    throw mismatch(what, left, right, at)
  }
  const items = expressions.map((each) =>
    each.type === oids.unknown ? settle(compiler, each, type) : convert(each, type),
  )
  return { type, items }
}

function differing(expressions: readonly Compiled[]): [number, number] {
  const known = expressions.map(({ type }) => type).filter((type) => type !== oids.unknown)
  return [known[0]!, known.find((type) => commonType([known[0]!, type]) === undefined) ?? known.at(-1)!]
}

/** The element type of a list of expressions, and whether they are arrays themselves. */
export function compileArray(
  compiler: Compiler,
  items: readonly Expression[],
  scope: Scope,
  at: number,
): Compiled {
  const compiled = items.map((item) => compiler.expression(item, scope))
  const { type, items: settled } = unify(compiler, compiled, 'ARRAY', at)
  const array = hasItems(type) ? type : arrayOf(type)
  if (array === 0)
    throw new SqlError('42704', `could not find array type for data type ${formatType(type)}`, {
      position: positionOf(at),
    })
  const run = (frame: Frame) =>
    counted(
      frame.context,
      settled.map((item) => item.run(frame)),
    )
  return { type: array, modifier: -1, run, uses: 0 }
}
