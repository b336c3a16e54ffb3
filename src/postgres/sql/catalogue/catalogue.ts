/**
 * The tables of one statement: PostgreSQL's fixed rows, and rows for the sequences that the statement can want.
 *
 * Invariants
 *  1. At most `sequencesMax` sequences are kept at a time; a statement that wants more is refused.
 *  2. Sequences are looked up one by one where the statement names them, by name or by oid, and else read in pages; of each page
 *     only those stay for which the statement's conditions hold.
 *  3. A sequence that has been looked up is not looked up again by the same statement.
 */
import { untilOthersHaveRun } from '../../../engine/rounds.ts'
import type { Budget } from '../budget.ts'
import type { Narrowing, Row, SequenceFacts, SqlSession, Table } from '../plan.ts'
import { SqlError } from '../sql-error.ts'
import { isLongTable } from '../tables.ts'
import { oids, relationOf, typeOf } from '../types.ts'
import { keyOf, type Value } from '../values.ts'
import { fixedRows } from './fixed-rows.ts'
import { type OidRegistry, sequenceOidMin } from './oid-registry.ts'
import { type NamedRow, sequenceRows, sharedColumns } from './sequence-rows.ts'
import { sessionRowsOf } from './session-rows.ts'

/** More sequences are not kept for a statement. */
const sequencesMax = 100_000
const pageSize = 200
/** What a sequence takes while it is kept, in the units of `Budget.keep`: its row is one array of some 250 bytes. */
const sequenceCells = 4
/** More names are read in pages rather than one by one. */
const lookupsMax = 500

const fixed = new Map<number, readonly Row[]>()
/** Columns with the name or the oid of a sequence. */
const nameColumns: ReadonlySet<string> = new Set(['relname', 'sequencename', 'sequence_name'])
const oidColumns: ReadonlySet<string> = new Set(['seqrelid', 'attrelid', 'objid'])

/** The tables of one statement. */
export class Catalogue {
  readonly #session: SqlSession
  readonly #registry: OidRegistry
  readonly #budget: Budget
  readonly #known = new Map<string, SequenceFacts | null>()
  readonly #lastValues = new Map<string, bigint | undefined>()
  readonly #ownFixed = new Map<number, readonly Row[]>()
  readonly #pages = new WeakMap<Narrowing, readonly Row[]>()
  #all: readonly SequenceFacts[] | undefined

  constructor(session: SqlSession, registry: OidRegistry, budget: Budget) {
    this.#session = session
    this.#registry = registry
    this.#budget = budget
  }

  /** As `Context.scan`; fixed rows may be more than those that `narrowing` admits. `isRepeated`: the statement starts again after loading, so `narrowing` is another object then. */
  scan(table: Table, narrowing: Narrowing, isRepeated: boolean): readonly Row[] | Promise<unknown> {
    if (table.generator !== undefined) return this.#sequenceTable(table.generator)
    const rows = this.#fixedFor(table, narrowing)
    if (!isLongTable(table) || this.#excludesSequences(table, narrowing)) return rows
    const own = this.#sequences(table, narrowing, isRepeated)
    return own instanceof Promise ? own : [...rows, ...own]
  }

  /** The oid of a sequence, undefined if there is none; or a promise, after which the same call gives it. */
  oidOf(name: string): number | undefined | Promise<unknown> {
    const facts = this.#known.get(name)
    if (facts === undefined) return this.#find([name])
    return facts === null ? undefined : this.#registry.oidOf(name)
  }

  /** The name of a sequence that has been seen, by any session, and that this one may see. */
  nameOf(oid: number): string | undefined {
    const name = this.#registry.nameOf(oid)
    return name !== undefined && this.#session.sequences.reaches(name) ? name : undefined
  }

  /** The fixed rows, or of these the ones with a wanted key. */
  #fixedFor(table: Table, { keys }: Narrowing): readonly Row[] {
    const rows = this.#fixed(table)
    const key = rows.length < 50 ? undefined : keys.find(({ values }) => values.length <= lookupsMax)
    if (!key) return rows
    const index = indexOf(rows, key.column)
    const wanted = new Set(key.values.map(keyOf))
    this.#budget.step(1 + wanted.size)
    return [...wanted].flatMap((value) => index.get(value) ?? [])
  }

