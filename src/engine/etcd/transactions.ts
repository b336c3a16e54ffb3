/**
 * Batches of reads, and of changes, each in one transaction.
 *
 * Invariants
 *  1. Each change in a transaction is carried out if its own comparisons hold, whatever becomes of the others. No two of them
 *     are of one name: etcd refuses a transaction that writes a key twice.
 *  2. All calls of a transaction have the same `sent`.
 *  3. A read, and a write of a record, settles by its own deadline: a write that was sent as UNKNOWN, all others as UNAVAILABLE.
 */
import type { Clock } from '../../base/clock.ts'
import { FahaoError } from '../../base/errors.ts'
import { Batches } from '../batches.ts'
import { Deadlines } from '../deadlines.ts'
import type { KeyValue } from './api.ts'
import type { CallContext } from './members.ts'
import type { State } from './state.ts'
import type { Change, ChangeOutcome, Store } from './store.ts'

/** A transaction takes 128 steps, among them the read of the state or the time of the write. */
const sizeMax = 120
/** A transaction takes 1.5 MiB. */
const bytesMax = 1_000_000
/** etcd makes transactions that are in flight at the same time durable in one step. */
const widthMax = 4

/** A key as read, and the state at that moment. */
export type KeyRead = { readonly state: State; readonly kv: KeyValue | undefined }

/** A change of the keys of one name; `plan` is called when it is sent, and returns undefined if it has become needless. */
export type PlannedChange = {
  /** Of the record and the counter that it concerns. */
  readonly name: string
  /** The bytes that it writes, if they may be many. */
  readonly bytes?: number
  /** It changes other names too, so it is a transaction of its own: no key is written twice in one. */
  readonly isAlone?: boolean
  readonly plan: () => Change | undefined
}

type Pending<Value> = {
  readonly call: CallContext
  readonly resolve: (value: Value) => void
  readonly reject: (error: unknown) => void
}
type PendingRead = Pending<KeyRead> & { readonly key: Buffer }
type PendingChange = Pending<ChangeOutcome | undefined> & PlannedChange

/** The transactions of one store. */
export class Transactions {
  readonly #store: Store
  readonly #clock: Clock
  readonly #deadlines: Deadlines
  readonly #reads: Batches<PendingRead>
  readonly #changes: Batches<PendingChange>

  constructor(store: Store, clock: Clock, timeoutMs: number) {
    this.#store = store
    this.#clock = clock
    this.#deadlines = new Deadlines(clock, timeoutMs)
    const limits = { widthMax, sizeMax }
    this.#reads = new Batches({ ...limits, carryOut: (reads) => settled(reads, this.#readAll(reads)) })
    this.#changes = new Batches({
      ...limits,
      lengthMax: bytesMax,
      lengthOf: ({ bytes = 0 }) => bytes,
      keyOf: ({ name }) => name,
      isAlone: ({ isAlone = false }) => isAlone,
      carryOut: (changes) => settled(changes, this.#changeAll(changes)),
    })
  }

  /** Reads one key. `begun`: the call, if it has begun earlier. */
  read(key: Buffer, begun?: CallContext): Promise<KeyRead> {
    const call = begun ?? this.#store.newCall(false)
    const leftMs = begun && (begun.deadlineUs - this.#clock.monoUs()) / 1000
    return this.#inTime(call, this.#reads, (settle) => ({ call, key, ...settle }), leftMs)
  }

  /** Carries out a change; see `Store.commit`. */
  change(change: PlannedChange): Promise<ChangeOutcome | undefined> {
    const call = this.#store.newCall(true)
    return this.#inTime(call, this.#changes, (settle) => ({ call, ...change, ...settle }))
  }

  /** As `change`, for a caller that keeps the deadline. */
  commit(change: PlannedChange, call: CallContext): Promise<ChangeOutcome | undefined> {
    return new Promise((resolve, reject) => this.#changes.add({ ...change, call, resolve, reject }))
  }

  #inTime<Value, Call extends Pending<Value>>(
    call: CallContext,
    batches: Batches<Call>,
    pendingOf: (settle: Pick<Pending<Value>, 'resolve' | 'reject'>) => Call,
    leftMs?: number,
  ): Promise<Value> {
    return new Promise((resolve, reject) => {
      const onLate = () => {
        batches.remove(pending)
        const reason = `etcd did not answer in time (${this.#store.hindrance}); retry`
        reject(new FahaoError(call.sent && call.writes ? 'UNKNOWN' : 'UNAVAILABLE', reason))
      }
      const timer = leftMs === undefined ? this.#deadlines.begin(onLate) : this.#clock.timer(leftMs, onLate)
      const before = <Answer>(settle: (answer: Answer) => void) => {
        return (answer: Answer) => {
          timer.cancel()
          settle(answer)
        }
      }
      const pending = pendingOf({ resolve: before(resolve), reject: before(reject) })
      batches.add(pending)
    })
  }

  async #readAll(reads: readonly PendingRead[]): Promise<void> {
    const { state, found } = await this.#store.read(
      reads.map(({ key }) => ({ key })),
      jointCall(reads),
    )
    for (const [at, { resolve }] of reads.entries()) resolve({ state, kv: found[at]!.kvs[0] })
  }

  async #changeAll(changes: readonly PendingChange[]): Promise<void> {
    const plan = () => changes.map((each) => each.plan())
    const outcomes = await this.#store.commit(plan, jointCall(changes))
    for (const [at, { resolve }] of changes.entries()) resolve(outcomes[at])
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
