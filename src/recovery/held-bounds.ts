/**
 * What this process has reserved, for counters whose generator the store has forgotten: a generator that was created in lost
 * writes has no record, so an advance does not name its counter, which would begin at the start again.
 *
 * Invariants
 *  1. The end of each range that this process has reserved of a generator's counter is remembered, for as long as it runs.
 *  2. `raise` leaves no counter without a record below that end.
 */
import { counterOf, generatorPrefix, readStored } from '../catalogue/stored.ts'
import { larger } from '../engine/advance.ts'
import type { Engine, Reservation, ReserveRequest, StoredRecord } from '../engine/engine.ts'
import { listAll } from '../engine/pages.ts'

/** The ends of ranges that one process has reserved, by counter. */
export class HeldBounds {
  readonly #ends = new Map<string, bigint>()

  /** `engine`, whose reserves are remembered; every other member is the engine's own. */
  watching(engine: Engine): Engine {
    const reserve = async (counter: string, request: ReserveRequest): Promise<Reservation> => {
      const reservation = await engine.reserve(counter, request)
      if (request.size > 0n && counter.startsWith(generatorPrefix))
        this.#ends.set(counter, larger(reservation.end, this.#ends.get(counter) ?? 0n))
      return reservation
    }
    return new Proxy(engine, {
      get(_engine, name) {
        if (name === 'reserve') return reserve
        const member: unknown = Reflect.get(engine, name)
        return typeof member === 'function' ? member.bind(engine) : member
      },
    })
  }

  /**
   * Raises the bounds of counters without a record to what this process has reserved, in a store that was advanced. Rejects
   * as the engine does, and may then be repeated. Resolves to how many it has raised.
   */
  async raise(engine: Engine): Promise<number> {
    if (this.#ends.size === 0) return 0
    const named = new Set((await listAll(engine, generatorPrefix)).map(counterIn))
    let raised = 0
    for (const [name, end] of this.#ends) {
      if (named.has(name)) continue
      const { bound, fence, incarnation } = await engine.counter(name)
      if (bound >= end) continue
      const writer = { incarnation: larger(incarnation, 1n), ...(fence > 0n && { fence }) }
      await engine.reserve(name, { size: 0n, floor: end, ...writer })
      raised++
    }
    return raised
  }
}

/** The counter of a generator's record; undefined for a record that cannot be read. */
function counterIn(record: StoredRecord): string | undefined {
  try {
    return counterOf(record.key.slice(generatorPrefix.length), readStored(record))
  } catch {
    return undefined
  }
}
