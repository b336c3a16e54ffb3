/** Operators: what they take, and what they do with values that are not null (PostgreSQL's manual, chapters 9.2 to 9.19). */
import { canCoerce, isObject } from './coercion.ts'
import { calculate, compareDecimals } from './decimals.ts'
import { matchesLike, matchesPattern } from './patterns.ts'
import type { Context } from './plan.ts'
import { positionOf, SqlError } from './sql-error.ts'
import { hasItems, itemType } from './text-output.ts'
import { arrayOf, formatType, oids, typeOf } from './types.ts'
import { compareNullable, compareValues, type Value } from './values.ts'

/** An operator for operands of known types. Operands are converted to `left` and `right` first. */
export type Operator = {
  readonly left: number
  readonly right: number
  readonly result: number
  readonly apply: (context: Context, left: Value, right: Value) => Value
  /** Whether it takes nulls too. */
  readonly takesNulls?: boolean
}

const tests: Readonly<Record<string, (order: number) => boolean>> = {
  '=': (order) => order === 0,
  '<>': (order) => order !== 0,
  '<': (order) => order < 0,
  '<=': (order) => order <= 0,
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
}
const numbers: readonly number[] = [oids.int2, oids.int4, oids.int8, oids.numeric, oids.float4, oids.float8]
const integers: readonly number[] = [oids.int2, oids.int4, oids.int8]
const times: readonly number[] = [oids.date, oids.timestamp, oids.timestamptz]

/** Whether the operator compares its operands. */
export function isComparison(operator: string): boolean {
  return operator in tests
}

/** The operator for operands of these types. Throws SqlError 42883 in PostgreSQL's words. */
export function findOperator(operator: string, left: number, right: number, at: number): Operator {
  const found =
    operator in tests
      ? comparison(operator, left, right)
      : (arithmetic(operator, left, right) ??
        textual(operator, left, right) ??
        onArrays(operator, left, right))
  if (found) return found
  throw noOperator(`${formatType(left)} ${operator} ${formatType(right)}`, at)
}

/** The error for an operator that there is not; `shown` has the types of its operands. */
export function noOperator(shown: string, at: number): SqlError {
  return new SqlError('42883', `operator does not exist: ${shown}`, {
    position: positionOf(at),
    hint: 'No operator matches the given name and argument types. You might need to add explicit type casts.',
  })
}

function comparison(operator: string, left: number, right: number): Operator | undefined {
  const type = comparisonType(left, right)
  if (type === undefined) return undefined
  const holds = tests[operator]!
  return { left: type, right: type, result: oids.bool, apply: (_, a, b) => holds(compareValues(a, b, type)) }
}

/** The type in which values of two types compare, or undefined. */
export function comparisonType(left: number, right: number): number | undefined {
  if (left === oids.unknown) return right === oids.unknown ? oids.text : right
  if (right === oids.unknown || left === right) return left
  if (isText(left) && isText(right)) return oids.text
  if (numbers.includes(left) && numbers.includes(right))
    return numbers[Math.max(numbers.indexOf(left), numbers.indexOf(right))]
  const isId = (type: number) => isObject(type) || type === oids.xid
  if (isId(left) && (isId(right) || integers.includes(right))) return isObject(left) ? oids.oid : left
  if (isId(right) && integers.includes(left)) return oids.oid
  if (times.includes(left) && times.includes(right)) return Math.max(left, right)
  if (hasItems(left) && hasItems(right)) {
    const element = comparisonType(itemType(left), itemType(right))
    return element === undefined ? undefined : arrayOf(element)
  }
  return canCoerce(left, oids.text) && isText(right) ? oids.text : undefined
}

function isText(type: number): boolean {
  return typeOf(type)?.category === 'S' || type === oids.char
}

