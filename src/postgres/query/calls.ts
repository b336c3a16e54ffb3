/** Calls of functions, of aggregates and of row_number() (PostgreSQL's manual, chapters 4.2.6 to 4.2.8). */
import type { FuncCall, Node, WindowDef } from 'libpg-query'
import { SqlError } from '../sql-error.ts'
import { combined, type Expression, type Field, type Frame, type Run } from './analysed.ts'
import { asKnownType, coerced, integers, texts } from './coercion.ts'
import { type Definition, finderOf, pseudo } from './function-table.ts'
import { informationFunctions } from './information-functions.ts'
import { joined } from './operators.ts'
import type { Scope } from './scope.ts'
import { comparing, sortKeyOf } from './sorting.ts'
import { textFunctions } from './text-functions.ts'
import { itemType } from './text-output.ts'
import { builtInName, refused } from './tree.ts'
import { arrayOf, formatType, oids } from './types.ts'
import { compareValues, keyOf, type Value } from './values.ts'

const findFunction = finderOf({ ...textFunctions, ...informationFunctions })
const aggregateNames = ['count', 'min', 'max', 'bool_and', 'array_agg', 'string_agg']

/** Whether a function of this name is an aggregate. */
export function isAggregate(name: string): boolean {
  return aggregateNames.includes(name)
}

/** Analyses a call. Throws 0A000 for a function that is not known here. */
export function analyseCall(call: FuncCall, scope: Scope): Expression {
  const { args = [] } = call
  const name = builtInName(call.funcname)
  if (call.agg_filter || call.agg_within_group || call.agg_distinct || call.func_variadic)
    throw refused('FILTER, WITHIN GROUP, DISTINCT or VARIADIC in a call')
  if (call.over !== undefined) return analyseWindow(name, args, call.over, scope)
  if (isAggregate(name)) return analyseAggregate(name, call, scope)
  if (call.agg_star || call.agg_order) throw refused(`This call of ${name}`)
  return callOf(
    scope,
    name,
    args.map((arg) => scope.analyse(arg)),
  )
}

/** A function with its arguments, and what its result is. */
export type Call = {
  readonly definition: Definition
  readonly args: readonly Expression[]
  readonly types: readonly number[]
  readonly result: number
  readonly fields: readonly Field[] | undefined
}

/** Finds the function that arguments call. Throws 0A000. */
export function findCall(name: string, args: readonly Expression[]): Call {
  const definition = findFunction(
    name,
    args.map(({ type }) => type),
  )
  if (definition === undefined)
    throw refused(`The function ${name}(${args.map(({ type }) => formatType(type)).join(', ')})`)
  const items = args.map((arg, index) => {
    const wanted = definition.args[Math.min(index, definition.args.length - 1)]!
    const isAny = wanted === pseudo.any || wanted === pseudo.anyarray
    if (arg.type !== oids.unknown && isAny) return arg
    return coerced(arg, isAny ? oids.text : wanted)
  })
  const types = items.map(({ type }) => type)
  // The elements of the array among the arguments.
  const element = itemType(types[definition.args.indexOf(pseudo.anyarray)] ?? 0) || oids.text
  const resolved = (type: number) => (type === pseudo.anyelement ? element : type)
  const fields = definition.fields?.map((field) => ({ name: field.name, type: resolved(field.type) }))
  return { definition, args: items, types, result: resolved(definition.result), fields }
}

/** A call of a function by its name. Throws 0A000. */
export function callOf(scope: Scope, name: string, args: readonly Expression[]): Expression {
  const call = findCall(name, args)
  const { definition, result, fields } = call
  if (definition.isSet) {
    const { sets } = scope.clause
    if (sets === undefined) throw refused(`${name} in this place`)
    const slot = scope.slot(result)
    sets.push({ slot: slot.slot, run: (frame) => itemsOf(call, frame) })
    return { ...slot, fields }
  }
  const { isStrict, isVolatile, call: run } = definition
  const whole = combined(result, call.args, (frame) => {
    const values = call.args.map((arg) => arg.run(frame))
    if (isStrict && values.includes(null)) return null
    const value = run(frame.run, values, call.types)
    frame.run.spend(1)
    if (typeof value === 'string') frame.run.keep(value.length >> 7)
    return value
  })
  return isVolatile ? { ...whole, isOpen: true, isVolatile } : whole
}

/** The values that a call gives; of a function that gives no set it is one. */
export function itemsOf({ definition, args, types }: Call, frame: Frame): readonly Value[] {
  const values = args.map((arg) => arg.run(frame))
  const isEmpty = definition.isStrict && values.includes(null)
  if (!definition.isSet) return [isEmpty ? null : definition.call(frame.run, values, types)]
  return isEmpty ? [] : (definition.call(frame.run, values, types) as readonly Value[])
}

