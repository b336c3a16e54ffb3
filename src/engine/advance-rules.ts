/**
 * The rules of an advance that all engines share: the counters after it, and repairs of records. Each engine carries it out
 * (`Engine.advance`), and `recovery/repairs.ts` says what is raised.
 */
import { FahaoError } from '../base/errors.ts'
import type { Parts } from '../base/turns.ts'
import {
  boundMax,
  type Counter,
  type Repair,
  type Repaired,
  type RepairedCounter,
  type StoredRecord,
} from './engine.ts'
import { nextTurn } from './next-turn.ts'

/** Added to versions by an advance: more than can have been lost, so that no lost version comes again. */
export const versionJump = 2n ** 32n

/** Added to epochs and incarnations by an advance: more than can have begun in the lost writes. */
export const epochJump = 2 ** 20

/** An advance of a store with many counters takes longer than any other call. */
const deadlines = 48

/** The deadline of an advance, in ms: a multiple of that of other calls; 4 minutes for 5 s. */
export function advanceTimeoutMs(callTimeoutMs: number): number {
  return callTimeoutMs * deadlines
}

const triesMax = 20

/** Tries an advance that resolves to undefined if another process has changed a record meanwhile. Rejects with CONFLICT. */
export async function untilUnchanged(attempt: () => Promise<number | undefined>): Promise<number> {
  for (let tries = 0; tries < triesMax; tries++) {
    const raised = await attempt()
    if (raised !== undefined) return raised
  }
  const reason = 'other processes kept changing the records that an advance has to repair; retry'
  throw new FahaoError('CONFLICT', reason)
}

/** The rejection of an advance without an operator, for a store from before its latest advance. */
export function earlierStore(store: 'database' | 'etcd'): FahaoError {
  return new FahaoError(
    'REGRESSED',
    `the ${store} is from before its bounds were last raised, or another one, so it lacks all that was reserved since then`,
  )
}

/** The same counters with `times` times their gaps: once more for each earlier advance that the store has lost. */
export function widened(counters: Repaired['counters'], times: bigint): Repaired['counters'] {
  return new Map([...counters].map(([name, each]) => [name, { ...each, gap: each.gap * times }]))
}

/** How many records are repaired before others run: about a millisecond. */
const partMax = 100

/** Takes one item after the other, `partMax` of them in each part. */
export function* eachInParts<Item>(items: readonly Item[], take: (item: Item) => void): Parts<void> {
  for (const [index, item] of items.entries()) {
    take(item)
    if (index % partMax === partMax - 1) yield
  }
}

/** Does the parts one after the other, at once. */
export function atOnce<Result>(parts: Parts<Result>): Result {
  for (;;) {
    const { done, value } = parts.next()
    if (done) return value
  }
}

/** Does the parts one after the other, and lets others run between two of them. */
export async function inTurns<Result>(parts: Parts<Result>): Promise<Result> {
  for (;;) {
    const { done, value } = parts.next()
    if (done) return value
    await nextTurn()
  }
}

/** Repairs nothing. */
export const repairNothing: Repair = repairEach(() => undefined)

/** Replaces each record for which `toValue` returns a value. */
export function repairEach(toValue: (record: StoredRecord) => string | undefined): Repair {
  return function* (all) {
    const records = new Map<string, string>()
    yield* eachInParts(all, (record) => {
      const value = toValue(record)
      if (value !== undefined) records.set(record.key, value)
    })
    return { records, counters: new Map() }
  }
}

/** Joins several repairs. No two may name one record, or one counter. */
export function repairAll(...repairs: readonly Repair[]): Repair {
  return function* (records) {
    const all = { records: new Map<string, string>(), counters: new Map<string, RepairedCounter>() }
    for (const repair of repairs) {
      const repaired = yield* repair(records)
      for (const [key, value] of repaired.records) all.records.set(key, value)
      for (const [name, counter] of repaired.counters) all.counters.set(name, counter)
      yield
    }
    return all
  }
}

/**
 * A counter after an advance by `gap`. `repaired`: what the repair of its record demands. `held`: the end of the range
 * that this process holds.
 */
export function raised(
  counter: Counter,
  gap: bigint,
  repaired: RepairedCounter | undefined,
  held: bigint | undefined,
): Counter {
  const from = least(repaired, held)
  const bound = larger(counter.bound, from) + (repaired?.gap ?? gap)
  return {
    ...counter,
    bound: bound > boundMax ? boundMax : bound,
    incarnation: larger(counter.incarnation, repaired?.incarnation ?? 0n),
    version: counter.version + versionJump,
  }
}

/** The counters that an advance has to raise whether or not the store has them. */
export function named(repaired: Repaired['counters'], held: Iterable<[string, bigint]>): string[] {
  const holding = [...held].filter(([, end]) => end > 0n).map(([name]) => name)
  return [...new Set([...repaired.keys(), ...holding])]
}

/** The least bound from which a counter is raised. */
export function least(repaired: RepairedCounter | undefined, held = 0n): bigint {
  return larger(repaired?.from ?? 0n, held)
}

/** The larger of two numbers. */
export function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
