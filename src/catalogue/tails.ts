/**
 * What leaders leave to their successors: how a tail is written down, and who may go on with it.
 *
 * Invariants
 *  1. A tail is handed out once, and only for the record version under which it was reserved: after an alteration, or
 *     under another life of the name, it is a gap.
 *  2. What cannot be read is a gap.
 */
import type { Tail } from '../cluster/records.ts'
import type { Reservation } from '../engine/engine.ts'

/** What is left of a generator, as its successor reads it. */
export function tailOf(name: string, record: bigint, { start, end, version }: Reservation): Tail {
  return { name, record: `${record}`, start: `${start}`, end: `${end}`, version: `${version}` }
}

/** The tails of one leadership, each until somebody goes on with it. */
export class Tails {
  readonly #left: Map<string, Tail>

  constructor(tails: readonly Tail[]) {
    this.#left = new Map(tails.map((tail) => [tail.name, tail]))
  }

  /** The generators that there are tails of. */
  names(): string[] {
    return [...this.#left.keys()]
  }

  /** What was left of a generator whose record has this version; gone from here then. */
  take(name: string, record: bigint): Reservation | undefined {
    const tail = this.#left.get(name)
    if (tail?.record !== `${record}`) return undefined
    this.#left.delete(name)
    return reservationOf(tail)
  }
}

function reservationOf(tail: Tail): Reservation | undefined {
  const texts = [tail.start, tail.end, tail.version]
  if (!texts.every((text) => /^\d{1,19}$/.test(text))) return undefined
  const [start, end, version] = texts.map(BigInt) as [bigint, bigint, bigint]
  return start < end ? { start, end, version } : undefined
}