function arithmetic(operator: string, left: number, right: number): Operator | undefined {
  if (!/^(?:[+\-*/%&|#^]|<<|>>)$/.test(operator)) return undefined
  const type = comparisonType(left, right)
  const known = type === oids.text ? undefined : type
  if (known === undefined || !numbers.includes(known)) return timeArithmetic(operator, left, right)
  if (/^(?:[&|#]|<<|>>)$/.test(operator) && !integers.includes(known)) return undefined
  if (operator === '^') return floating(operator)
  if (known === oids.numeric && operator === '/') return undefined
  if (known === oids.numeric)
    return simple(known, (a, b) => calculate(operator, String(a), nonZero(operator, String(b))))
  if (!integers.includes(known)) return floating(operator)
  return simple(known, (a, b) => onIntegers(operator, BigInt(a as number), BigInt(b as number), known))
}

function simple(type: number, apply: (left: Value, right: Value) => Value): Operator {
  return { left: type, right: type, result: type, apply: (_, a, b) => apply(a, b) }
}

function timeArithmetic(operator: string, left: number, right: number): Operator | undefined {
  if (left !== oids.date || right !== oids.int4 || !/^[+-]$/.test(operator)) return undefined
  const sign = operator === '+' ? 1 : -1
  return { left, right, result: oids.date, apply: (_, a, b) => (a as number) + sign * (b as number) }
}

function nonZero(operator: string, value: string): string {
  if ((operator === '%' || operator === '/') && compareDecimals(value, '0') === 0)
    throw new SqlError('22012', 'division by zero')
  return value
}

function onIntegers(operator: string, a: bigint, b: bigint, type: number): Value {
  nonZero(operator, String(b))
  const result = calculateIntegers(operator, a, b)
  const bits = type === oids.int2 ? 16 : type === oids.int4 ? 32 : 64
  if (BigInt.asIntN(bits, result) !== result) throw new SqlError('22003', `${formatType(type)} out of range`)
  return type === oids.int8 ? result : Number(result)
}

function calculateIntegers(operator: string, a: bigint, b: bigint): bigint {
  switch (operator) {
    case '+':
      return a + b
    case '-':
      return a - b
    case '*':
      return a * b
    case '/':
      return a / b
    case '%':
      return a % b
    case '&':
      return a & b
    case '|':
      return a | b
    case '#':
      return a ^ b
    case '<<':
      return BigInt.asIntN(64, a << (b & 63n))
    default:
      return a >> (b & 63n)
  }
}

function floating(operator: string): Operator {
  return simple(oids.float8, (left, right) => {
    const [a, b] = [Number(left), Number(right)]
    if (operator === '/' && b === 0) throw new SqlError('22012', 'division by zero')
    if (operator === '^') return a ** b
    if (operator === '+') return a + b
    if (operator === '-') return a - b
    return operator === '*' ? a * b : a / b
  })
}

function textual(operator: string, left: number, right: number): Operator | undefined {
  if (operator === '||') return concatenation(left, right)
  const isTextual = [left, right].every((type) => isText(type) || type === oids.unknown)
  if (!isTextual) return undefined
  const pattern = /^(!?)(~~|~)(\*?)$/.exec(operator)
  if (!pattern) return undefined
  const [, not, kind, caseless] = pattern
  const matches =
    kind === '~'
      ? (context: Context, a: Value, b: Value) =>
          matchesPattern(a as string, b as string, caseless === '*', context.budget)
      : (context: Context, a: Value, b: Value) =>
          like(context, a as string, b as string, '\\', caseless === '*')
  return {
    left: oids.text,
    right: oids.text,
    result: oids.bool,
    apply: (context, a, b) => matches(context, a, b) === (not === ''),
  }
}

/** LIKE, or ILIKE if `caseless`. */
export function like(
  context: Context,
  text: string,
  pattern: string,
  escapeChar: string,
  caseless: boolean,
): boolean {
  return caseless
    ? matchesLike(text.toLowerCase(), pattern.toLowerCase(), escapeChar, context.budget)
    : matchesLike(text, pattern, escapeChar, context.budget)
}

function concatenation(left: number, right: number): Operator | undefined {
  if (hasItems(left) || hasItems(right)) return arrayConcatenation(left, right)
  const types = [left, right]
  if (!types.some((type) => isText(type) || type === oids.unknown)) return undefined
  // Of two operands at least one is a text; the other one shows its text form.
  const join = (context: Context, a: Value, b: Value) => {
    const text = `${a}${b}`
    context.budget.keep(text.length)
    return text
  }
  return { left: oids.text, right: oids.text, result: oids.text, apply: join }
}

/** A null array adds nothing. */
function arrayConcatenation(left: number, right: number): Operator | undefined {
  const array = hasItems(left) ? left : right
  const other = hasItems(left) ? right : left
  const join = (_: Context, a: Value, b: Value) =>
    a === null ? b : b === null ? a : [...(a as readonly Value[]), ...(b as readonly Value[])]
  const both = (type: number): Operator => ({
    left: type,
    right: type,
    result: type,
    apply: join,
    takesNulls: true,
  })
  if (other === oids.unknown || (hasItems(other) && canCoerce(other, array))) return both(array)
  if (hasItems(other) && canCoerce(array, other)) return both(other)
  const item = itemType(array)
  if (!canCoerce(other, item)) return undefined
  return hasItems(left)
    ? {
        left: array,
        right: item,
        result: array,
        apply: (context, a, b) => join(context, a ?? [], [b]),
        takesNulls: true,
      }
    : {
        left: item,
        right: array,
        result: array,
        apply: (context, a, b) => join(context, [a], b ?? []),
        takesNulls: true,
      }
}

function onArrays(operator: string, left: number, right: number): Operator | undefined {
  if (!/^(?:@>|<@|&&)$/.test(operator)) return undefined
  const type = comparisonType(left, right)
  if (type === undefined || !hasItems(type)) return undefined
  const element = itemType(type)
  const has = (context: Context, list: readonly Value[], item: Value) => {
    context.budget.step(list.length)
    return item !== null && list.some((each) => each !== null && compareNullable(each, item, element) === 0)
  }
  const apply = (context: Context, a: Value, b: Value) => {
    const [outer, inner] = (operator === '<@' ? [b, a] : [a, b]) as [readonly Value[], readonly Value[]]
    return operator === '&&'
      ? inner.some((item) => has(context, outer, item))
      : inner.every((item) => has(context, outer, item))
  }
  return { left: type, right: type, result: oids.bool, apply }
}

/** A prefix operator for an operand of this type. Throws SqlError 42883. */
export function findPrefix(operator: string, type: number, at: number): Omit<Operator, 'left'> {
  const operand = type === oids.unknown ? oids.float8 : type
  if (numbers.includes(operand)) {
    if (operator === '+') return { right: operand, result: operand, apply: (_, __, value) => value }
    if (operator === '-') {
      const zero: Value = operand === oids.numeric ? '0' : operand === oids.int8 ? 0n : 0
      const minus = findOperator('-', operand, operand, at)
      return {
        right: operand,
        result: operand,
        apply: (context, _, value) => minus.apply(context, zero, value),
      }
    }
    if (operator === '~' && operand === oids.int8)
      return { right: operand, result: operand, apply: (_, __, value) => ~(value as bigint) }
    if (operator === '~' && integers.includes(operand))
      return { right: operand, result: operand, apply: (_, __, value) => ~(value as number) }
    if (operator === '@') {
      const negative = findPrefix('-', operand, at)
      return {
        right: operand,
        result: operand,
        apply: (context, _, value) => (Number(value) < 0 ? negative.apply(context, null, value) : value),
      }
    }
  }
  throw noOperator(`${operator} ${formatType(type)}`, at)
}
