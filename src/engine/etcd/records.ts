/** Records: writes conditional on revisions. A version is an era and a revision; see state.ts. */

import type { StoredRecord } from '../engine.ts'
import { type Compare, endOf, type KeyValue, type RangeRequest, unchanged } from './api.ts'
import { revisionOf, type State, versionAt } from './state.ts'
import type { Change, Store } from './store.ts'
import type { Transactions } from './transactions.ts'

/** With values of up to 32 KiB, a page takes up to 8 MiB. */
const pageMax = 256

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
    const rangeEnd = endOf(first)
    let from = after === undefined ? first : later(first, next(keys.record(after)))
    const records: StoredRecord[] = []
    while (records.length < limit && Buffer.compare(from, rangeEnd) < 0) {
      const page = Math.min(pageMax, limit - records.length)
      const range: RangeRequest = { key: from, rangeEnd, limit: String(page) }
      const { state, found } = await this.#store.read([range], this.#store.newCall(false))
      const { kvs, more } = found[0]!
      for (const kv of kvs) records.push(this.recordOf(kv, state))
      const last = kvs.at(-1)
      if (!more || last === undefined) break
      from = next(last.key)
    }
    return records
  }

  /** See `Engine.write`. */
  async write(key: string, value: string, expected: bigint | undefined): Promise<StoredRecord | undefined> {
    const bytes = this.#store.keys.record(key)
    const put = { put: { key: bytes, value: Buffer.from(value) } }
    const version = await this.#change(bytes, put, expected)
    return version === undefined ? undefined : { key, value, version }
  }

  /** See `Engine.remove`. */
  async remove(key: string, expected: bigint): Promise<boolean> {
    const bytes = this.#store.keys.record(key)
    return (await this.#change(bytes, { deleteRange: { key: bytes } }, expected)) !== undefined
  }

  /** The record of a key. */
  recordOf({ key, value, modRevision }: KeyValue, state: State): StoredRecord {
    const version = versionAt(state, BigInt(modRevision))
    return { key: this.#store.keys.recordOf(key), value: value.toString(), version }
  }

  /** Resolves to the version that the write made; undefined if the record's version is not the expected one. */
  async #change(key: Buffer, write: Change['writes'][number], expected: bigint | undefined) {
    const { history } = this.#store
    const plan = () => {
      const compare = conditionOf(key, expected, history.known.state)
      return compare && { compare: [compare], writes: [write], otherwise: [] }
    }
    // The version may be of an era that this process has not read yet.
    if (plan() === undefined) await this.#store.read([], this.#store.newCall(false))
    const committed = await this.#store.commit(plan, this.#store.newCall(true))
    return committed?.done ? versionAt(history.known.state, committed.revision) : undefined
  }
}

/** The condition for an expected version; undefined: no revision in this history has that version. */
function conditionOf(key: Buffer, expected: bigint | undefined, state: State): Compare | undefined {
  if (expected === undefined) return unchanged(key, 0n)
  const revision = revisionOf(state, expected)
  return revision === undefined ? undefined : unchanged(key, revision)
}

/** The immediate successor of a key in byte order. */
export function next(key: Buffer): Buffer {
  return Buffer.concat([key, Buffer.of(0)])
}

function later(a: Buffer, b: Buffer): Buffer {
  return Buffer.compare(a, b) < 0 ? b : a
}
