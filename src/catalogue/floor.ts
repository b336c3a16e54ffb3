/** `FLOOR` and `SET`: the number below which a generator issues no more ids. */
import { FahaoError } from '../base/errors.ts'
import type { Issuer } from '../issuing/issuer.ts'
import { periodsOf } from './periods.ts'
import type { StoredGenerator } from './stored-generator.ts'

/** A trillion ids, more than two counters differ in practice: milliseconds since 1970 and snowflakes are larger. */
export const jumpMax = 2n ** 40n

/** How a generator is moved forward. */
export type MoveOptions = {
  /** However many ids the move skips. */
  readonly force?: boolean
}

/** A move to a floor, as an alteration asks for it. */
export type FloorMove = MoveOptions & {
  readonly floor?: bigint | undefined
  /** Also what nodes have buffered: no node that reaches the store issues an id below the floor from the answer on. */
  readonly now?: boolean
}

/** Reads the value of `FLOOR`. Throws ERR if it is no whole number. */
export function floorOf(floor: bigint | string): bigint {
  if (typeof floor === 'bigint' && floor >= 0n) return floor
  if (/^\d{1,19}$/.test(String(floor))) return BigInt(floor)
  throw new FahaoError('ERR', 'FLOOR must be a whole number')
}

/** Throws ERR if `now` stands without a floor. */
export function refuseNow({ floor, now = false }: FloorMove): void {
  if (now && floor === undefined)
    throw new FahaoError('ERR', 'NOW says when a FLOOR holds; name the FLOOR too')
}

/** What a plain floor leaves, as a note for the operator. */
export function stillOut(name: string, floor: bigint): string {
  return `ids below ${floor} that nodes have buffered and callers have leased may still be issued; FLOOR with NOW makes every node drop what it has buffered of '${name}'`
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
 * Throws ERR if a move from the last id to `newest` skips more than `jumpMax` ids, or more than half of those that are left: it
 * is probably a mistake, and cannot be undone while the store is in use.
 */
export function refuseJump(name: string, last: bigint, newest: bigint, max: bigint): void {
  const skipped = newest - last
  if (skipped <= jumpMax && skipped <= (max - last) / 2n) return
  throw new FahaoError(
    'ERR',
    `to move '${name}' from ${last} to ${newest} gives up ${skipped} of its ${max - last} ids for good; if that is meant, repeat it with FORCE`,
  )
}

/** Throws ERR unless a generator can be moved forward to `newest`. See `refuseJump`; `force`: however many ids that skips. */
export function refuseMove(
  generator: Pick<StoredGenerator, 'definition' | 'floor'> &
    Pick<Issuer, 'lastIssued'> & { readonly name: string },
  newest: bigint,
  force: boolean,
): void {
  const { name, floor, definition } = generator
  const { max, start } = definition
  const last = generator.lastIssued()
  const periods = periodsOf(definition)
  if (periods !== undefined) {
    const to = periods.split(newest)
    // Its issuer refuses what is not in the present period.
    if (to === undefined || force) return
    const first = periods.firstId(to.ordinal) + start! - 1n
    return refuseJump(
      name,
      last !== undefined && last > first ? last : first,
      newest,
      periods.endId(to.ordinal) - 1n,
    )
  }
  if (last !== undefined && newest < last)
    throw new FahaoError('ERR', `generator '${name}' has issued ${last} already; it moves forward only`)
  if (start !== undefined && newest + 1n < floor)
    throw new FahaoError('ERR', `generator '${name}' starts at ${floor}; it moves forward only`)
  if (max !== undefined && newest > max)
    throw new FahaoError('ERR', `${newest} is above max ${max} of generator '${name}'`)
  if (max !== undefined && !force) refuseJump(name, last ?? floor - 1n, newest, max)
}

/** The error for a move of a generator that has come to have another kind meanwhile. */
export function justChanged(name: string): FahaoError {
  return new FahaoError(
    'CONFLICT',
    `generator '${name}' was just changed by another client; look at it again`,
  )
}
