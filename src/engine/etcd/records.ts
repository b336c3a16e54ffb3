/** Records: writes conditional on revisions. A version is the number of a history and a revision; see state.ts. */

import type { RecordWrite, StoredRecord } from '../engine.ts'
import { type Compare, endOf, type KeyValue, successorOf, unchanged } from './api.ts'
import { revisionOf, type State, versionAt } from './state.ts'
import type { Change, Store } from './store.ts'
import type { Transactions } from './transactions.ts'

/** Writes of several records in one transaction. */
export type Writing = {
  readonly bytes: number
  /** Undefined: one of them cannot have the expected version. */
  readonly plan: (state: State) => Pick<Change, 'compare' | 'writes'> | undefined
  /** The records, as they were written at a revision. */
  readonly written: (revision: bigint) => StoredRecord[]
}

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

  /** Writes of several records, with the comparisons on which they are conditional. */
  async writing(records: readonly RecordWrite[]): Promise<Writing> {
    const { history, keys } = this.#store
    const each = records.map(({ key, value, expected }) => {
      const put = { key: keys.record(key), value: Buffer.from(value) }
      return { put, expected }
    })
    const writes = each.map(({ put }) => ({ put }))
    const bytes = each.reduce((sum, { put }) => sum + put.value.length, 0)
    let planned = history.known.state
    const plan = (state: State) => {
      planned = state
      const compare = each.flatMap(({ put, expected }) => conditionOf(put.key, expected, state) ?? [])
      return compare.length === each.length ? { compare, writes } : undefined
    }
    // A version may be of a history that this process has not accepted yet.
    if (plan(planned) === undefined) await this.#store.read()
    const written = (revision: bigint) => {
      const version = versionAt(planned, revision)
      return records.map(({ key, value }) => ({ key, value, version }))
    }
    return { bytes, plan, written }
  }

  /** Writes several records or none; undefined: none. */
  async writeAll(records: readonly RecordWrite[]): Promise<StoredRecord[] | undefined> {
    const { bytes, plan, written } = await this.writing(records)
    const change = () => {
      const planned = plan(this.#store.history.known.state)
      return planned && { ...planned, otherwise: [] }
    }
    const name = records[0]!.key
    const committed = await this.#transactions.change({ name, bytes, isAlone: true, plan: change })
    return committed?.done ? written(committed.revision) : undefined
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
