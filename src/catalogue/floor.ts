/** `FLOOR` and `SET`: the number below which a generator shall issue nothing from now on. */
import { FahaoError } from '../base/errors.ts'
import type { StoredGenerator } from './stored.ts'

/** A trillion ids, more than a counter is behind any other: milliseconds since 1970 and snowflakes are beyond. */
export const jumpMax = 2n ** 40n

/** How a generator is moved forward. */
export type MoveOptions = {
  /** Whatever it gives up. */
  readonly force?: boolean
}

/** What `FLOOR` asks for. Throws ERR when it is no whole number. */
export function floorOf(floor: bigint | string): bigint {
  if (typeof floor === 'bigint' && floor >= 0n) return floor
  if (/^\d{1,19}$/.test(String(floor))) return BigInt(floor)
  throw new FahaoError('ERR', 'FLOOR must be a whole number')
}

/** Throws WRONGTYPE where a generator has no floor to raise, ERR when it has no room above it. */
export function refuseFloor(name: string, { definition }: StoredGenerator, floor: bigint): void {
  const { kind, max } = definition
  if (max === undefined)
    throw new FahaoError(
      'WRONGTYPE',
      `'${name}' is a ${kind}, which follows the clock; FLOOR is for sequence and segment`,
    )
  if (floor > max) throw new FahaoError('ERR', `FLOOR must be a whole number up to max ${max}`)
}

/**
 * Throws ERR where a move from the last id to `newest` would give up so many ids that it is likely to be a mistake: there is
 * no way back while the store is in use.
 */
export function refuseJump(name: string, last: bigint, newest: bigint, max: bigint): void {
  const skipped = newest - last
  if (skipped <= jumpMax && skipped <= (max - last) / 2n) return
  throw new FahaoError(
    'ERR',
    `to move '${name}' from ${last} to ${newest} gives up ${skipped} of its ${max - last} ids for good; if that is meant, repeat it with FORCE`,
  )
}