  #fixed(table: Table): readonly Row[] {
    const known = fixed.get(table.oid) ?? this.#ownFixed.get(table.oid)
    if (known) return known
    const relation = relationOf(table.oid)!
    const own = sessionRowsOf(relation)
    const rows = (own ? own(this.#session) : fixedRows(relation)).map((row) => rowOf(table, row))
    const cache = own ? this.#ownFixed : fixed
    cache.set(table.oid, rows)
    return rows
  }

  /** Whether a condition on columns that are the same for all sequences excludes them. */
  #excludesSequences(table: Table, { keys }: Narrowing): boolean {
    const shared = sharedColumns(table.name)
    const [template] = sequenceRows(table.name, exampleFacts, 0, { database: '', owner: '', last: undefined })
    const example = rowOf(table, template!)
    return keys.some(({ column, values }) => {
      if (!shared.has(column)) return false
      const key = keyOf(example.values[column]!)
      return !values.some((value) => keyOf(value) === key)
    })
  }

  #sequences(table: Table, narrowing: Narrowing, isRepeated: boolean): readonly Row[] | Promise<unknown> {
    const names = this.#wantedNames(table, narrowing)
    if (names) return this.#named(table, narrowing, names)
    const paged = this.#pages.get(narrowing)
    if (paged) return paged
    if (!isRepeated) return this.#readPages(table, narrowing)
    if (!this.#all) return this.#readAll()
    return this.#rowsOf(table, narrowing, this.#all)
  }

