/** What every engine does in an advance: where a counter stands after it, and how several mends are one. */
import { FahaoError } from '../base/errors.ts'
import {
  boundMax,
  type Counter,
  type Repair,
  type Repaired,
  type RepairedCounter,
  type StoredRecord,
} from './engine.ts'

/**
 * Added to versions where history is cut: what was acknowledged in a lost one can then meet no version of the new one,
 * however many of them were lost.
 */
export const versionJump = 2n ** 32n

/** Added to epochs and incarnations where history is cut: more than can have been begun in what was forgotten. */
export const epochJump = 2 ** 20

/** An advance of a store with many counters takes longer than any other call: so many times its deadline. */
const longer = 48

/** The deadline of an advance, in ms: 4 minutes where that of other calls is 5 s. */
export function advanceTimeoutMs(callTimeoutMs: number): number {
  return callTimeoutMs * longer
}

/** Why a store from before its latest advance is not advanced without an operator. */
export function earlierStore(store: 'database' | 'etcd'): FahaoError {
  return new FahaoError(
    'REGRESSED',
    `the ${store} is from before its bounds were last raised, or another one, so it lacks all that was reserved since then`,
  )
}

/** The same counters, whose gaps count `times` times: once more for each earlier advance that the store has forgotten. */
export function widened(counters: Repaired['counters'], times: bigint): Repaired['counters'] {
  return new Map([...counters].map(([name, each]) => [name, { ...each, gap: each.gap * times }]))
}

/** Changes nothing. */
export const repairNothing: Repair = () => ({ records: new Map(), counters: new Map() })

/** Changes records one by one: to what `toValue` returns, unless that is undefined. */
export function repairEach(toValue: (record: StoredRecord) => string | undefined): Repair {
  return (all) => {
    const records = new Map<string, string>()
    for (const record of all) {
      const value = toValue(record)
      if (value !== undefined) records.set(record.key, value)
    }
    return { records, counters: new Map() }
  }
}

/** All of what several mends say. No two may name one record, or one counter. */
export function repairAll(...mends: readonly Repair[]): Repair {
  return (records) => {
    const all = mends.map((mend) => mend(records))
    return {
      records: new Map(all.flatMap((mended) => [...mended.records])),
      counters: new Map(all.flatMap((mended) => [...mended.counters])),
    }
  }
}

/**
 * A counter after an advance by `gap`; one that was never used has version 0. `mended`: what a record says of it, if one
 * does; `held`: the end of what this process holds of it.
 */
export function raised(
  counter: Counter,
  gap: bigint,
  mended: RepairedCounter | undefined,
  held: bigint | undefined,
): Counter {
  const from = least(mended, held)
  const bound = larger(counter.bound, from) + (mended?.gap ?? gap)
  return {
    ...counter,
    bound: bound > boundMax ? boundMax : bound,
    incarnation: larger(counter.incarnation, mended?.incarnation ?? 0n),
    version: counter.version + versionJump,
  }
}

/** The counters that an advance must not leave out, whether or not the store has them. */
export function named(mended: Repaired['counters'], held: ReadonlyMap<string, bigint>): string[] {
  const holding = [...held].filter(([, end]) => end > 0n).map(([name]) => name)
  return [...new Set([...mended.keys(), ...holding])]
}

/** Where a counter is raised from, at least. */
export function least(mended: RepairedCounter | undefined, held = 0n): bigint {
  return larger(mended?.from ?? 0n, held)
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
