/** `FLOOR`: the number below which a generator shall issue nothing from now on. */
import { FahaoError } from '../base/errors.ts'
import type { StoredGenerator } from './stored.ts'

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
