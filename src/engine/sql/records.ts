/**
 * The records of a database.
 *
 * Invariants
 *  1. Every write and removal takes the next revision of the whole store as its version; they are committed in the
 *     order of their revisions.
 *  2. A removed record leaves a row without a value: `since` returns removals, too.
 */
import type { StoredRecord } from '../engine.ts'
import { everyPage } from '../pages.ts'
import type { ChangePage } from '../polled-watch.ts'
import { type Ask, integerOf, optionalTextOf, type Row, textOf } from './driver.ts'
import type { History } from './history.ts'
import type { Dialect, RecordRevision } from './statements.ts'

/** Rows in one page. */
const pageMax = 1000
/** The last character of Unicode, as often as it fits into a key: no key with a prefix is above the prefix followed by it. */
const last = '\u{10FFFF}'.repeat(75)

/** The records in `fahao_records`. */
export class Records {
  readonly #dialect: Dialect
  readonly #history: History

  constructor(dialect: Dialect, history: History) {
    this.#dialect = dialect
    this.#history = history
  }

  /** See `Engine.read`: several records, in the order of `keys`. */
  async read(ask: Ask, keys: readonly string[]): Promise<(StoredRecord | undefined)[]> {
    const rows = await ask(this.#dialect.command((s) => s.records(keys)))
    const found = new Map(rows.map(recordOf).map((record) => [record.key, record]))
    return keys.map((key) => found.get(key))
  }

  /** See `Engine.list`. @param run runs a call for one page. */
  async list(
    run: (work: (ask: Ask) => Promise<StoredRecord[]>) => Promise<StoredRecord[]>,
    prefix: string,
    after = '',
    limit = Number.POSITIVE_INFINITY,
  ): Promise<StoredRecord[]> {
    const found: StoredRecord[] = []
    const pages = everyPage<StoredRecord>(pageMax, (before) => {
      const rows = Math.min(limit - found.length, pageMax)
      const page = this.#dialect.command((s) => s.list(prefix, prefix + last, before?.key ?? after, rows))
      return run(async (ask) => (await ask(page)).map(recordOf))
    })
    if (limit > 0) for await (const page of pages) if (found.push(...page) >= limit) break
    return found
  }

  /** See `Engine.write` and `Engine.remove`: several at once. Resolves to the versions that they made; undefined: none. */
  async revise(ask: Ask, writes: readonly RecordRevision[], nowUs: number): Promise<(bigint | undefined)[]> {
    const rows = await this.#history.change(ask, (known) => this.#dialect.revise({ writes, known, nowUs }))
    const done = rows.filter((row) => optionalTextOf(row.done_version) !== undefined)
    const versions = new Map(done.map((row) => [textOf(row.name), integerOf(row.done_version)]))
    return writes.map(({ key }) => versions.get(key))
  }

  /** A page of what was written or removed after a revision; `now` is the store's revision. */
  async since(ask: Ask, revision: bigint, now: bigint): Promise<ChangePage> {
    if (now <= revision) return { revision: now, records: [], more: false }
    const rows = await ask(this.#dialect.command((s) => s.since(revision, pageMax)))
    const records = rows.map((row) => ({ ...recordOf(row), value: optionalTextOf(row.value) ?? null }))
    const newest = records.at(-1)?.version ?? 0n
    const more = rows.length === pageMax
    return { revision: more || newest > now ? newest : now, records, more }
  }
}

function recordOf(row: Row): StoredRecord {
  return { key: textOf(row.name), value: textOf(row.value), version: integerOf(row.version) }
}
