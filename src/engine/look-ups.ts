/**
 * Look-ups of names: those that share a call, and those that are composed of the other calls, for stores in which they are not
 * one step. Those of one moment share the store's batches: a name that is known takes one trip, and a new one takes three.
 */
import { FahaoError } from '../base/errors.ts'
import { Batches } from './batches.ts'
import { unused } from './counter-rules.ts'
import type { CounterStore, First, LookedUp, LookUp, NameStore, RecordStore } from './engine.ts'

/** How many names are looked up in one call at most. */
const sizeMax = 1024

type Pending = {
  readonly lookUp: LookUp
  readonly resolve: (found: LookedUp) => void
  readonly reject: (error: unknown) => void
}

/** Look-ups of single names: those of one turn of the event loop share one call. */
export class SharedLookUps {
  readonly #store: NameStore
  readonly #batches = new Batches<Pending>({
    widthMax: 64,
    sizeMax,
    keyOf: ({ lookUp }) => lookUp.key,
    carryOut: (pending) => this.#carryOut(pending),
  })

  constructor(store: NameStore) {
    this.#store = store
  }

  /** See `NameStore.lookUp`. Rejects with the error of this name. */
  ask(lookUp: LookUp): Promise<LookedUp> {
    return new Promise((resolve, reject) => this.#batches.add({ lookUp, resolve, reject }))
  }

  async #carryOut(pending: readonly Pending[]): Promise<void> {
    try {
      const found = await this.#store.lookUp(pending.map(({ lookUp }) => lookUp))
      for (const [at, { resolve, reject }] of pending.entries()) {
        const each = found[at]!
        if (each instanceof FahaoError) reject(each)
        else resolve(each)
      }
    } catch (error) {
      for (const { reject } of pending) reject(error)
    }
  }
}

/** What a look-up is composed of. */
type Calls = Pick<CounterStore, 'counter' | 'reserve'> & Pick<RecordStore, 'read' | 'write'>

/** A look-up of a name that is created if it was never used. */
export type Creation = LookUp & { readonly first: First }

/** Looks names up and creates them in few steps; undefined for each that takes more. Never rejects. */
type AtOnce = (lookUps: readonly Creation[]) => Promise<readonly (LookedUp | FahaoError | undefined)[]>

/** See `NameStore.lookUp`. Names that may have to be created are first looked up by `atOnce`, if the store has that. */
export async function lookUpEach(
  store: Calls,
  lookUps: readonly LookUp[],
  atOnce?: AtOnce,
): Promise<readonly (LookedUp | FahaoError)[]> {
  const creations = atOnce === undefined ? [] : lookUps.filter(mayCreate)
  const found = creations.length === 0 ? [] : await atOnce!(creations)
  let at = 0
  return Promise.all(
    lookUps.map((lookUp) => {
      const outcome = mayCreate(lookUp) ? found[at++] : undefined
      return outcome ?? lookUpOne(store, lookUp).catch(known)
    }),
  )
}

function mayCreate(lookUp: LookUp): lookUp is Creation {
  return lookUp.first !== undefined
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

/** The error of one look-up; any other is a bug. */
export function known(error: unknown): FahaoError {
  if (error instanceof FahaoError) return error
  throw error
}
