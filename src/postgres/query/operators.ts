/**
 * Operators by their names and the types of their operands (PostgreSQL's manual, chapters 9.2 to 9.19, 10.2). What is not
 * here is refused: another operator of PostgreSQL might fit, and mean something else.
 */
import { SqlError } from '../sql-error.ts'
import { combined, decided, type Expression, type Frame, type Run } from './analysed.ts'
import { coerced, integers, objects, texts, toInteger, toTextConverter } from './coercion.ts'
import { compareNumerics, difference } from './numeric.ts'
import { isLike, matches } from './patterns.ts'
import { itemType, textLengthMax, tooLong } from './text-output.ts'
import { refused } from './tree.ts'
import { elementOf, formatType, isArray, oids } from './types.ts'
import { compareValues, type Value } from './values.ts'

/** An operator for operands that are converted to `left` and `right` first. */
type Operator = {
  readonly left: number
  readonly right: number
  readonly result: number
  /** Computes the result. Unless `takesNulls` is set, it gets no null: the result of a null is null. */
  readonly apply: (left: Value, right: Value, run: Run) => Value
  /** Whether `apply` takes nulls too. */
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

/** Types with an order of their own. */
const ordered: ReadonlySet<number> = new Set([
  ...integers,
  oids.bool,
  oids.char,
  oids.name,
  oids.text,
  oids.oid,
  oids.float4,
])

/** Whether values of this type are sorted and grouped here. */
export function isOrdered(type: number): boolean {
  const plain = plainType(type)
  return ordered.has(plain) || plain === oids.oidvector || ordered.has(plainType(elementOf(plain)))
}

/** The type whose operators a type has: text, oid, or itself. */
export function plainType(type: number): number {
  if (type === oids.varchar || type === oids.pgNodeTree) return oids.text
  return objects.has(type) ? oids.oid : type
}

const isNumeric = (type: number) => type === oids.numeric || integers.includes(type)

/** The type in which two types compare; undefined: not known. */
function comparedAs(left: number, right: number): number | undefined {
  if (left === oids.unknown && right === oids.unknown) return oids.text
  if (left === oids.unknown) return comparedAs(right, right)
  if (right === oids.unknown) return comparedAs(left, left)
  const [a, b] = [plainType(left), plainType(right)]
  if (a === b) return a === oids.xid || a === oids.numeric || isOrdered(a) ? a : undefined
  if (integers.includes(a) && integers.includes(b))
    return integers[Math.max(integers.indexOf(a), integers.indexOf(b))]
  if (a === oids.oid && b !== oids.int8 && integers.includes(b)) return oids.oid
  if (b === oids.oid && a !== oids.int8 && integers.includes(a)) return oids.oid
  if (isNumeric(a) && isNumeric(b)) return oids.numeric
  const isText = (type: number) => texts.has(type) || type === oids.char
  if ([a, b].includes(oids.bpchar)) return [a, b].includes(oids.char) ? oids.text : undefined
  return isText(a) && isText(b) ? oids.text : undefined
}

/** The operator for operands of these types. Throws 0A000. */
function findOperator(name: string, left: number, right: number): Operator {
  const found =
    name in tests
      ? comparison(name, left, right)
      : name === '||'
        ? concatenation(left, right)
        : (arithmetic(name, plainType(left), plainType(right)) ?? pattern(name, left, right))
  if (found !== undefined) return found
  throw refused(`The operator ${formatType(left)} ${name} ${formatType(right)}`)
}

function comparison(name: string, left: number, right: number): Operator | undefined {
  const type = comparedAs(left, right)
  if (type === undefined || (type === oids.xid && name !== '=' && name !== '<>')) return undefined
  const holds = tests[name]!
  const compare = type === oids.numeric ? (compareNumerics as typeof compareValues) : compareValues
  return { left: type, right: type, result: oids.bool, apply: (a, b) => holds(compare(a, b)) }
}

/** An operand as a value of its operator's type: unchanged if its own plain type is that type, otherwise converted. */
function fits(operand: Expression, type: number): Expression {
  if (operand.type !== oids.unknown && plainType(operand.type) === type) return operand
  return coerced(operand, type)
}

/** The operator applied. Throws 0A000. */
export function applied(name: string, left: Expression, right: Expression): Expression {
  const operator = findOperator(name, left.type, right.type)
  const a = fits(left, operator.left)
  const b = fits(right, operator.right)
  const { apply, result, takesNulls } = operator
  const whole = combined(result, [left, right], (frame) => {
    frame.run.spend(1)
    const x = a.run(frame)
    if (x === null && !takesNulls) return null
    const y = b.run(frame)
    if (y === null && !takesNulls) return null
    return apply(x, y, frame.run)
  })
  // Equal numerics may have different texts.
  return name === '=' && operator.left !== oids.numeric ? { ...whole, equality: [a, b] } : whole
}

/** A comparison of an operand with each of some values: it holds for any of them, or for all. */
export function appliedToEach(
  name: string,
  operand: Expression,
  type: number,
  isAny: boolean,
): { readonly test: Expression; readonly run: (values: readonly Value[], frame: Frame) => Value } {
  let current: Value = null
  const item: Expression = { type, modifier: -1, run: () => current, uses: 0, isOpen: true }
  const test = applied(name, operand, item)
  return {
    test,
    run: (values, frame) =>
      decided(isAny, values, (value) => {
        current = value
        return test.run(frame)
      }),
  }
}

function nonZero(value: bigint): bigint {
  if (value === 0n) throw new SqlError('22012', 'division by zero')
  return value
}

const calculations: Readonly<Record<string, (a: bigint, b: bigint) => bigint>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '&': (a, b) => a & b,
  '/': (a, b) => a / nonZero(b),
  '%': (a, b) => a % nonZero(b),
}

