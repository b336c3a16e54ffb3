/**
 * The tables of FROM: PostgreSQL's own, with the rows of a database, a session and its sequences; and sequences as tables.
 * `written-rows.ts` has the texts of these rows.
 */
import { SqlError } from '../sql-error.ts'
import type { Column, Row, Run } from './analysed.ts'
import { factsOfTable } from './catalog-facts.ts'
import { sequenceName } from './quoting.ts'
import { type SequenceFacts, sequenceOidMin } from './snapshot.ts'
import { refused } from './tree.ts'
import { baseOf, oids, type Relation, relationNamed, relationOf, typeOf } from './types.ts'
import { keyOf, unknownHere, type Value } from './values.ts'
import { databaseRows, emptyTables, sequenceRows } from './written-rows.ts'
import { type Facts, type Template, templateOf } from './written-tables.ts'

/** A table of FROM. */
export type Table = {
  /** Its oid; 0: it is a sequence. */
  readonly oid: number
  readonly name: string
  readonly columns: readonly Column[]
}

const sequenceColumns: readonly Column[] = [
  { name: 'last_value', type: oids.int8, modifier: -1 },
  { name: 'log_cnt', type: oids.int8, modifier: -1 },
  { name: 'is_called', type: oids.bool, modifier: -1 },
]

/**
 * The table of a qualified name. A name that no relation of PostgreSQL's has is that of a sequence, which is looked up when the
 * statement runs. Throws SqlError 42P01, and 0A000 for a table whose rows are not known here.
 */
export function findTable(names: readonly string[]): Table {
  const [name, schema] = [names.at(-1)!, names.at(-2)]
  const relation = schema === 'public' ? undefined : relationNamed(name, schema)
  if (relation === undefined) {
    if (schema === 'pg_catalog' || schema === 'information_schema')
      throw new SqlError('42P01', `relation "${names.join('.')}" does not exist`)
    return { oid: 0, name: sequenceName(names), columns: sequenceColumns }
  }
  const { oid } = relation
  const isKnown = emptyTables.has(name) || (sourceOf(name) ?? sequenceRows[name]) !== undefined
  if (!isKnown) throw refused(`The table ${name}`)
  return { oid, name, columns: relation.columns.map((_, index) => columnOf(relation, index)) }
}

function columnOf(relation: Relation, index: number): Column {
  const { name, type } = relation.columns[index]!
  const { kind, baseModifier = -1 } = typeOf(type) ?? {}
  return {
    ...{ name, type: baseOf(type), modifier: kind === 'd' ? baseModifier : -1 },
    source: { table: relation.oid, number: index + 1 },
  }
}

const aliases: Readonly<Record<string, string>> = { pg_roles: 'pg_authid', pg_shadow: 'pg_user' }

function sourceOf(name: string): string | undefined {
  return databaseRows[aliases[name] ?? name]
}

const templates = new Map<string, Template>()

function templateFor(relation: Relation, text: string): Template {
  const key = `${relation.oid} ${text}`
  const known = templates.get(key) ?? templateOf(relation, text)
  templates.set(key, known)
  return known
}

type Made = { readonly owner: string; readonly rows: readonly Row[] }

/** Rows of a user and a database that no session changes. */
const fixed = new Map<object, Made>()

/** The rows of a table without those of sequences. */
function rowsBeside({ oid, name }: Table, { session, memory }: Run): readonly Row[] {
  const relation = relationOf(oid)!
  const made = (/^pg_(?:settings|cursors|stat_)/.test(name) ? memory : fixed) as Map<object, Made>
  const owner = `${session.user} ${session.database}`
  const known = made.get(relation)
  if (known?.owner === owner) return known.rows
  const source = sourceOf(name)
  const rows = source ? factsOfTable(name, session).flatMap(templateFor(relation, source)) : []
  made.set(relation, { owner, rows })
  return rows
}

const dataTypes: Readonly<Record<SequenceFacts['dataType'], Facts>> = {
  smallint: { type: oids.int2, bits: 16 },
  integer: { type: oids.int4, bits: 32 },
  bigint: { type: oids.int8, bits: 64 },
}

