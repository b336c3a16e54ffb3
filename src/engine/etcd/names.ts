/**
 * Look-ups of names: what is there of each, or its record and its first range, by one change of both keys.
 *
 * Invariants
 *  1. A name is created only if neither its record nor its counter is there, compared in the change itself.
 *  2. A name whose counter this process has used is not looked up here: the steps of its counter come one after another.
 */
import { FahaoError } from '../../base/errors.ts'
import { reserve, unused } from '../counter-rules.ts'
import type { LookedUp } from '../engine.ts'
import type { Creation } from '../look-ups.ts'
import { unchanged } from './api.ts'
import { encodeCounter } from './counter-value.ts'
import type { Counters } from './counters.ts'
import type { Records } from './records.ts'
import { present, versionAt } from './state.ts'
import type { Change, Store } from './store.ts'
import type { Transactions } from './transactions.ts'

/** The names of one store. */
export class Names {
  readonly #store: Store
  readonly #transactions: Transactions
  readonly #counters: Counters
  readonly #records: Records

  constructor(store: Store, transactions: Transactions, counters: Counters, records: Records) {
    this.#store = store
    this.#transactions = transactions
    this.#counters = counters
    this.#records = records
  }

  /** See `NameStore.lookUp`. Undefined: this process has used the counter. */
  async lookUp({ key, first }: Creation): Promise<LookedUp | undefined> {
    if (this.#counters.uses(key)) return undefined
    const { keys, history } = this.#store
    const [recordKey, counterKey] = [keys.record(key), keys.counter(key)]
    const value = Buffer.from(first.value)
    const step = first.reserve && reserve(key, unused, first.reserve)
    // The record is written also if the range does not fit: the next reserve tells that.
    const reservation = step?.answer instanceof FahaoError ? undefined : step?.answer
    const writes: Change['writes'][number][] = [{ put: { key: recordKey, value } }]
    if (reservation) writes.push({ put: { key: counterKey, value: encodeCounter(step!.counter) } })
    let state = history.known.state
    const plan = (): Change => {
      state = history.known.state
      const compare = [unchanged(recordKey, 0n), unchanged(counterKey, 0n)]
      return { compare, writes, otherwise: [{ key: recordKey }, { key: counterKey }] }
    }
    const outcome = (await this.#transactions.change({ name: key, bytes: value.length, plan }))!
    if (outcome.done) {
      const { revision } = outcome
      const seen = reservation && { counter: step!.counter, revision, history: present(state).id }
      if (seen) this.#counters.begun(key, seen, reservation)
      const record = { key, value: first.value, version: versionAt(state, revision) }
      return { record, counter: unused, isNew: true, reservation }
    }
    const [record, counter] = outcome.found.map(({ kvs }) => kvs[0])
    return {
      record: record && this.#records.recordOf(record, outcome.state),
      counter: this.#counters.found(key, counter, outcome.state),
      isNew: false,
    }
  }
}
