/**
 * The records of a database.
 *
 * Invariants
 *  1. Every write and removal takes the next revision of the whole store as its version; they are committed in the
 *     order of their revisions.
 *  2. A removed record leaves a row without a value: `since` tells of removals, too.
 */
import type { StoredRecord } from '../engine.ts'
import { doneStateOf, type History, stateOf } from './history.ts'
import { type Ask, integerOf, optionalTextOf, type Row, textOf } from './link.ts'
import type { Dialect, RecordArguments } from './statements.ts'
import type { Changes, RecordState } from './watches.ts'

/** Rows in one answer. */
const pageMax = 1000
/** The last character of Unicode, as often as a key has room for it: no key that goes on from a prefix is above. */
const last = '\u{10FFFF}'.repeat(75)

/** See the invariants at the top of the file. */
export class Records {
  readonly #dialect: Dialect
  readonly #history: History

  constructor(dialect: Dialect, history: History) {
    this.#dialect = dialect
    this.#history = history
  }

  /** See `Engine.read`. */
  async read(ask: Ask, key: string): Promise<StoredRecord | undefined> {
    const [row] = await ask(this.#dialect.record(key))
    return row && recordOf(row)
  }

  /** Several, in the order of their keys here. */
  async readAll(ask: Ask, keys: readonly string[]): Promise<(StoredRecord | undefined)[]> {
    const rows = await ask(this.#dialect.together!.records(keys))
    const found = new Map(rows.map(recordOf).map((record) => [record.key, record]))
    return keys.map((key) => found.get(key))
  }

  /** Records of a prefix after a key, and whether there may be more. */
  async page(
    ask: Ask,
    prefix: string,
    after: string,
    limit: number,
  ): Promise<{ readonly records: StoredRecord[]; readonly more: boolean }> {
    const wanted = Math.max(0, Math.min(limit, pageMax))
    const range = { from: prefix, to: prefix + last, after, limit: wanted }
    const rows = await ask(this.#dialect.list(range))
    return { records: rows.map(recordOf), more: rows.length === pageMax }
  }

  /** All of them. */
  async all(ask: Ask): Promise<StoredRecord[]> {
    const found: StoredRecord[] = []
    for (let more = true; more; ) {
      const page = await this.page(ask, '', found.at(-1)?.key ?? '', pageMax)
      found.push(...page.records)
      more = page.more
    }
    return found
  }

  /** See `Engine.write` and `Engine.remove`: the version that it made, or undefined. */
  async revise(ask: Ask, record: Omit<RecordArguments, 'known'>): Promise<bigint | undefined> {
    const { known } = this.#history
    const [row] = await ask(this.#dialect.revise({ ...record, known }))
    const state = stateOf(row)
    const done = row!.done_version
    if (done === null) {
      await this.#history.check(ask, state, known)
      return undefined
    }
    this.#history.wrote(doneStateOf(row)!)
    return integerOf(done)
  }

  /** A page of what was written or removed after a revision; `now` is the store's. */
  async since(ask: Ask, revision: bigint, now: bigint): Promise<Changes> {
    if (now <= revision) return { revision: now, records: [], more: false }
    const rows = await ask(this.#dialect.since(revision, pageMax))
    const records = rows.map(stateOfRecord)
    const newest = records.at(-1)?.version ?? 0n
    const more = rows.length === pageMax
    return { revision: more || newest > now ? newest : now, records, more }
  }
}

function recordOf(row: Row): StoredRecord {
  return { key: textOf(row.name), value: textOf(row.value), version: integerOf(row.version) }
}

function stateOfRecord(row: Row): RecordState {
  return { key: textOf(row.name), value: optionalTextOf(row.value), version: integerOf(row.version) }
}
