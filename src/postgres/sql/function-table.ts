/** The table of functions: their signatures in SQL's words, and what they do. */
import type { Context } from './plan.ts'
import { oids, typeNamed } from './types.ts'
import type { Value } from './values.ts'

/** What a function does with its arguments. `types` are those of the arguments. */
export type Implementation = (context: Context, args: readonly Value[], types: readonly number[]) => Value

/** What a function that gives a set does. `names` and `types` of rows are those of the definition. */
export type SetImplementation = (
  context: Context,
  args: readonly Value[],
  types: readonly number[],
) => Iterable<Value>

/** One signature of a function. */
export type FunctionDefinition = {
  readonly name: string
  /** Oids of types; pseudo types admit several. */
  readonly args: readonly number[]
  /** Whether the last argument may repeat. */
  readonly isVariadic: boolean
  readonly result: number
  /** Whether a null argument makes the result null. */
  readonly isStrict: boolean
  readonly isSet: boolean
  readonly call: Implementation | SetImplementation
  /** Of a set of rows: the columns. */
  readonly columns?: readonly { readonly name: string; readonly type: number }[]
}

/** Pseudo types of signatures. */
export const pseudo = { any: 2276, anyarray: 2277, anyelement: 2283, anynonarray: 2776, variadicAny: -1 }

const signature = /^(\w+)\(([^)]*)\)(\??) (setof )?(\w+)$/

/**
 * A definition from `name(type,type…) type`; `?` behind the parentheses: it is called with nulls too; `setof` gives a set; `…`
 * behind the last argument's type repeats it.
 */
export function define(text: string, call: Implementation): FunctionDefinition {
  return defineAny(text, call)
}

/** As `define`, of a function that gives a set. `columns`: `name type, …`, of one that gives rows. */
export function defineSet(text: string, call: SetImplementation, columns?: string): FunctionDefinition {
  const definition = defineAny(text, call)
  if (columns === undefined) return definition
  const list = columns.split(', ').map((column) => {
    const [name = '', type = ''] = column.split(' ')
    return { name, type: oidOf(type) }
  })
  return { ...definition, columns: list }
}

function defineAny(text: string, call: Implementation | SetImplementation): FunctionDefinition {
  const [, name = '', list = '', nulls, setof, result = ''] = signature.exec(text) ?? []
  const args = list === '' ? [] : list.replace('…', '').split(',').map(oidOf)
  return {
    name,
    args,
    isVariadic: list.endsWith('…'),
    result: oidOf(result),
    isStrict: nulls !== '?',
    isSet: setof !== undefined,
    call,
  }
}

function oidOf(name: string): number {
  return name === 'record' ? oids.record : typeNamed(name)!.oid
}
