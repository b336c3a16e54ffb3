/** Aggregates (PostgreSQL's manual, chapter 9.21): count, sum, min, max, array_agg, string_agg, bool_and, bool_or, json_agg. */
import { jsonText } from './functions/array-functions.ts'
import type { Context } from './plan.ts'
import { arrayOf, oids } from './types.ts'
import { compareValues, type Value } from './values.ts'

/** An aggregate for arguments of known types. */
export type Aggregate = {
  /** The types that the arguments are converted to. */
  readonly args: readonly number[]
  readonly result: number
  /** The result for the arguments of all rows, in order. */
  readonly finish: (context: Context, rows: readonly (readonly Value[])[]) => Value
}

/** The aggregate of this name for arguments of these types; undefined: there is none. */
export function findAggregate(name: string, types: readonly number[]): Aggregate | undefined {
  const [first = oids.unknown] = types
  const type = first === oids.unknown ? oids.text : first
  const known = (rows: readonly (readonly Value[])[]) =>
    rows.map(([value]) => value!).filter((value) => value !== null)
  if (name === 'count' && types.length <= 1)
    return {
      args: types,
      result: oids.int8,
      finish: (_, rows) => BigInt(types.length === 0 ? rows.length : known(rows).length),
    }
  if (name === 'string_agg' && types.length === 2)
    return { args: [oids.text, oids.text], result: oids.text, finish: joinTexts }
  if (types.length !== 1) return undefined
  switch (name) {
    case 'array_agg':
      return arrayOf(type) === 0
        ? undefined
        : {
            args: [type],
            result: arrayOf(type),
            finish: (_, rows) => (rows.length === 0 ? null : rows.map(([value]) => value!)),
          }
    case 'json_agg':
      return {
        args: [type],
        result: oids.json,
        finish: (context, rows) =>
          rows.length === 0 ? null : `[${rows.map(([value]) => jsonText(context, value!, type)).join(', ')}]`,
      }
    case 'min':
    case 'max':
      return extreme(type, name === 'min' ? -1 : 1)
    case 'bool_and':
    case 'every':
      return {
        args: [oids.bool],
        result: oids.bool,
        finish: (_, rows) => orNull(known(rows), (values) => values.every((value) => value === true)),
      }
    case 'bool_or':
      return {
        args: [oids.bool],
        result: oids.bool,
        finish: (_, rows) => orNull(known(rows), (values) => values.includes(true)),
      }
    case 'sum':
      return sum(type)
    default:
      return undefined
  }
}

function orNull(values: readonly Value[], compute: (values: readonly Value[]) => Value): Value {
  return values.length === 0 ? null : compute(values)
}

function joinTexts(context: Context, rows: readonly (readonly Value[])[]): Value {
  let text: string | null = null
  for (const [value, delimiter] of rows) {
    if (value === null) continue
    const part: string = text === null ? (value as string) : `${delimiter ?? ''}${value}`
    context.budget.keep(part.length)
    text = (text ?? '') + part
  }
  return text
}

function extreme(type: number, sign: number): Aggregate {
  const result = type === oids.name || type === oids.varchar ? oids.text : type
  const finish = (_: Context, rows: readonly (readonly Value[])[]) => {
    let best: Value = null
    for (const [value] of rows)
      if (value !== null && (best === null || compareValues(value!, best, type) * sign > 0)) best = value!
    return best
  }
  return { args: [type], result, finish }
}

function sum(type: number): Aggregate | undefined {
  if (type === oids.float4 || type === oids.float8)
    return {
      args: [type],
      result: type,
      finish: (_, rows) =>
        total(rows, (values) => values.reduce<number>((all, value) => all + Number(value), 0)),
    }
  if (![oids.int2, oids.int4, oids.int8].includes(type as never)) return undefined
  const isWide = type === oids.int8
  const add = (values: readonly Value[]) =>
    values.reduce<bigint>((all, value) => all + BigInt(value as number), 0n)
  return {
    args: [type],
    result: isWide ? oids.numeric : oids.int8,
    finish: (_, rows) => total(rows, (values) => (isWide ? String(add(values)) : add(values))),
  }
}

function total(rows: readonly (readonly Value[])[], compute: (values: readonly Value[]) => Value): Value {
  return orNull(
    rows.map(([value]) => value!).filter((value) => value !== null),
    compute,
  )
}
