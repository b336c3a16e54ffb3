/** Conversions between types: which PostgreSQL does by itself, and all that can be asked for (the manual, chapter 10). */
import { roundDecimal } from './decimals.ts'
import { pseudo } from './function-table.ts'
import type { Context } from './plan.ts'
import { SqlError } from './sql-error.ts'
import { valueOfText } from './text-input.ts'
import { hasItems, infinity, itemType, minusInfinity, textOfValue } from './text-output.ts'
import { baseOf, elementOf, formatType, isArray, oids, typeOf } from './types.ts'
import { RowValue, type Value } from './values.ts'

const numeric: readonly number[] = [oids.int2, oids.int4, oids.int8, oids.numeric, oids.float4, oids.float8]
const integers: ReadonlySet<number> = new Set([oids.int2, oids.int4, oids.int8])
/** Types whose values are oids. */
const objects: ReadonlySet<number> = new Set([
  oids.oid,
  oids.regclass,
  oids.regtype,
  oids.regproc,
  oids.regprocedure,
  oids.regoper,
  oids.regoperator,
  oids.regnamespace,
  oids.regrole,
])

/** Whether values of this type are oids. */
export function isObject(type: number): boolean {
  return objects.has(type)
}

/** Whether PostgreSQL converts from one type to another by itself, as for arguments. */
export function canCoerce(from: number, to: number): boolean {
  if (from === to || from === oids.unknown || to === pseudo.any || to === pseudo.anyelement) return true
  if (to === pseudo.anyarray) return hasItems(from)
  if (to === oids.record) return typeOf(from)?.kind === 'c'
  if (numeric.includes(from) && numeric.includes(to)) return numeric.indexOf(from) < numeric.indexOf(to)
  if (objects.has(to) && (integers.has(from) || objects.has(from)))
    return from === oids.oid || to === oids.oid || integers.has(from)
  if (objects.has(from) && (to === oids.int8 || to === oids.int4)) return true
  if (isTexts(from) && isTexts(to)) return to !== oids.char
  if (isTexts(from) && to === oids.regclass) return from !== oids.name && from !== oids.char
  if (isArray(from) && isArray(to)) return canCoerce(elementOf(from), elementOf(to))
  if (from === oids.int2vector) return to === oids.int2Array
  if (from === oids.oidvector) return to === oids.oidArray
  if (to === oids.timestamptz) return from === oids.timestamp || from === oids.date
  return from === oids.pgNodeTree && to === oids.text
}

function isTexts(type: number): boolean {
  return typeOf(type)?.category === 'S' || type === oids.char
}

/** The type that values of several types have together: of CASE, UNION, VALUES, arrays. Undefined: they match not. */
export function commonType(types: readonly number[]): number | undefined {
  const known = types.filter((type) => type !== oids.unknown)
  if (known.length === 0) return oids.text
  let common = known[0]!
  for (const type of known) {
    if (type === common) continue
    const category = typeOf(common)?.category
    if (category !== typeOf(type)?.category && !(isTexts(common) && isTexts(type))) return undefined
    if (typeOf(common)?.isPreferred) continue
    if (canCoerce(common, type) && !canCoerce(type, common)) common = type
    else if (canCoerce(common, type) && typeOf(type)?.isPreferred) common = type
    else if (!canCoerce(type, common)) return undefined
  }
  return common
}

/** Whether a value can be converted when it is asked for: `CAST`, `::`. */
export function canCast(from: number, to: number): boolean {
  const [source, target] = [baseOf(from), baseOf(to)]
  if (canCoerce(source, target)) return true
  if (isTexts(target) || isTexts(source)) return true
  if (numeric.includes(source) && numeric.includes(target)) return true
  if (objects.has(source)) return integers.has(target) || objects.has(target)
  if (source === oids.bool || target === oids.bool) return source === oids.int4 || target === oids.int4
  if (hasItems(source) && hasItems(target)) return canCast(itemType(source), itemType(target))
  if (source === oids.json || source === oids.jsonb) return target === oids.json || target === oids.jsonb
  const times: readonly number[] = [oids.timestamp, oids.timestamptz, oids.date]
  if (times.includes(source)) return times.includes(target)
  return source === oids.xid && target === oids.oid
}

/** The error of a conversion that there is not. */
export function cannotCast(from: number, to: number, position: number): SqlError {
  return new SqlError('42846', `cannot cast type ${formatType(from)} to ${formatType(to)}`, { position })
}

/** Converts a value that is not null; `canCast` holds. */
export function castValue(context: Context, value: Value, from: number, to: number): Value {
  const [source, target] = [baseOf(from), baseOf(to)]
  if (source === target) return value
  if (isTexts(target)) return asText(context, value, source, target)
  if (isTexts(source) || source === oids.unknown) return valueOfText(value as string, target, context.objects)
  if (hasItems(source) && hasItems(target))
    return (value as readonly Value[]).map((item) =>
      item === null ? null : castValue(context, item, itemType(source), itemType(target)),
    )
  if (value instanceof RowValue) return value
  if (target === oids.bool) return Number(value) !== 0
  if (objects.has(target)) return toOid(value, source)
  // The same 32 bits, with a sign.
  if (objects.has(source) && target === oids.int4) return Number(value) | 0
  if (integers.has(target)) return toInteger(value, target)
  if (target === oids.numeric) return String(value)
  if (target === oids.float4 || target === oids.float8) return Number(value)
  return castTime(value, source, target)
}

function asText(context: Context, value: Value, source: number, target: number): Value {
  const text = source === oids.bool ? String(value) : textOfValue(value, source, context.objects)
  if (target === oids.char) return text.slice(0, 1)
  return text
}

/** Negative numbers of 32 bits are the oids of the same bits. */
function toOid(value: Value, source: number): Value {
  const oid = Number(value)
  if (source === oids.int8 && (oid < 0 || oid >= 2 ** 32)) throw new SqlError('22003', 'OID out of range')
  return oid < 0 ? oid + 2 ** 32 : oid
}

const bounds: Readonly<Record<number, bigint>> = {
  [oids.int2]: 2n ** 15n,
  [oids.int4]: 2n ** 31n,
  [oids.int8]: 2n ** 63n,
}

function toInteger(value: Value, target: number): Value {
  const integer = typeof value === 'string' ? roundDecimal(value) : BigInt(roundHalfEven(value))
  const bound = bounds[target]!
  if (integer >= bound || integer < -bound) throw new SqlError('22003', `${formatType(target)} out of range`)
  return target === oids.int8 ? integer : Number(integer)
}

/** Integers of a float: halves go to the even neighbour, as PostgreSQL's rint. */
function roundHalfEven(value: Value): number | bigint {
  if (typeof value === 'bigint') return value
  const number = Number(value)
  if (!Number.isFinite(number)) throw new SqlError('22003', 'integer out of range')
  const floor = Math.floor(number)
  if (number - floor === 0.5) return floor % 2 === 0 ? floor : floor + 1
  return Math.round(number)
}

const dayUs = 86_400_000_000n

function castTime(value: Value, source: number, target: number): Value {
  if (source === oids.date && typeof value === 'number') {
    if (Number.isFinite(value)) return BigInt(value) * dayUs
    return value > 0 ? infinity : minusInfinity
  }
  if (target !== oids.date || typeof value !== 'bigint') return value
  if (value === infinity) return Number.POSITIVE_INFINITY
  if (value === minusInfinity) return Number.NEGATIVE_INFINITY
  return Number(value >= 0n ? value / dayUs : (value - dayUs + 1n) / dayUs)
}
