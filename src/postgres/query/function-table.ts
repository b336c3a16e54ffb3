/** The table of functions: their signatures in SQL's words, what they do, and which of them a call means. */

import { isImplicit } from './coercion.ts'
import type { Field, Run } from './expression.ts'
import { hasItems } from './text-output.ts'
import { isArray, oids, typeNamed } from './types.ts'
import type { Value } from './values.ts'

/** What a function does. `types` are those of its arguments. */
export type Implementation = (run: Run, args: readonly Value[], types: readonly number[]) => Value
/** What a function that gives a set does. */
export type SetImplementation = (
  run: Run,
  args: readonly Value[],
  types: readonly number[],
) => readonly Value[]

/** One signature of a function. */
export type Definition = {
  readonly name: string
  /** Oids of types; pseudo types admit several. */
  readonly args: readonly number[]
  /** Whether the last argument may repeat, or be left out. */
  readonly isVariadic: boolean
  readonly result: number
  /** Whether a null argument makes the result null. */
  readonly isStrict: boolean
  /** Whether each call has a result of its own. */
  readonly isVolatile: boolean
  readonly call: Implementation
  /** Of a function that gives a set, instead of `call`. */
  readonly set?: SetImplementation
  /** The fields of its rows. */
  readonly fields?: readonly Field[]
}

/** Pseudo types of signatures; `anyelement` is only a result. */
export const pseudo = { any: 2276, anyarray: 2277, anyelement: 2283 }

const signature = /^(\w+)\(([^)]*)\)(\??)(!?) (\w+)$/

/** A definition from `name(type,type…) type`: `?` behind the parentheses takes nulls too, `!` is volatile, `…` repeats. */
export function define(text: string, call: Implementation): Definition {
  const [, name = '', list = '', nulls, isVolatile, result = ''] = signature.exec(text) ?? []
  return {
    name,
    args: list === '' ? [] : list.replace('…', '').split(',').map(oidOf),
    isVariadic: list.endsWith('…'),
    result: oidOf(result),
    isStrict: nulls !== '?',
    isVolatile: isVolatile === '!',
    call,
  }
}

/** As `define`, of a function that gives a set. @param fields `name type, …`, of one that gives rows. */
export function defineSet(text: string, set: SetImplementation, fields?: string): Definition {
  const definition = define(text, () => null)
  if (fields === undefined) return { ...definition, set }
  const list = fields.split(', ').map((field) => {
    const [name = '', type = ''] = field.split(' ')
    return { name, type: oidOf(type) }
  })
  return { ...definition, set, fields: list }
}

function oidOf(name: string): number {
  return typeNamed(name)!.oid
}

/** The functions of these definitions by their names. */
export class FunctionTable {
  readonly #byName: ReadonlyMap<string, readonly Definition[]>

  constructor(all: readonly Definition[]) {
    this.#byName = Map.groupBy(all, ({ name }) => name)
  }

  /**
   * The function that arguments of these types call: the only one that takes them, or the only one with most of exactly its
   * types. Undefined: there is none, or it is not clear which.
   */
  find(name: string, types: readonly number[]): Definition | undefined {
    let best: Definition | undefined
    let bestScore = -1
    let isClear = true
    for (const each of this.#byName.get(name) ?? []) {
      const score = scoreOf(each, types)
      if (score < 0 || score < bestScore) continue
      isClear = score > bestScore
      best = each
      bestScore = score
    }
    return isClear ? best : undefined
  }
}

/** Functions that PostgreSQL has with other types too: their arguments have exactly the types that are known here. */
const overloaded: ReadonlySet<string> = new Set([
  'substring',
  'generate_series',
  'pg_get_viewdef',
  'pg_size_pretty',
  'pg_database_size',
  'pg_tablespace_size',
  'has_database_privilege',
  'has_schema_privilege',
])

/** How well arguments fit; -1: not at all. A literal of open type prefers text. */
function scoreOf({ name, args, isVariadic }: Definition, types: readonly number[]): number {
  if (isVariadic ? types.length < args.length : types.length !== args.length) return -1
  let score = 0
  for (const [index, type] of types.entries()) {
    const wanted = args[Math.min(index, args.length - 1)]!
    if (!admits(wanted, type)) return -1
    if (name === 'quote_literal' && type === oids.char) return -1
    if (overloaded.has(name) && type !== wanted && wanted !== oids.text && wanted !== oids.name) return -1
    score += type === wanted ? 100 : wanted === oids.text && type === oids.unknown ? 10 : 0
  }
  return score
}

function admits(wanted: number, type: number): boolean {
  if (wanted === pseudo.any) return true
  if (wanted === pseudo.anyarray) return hasItems(type)
  if (isArray(wanted) || isArray(type)) return type === wanted || type === oids.unknown
  return isImplicit(type, wanted)
}
