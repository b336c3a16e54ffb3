/** Aggregates (PostgreSQL's manual, chapter 9.21): count, sum, min, max, array_agg, string_agg, bool_and, bool_or, json_agg. */
import { jsonText } from './functions/array-functions.ts'
import type { Context, Steps } from './plan.ts'
import { arrayOf, oids } from './types.ts'
import { compareValues, sizeOf, type Value } from './values.ts'

/** The arguments of all rows, in order. */
type Rows = readonly (readonly Value[])[]

/** An aggregate for arguments of known types. */
export type Aggregate = {
  /** The types that the arguments are converted to. */
  readonly args: readonly number[]
  readonly result: number
  /** The result for the arguments of all rows. Pauses for others. */
  readonly finish: (context: Context, rows: Rows) => Steps<Value>
}

/** The aggregate of this name for arguments of these types; undefined: there is none. */
export function findAggregate(name: string, types: readonly number[]): Aggregate | undefined {
  const [first = oids.unknown] = types
  const type = first === oids.unknown ? oids.text : first
  if (name === 'count' && types.length <= 1)
    return {
      args: types,
      result: oids.int8,
      finish: (context, rows) =>
        types.length === 0 ? rowCount(rows) : folded(context, rows, 0n, (count) => (count as bigint) + 1n),
    }
  if (name === 'string_agg' && types.length === 2)
    return { args: [oids.text, oids.text], result: oids.text, finish: joinTexts }
  if (types.length !== 1) return undefined
  switch (name) {
    case 'array_agg':
      return arrayOf(type) === 0 ? undefined : { args: [type], result: arrayOf(type), finish: list }
    case 'json_agg':
      return { args: [type], result: oids.json, finish: (context, rows) => jsonList(context, rows, type) }
    case 'min':
    case 'max':
      return extreme(type, name === 'min' ? -1 : 1)
    case 'bool_and':
    case 'every':
      return bools((all, value) => all !== false && value === true)
    case 'bool_or':
      return bools((any, value) => any === true || value === true)
    case 'sum':
      return sum(type)
    default:
      return undefined
  }
}

// biome-ignore lint/correctness/useYield: nothing takes long
function* rowCount(rows: Rows): Steps<Value> {
  return BigInt(rows.length)
}

/** What `add` makes of `start` and each value that is not null. */
function* folded(
  { budget }: Context,
  rows: Rows,
  start: Value,
  add: (before: Value, value: Value) => Value,
): Steps<Value> {
  let result = start
  for (const [value] of rows) {
    if (budget.isDueAfter()) yield
    if (value !== null) result = add(result, value!)
  }
  return result
}

function* joinTexts({ budget }: Context, rows: Rows): Steps<Value> {
  let text: string | null = null
  for (const [value, delimiter] of rows) {
    if (budget.isDueAfter()) yield
    if (value === null) continue
    const part: string = text === null ? (value as string) : `${delimiter ?? ''}${value}`
    budget.keep(part.length)
    text = (text ?? '') + part
  }
  return text
}

function* list({ budget }: Context, rows: Rows): Steps<Value> {
  const items: Value[] = []
  for (const [value] of rows) {
    budget.keep(sizeOf(value!))
    if (budget.isDueAfter()) yield
    items.push(value!)
  }
  return items.length === 0 ? null : items
}

function* jsonList(context: Context, rows: Rows, type: number): Steps<Value> {
  const texts: string[] = []
  for (const [value] of rows) {
    const text = jsonText(context, value!, type)
    context.budget.keep(text.length)
    if (context.budget.isDueAfter(1 + (text.length >> 4))) yield
    texts.push(text)
  }
  return texts.length === 0 ? null : `[${texts.join(', ')}]`
}

function bools(add: (before: Value, value: Value) => boolean): Aggregate {
  return {
    args: [oids.bool],
    result: oids.bool,
    finish: (context, rows) => folded(context, rows, null, add),
  }
}

function extreme(type: number, sign: number): Aggregate {
  const result = type === oids.name || type === oids.varchar ? oids.text : type
  const better = (best: Value, value: Value) =>
    best === null || compareValues(value, best, type) * sign > 0 ? value : best
  return { args: [type], result, finish: (context, rows) => folded(context, rows, null, better) }
}

function sum(type: number): Aggregate | undefined {
  if (type === oids.float4 || type === oids.float8)
    return {
      args: [type],
      result: type,
      finish: (context, rows) =>
        folded(context, rows, null, (before, value) => Number(before) + Number(value)),
    }
  if (![oids.int2, oids.int4, oids.int8].includes(type as never)) return undefined
  const isWide = type === oids.int8
  const add = (before: Value, value: Value) => BigInt((before ?? 0) as number) + BigInt(value as number)
  const finish = function* (context: Context, rows: Rows): Steps<Value> {
    const total = yield* folded(context, rows, null, add)
    return isWide && total !== null ? String(total) : total
  }
  return { args: [type], result: isWide ? oids.numeric : oids.int8, finish }
}
