/** Records: writes conditional on revisions. A version is the number of a history and a revision; see state.ts. */

import type { StoredRecord } from '../engine.ts'
import { type Compare, endOf, type KeyValue, successorOf, unchanged } from './api.ts'
import { revisionOf, type State, versionAt } from './state.ts'
import type { Change, Store } from './store.ts'
import type { Transactions } from './transactions.ts'

/** Values are mostly of some hundred bytes. etcd counts the whole range for each page of it, so larger pages cost it less. */
const pageMax = 1024

/** The records of one store. */
export class Records {
  readonly #store: Store
  readonly #transactions: Transactions

  constructor(store: Store, transactions: Transactions) {
    this.#store = store
    this.#transactions = transactions
  }

  /** See `Engine.read`. */
  async read(key: string): Promise<StoredRecord | undefined> {
    const { state, kv } = await this.#transactions.read(this.#store.keys.record(key))
    return kv && this.recordOf(kv, state)
  }

  /** See `Engine.list`. */
  async list(
    prefix: string,
    after: string | undefined,
    limit = Number.POSITIVE_INFINITY,
  ): Promise<StoredRecord[]> {
    const { keys } = this.#store
    const first = keys.record(prefix)
    const key = after === undefined ? first : later(first, successorOf(keys.record(after)))
    const records: StoredRecord[] = []
    const range = { key, rangeEnd: endOf(first), limit: String(Math.min(pageMax, limit)) }
    if (limit <= 0 || Buffer.compare(key, range.rangeEnd) >= 0) return records
    for await (const { state, kvs } of this.#store.pages(range)) {
      for (const kv of kvs) records.push(this.recordOf(kv, state))
      if (records.length >= limit) return records.slice(0, limit)
    }
    return records
  }

  /** See `Engine.write`. */
  async write(key: string, value: string, expected: bigint | undefined): Promise<StoredRecord | undefined> {
    const put = { put: { key: this.#store.keys.record(key), value: Buffer.from(value) } }
    const version = await this.#change(key, put, expected, put.put.value.length)
    return version === undefined ? undefined : { key, value, version }
  }

  /** See `Engine.remove`. */
  async remove(key: string, expected: bigint): Promise<boolean> {
    const deleteRange = { key: this.#store.keys.record(key) }
    return (await this.#change(key, { deleteRange }, expected)) !== undefined
  }

  /** The record of a key. */
  recordOf({ key, value, modRevision }: KeyValue, state: State): StoredRecord {
    const version = versionAt(state, BigInt(modRevision))
    return { key: this.#store.keys.recordOf(key), value: value.toString(), version }
  }

  /** Resolves to the version that the write made; undefined if the record's version is not the expected one. */
  async #change(name: string, write: Change['writes'][number], expected: bigint | undefined, bytes = 0) {
    const { history, keys } = this.#store
    const key = keys.record(name)
    const plan = () => {
      const compare = conditionOf(key, expected, history.known.state)
      return compare && { compare: [compare], writes: [write], otherwise: [] }
    }
    // The version may be of a history that this process has not accepted yet.
    if (plan() === undefined) await this.#store.read()
    const committed = await this.#transactions.change({ name, bytes, plan })
    return committed?.done ? versionAt(history.known.state, committed.revision) : undefined
  }
}

/** The condition for an expected version; undefined: no revision in this history has that version. */
function conditionOf(key: Buffer, expected: bigint | undefined, state: State): Compare | undefined {
  if (expected === undefined) return unchanged(key, 0n)
  const revision = revisionOf(state, expected)
  return revision === undefined ? undefined : unchanged(key, revision)
}

function later(a: Buffer, b: Buffer): Buffer {
  return Buffer.compare(a, b) < 0 ? b : a
}
