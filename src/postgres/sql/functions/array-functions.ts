/** Functions of arrays, and functions that give sets (PostgreSQL's manual, chapters 9.19 and 9.25). */
import { joined } from '../costs.ts'
import { define, defineSet, type FunctionDefinition } from '../function-table.ts'
import type { Context } from '../plan.ts'
import { splitBy } from '../search.ts'
import { SqlError } from '../sql-error.ts'
import { itemType, textOfValue } from '../text-output.ts'
import { isArray, oids } from '../types.ts'
import { compareNullable, RowValue, type Value } from '../values.ts'

type List = readonly Value[]

/** The first index of an array: those of int2vector and oidvector start at 0. */
export function lowerBound(type: number): number {
  return type === oids.int2vector || type === oids.oidvector ? 0 : 1
}

function sizeOf(list: List, dimension: number): number | null {
  let level: Value = list
  for (let depth = 1; depth < dimension && Array.isArray(level); depth++) level = level[0] ?? null
  return Array.isArray(level) && level.length > 0 ? level.length : null
}

function dimensionsOf(list: List): number[] {
  const sizes: number[] = []
  for (let level: Value = list; Array.isArray(level) && level.length > 0; level = level[0]!)
    sizes.push(level.length)
  return sizes
}

function arrayToString(
  context: Context,
  list: List,
  type: number,
  delimiter: string,
  ifNull: string | null,
): string {
  const flat = (list as readonly unknown[]).flat(6) as Value[]
  const texts = function* () {
    for (const item of flat) {
      const text = item === null ? ifNull : textOfValue(item, itemType(type), context.objects)
      if (text !== null) yield text
    }
  }
  return joined(context, texts(), delimiter)
}

function stringToArray(text: string, delimiter: string | null, ifNull: string | null): Value {
  const parts =
    text === ''
      ? []
      : delimiter === null
        ? Array.from(text)
        : delimiter === ''
          ? [text]
          : splitBy(text, delimiter)
  return parts.map((part) => (part === ifNull ? null : part))
}

function* series(
  context: Context,
  from: bigint,
  to: bigint,
  step: bigint,
  wrap: (value: bigint) => Value,
): Iterable<Value> {
  if (step === 0n) throw new SqlError('22023', 'step size cannot equal zero')
  for (let value = from; step > 0n ? value <= to : value >= to; value += step) {
    context.budget.step()
    context.budget.keep(1)
    yield wrap(value)
  }
}

function seriesOf(type: 'int4' | 'int8'): FunctionDefinition[] {
  const wrap = type === 'int4' ? (value: bigint) => Number(value) : (value: bigint) => value
  const run = (context: Context, [from, to, step]: List) =>
    series(context, BigInt(from as number), BigInt(to as number), BigInt((step as number) ?? 1), wrap)
  return [
    defineSet(`generate_series(${type},${type}) setof ${type}`, run),
    defineSet(`generate_series(${type},${type},${type}) setof ${type}`, run),
  ]
}

function subscripts(list: List, type: number, dimension: number, isReversed: boolean): Value[] {
  const size = sizeOf(list, dimension) ?? 0
  const indexes = Array.from({ length: size }, (_, index) => index + lowerBound(type))
  return isReversed ? indexes.reverse() : indexes
}

function position(list: List, item: Value, type: number): number | null {
  const index = list.findIndex((each) => compareNullable(each, item, itemType(type)) === 0)
  return index < 0 ? null : index + lowerBound(type)
}