function rowsOfSequence({ oid, name }: Table, facts: SequenceFacts, run: Run): readonly Row[] {
  const { user, database } = run.session
  const last = name === 'pg_sequences' ? run.snapshot.lastValues([facts.name])[0]! : null
  const template = templateFor(relationOf(oid)!, sequenceRows[name]!)
  return template({ ...facts, ...dataTypes[facts.dataType], user, database, last })
}

/** Columns with the name of a sequence, and with its oid. */
const nameColumns: ReadonlySet<string> = new Set(['relname', 'sequencename', 'sequence_name'])
const oidColumns: ReadonlySet<string> = new Set(['seqrelid', 'attrelid', 'objid'])
/** Rows by the values of a column, made when a statement first wants them so. */
const indexes = new WeakMap<readonly Row[], Map<number, ReadonlyMap<string, readonly Row[]>>>()

/** The rows of a table that may have one of these values in a column; undefined: they are not found so. */
export function rowsWith(
  table: Table,
  column: number,
  values: readonly Value[],
  run: Run,
): readonly Row[] | undefined {
  if (table.oid === 0) return undefined
  const { name } = table.columns[column]!
  let own: readonly SequenceFacts[] = []
  if (table.name in sequenceRows) {
    if (nameColumns.has(name)) own = run.snapshot.named(values.filter((value) => typeof value === 'string'))
    else if (oidColumns.has(name) || (name === 'oid' && table.name === 'pg_class'))
      own = run.snapshot.withOids(values.map(Number).filter((oid) => oid >= sequenceOidMin))
    else return undefined
  }
  const index = indexOf(rowsBeside(table, run), column)
  const keys = values.length === 1 ? [keyOf(values[0]!)] : new Set(values.map(keyOf))
  const found = [...keys].flatMap((key) => index.get(key) ?? [])
  return own.length === 0 ? found : [...found, ...own.flatMap((facts) => rowsOfSequence(table, facts, run))]
}

function indexOf(rows: readonly Row[], column: number): ReadonlyMap<string, readonly Row[]> {
  const known = indexes.get(rows) ?? new Map<number, ReadonlyMap<string, readonly Row[]>>()
  indexes.set(rows, known)
  const index = known.get(column) ?? Map.groupBy(rows, (row) => keyOf(row[column]!))
  known.set(column, index)
  return index
}

/** The rows of a table for which a condition holds. */
export function rowsOfTable(table: Table, holds: (row: Row) => boolean, run: Run): readonly Row[] {
  if (table.oid === 0) return [stateOf(table.name, run)].filter(holds)
  const beside = rowsBeside(table, run)
  run.spend(beside.length)
  const rows = beside.filter(holds)
  if (!(table.name in sequenceRows) || excludesSequences(table, holds, run)) return rows
  const all = run.snapshot.all()
  if (table.name === 'pg_sequences') run.snapshot.lastValues(all.map(({ name }) => name))
  run.keep(all.length)
  for (const facts of all) for (const row of rowsOfSequence(table, facts, run)) if (holds(row)) rows.push(row)
  return rows
}

const someSequence = {
  ...{ start: 1n, increment: 1n, min: 1n, max: 1n, cache: 1n },
  dataType: 'bigint',
} as const
const ownColumns: readonly string[] = ['oid', 'relname', 'relfilenode', 'objid']

/** Whether a condition excludes all sequences by columns that are the same for all of them. */
function excludesSequences(table: Table, holds: (row: Row) => boolean, run: Run): boolean {
  if (table.name !== 'pg_class' && table.name !== 'pg_depend') return false
  const [row] = rowsOfSequence(table, { ...someSequence, name: '', oid: sequenceOidMin }, run)
  const shared = row!.map((value, at) => (ownColumns.includes(table.columns[at]!.name) ? unknownHere : value))
  try {
    return !holds(shared)
  } catch {
    return false
  }
}

/** The one row of a sequence as a table. */
function stateOf(name: string, run: Run): Row {
  const [facts] = run.snapshot.named([name])
  if (facts === undefined) throw new SqlError('42P01', `relation "${name}" does not exist`)
  const [last = null] = run.snapshot.lastValues([name])
  return [last ?? run.snapshot.firstValue(name), 0n, last !== null]
}
