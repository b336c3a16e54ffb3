/**
 * Batches of reads, and of changes, each in one transaction.
 *
 * Invariants
 *  1. A transaction carries out all of its changes or none. A call whose own comparison still holds failed because of
 *     another call in the same transaction, and tries again.
 *  2. All calls of a transaction have the same `sent`.
 *  3. A read settles by its own deadline.
 */
import type { Clock } from '../../base/clock.ts'
import { FahaoError } from '../../base/errors.ts'
import { Batches } from '../batches.ts'
import type { KeyValue } from './api.ts'
import type { CallContext } from './members.ts'
import type { State } from './state.ts'
import type { Change, ChangeOutcome, Store } from './store.ts'

/** A transaction takes 128 steps; each change compares one key, and writes it or reads it. */
const sizeMax = 50
/** etcd makes transactions that are in flight at the same time durable in one step. */
const widthMax = 4

/** A key as read, and the state at that moment. */
export type KeyRead = { readonly state: State; readonly kv: KeyValue | undefined }

type Pending<Value> = {
  readonly call: CallContext
  readonly resolve: (value: Value) => void
  readonly reject: (error: unknown) => void
}
type PendingRead = Pending<KeyRead> & { readonly key: Buffer }
type PendingChange = Pending<ChangeOutcome | undefined> & {
  readonly plan: () => Change | undefined
  readonly alone: boolean
}

/** The transactions of one store. */
export class Transactions {
  readonly #store: Store
  readonly #clock: Clock
  readonly #reads: Batches<PendingRead>
  readonly #changes: Batches<PendingChange>

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
    const carryOut = { widthMax, sizeMax }
    this.#reads = new Batches({ ...carryOut, carryOut: (reads) => settled(reads, this.#readAll(reads)) })
    this.#changes = new Batches({
      ...carryOut,
      isAlone: ({ alone }) => alone,
      carryOut: (changes) => settled(changes, this.#changeAll(changes)),
    })
  }

  /** Reads one key. */
  read(key: Buffer, call = this.#store.newCall(false)): Promise<KeyRead> {
    return new Promise((resolve, reject) => {
      const timer = this.#clock.timer((call.deadlineUs - this.#clock.monoUs()) / 1000, () => {
        this.#reads.remove(reading)
        reject(new FahaoError('UNAVAILABLE', `etcd did not answer in time (${this.#store.hindrance}); retry`))
      })
      const before = <Value>(settle: (value: Value) => void) => {
        return (value: Value) => {
          timer.cancel()
          settle(value)
        }
      }
      const reading = { call, key, resolve: before(resolve), reject: before(reject) }
      this.#reads.add(reading)
    })
  }

  /** See `Store.commit`. `alone`: in a transaction of its own. */
  commit(
    plan: () => Change | undefined,
    call: CallContext,
    alone: boolean,
  ): Promise<ChangeOutcome | undefined> {
    return new Promise((resolve, reject) => this.#changes.add({ plan, call, alone, resolve, reject }))
  }

  async #readAll(reads: readonly PendingRead[]): Promise<void> {
    const { state, found } = await this.#store.read(
      reads.map(({ key }) => ({ key })),
      jointCall(reads),
    )
    for (const [at, { resolve }] of reads.entries()) resolve({ state, kv: found[at]!.kvs[0] })
  }

  async #changeAll(changes: readonly PendingChange[]): Promise<void> {
    let parts: (Change | undefined)[] = []
    const plan = () => {
      parts = changes.map((each) => each.plan())
      const present = parts.filter((part) => part !== undefined)
      if (present.length === 0) return undefined
      return {
        compare: present.flatMap(({ compare }) => compare),
        writes: present.flatMap(({ writes }) => writes),
        otherwise: present.flatMap(({ otherwise }) => otherwise),
      }
    }
    const committed = await this.#store.commit(plan, jointCall(changes))
    let from = 0
    for (const [at, { resolve }] of changes.entries()) {
      const part = parts[at]
      if (committed === undefined || part === undefined) resolve(undefined)
      else if (committed.done) resolve(committed)
      else {
        const to = from + part.otherwise.length
        resolve({ ...committed, found: committed.found.slice(from, to) })
        from = to
      }
    }
  }
}

/** A call that stands for several: setting its `sent` sets that of each. */
function jointCall(waiting: readonly Pending<never>[]): CallContext {
  const calls = waiting.map(({ call }) => call)
  const [first] = calls
  return {
    deadlineUs: Math.max(...calls.map(({ deadlineUs }) => deadlineUs)),
    writes: first!.writes,
    get sent() {
      return first!.sent
    },
    set sent(sent) {
      for (const call of calls) call.sent = sent
    },
  }
}

async function settled(waiting: readonly Pending<never>[], carriedOut: Promise<void>): Promise<void> {
  await carriedOut.catch((error) => {
    for (const { reject } of waiting) reject(error)
  })
}
