/**
 * What the durable state alone tells of an id: whether it can have been issued, by any node or caller.
 *
 * Invariants
 *  1. What is read here was durable when the question came, or later. An id that had left any process by then lies below its
 *     bound, also one of a buffer, of a leased range, of another leader. So `never` is certain, and nothing else is said.
 *  2. Of an incarnation that is not the first, only the bound counts: ids of earlier ones had other starts and distances.
 */
import { FahaoError } from '../base/errors.ts'
import { larger } from '../engine/advance-rules.ts'
import type { Engine } from '../engine/engine.ts'
import type { Format } from '../ids/format.ts'
import { permutation } from '../ids/permutation.ts'
import { firstFrom } from '../ids/run.ts'
import { highestId } from './incarnation-change.ts'
import { openBounds } from './period-bounds.ts'
import { periodsOf } from './periods.ts'
import { counterOf, type StoredGenerator } from './stored-generator.ts'

/** A generator as texts are checked against it. */
export type IssuedBelow = {
  /** Undefined: plain decimal. */
  readonly format: Format | undefined
  /** The characters that its ids and check digits are written with. */
  readonly signs: string
  /** The fewest and the most characters of its texts, where readers leave none out. */
  readonly lengths: readonly [least: number, most: number]
  /** Why an id was never issued; undefined: it may have been. */
  never(id: bigint): string | undefined
}

/** Reads up to where ids of a generator can have been issued. Rejects with UNAVAILABLE. */
export async function issuedBelow(
  engine: Engine,
  name: string,
  stored: StoredGenerator,
  format: Format | undefined,
  nowUs: number,
): Promise<IssuedBelow> {
  const { definition, loweredFrom = 0n } = stored
  const { max = 0n, layout, gene = 0 } = definition
  const column = format?.column(max)
  const isGrouped = definition.format?.includes('group=')
  const known = {
    format,
    signs: column?.signs ?? '0123456789',
    lengths:
      column && !isGrouped ? ([column.charactersMin, column.charactersMax] as const) : ([1, 256] as const),
  }
  const above = 'no id at or above it has been issued or reserved'
  if (layout !== undefined) {
    const highest = await highestId(engine, name, stored, nowUs)
    return { ...known, never: (id) => (id > highest ? above : undefined) }
  }
  const periods = periodsOf(definition)
  if (periods !== undefined) {
    const bounds = await openBounds(engine, name, stored)
    const never = (id: bigint) => {
      const period = periods.split(id)
      if (period === undefined) return `it is of no ${periods.unit}`
      if (period.number < definition.start! && stored.incarnation === 1n)
        return 'it is below the first number'
      const open = bounds.find(({ ordinal }) => ordinal === period.ordinal)
      const isAbove = open === undefined ? period.ordinal > (bounds[0]?.ordinal ?? 0) : id >= open.bound
      return isAbove ? above : undefined
    }
    return { ...known, never }
  }
  const counter = await engine.counter(counterOf(name, stored))
  const bound = larger(larger(counter.bound, stored.floor), loweredFrom)
  const scrambled = definition.scramble ? permutation(keyOf(stored), max + 1n) : undefined
  const never = (id: bigint) => {
    if (scrambled !== undefined && id > max) return `no id is above ${max}`
    // With a gene the counter stands at the last id of a block.
    const raw = scrambled?.inverse(id) ?? id | ((1n << BigInt(gene)) - 1n)
    return raw >= bound ? above : neverOfFirst(raw, stored)
  }
  return { ...known, never }
}

function neverOfFirst(raw: bigint, { incarnation, definition }: StoredGenerator): string | undefined {
  const { start = 0n, increment = 1, offset = 0n } = definition
  if (incarnation !== 1n) return undefined
  if (raw < start) return 'it is below the first id'
  return firstFrom(raw, increment, offset) === raw
    ? undefined
    : `ids are ${increment} apart, and it lies between two`
}

function keyOf({ key }: StoredGenerator): Uint8Array {
  if (key === undefined)
    throw new FahaoError('ENGINE', 'a permuted generator is stored without its key; restore it from a backup')
  return Buffer.from(key, 'hex')
}
