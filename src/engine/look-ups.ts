/**
 * Look-ups of names that are composed of the other calls, for stores in which they are not one step. Those of one moment share
 * the store's batches: a name that is known takes one trip, and a new one takes three.
 */
import { FahaoError } from '../base/errors.ts'
import { unused } from './counter-rules.ts'
import type { CounterStore, LookedUp, LookUp, RecordStore } from './engine.ts'

/** What a look-up is composed of. */
type Calls = Pick<CounterStore, 'counter' | 'reserve'> & Pick<RecordStore, 'read' | 'write'>

/** See `NameStore.lookUp`. */
export function lookUpEach(
  store: Calls,
  lookUps: readonly LookUp[],
): Promise<readonly (LookedUp | FahaoError)[]> {
  return Promise.all(lookUps.map((each) => lookUpOne(store, each).catch(known)))
}

async function lookUpOne(store: Calls, { key, first }: LookUp): Promise<LookedUp> {
  const [record, counter] = await Promise.all([store.read(key), store.counter(key)])
  if (first === undefined || record !== undefined || counter.version > 0n)
    return { record, counter, isNew: false }
  const written = await store.write(key, first.value, undefined)
  // Another process was faster.
  if (written === undefined) return lookUpOne(store, { key })
  const { reserve } = first
  // The record stands, whatever becomes of the reserve: its issuer repeats that.
  const reservation = reserve && (await store.reserve(key, reserve).catch(() => undefined))
  return { record: written, counter: unused, isNew: true, reservation }
}

function known(error: unknown): FahaoError {
  if (error instanceof FahaoError) return error
  throw error
}
