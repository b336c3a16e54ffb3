/** What the parts of the compiler share: open literals and parameters, and conversions. */
import { canCast, canCoerce, cannotCast, castValue, isObject } from './coercion.ts'
import { counted, countRead } from './costs.ts'
import { pseudo } from './function-table.ts'
import type { Compiled, Context, Frame, Query } from './plan.ts'
import type { Scope } from './scope.ts'
import { positionOf, SqlError } from './sql-error.ts'
import type { Call, Expression, Select, TypeName } from './syntax.ts'
import { valueOfText } from './text-input.ts'
import { itemType } from './text-output.ts'
import { baseOf, formatType, oids, typeNamed, typeOf } from './types.ts'
import type { Value } from './values.ts'

/** Compiles expressions and queries of one statement. */
export interface Compiler {
  readonly parameters: ParameterTypes
  /** The parts of the expression at hand whose evaluation counts no steps. */
  uncounted: number
  /** Compiles an expression. Throws SqlError. */
  expression(expression: Expression, scope: Scope): Compiled
  /** Compiles a query inside of another one. Throws SqlError. */
  query(select: Select, parent: Scope | undefined): Query
}

/** The types of a statement's parameters: given by the client, or found where a parameter is used. */
export class ParameterTypes {
  readonly #types: number[]

  /** @param given 0: the statement tells the type. */
  constructor(given: readonly number[]) {
    this.#types = given.map((type) => (type === oids.unknown ? 0 : type))
  }

  /** The type of parameter `index`, from 1; 0: open. */
  get(index: number): number {
    while (this.#types.length < index) this.#types.push(0)
    return this.#types[index - 1]!
  }

  /** Fixes an open type. */
  fix(index: number, type: number): void {
    if (this.get(index) === 0) this.#types[index - 1] = type
  }

  /** All types; those that are still open are text. */
  all(): number[] {
    return this.#types.map((type) => (type === 0 ? oids.text : type))
  }
}

/** An expression for a value that never changes. */
export function constant(value: Value, type: number): Compiled {
  return { type, modifier: -1, run: () => value, uses: 0 }
}

/**
 * Converts as PostgreSQL does by itself: for arguments, operands and results of CASE. `what` is the error's sentence for types
 * that match not.
 */
export function coerce(compiler: Compiler, compiled: Compiled, type: number, fail: () => SqlError): Compiled {
  if (compiled.type === type || type === pseudo.any || type === pseudo.anyelement || type === pseudo.anyarray)
    return compiled.type === oids.unknown ? settle(compiler, compiled, oids.text) : compiled
  if (compiled.type === oids.unknown) return settle(compiler, compiled, type)
  if (!canCoerce(compiled.type, type)) throw fail()
  return convert(compiled, type)
}

/** Gives an open literal or parameter its type. Throws SqlError 22P02 for a literal that is no such value. */
export function settle(compiler: Compiler, compiled: Compiled, type: number): Compiled {
  if (compiled.type !== oids.unknown) return compiled
  if (compiled.parameter !== undefined) {
    compiler.parameters.fix(compiled.parameter, baseOf(type))
    const fixed = compiler.parameters.get(compiled.parameter)
    const { literal: _, parameter: __, ...rest } = compiled
    return convert({ ...rest, type: fixed }, type)
  }
  if (compiled.literal === null) return constant(null, type)
  const text = compiled.literal
  if (text === undefined) return convert(compiled, type)
  const base = baseOf(type)
  // Names of objects are looked up when the statement runs.
  if (isObject(base) || isObject(itemType(base)))
    return { type, modifier: -1, uses: 0, run: ({ context }) => valueOfText(text, base, context.objects) }
  return constant(valueOfText(text, base, undefined as never), type)
}

/** Converts an expression to another type; the types can be converted. */
export function convert(compiled: Compiled, type: number): Compiled {
  const from = compiled.type
  if (from === type) return compiled
  const run = (frame: Frame) => convertValue(frame.context, compiled.run(frame), from, type)
  // A value that stays as it is remains the column that it was: a text compares as the name that it came from.
  const isSame = typeOf(from)?.category === 'S' && typeOf(type)?.category === 'S'
  const isId = isObject(from) && isObject(type)
  const { column } = compiled
  return { type, modifier: -1, run, uses: compiled.uses, ...(column && (isSame || isId) ? { column } : {}) }
}

/** A value converted from one type to another, null staying null. */
export function convertValue(context: Context, value: Value, from: number, to: number): Value {
  if (value === null || from === to) return value
  countRead(context, value)
  const result = castValue(context, value, from, to)
  return result === value ? value : counted(context, result)
}

/** CAST and `::`. Throws SqlError 42846, 42704. */
export function compileCast(compiler: Compiler, operand: Compiled, name: TypeName): Compiled {
  const type = namedType(name)
  const modifier = modifierOf(type, name)
  if (operand.type === oids.unknown) return limited(settle(compiler, operand, type), modifier, type)
  if (!canCast(operand.type, type)) throw cannotCast(operand.type, type, positionOf(name.at)!)
  return limited(convert(operand, type), modifier, type)
}

/** The type of a name. Throws SqlError 42704. */
export function namedType(name: TypeName): number {
  const schema = name.names.length > 1 ? name.names.at(-2) : undefined
  const type = typeNamed(name.names.at(-1)!, schema)
  const shown = name.names.join('.') + (name.isArray ? '[]' : '')
  if (!type || (name.isArray && type.array === 0))
    throw new SqlError('42704', `type "${shown}" does not exist`, { position: positionOf(name.at) })
  return name.isArray ? type.array : type.oid
}

function modifierOf(type: number, { modifiers }: TypeName): number {
  const [first] = modifiers
  if (first === undefined) return -1
  return type === oids.varchar || type === oids.bpchar ? first + 4 : -1
}

function limited(compiled: Compiled, modifier: number, type: number): Compiled {
  if (modifier < 0) return { ...compiled, type }
  const run = (frame: Frame) => {
    const value = compiled.run(frame)
    if (typeof value !== 'string' || value.length <= modifier - 4) return value
    const chars = Array.from(value).slice(0, modifier - 4)
    return counted(frame.context, chars.join(''))
  }
  return { type, modifier, run, uses: compiled.uses }
}

/** The error for operands that should have one type and have two. */
export function mismatch(what: string, left: number, right: number, at: number): SqlError {
  return new SqlError(
    '42804',
    `${what} types ${formatType(left)} and ${formatType(right)} cannot be matched`,
    {
      position: positionOf(at),
    },
  )
}

/** The error for a call that no function fits, in PostgreSQL's words. */
export function noFunction({ names, at }: Call, args: readonly Compiled[]): SqlError {
  const types = args.map(({ type }) => (type === oids.unknown ? 'unknown' : formatType(type))).join(', ')
  return new SqlError('42883', `function ${names.join('.')}(${types}) does not exist`, {
    position: positionOf(at),
    hint: 'No function matches the given name and argument types. You might need to add explicit type casts.',
  })
}
