/**
 * What leaders leave to their successors: how a tail is written down, and who may go on with it.
 *
 * Invariants
 *  1. A tail is handed out to the first under this leadership who is about to issue, and only for the record version under
 *     which it was reserved: after an alteration, or under another life of the name, it is a gap, and nobody gets it later,
 *     when ids above it may have been issued.
 *  2. What cannot be read is a gap.
 */
import type { LeftoverRange } from '../cluster/records.ts'
import type { Reservation } from '../engine/engine.ts'

/** What is left of a generator, as its successor reads it. */
export function leftoverOf(
  name: string,
  record: bigint,
  { start, end, version }: Reservation,
): LeftoverRange {
  return { name, record: `${record}`, start: `${start}`, end: `${end}`, version: `${version}` }
}

/** The tails of one leadership, each until somebody goes on with it. */
export class LeftoverRanges {
  readonly #left: Map<string, LeftoverRange>

  constructor(tails: readonly LeftoverRange[]) {
    this.#left = new Map(tails.filter(isSound).map((tail) => [tail.name, tail]))
  }

  /** The generators that there are tails of. */
  names(): string[] {
    return [...this.#left.keys()]
  }

  /** Whether something is left of a generator whose record has this version. */
  has(name: string, record: bigint): boolean {
    return this.#left.get(name)?.record === `${record}`
  }

  /** What was left of a generator whose record has this version. From now on nothing is. */
  take(name: string, record: bigint): Reservation | undefined {
    const tail = this.has(name, record) ? this.#left.get(name)! : undefined
    this.#left.delete(name)
    return tail && { start: BigInt(tail.start), end: BigInt(tail.end), version: BigInt(tail.version) }
  }
}

function isSound(tail: LeftoverRange | null): tail is LeftoverRange {
  if (typeof tail?.name !== 'string') return false
  const { start, end, version } = tail
  return [start, end, version].every((text) => /^\d{1,19}$/.test(text)) && BigInt(start) < BigInt(end)
}
