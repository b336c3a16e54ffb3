/**
 * Look-ups on their way to the thread of the store and back: flat arrays, and what many new names get is sent once. A name that was
 * created comes back as the version of its record alone, because the rules of counters say what a reserve from an unused one is.
 */
import { assert } from '../../base/assert.ts'
import { FahaoError } from '../../base/errors.ts'
import { reserve, unused } from '../counter-rules.ts'
import type { Counter, First, LookedUp, LookUp, Reservation, StoredRecord } from '../engine.ts'

/** Look-ups of many names. */
export type PackedLookUps = {
  readonly firsts: readonly First[]
  readonly keys: readonly string[]
  /** For each name the place of what it gets in `firsts`; −1: it is looked up only. */
  readonly places: readonly number[]
}

/** What became of one name in the thread: it was created with this record version, it was found, or it has failed. */
export type LookedUpInThread =
  | bigint
  | { readonly record: StoredRecord | undefined; readonly counter: Counter }
  | FahaoError

const [created, found, failed] = [0, 1, 2] as const

/** The look-ups, packed. */
export function packLookUps(lookUps: readonly LookUp[]): PackedLookUps {
  const places = new Map<First | undefined, number>([[undefined, -1]])
  const firsts: First[] = []
  const packed = { firsts, keys: [] as string[], places: [] as number[] }
  for (const { key, first } of lookUps) {
    let place = places.get(first)
    if (place === undefined) {
      place = firsts.push(first!) - 1
      places.set(first, place)
    }
    packed.keys.push(key)
    packed.places.push(place)
  }
  return packed
}

/** The outcomes, in the order of the names. */
export function packLookedUp(outcomes: readonly LookedUpInThread[]): readonly unknown[] {
  const packed: unknown[] = []
  for (const outcome of outcomes) {
    if (typeof outcome === 'bigint') packed.push(created, outcome)
    else if (outcome instanceof FahaoError) packed.push(failed, outcome.code, outcome.message)
    else {
      const { record, counter } = outcome
      packed.push(found, record?.value, record?.version)
      packed.push(counter.bound, counter.fence, counter.incarnation, counter.version)
    }
  }
  return packed
}

/** The outcomes of these look-ups. */
export function unpackLookedUp(
  { firsts, keys, places }: PackedLookUps,
  packed: readonly unknown[],
): (LookedUp | FahaoError)[] {
  let at = 0
  const outcomes = keys.map((key, index): LookedUp | FahaoError => {
    const kind = packed[at++]
    if (kind === created) {
      const first = firsts[places[index]!]!
      const record = { key, value: first.value, version: packed[at++] as bigint }
      return { record, counter: unused, isNew: true, reservation: firstRange(key, first) }
    }
    if (kind === failed) return new FahaoError(packed[at++] as FahaoError['code'], packed[at++] as string)
    const [value, version] = [packed[at++], packed[at++]] as [string | undefined, bigint]
    const [bound, fence, incarnation, counterVersion] = packed.slice(at, at + 4) as bigint[]
    at += 4
    const record = value === undefined ? undefined : { key, value, version }
    const counter = { bound: bound!, fence: fence!, incarnation: incarnation!, version: counterVersion! }
    return { record, counter, isNew: false }
  })
  assert(at === packed.length, 'each name has an outcome')
  return outcomes
}

function firstRange(key: string, first: First): Reservation | undefined {
  const range = first.reserve && reserve(key, unused, first.reserve).answer
  assert(!(range instanceof FahaoError), 'the store has granted the first range')
  return range
}