type Rows = readonly (readonly Value[])[]
type Aggregate = {
  readonly result: number
  readonly run: (rows: Rows, run: Run) => Value
}

function analyseAggregate(name: string, call: FuncCall, scope: Scope): Expression {
  const { agg_order = [] } = call
  const { aggregates } = scope.clause
  if (aggregates === undefined)
    throw new SqlError('42803', `aggregate functions are not allowed in this place: ${name}`)
  // The arguments of an aggregate are about the rows of a group. If they read only a query around this one, it is an
  // aggregate of that query.
  const { readsOwn, readsOuter } = scope
  Object.assign(scope, { readsOwn: false, readsOuter: false })
  const { args, order } = scope.within({}, () => ({
    args: (call.args ?? []).map((arg) => scope.analyse(arg)),
    order: agg_order.map((key) => sortKeyOf(key, (node) => scope.analyse(node))),
  }))
  if (scope.readsOuter && !scope.readsOwn) throw refused('An aggregate of a query around')
  scope.readsOwn ||= readsOwn
  scope.readsOuter ||= readsOuter
  if (name === 'array_agg' && args[0]?.type === oids.unknown) throw refused(`${name} of an open type`)
  const items = args.map((arg) => asKnownType(arg))
  const aggregate = aggregateOf(name, items, call.agg_star === true)
  const slot = scope.slot(aggregate.result)
  const compare = comparing(order)
  aggregates.push({
    slot: slot.slot,
    run(frames, run) {
      run.keep(frames.length)
      const sorted = order.length === 0 ? frames : [...frames].sort(compare)
      return aggregate.run(
        sorted.map((frame) => items.map((item) => item.run(frame))),
        run,
      )
    },
  })
  return slot
}

const notNull = (rows: Rows) => rows.filter(([value]) => value !== null)
/** Types whose values have a least and a greatest one. */
const extremes: ReadonlySet<number> = new Set([...integers, ...texts, oids.oid, oids.float4])

function aggregateOf(name: string, items: readonly Expression[], isStar: boolean): Aggregate {
  const type = items[0]?.type ?? 0
  const shown = isStar ? '*' : items.map((item) => formatType(item.type)).join(', ')
  switch (`${name}/${isStar ? '*' : items.length}`) {
    case 'count/*':
      return { result: oids.int8, run: (rows) => BigInt(rows.length) }
    case 'count/1':
      return { result: oids.int8, run: (rows) => BigInt(notNull(rows).length) }
    case 'bool_and/1':
      if (type !== oids.bool) break
      return {
        result: type,
        run: (rows) => (notNull(rows).length === 0 ? null : notNull(rows).every(([value]) => value === true)),
      }
    case 'array_agg/1':
      if (arrayOf(type) === 0 || itemType(type) !== 0) break
      return {
        result: arrayOf(type),
        run: (rows) => (rows.length === 0 ? null : rows.map(([value]) => value!)),
      }
    case 'min/1':
    case 'max/1':
      if (!extremes.has(type)) break
      return { result: texts.has(type) ? oids.text : type, run: extreme(name === 'min' ? -1 : 1) }
    case 'string_agg/2':
      // Names and texts have the same values.
      if (!items.every((item) => texts.has(item.type))) break
      return {
        result: oids.text,
        run(rows, run) {
          const parts = notNull(rows).flatMap(([value, sign], index) =>
            index === 0 ? [value] : [sign ?? '', value],
          )
          return parts.length === 0 ? null : joined(run, parts as string[])
        },
      }
  }
  throw refused(`The aggregate ${name}(${shown})`)
}

function extreme(sign: number): Aggregate['run'] {
  return (rows) =>
    notNull(rows).reduce<Value>(
      (best, [value]) => (best === null || compareValues(value!, best) * sign > 0 ? value! : best),
      null,
    )
}

/** row_number(): the only window function that is known here. */
function analyseWindow(name: string, args: readonly Node[], over: WindowDef, scope: Scope): Expression {
  const { windows, ...others } = scope.clause
  if (name !== 'row_number' || args.length > 0 || over.name || over.refname || windows === undefined)
    throw refused(`${name} as a window function`)
  const { partition, order } = scope.within(others, () => ({
    partition: (over.partitionClause ?? []).map((key) => asKnownType(scope.analyse(key))),
    order: (over.orderClause ?? []).map((key) => sortKeyOf(key, (node) => scope.analyse(node))),
  }))
  const slot = scope.slot(oids.int8)
  windows.push({ slot: slot.slot, partition, compare: comparing(order) })
  return slot
}

/** The same text for frames whose keys are equal, NULL included. */
export function keyOfAll(keys: readonly Expression[], frame: Frame): string {
  return keys.map((key) => keyOf(key.run(frame))).join()
}
