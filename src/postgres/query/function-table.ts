/** The table of functions: their signatures in SQL's words, what they do, and which of them a call means. */

import { isImplicit } from './coercion.ts'
import type { Field, Run } from './expression.ts'
import { hasItems } from './text-output.ts'
import { isArray, oids, typeNamed } from './types.ts'
import type { Value } from './values.ts'

/** What a function does; one that gives a set gives a list. `types` are those of its arguments. */
export type Implementation = (run: Run, args: readonly Value[], types: readonly number[]) => Value

/**
 * Functions by their signatures, one or several with `;` or a line break between them: `name(type,type…) type`. `?` behind the parentheses takes
 * nulls too, `!` is volatile, `…` repeats; `setof` stands before one that gives a set, and the fields of rows behind `record`.
 */
export type Functions = Readonly<Record<string, Implementation>>

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
  readonly isSet: boolean
  readonly call: Implementation
  /** The fields of its rows. */
  readonly fields: readonly Field[] | undefined
}

/** Pseudo types of signatures; `anyelement` is only a result. */
export const pseudo = { any: 2276, anyarray: 2277, anyelement: 2283 }

const signature = /^(setof )?(\w+)\(([^)]*)\)(\??)(!?) (\w+)(?: (.+))?$/

function define(text: string, call: Implementation): Definition {
  const [, set, name = '', list = '', nulls, isVolatile, result = '', fields] = signature.exec(text) ?? []
  return {
    name,
    args: list === '' ? [] : list.replace('…', '').split(',').map(oidOf),
    isVariadic: list.endsWith('…'),
    result: oidOf(result),
    isStrict: nulls !== '?',
    isVolatile: isVolatile === '!',
    isSet: set !== undefined,
    call,
    fields: fields?.split(', ').map((field) => {
      const [label = '', type = ''] = field.split(' ')
      return { name: label, type: oidOf(type) }
    }),
  }
}

function oidOf(name: string): number {
  return typeNamed(name)!.oid
}

/** The functions of these definitions by their names. */
export class FunctionTable {
  readonly #byName: ReadonlyMap<string, readonly Definition[]>

  constructor(all: Functions) {
    const definitions = Object.entries(all).flatMap(([texts, call]) =>
      texts.split(/[;\n]/).flatMap((text) => (text.trim() === '' ? [] : [define(text.trim(), call)])),
    )
    this.#byName = Map.groupBy(definitions, ({ name }) => name)
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
