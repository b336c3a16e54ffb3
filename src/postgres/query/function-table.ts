/** The table of functions: their signatures in SQL's words, what they do, and which of them a call means. */

import type { Field, Run } from './analysed.ts'
import { isImplicit } from './coercion.ts'
import { itemType } from './text-output.ts'
import { isArray, oids, typeNamed } from './types.ts'
import type { Value } from './values.ts'

/** What a function does; one that gives a set gives a list. `types` are those of its arguments. */
export type Implementation = (run: Run, args: readonly Value[], types: readonly number[]) => Value

/**
 * Functions by their signatures, one or several with `;` or a line break between them: `name(type,type…) type`. `?` behind the
 * parentheses takes nulls too, `!` is volatile, `=` admits no other types than text and these, `…` repeats. `setof` stands before
 * one that gives a set, and the fields of rows behind `record`.
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
  /** Whether PostgreSQL has it with other types too: its arguments have exactly these. */
  readonly isOverloaded: boolean
  readonly isSet: boolean
  readonly call: Implementation
  /** The fields of its rows. */
  readonly fields: readonly Field[] | undefined
}

/** Pseudo types of signatures; `anyelement` is only a result. */
export const pseudo = { any: 2276, anyarray: 2277, anyelement: 2283 }

const signature = /^(setof )?(\w+)\(([^)]*)\)(\??)(!?)(=?) (\w+)(?: (.+))?$/

function define(text: string, call: Implementation): Definition {
  const [, set, name = '', list = '', ...marks] = signature.exec(text) ?? []
  const [nulls, isVolatile, isOverloaded, result = '', fields] = marks
  return {
    name,
    args: list === '' ? [] : list.replace('…', '').split(',').map(oidOf),
    isVariadic: list.endsWith('…'),
    result: oidOf(result),
    isStrict: nulls !== '?',
    isVolatile: isVolatile === '!',
    isOverloaded: isOverloaded === '=',
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

/**
 * What finds the function that arguments of some types call: the only one that takes them, or the only one with most of exactly
 * its types. Undefined: there is none, or it is not clear which.
 */
export function finderOf(all: Functions): (name: string, types: readonly number[]) => Definition | undefined {
  const definitions = Object.entries(all).flatMap(([texts, call]) =>
    texts.split(/[;\n]/).flatMap((text) => (text.trim() === '' ? [] : [define(text.trim(), call)])),
  )
  const byName = Map.groupBy(definitions, ({ name }) => name)
  return (name, types) => {
    const fitting = (byName.get(name) ?? []).map((each) => ({ each, score: scoreOf(each, types) }))
    const best = Math.max(0, ...fitting.map(({ score }) => score))
    const [found, ...others] = fitting.filter(({ score }) => score === best)
    return others.length === 0 ? found?.each : undefined
  }
}

/** How well arguments fit; -1: not at all. A literal of open type prefers text. */
function scoreOf({ args, isVariadic, isOverloaded }: Definition, types: readonly number[]): number {
  if (isVariadic ? types.length < args.length : types.length !== args.length) return -1
  let score = 0
  for (const [index, type] of types.entries()) {
    const wanted = args[Math.min(index, args.length - 1)]!
    if (!admits(wanted, type)) return -1
    // Beside a known type one that is open is the same.
    const isOpen = type === oids.unknown && types.includes(wanted)
    if (isOverloaded && type !== wanted && !isOpen && wanted !== oids.text && wanted !== oids.name) return -1
    score += type === wanted ? 100 : wanted === oids.text && type === oids.unknown ? 10 : 0
  }
  return score
}

function admits(wanted: number, type: number): boolean {
  if (wanted === pseudo.any) return true
  if (wanted === pseudo.anyarray) return itemType(type) !== 0
  if (isArray(wanted) || isArray(type)) return type === wanted || type === oids.unknown
  return isImplicit(type, wanted)
}
