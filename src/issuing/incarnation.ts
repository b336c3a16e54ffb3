/**
 * The incarnation of a generator that ids are issued for: what differs between generators with one definition.
 *
 * Invariant: no id comes from a range that was reserved for an incarnation in a history of the store that began after
 * the incarnation's record was read. The record may be among the forgotten writes, and the counter with it: the counter
 * starts again then, and stores no incarnation by which it could reject the reserve.
 */
import { FahaoError } from '../base/errors.ts'
import type { Engine, Reservation, ReserveRequest, WriterIdentity } from '../engine/engine.ts'

/** One incarnation of a generator, and, in a cluster, one leadership of it. One object for all that issue for it. */
export type Incarnation = {
  /** The generator's name. */
  readonly name: string
  /** Its counter in the engine. */
  readonly counter: string
  readonly incarnation: bigint
  /** Raw values, or units of time, below this are not issued: they belong to earlier incarnations. */
  readonly floor: bigint
  /** The fence of its reserves in a cluster; undefined: none. */
  readonly fence?: bigint | undefined
  /** `Engine.advances` from before its record was read. */
  readonly advances: number
}

/** The identity under which an incarnation writes. */
export function writerOf({ incarnation, fence }: Incarnation): WriterIdentity {
  return fence === undefined ? { incarnation } : { incarnation, fence }
}

/**
 * Reserves for an incarnation. Rejects as `Engine.reserve` does, and with STALE where the store has been advanced since
 * the record was read; the range that was reserved then is a gap.
 */
export async function reserveFor(
  incarnation: Incarnation,
  engine: Engine,
  request: Omit<ReserveRequest, keyof WriterIdentity>,
): Promise<Reservation> {
  refuseOutdated(incarnation, engine)
  const reservation = await engine.reserve(incarnation.counter, { ...request, ...writerOf(incarnation) })
  refuseOutdated(incarnation, engine)
  return reservation
}

function refuseOutdated({ name, advances }: Incarnation, engine: Engine): void {
  if (engine.advances === advances) return
  throw new FahaoError('STALE', `the store has been advanced since generator '${name}' was read; retry`)
}
