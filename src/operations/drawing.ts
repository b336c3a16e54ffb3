/** What all that draw ids check: which generator, and how many. */
import { FahaoError } from '../base/errors.ts'
import { batchMax } from '../buffers/clock-buffer.ts'
import type { Catalogue, Generator } from '../catalogue/catalogue.ts'
import { type Definition, isCounter, layoutOf } from '../catalogue/definition.ts'

/** Opens an existing generator: NOGENERATOR instead of an auto-create. */
export async function existing(catalogue: Catalogue, name: string): Promise<Generator> {
  const inUse = catalogue.find(name)
  if (inUse !== undefined) return inUse
  await catalogue.info(name)
  return catalogue.open(name)
}

/** A number of ids, 1 to `max`. */
export function checkedCount(value: bigint, max: number | bigint, what: string): number {
  if (value < 1n) throw new FahaoError('ERR', `${what} must be at least 1`)
  if (value > max) {
    throw new FahaoError('LIMIT', `${what} ${value} is above the limit of ${max}; ask for fewer at a time`)
  }
  return Number(value)
}

/** What `runsMax` has computed. */
const runsMaxOf = new WeakMap<Definition, number>()

/**
 * Refuses a number of ids as runs: WRONGTYPE where the ids are in no order, with `instead` to point elsewhere; LIMIT where
 * the number is above what the clock gives at one moment.
 */
export function checkRuns({ name, definition }: Generator, count: number, instead: string): void {
  if (definition.within === 'shuffled' || definition.scramble === true) {
    throw new FahaoError('WRONGTYPE', `'${name}' does not issue its ids in order; ${instead}`)
  }
  if (isCounter(definition.kind) || count === 1) return
  const max = runsMax(definition)
  if (count <= max) return
  throw new FahaoError(
    'LIMIT',
    `${count} ids are above the limit of ${max} at once that the clock of '${name}' allows; ask for fewer at a time, or raise borrowMax`,
  )
}

function runsMax(definition: Definition): number {
  const known = runsMaxOf.get(definition)
  if (known !== undefined) return known
  const max = batchMax(layoutOf(definition), definition.borrowMax! * 1000)
  runsMaxOf.set(definition, max)
  return max
}
