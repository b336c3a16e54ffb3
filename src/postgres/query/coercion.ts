/**
 * Conversions between types: those that PostgreSQL does by itself, and those that can be asked for (the manual, chapter 10).
 * A pair of types that is not here is refused.
 */

import { SqlError } from '../sql-error.ts'
import { combined, type Expression } from './analysed.ts'

import { isReadable, shortName, valueOfText } from './text-input.ts'
import { itemType, lowerBound, textOfValue } from './text-output.ts'
import { refused } from './tree.ts'
import { elementOf, formatType, oids, typeOf } from './types.ts'
import type { ObjectNames, Value } from './values.ts'

/** The types of the parameters of a statement, as its client and its expressions give them. */
export class ParameterTypes {
  readonly #types: number[]

  /** @param declared oids; 0: left open. */
  constructor(declared: readonly number[]) {
    this.#types = [...declared]
  }

  /** The type of a parameter; `unknown` as long as it is open. */
  of(number: number): number {
    while (this.#types.length < number) this.#types.push(0)
    return this.#types[number - 1] || oids.unknown
  }

  /** Gives an open parameter its type. Throws 42P08 if it has another one. */
  settle(number: number, type: number): void {
    const known = this.of(number)
    if (known === oids.unknown) this.#types[number - 1] = type
    else if (known !== type)
      throw new SqlError('42P08', `inconsistent types deduced for parameter $${number}`, {
        detail: `${formatType(known)} versus ${formatType(type)}`,
      })
  }

  /** All types; a parameter that is still open is a text. */
  all(): number[] {
    return this.#types.map((type) => type || oids.text)
  }
}

/** The types of integers, the narrow ones first. */
export const integers: readonly number[] = [oids.int2, oids.int4, oids.int8]
/** Oids, and the types whose values are oids. */
export const objects: ReadonlySet<number> = new Set([
  oids.oid,
  oids.regclass,
  oids.regtype,
  oids.regproc,
  oids.regprocedure,
  oids.regnamespace,
  oids.regrole,
])
/** The types of texts that go over into each other. */
export const texts: ReadonlySet<number> = new Set([oids.text, oids.varchar, oids.name])

/** Whether PostgreSQL converts from one type to another by itself. `unknown` goes over into every type. */
export function isImplicit(from: number, to: number): boolean {
  if (from === to || from === oids.unknown) return true
  if (integers.includes(from) && integers.includes(to)) return integers.indexOf(from) < integers.indexOf(to)
  if (integers.includes(from) && to === oids.numeric) return true
  if (objects.has(to) && objects.has(from)) return from === oids.oid || to === oids.oid
  if (objects.has(to) && integers.includes(from)) return true
  if (objects.has(from)) return to === oids.int8
  if (texts.has(from) && texts.has(to)) return from !== oids.name || to === oids.text
  if (from === oids.char || from === oids.pgNodeTree || from === oids.bpchar) return to === oids.text
  if (to === oids.regclass) return from === oids.text || from === oids.varchar
  return false
}

/** The type that values of several types have together, as of CASE, UNION, VALUES and arrays. Throws 0A000. */
export function commonType(all: readonly number[]): number {
  const mixed = (a: number, b: number) => refused(`A common type of ${formatType(a)} and ${formatType(b)}`)
  const known = all.filter((type) => type !== oids.unknown)
  let common = known[0] ?? oids.text
  // The common modifier of the types is not known here.
  if (known.includes(oids.bpchar)) throw mixed(oids.bpchar, common)
  for (const type of known) {
    if (type === common) continue
    // Which of two such types PostgreSQL takes depends on more than the types.
    const isOidWithLong = [common, type].includes(oids.int8) && (objects.has(common) || objects.has(type))
    const isOther = typeOf(common)?.category !== typeOf(type)?.category
    if (isOther || isOidWithLong || itemType(common)) throw mixed(common, type)
    const canReturn = isImplicit(type, common)
    if (!typeOf(common)?.isPreferred && isImplicit(common, type) && !canReturn) common = type
    else if (!canReturn) throw mixed(common, type)
  }
  // A text that names an object is read when it is first evaluated, and PostgreSQL reads it before.
  if (known.length < all.length && objects.has(common) && common !== oids.oid)
    throw mixed(common, oids.unknown)
  return common
}

/** An expression of another type, as PostgreSQL converts by itself. Throws 0A000 for a pair of types that is not known here. */
export function coerced(expression: Expression, type: number): Expression {
  if (expression.type === type) return expression
  if (expression.type !== oids.unknown && !isImplicit(expression.type, type))
    throw refused(`${formatType(expression.type)} in the place of ${formatType(type)}`)
  return cast(expression, type)
}

/** An expression of another type, as `CAST` makes it. Throws 0A000 for a pair of types that is not known here. */
export function cast(expression: Expression, type: number): Expression {
  const { type: from, literal, settle } = expression
  if (from === type) return expression
  if (settle !== undefined) {
    if (!isReadable(type)) throw refused(`A parameter of type ${formatType(type)}`)
    settle(type)
    const { run } = expression
    return combined(type, [], run)
  }
  if (from === oids.unknown) {
    if (literal === undefined || literal === null) return { ...combined(type, [expression], () => null) }
    if (!isReadable(type)) throw refused(`A text as ${formatType(type)}`)
    return literalOf(literal, type)
  }
  const convert = conversion(from, type)
  if (convert === undefined) throw refused(`A conversion of ${formatType(from)} to ${formatType(type)}`)
  if (convert === same) {
    const { source: _, literal: _literal, ...rest } = expression
    return { ...rest, type, modifier: -1 }
  }
  const { run } = expression
  return combined(type, [expression], (frame) => {
    const value = run(frame)
    if (value === null) return null
    const converted = convert(value, frame.run.objects)
    frame.run.spend(1)
    if (typeof converted === 'string') frame.run.keep(converted.length >> 7)
    else if (Array.isArray(converted)) frame.run.keep(converted.length)
    return converted
  })
}

/** An expression whose open type becomes text. */
export function asKnownType(expression: Expression): Expression {
  return expression.type === oids.unknown ? cast(expression, oids.text) : expression
}

/** A text is read when the statement is analysed, if it names no object: so its errors come first, as in PostgreSQL. */
function literalOf(literal: string, type: number): Expression {
  const base = elementOf(type) || type
  const namesObject = base !== oids.oid && objects.has(base)
  if (namesObject) return combined(type, [], (frame) => valueOfText(literal, type, frame.run.objects))
  const value = valueOfText(literal, type, undefined as never)
  return combined(type, [], () => value)
}

type Convert = (value: Value, objects: ObjectNames) => Value

const same: Convert = (value) => value

/** What converts a value that is not null; undefined: nothing here. */
function conversion(from: number, to: number): Convert | undefined {
  if (from === to) return same
  if (itemType(from) && itemType(to)) return itemConversion(from, to)
  if (texts.has(to)) return textConversion(from, to)
  if (texts.has(from))
    return isReadable(to) ? (value, names) => valueOfText(value as string, to, names) : undefined
  if (integers.includes(from) && integers.includes(to))
    return (value) => toInteger(BigInt(value as number), to)
  // The same 32 bits, with a sign.
  if (objects.has(from) && to === oids.int4) return (value) => Number(value) | 0
  if (objects.has(from) && to === oids.int8) return (value) => BigInt(value as number)
  if (objects.has(from) && objects.has(to)) return isImplicit(from, to) ? same : undefined
  if (integers.includes(from) && objects.has(to)) return toOid
  if (integers.includes(from) && to === oids.numeric) return String
  return undefined
}

/** An integer of a type. Throws 22003. */
export function toInteger(value: bigint, type: number): Value {
  const bits = type === oids.int2 ? 16 : type === oids.int4 ? 32 : 64
  if (BigInt.asIntN(bits, value) !== value) throw new SqlError('22003', `${formatType(type)} out of range`)
  return type === oids.int8 ? value : Number(value)
}

/** Negative numbers of 32 bits are the oids of the same bits. */
function toOid(value: Value): Value {
  const oid = Number(value)
  if (typeof value === 'bigint' && (oid < 0 || oid >= 2 ** 32))
    throw new SqlError('22003', 'OID out of range')
  return oid < 0 ? oid + 2 ** 32 : oid
}

/** A text of a fixed length without the blanks at its end. */
function unpadded(text: string): string {
  let end = text.length
  while (text[end - 1] === ' ') end--
  return text.slice(0, end)
}

function textConversion(from: number, to: number): Convert | undefined {
  if (texts.has(from)) return to === oids.name ? (value) => shortName(value as string) : same
  if (to === oids.name || from === oids.float4 || from === oids.record) return undefined
  if (from === oids.bool) return (value) => String(value)
  if (from === oids.bpchar) return (value) => unpadded(value as string)
  return (value, names) => textOfValue(value, from, names)
}

function itemConversion(from: number, to: number): Convert | undefined {
  const convert = conversion(itemType(from), itemType(to))
  // The first index of a vector is 0, and stays so.
  if (convert === undefined || lowerBound(from) === 0 || lowerBound(to) === 0) return undefined
  return (value, names) =>
    (value as readonly Value[]).map((item) => (item === null ? null : convert(item, names)))
}

/** What converts values of a type to text as `||`, `concat` and `format` do it. Throws 0A000 for a type that is not known. */
export function toTextConverter(type: number): Convert {
  const convert = conversion(type, oids.text)
  if (convert === undefined) throw refused(`The text of a ${formatType(type)}`)
  return convert
}