/** Functions of arrays and sets. */
export const arrayFunctions: readonly FunctionDefinition[] = [
  ...seriesOf('int4'),
  ...seriesOf('int8'),
  defineSet(
    'unnest(anyarray) setof anyelement',
    (_, [list]) => (list as readonly unknown[]).flat(6) as Value[],
  ),
  defineSet('generate_subscripts(anyarray,int4) setof int4', (_, [list, dimension], [type]) =>
    subscripts(list as List, type!, dimension as number, false),
  ),
  defineSet(
    'generate_subscripts(anyarray,int4,bool) setof int4',
    (_, [list, dimension, isReversed], [type]) =>
      subscripts(list as List, type!, dimension as number, isReversed as boolean),
  ),
  defineSet(
    '_pg_expandarray(anyarray) setof record',
    (_, [list], [type]) =>
      (list as List).map(
        (item, index) => new RowValue(['x', 'n'], [itemType(type!), oids.int4], [item, index + 1]),
      ),
    'x anyelement, n int4',
  ),
  define('array_length(anyarray,int4) int4', (_, [list, dimension]) =>
    sizeOf(list as List, dimension as number),
  ),
  define('array_lower(anyarray,int4) int4', (_, [list, dimension], [type]) =>
    sizeOf(list as List, dimension as number) === null ? null : lowerBound(type!),
  ),
  define('array_upper(anyarray,int4) int4', (_, [list, dimension], [type]) => {
    const size = sizeOf(list as List, dimension as number)
    return size === null ? null : size - 1 + lowerBound(type!)
  }),
  define('array_ndims(anyarray) int4', (_, [list]) => dimensionsOf(list as List).length || null),
  define('array_dims(anyarray) text', (_, [list], [type]) => {
    const low = lowerBound(type!)
    return (
      dimensionsOf(list as List)
        .map((size) => `[${low}:${size - 1 + low}]`)
        .join('') || null
    )
  }),
  define(
    'cardinality(anyarray) int4',
    (_, [list]) =>
      dimensionsOf(list as List).reduce((all, size) => all * size, 1) * ((list as List).length > 0 ? 1 : 0),
  ),
  define('array_position(anyarray,anyelement)? int4', (_, [list, item], [type]) =>
    list === null ? null : position(list as List, item!, type!),
  ),
  define('array_positions(anyarray,anyelement)? _int4', (_, [list, item], [type]) =>
    list === null
      ? null
      : (list as List).flatMap((each, index) =>
          compareNullable(each, item!, itemType(type!)) === 0 ? [index + lowerBound(type!)] : [],
        ),
  ),
  define('array_append(anyarray,anyelement)? anyarray', (_, [list, item]) => [
    ...((list ?? []) as List),
    item!,
  ]),
  define('array_prepend(anyelement,anyarray)? anyarray', (_, [item, list]) => [
    item!,
    ...((list ?? []) as List),
  ]),
  define('array_cat(anyarray,anyarray)? anyarray', (_, [left, right]) =>
    left === null ? right! : right === null ? left! : [...(left as List), ...(right as List)],
  ),
  define('array_remove(anyarray,anyelement)? anyarray', (_, [list, item], [type]) =>
    list === null
      ? null
      : (list as List).filter((each) => compareNullable(each, item!, itemType(type!)) !== 0),
  ),
  define('array_to_string(anyarray,text) text', (context, [list, delimiter], [type]) =>
    arrayToString(context, list as List, type!, delimiter as string, null),
  ),
  define('array_to_string(anyarray,text,text)? text', (context, [list, delimiter, ifNull], [type]) =>
    list === null || delimiter === null
      ? null
      : arrayToString(context, list as List, type!, delimiter as string, ifNull as string | null),
  ),
  define('string_to_array(text,text)? _text', (_, [text, delimiter]) =>
    text === null ? null : stringToArray(text as string, delimiter as string | null, null),
  ),
  define('string_to_array(text,text,text)? _text', (_, [text, delimiter, ifNull]) =>
    text === null ? null : stringToArray(text as string, delimiter as string | null, ifNull as string | null),
  ),
  define(
    'json_build_object(any…)? json',
    (context, args, types) => `{${joined(context, jsonFields(context, args, types), ', ')}}`,
  ),
  define('to_json(anyelement) json', (context, [value], [type]) => jsonText(context, value!, type!)),
  define('array_to_json(anyarray) json', (context, [value], [type]) => jsonText(context, value!, type!)),
  define('row_to_json(record) json', (context, [value]) => jsonText(context, value!, oids.record)),
]

function* jsonFields(context: Context, args: List, types: readonly number[]): Iterable<string> {
  for (let index = 0; index < args.length; index += 2) {
    const key = textOfValue(args[index]!, types[index] ?? oids.text, context.objects)
    const value = jsonText(context, args[index + 1] ?? null, types[index + 1] ?? oids.text)
    yield `${JSON.stringify(key)} : ${value}`
  }
}

function* fieldsOf(context: Context, { names, types, values }: RowValue): Iterable<string> {
  for (const [index, value] of values.entries())
    yield `${JSON.stringify(names[index])}:${jsonText(context, value, types[index]!)}`
}

function* itemsOf(context: Context, list: List, type: number): Iterable<string> {
  for (const item of list) yield jsonText(context, item, type)
}

/** The JSON of a value. */
export function jsonText(context: Context, value: Value, type: number): string {
  if (value === null) return 'null'
  if (typeof value === 'boolean') return String(value)
  if (value instanceof RowValue) {
    return `{${joined(context, fieldsOf(context, value), ',')}}`
  }
  if (Array.isArray(value) && isArray(type))
    return `[${joined(context, itemsOf(context, value as List, itemType(type)), ',')}]`
  const text = textOfValue(value, type, context.objects)
  const isNumber = [oids.int2, oids.int4, oids.int8, oids.numeric, oids.float4, oids.float8].includes(
    type as never,
  )
  if (isNumber || type === oids.json || type === oids.jsonb) return text
  return JSON.stringify(text)
}
