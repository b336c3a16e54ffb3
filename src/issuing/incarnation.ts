/**
 * What tells one generator from another that is defined alike.
 *
 * Invariant: no id comes from a range that was reserved for a life in a history of the store that began after the life's
 * record was read. The record may be among what was forgotten, and with it the counter: that begins anew then, and knows
 * no incarnation that would refuse the reserve.
 */
import { FahaoError } from '../base/errors.ts'
import type { Engine, Reservation, ReserveRequest } from '../engine/engine.ts'

/** One incarnation of a generator, and, in a cluster, one leadership of it; one object, shared by all that issue for it. */
export type Incarnation = {
  /** The generator's name. */
  readonly name: string
  /** Its counter in the engine. */
  readonly counter: string
  readonly incarnation: bigint
  /** Raw values, or units of time, below this are not issued: they belong to earlier incarnations. */
  readonly floor: bigint
  /** What its reserves carry where nodes lead in turn; undefined: nothing. */
  readonly fence?: bigint | undefined
  /** `Engine.advances` from before its record was read. */
  readonly advances: number
}

/** What reserves and releases carry, and counters compare. */
export type WriterIdentity = { readonly incarnation: bigint; readonly fence?: bigint }

/** The part of a life that counters look at. */
export function writerOf({ incarnation, fence }: Incarnation): WriterIdentity {
  return fence === undefined ? { incarnation } : { incarnation, fence }
}

/**
 * Reserves for a life. Rejects as `Engine.reserve` does, and with STALE where the store has been advanced since the
 * record was read; what was reserved then is a gap.
 */
export async function reserveFor(
  life: Incarnation,
  engine: Engine,
  request: Omit<ReserveRequest, keyof WriterIdentity>,
): Promise<Reservation> {
  refuseOutdated(life, engine)
  const reservation = await engine.reserve(life.counter, { ...request, ...writerOf(life) })
  refuseOutdated(life, engine)
  return reservation
}

function refuseOutdated({ name, advances }: Incarnation, engine: Engine): void {
  if (engine.advances === advances) return
  throw new FahaoError('STALE', `the store has been advanced since generator '${name}' was read; retry`)
}
