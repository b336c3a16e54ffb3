/** `FLOOR` and `SET`: the number below which a generator issues no more ids. */
import { FahaoError } from '../base/errors.ts'
import type { StoredGenerator } from './stored.ts'

/** A trillion ids, more than two counters differ in practice: milliseconds since 1970 and snowflakes are larger. */
export const jumpMax = 2n ** 40n

/** How a generator is moved forward. */
export type MoveOptions = {
  /** However many ids the move skips. */
  readonly force?: boolean
}

/** A move to a floor, as an alteration asks for it. */
export type FloorMove = MoveOptions & { readonly floor?: bigint | undefined }

/** Reads the value of `FLOOR`. Throws ERR if it is no whole number. */
export function floorOf(floor: bigint | string): bigint {
  if (typeof floor === 'bigint' && floor >= 0n) return floor
  if (/^\d{1,19}$/.test(String(floor))) return BigInt(floor)
  throw new FahaoError('ERR', 'FLOOR must be a whole number')
}

/** Throws WRONGTYPE if a generator has no floor to raise, ERR if it has no id above the floor. */
export function refuseFloor(
  name: string,
  { definition }: Pick<StoredGenerator, 'definition'>,
  floor: bigint,
): void {
  const { kind, max } = definition
  if (max === undefined)
    throw new FahaoError(
      'WRONGTYPE',
      `'${name}' is a ${kind}, which follows the clock; FLOOR is for sequence and segment`,
    )
  if (floor > max) throw new FahaoError('ERR', `FLOOR must be a whole number up to max ${max}`)
}

/**
 * Throws ERR if a move from the last id to `newest` skips so many ids that it is probably a mistake: it cannot be undone
 * while the store is in use.
 */
export function refuseJump(name: string, last: bigint, newest: bigint, max: bigint): void {
  const skipped = newest - last
  if (skipped <= jumpMax && skipped <= (max - last) / 2n) return
  throw new FahaoError(
    'ERR',
    `to move '${name}' from ${last} to ${newest} gives up ${skipped} of its ${max - last} ids for good; if that is meant, repeat it with FORCE`,
  )
}