  /** The only sequences that can be wanted; undefined: all can be. */
  #wantedNames(table: Table, { keys }: Narrowing): readonly string[] | undefined {
    for (const { column, values } of keys) {
      const { name } = table.columns[column]!
      if (values.length > lookupsMax) continue
      if (nameColumns.has(name)) return values.filter((value) => typeof value === 'string')
      if (!oidColumns.has(name) && !(name === 'oid' && table.name === 'pg_class')) continue
      const own = values.map(Number).filter((oid) => oid >= sequenceOidMin)
      const known = own.map((oid) => this.nameOf(oid))
      if (known.every((each) => each !== undefined)) return known
    }
    return undefined
  }

  #named(table: Table, narrowing: Narrowing, names: readonly string[]): readonly Row[] | Promise<unknown> {
    const missing = names.filter((name) => !this.#known.has(name))
    if (missing.length > 0) return this.#find(missing)
    const found = [...new Set(names)].map((name) => this.#known.get(name)!).filter((facts) => facts !== null)
    return this.#rowsOf(table, narrowing, found)
  }

  async #find(names: readonly string[]): Promise<void> {
    for (const name of names) {
      const facts = await this.#session.sequences.find(name)
      this.#budget.resume()
      this.#budget.keep(20)
      this.#known.set(name, facts ?? null)
      if (facts) this.#registry.oidOf(facts.name)
    }
  }

  #rowsOf(
    table: Table,
    narrowing: Narrowing,
    sequences: readonly SequenceFacts[],
  ): readonly Row[] | Promise<unknown> {
    if (table.name === 'pg_sequences' && sequences.some(({ name }) => !this.#lastValues.has(name)))
      return this.#readLastValues(sequences)
    return sequences
      .flatMap((facts) => this.#rows(table, facts))
      .filter((row) => {
        this.#budget.step()
        return narrowing.admits(row)
      })
  }

  #rows(table: Table, facts: SequenceFacts): Row[] {
    const { database, user: owner } = this.#session
    const place = { database, owner, last: this.#lastValues.get(facts.name) }
    return sequenceRows(table.name, facts, this.#registry.oidOf(facts.name), place).map((row) =>
      rowOf(table, row),
    )
  }

  async #readLastValues(sequences: readonly SequenceFacts[]): Promise<void> {
    const names = sequences.map(({ name }) => name)
    const values = await this.#session.sequences.lastValues(names)
    this.#budget.resume()
    for (const [index, name] of names.entries()) this.#lastValues.set(name, values[index])
  }

  /** Reads all sequences in pages, and keeps the rows that can be wanted. */
  async #readPages(table: Table, narrowing: Narrowing): Promise<void> {
    const kept: Row[] = []
    for await (const page of this.#eachPage()) {
      if (table.name === 'pg_sequences') await this.#readLastValues(page)
      for (const facts of page) {
        kept.push(...(this.#rowsOf(table, narrowing, [facts]) as readonly Row[]))
        if (this.#budget.isDue) await this.#letOthersRun()
      }
      checkCount(kept.length)
      for (const { name } of page) this.#lastValues.delete(name)
    }
    this.#budget.keep(kept.length * sequenceCells)
    this.#pages.set(narrowing, kept)
  }

  async #readAll(): Promise<void> {
    const all: SequenceFacts[] = []
    for await (const page of this.#eachPage()) {
      all.push(...page)
      checkCount(all.length)
    }
    this.#budget.keep(all.length * sequenceCells)
    for (const facts of all) this.#known.set(facts.name, facts)
    this.#all = all
  }

  async *#eachPage(): AsyncGenerator<readonly SequenceFacts[]> {
    let after: string | undefined
    for (;;) {
      const { found, next } = await this.#session.sequences.page(after, pageSize)
      this.#budget.resume()
      this.#budget.step(pageSize)
      yield found
      if (next === undefined) return
      after = next
      // Other connections go on between two pages.
      await this.#letOthersRun()
    }
  }

  async #letOthersRun(): Promise<void> {
    await untilOthersHaveRun()
    this.#budget.resume()
  }

  /** The one row of a sequence as a table. */
  #sequenceTable(name: string): readonly Row[] | Promise<unknown> {
    const facts = this.#known.get(name)
    if (facts === undefined) return this.#find([name])
    if (facts === null) throw new SqlError('42P01', `relation "${name}" does not exist`)
    if (!this.#lastValues.has(name)) return this.#readLastValues([facts])
    const last = this.#lastValues.get(name)
    return [{ values: [last ?? facts.start, 0n, last !== undefined] }]
  }
}

/** Fixed rows by the values of a column, made when a statement first wants them so. */
const indexes = new WeakMap<readonly Row[], Map<number, ReadonlyMap<string, readonly Row[]>>>()

function indexOf(rows: readonly Row[], column: number): ReadonlyMap<string, readonly Row[]> {
  const known = indexes.get(rows) ?? new Map<number, ReadonlyMap<string, readonly Row[]>>()
  indexes.set(rows, known)
  const index = known.get(column) ?? Map.groupBy(rows, ({ values }) => keyOf(values[column]!))
  known.set(column, index)
  return index
}

function checkCount(count: number): void {
  if (count > sequencesMax)
    throw new SqlError('54000', `more than ${sequencesMax} sequences match`, {
      hint: 'Narrow the query by the name of a sequence, such as \\ds order*.',
    })
}

const exampleFacts: SequenceFacts = {
  name: '',
  dataType: 'bigint',
  start: 1n,
  increment: 1n,
  min: 1n,
  max: 1n,
  cache: 1n,
}

/** A row in the order of the table's columns. What is not named is empty, or null where PostgreSQL allows it. */
function rowOf(table: Table, named: NamedRow): Row {
  const columns = relationOf(table.oid)!.columns
  return {
    values: columns.map(
      ({ name, type, notNull }) => named[name] ?? (notNull && named[name] !== null ? emptyOf(type) : null),
    ),
  }
}

function emptyOf(type: number): Value {
  if (type === oids.bool) return false
  if (type === oids.int8) return 0n
  const category = typeOf(type)?.category
  if (category === 'A') return []
  return category === 'N' || type === oids.xid ? 0 : ''
}
