/** Every function, and how a call finds the one that fits its arguments (PostgreSQL's manual, chapter 10.3). */
import { canCoerce } from './coercion.ts'
import type { FunctionDefinition } from './function-table.ts'
import { arrayFunctions } from './functions/array-functions.ts'
import { catalogueFunctions } from './functions/catalogue-functions.ts'
import { sessionFunctions } from './functions/session-functions.ts'
import { textFunctions } from './functions/text-functions.ts'
import { oids } from './types.ts'

/** The signature of a function that the server around carries out. */
export type ServerFunction = {
  readonly name: string
  readonly args: readonly number[]
  readonly result: number
}

/** Functions that the server around carries out. A sequence is given by its name in SQL. */
export const serverFunctions: readonly ServerFunction[] = [
  { name: 'nextval', args: [oids.regclass], result: oids.int8 },
  { name: 'currval', args: [oids.regclass], result: oids.int8 },
  { name: 'lastval', args: [], result: oids.int8 },
  { name: 'setval', args: [oids.regclass, oids.int8], result: oids.int8 },
  { name: 'setval', args: [oids.regclass, oids.int8, oids.bool], result: oids.int8 },
]

/** Whether one of `serverFunctions` changes a sequence. */
export function hasEffects(name: string): boolean {
  return name === 'nextval' || name === 'setval'
}

/** Names of aggregates. */
export const aggregateNames: readonly string[] = [
  'count',
  'sum',
  'min',
  'max',
  'array_agg',
  'string_agg',
  'bool_and',
  'bool_or',
  'every',
  'json_agg',
]

const byName = new Map<string, FunctionDefinition[]>()
for (const each of [...textFunctions, ...arrayFunctions, ...sessionFunctions, ...catalogueFunctions]) {
  const known = byName.get(each.name)
  if (known) known.push(each)
  else byName.set(each.name, [each])
}

/** The names of all functions, for the facts. */
export function functionNames(): string[] {
  return [...byName.keys(), ...aggregateNames, ...serverFunctions.map(({ name }) => name)]
}

/**
 * The function of this name that fits arguments of these types best: the one with most arguments of exactly its types.
 * Undefined: none fits.
 */
export function findFunction(name: string, types: readonly number[]): FunctionDefinition | undefined {
  let best: FunctionDefinition | undefined
  let bestScore = -1
  for (const each of byName.get(name) ?? []) {
    const score = scoreOf(each, types)
    if (score > bestScore) {
      best = each
      bestScore = score
    }
  }
  return best
}

/** How well arguments fit: -1 not at all. An open type prefers text. */
function scoreOf({ args, isVariadic }: FunctionDefinition, types: readonly number[]): number {
  if (isVariadic ? types.length < args.length : types.length !== args.length) return -1
  let score = 0
  for (const [index, type] of types.entries()) {
    const wanted = args[Math.min(index, args.length - 1)]!
    if (!canCoerce(type, wanted)) return -1
    if (type === wanted) score += 4
    else if (type === oids.unknown && wanted === oids.text) score += 2
    else if (isNear(type, wanted)) score += 1
  }
  return score
}

/** Whether a value of one type goes over into the other without becoming less exact. */
function isNear(type: number, wanted: number): boolean {
  const order: readonly number[] = [oids.int2, oids.int4, oids.int8, oids.numeric]
  return order.includes(type) && order.includes(wanted)
}