function arithmetic(name: string, left: number, right: number): Operator | undefined {
  const calculate = calculations[name]
  const [a, b] = [left === oids.unknown ? right : left, right === oids.unknown ? left : right]
  if (calculate === undefined || !isNumeric(a) || !isNumeric(b)) return undefined
  if (a === oids.numeric || b === oids.numeric) {
    if (name !== '-') return undefined
    const subtract: Operator['apply'] = (x, y) => difference(x as string, y as string)
    return { left: oids.numeric, right: oids.numeric, result: oids.numeric, apply: subtract }
  }
  const type = integers[Math.max(integers.indexOf(a), integers.indexOf(b))]!
  const apply: Operator['apply'] = (x, y) =>
    toInteger(calculate(BigInt(x as number), BigInt(y as number)), type)
  return { left: type, right: type, result: type, apply }
}

function pattern(name: string, left: number, right: number): Operator | undefined {
  const isText = (type: number) => type === oids.unknown || texts.has(plainType(type)) || type === oids.char
  const [, not, kind] = /^(!?)(~~|~)$/.exec(name) ?? []
  if (kind === undefined || !isText(left) || !isText(right)) return undefined
  const test = kind === '~' ? matches : isLike
  return {
    left: oids.text,
    right: oids.text,
    result: oids.bool,
    apply: (a, b, run) => test(a as string, b as string, (count) => run.spend(count)) === (not === ''),
  }
}

function concatenation(left: number, right: number): Operator | undefined {
  if (isArray(left) || isArray(right)) return arrayConcatenation(left, right)
  const isText = (type: number) => type === oids.unknown || texts.has(type)
  if (![left, right].some(isText) || [left, right].some((type) => itemType(type) || type === oids.char))
    return undefined
  const [a, b] = [left, right].map((type) => (type === oids.unknown ? oids.text : type)) as [number, number]
  const [first, second] = [toTextConverter(a), toTextConverter(b)]
  return {
    left: a,
    right: b,
    result: oids.text,
    apply: (x, y, run) => joined(run, [first(x, run.objects) as string, second(y, run.objects) as string]),
  }
}

/** A text of parts. Throws 54000 for one that is too long. */
export function joined(run: Run, parts: readonly string[], delimiter = ''): string {
  let length = 0
  for (const part of parts) length += part.length + delimiter.length
  if (length > textLengthMax) throw tooLong()
  run.keep(length >> 7)
  return parts.join(delimiter)
}

/** Two arrays of one type; a null array adds nothing. */
function arrayConcatenation(left: number, right: number): Operator | undefined {
  if (left !== right) return undefined
  const apply: Operator['apply'] = (a, b, run) => {
    const [first, second] = [a ?? [], b ?? []] as [readonly Value[], readonly Value[]]
    run.keep(first.length + second.length)
    return a === null ? b : b === null ? a : [...first, ...second]
  }
  return { left, right, result: left, apply, takesNulls: true }
}

/** A prefix operator applied. Throws 0A000. */
export function prefixed(name: string, operand: Expression): Expression {
  const { type, run } = operand
  if (!integers.includes(type) || name !== '-') throw refused(`The operator ${name} ${formatType(type)}`)
  return combined(type, [operand], (frame) => {
    const value = run(frame)
    return value === null ? null : toInteger(-BigInt(value as number), type)
  })
}
