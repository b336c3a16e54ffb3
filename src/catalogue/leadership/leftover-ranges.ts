/**
 * Leftover ranges: what a leader had buffered and leaves to its successor in the record that names the successor.
 *
 * Invariants
 *  1. A range is given out once, to the first caller under this leadership that is about to issue, and only for the record
 *     version under which it was reserved. After an alteration, or under another incarnation of the name, the range is a
 *     gap. It is not given out later, when ids above it may have been issued.
 *  2. A range that cannot be read is a gap.
 */
import type { LeftoverRange } from '../../cluster/records.ts'
import type { Reservation } from '../../engine/engine.ts'

/** A leftover range as its successor reads it. `recordVersion`: of the generator's record. */
export function leftoverOf(name: string, recordVersion: bigint, range: Reservation): LeftoverRange {
  const { start, end, version } = range
  return { name, record: `${recordVersion}`, start: `${start}`, end: `${end}`, version: `${version}` }
}

/** The leftover ranges of one leadership, by the names of their generators. */
export class LeftoverRanges {
  readonly #ranges: Map<string, LeftoverRange>

  constructor(ranges: readonly LeftoverRange[]) {
    this.#ranges = new Map(ranges.filter(isSound).map((range) => [range.name, range]))
  }

  /** The names of the generators that have a leftover range. */
  names(): string[] {
    return [...this.#ranges.keys()]
  }

  /** Whether a generator whose record has this version has one. */
  has(name: string, recordVersion: bigint): boolean {
    return this.#ranges.get(name)?.record === `${recordVersion}`
  }

  /** Takes the range of a generator whose record has this version. The name has none afterwards. */
  take(name: string, recordVersion: bigint): Reservation | undefined {
    const range = this.has(name, recordVersion) ? this.#ranges.get(name)! : undefined
    this.#ranges.delete(name)
    return range && { start: BigInt(range.start), end: BigInt(range.end), version: BigInt(range.version) }
  }
}

function isSound(range: LeftoverRange | null): range is LeftoverRange {
  if (typeof range?.name !== 'string') return false
  const { start, end, version } = range
  return [start, end, version].every((text) => /^\d{1,19}$/.test(text)) && BigInt(start) < BigInt(end)
}
