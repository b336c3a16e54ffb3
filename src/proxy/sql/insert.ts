/** An INSERT or REPLACE into a filled table: its rows' ids, and where the text may be edited. */
import type { FilledColumn } from './filled-columns.ts'
import { type IdState, positiveInteger } from './id-values.ts'
import type { IdMode } from './session.ts'
import { latin1 } from './words.ts'

/** The id of one row. Positions are bytes of the statement. */
export type RowId = {
  readonly state: Exclude<IdState, 'unclear' | 'expression'>
  /** The value; both are 0 when it is absent. */
  readonly start: number
  readonly end: number
  /** Of a `parameter`: its number, from 0, among the statement's parameters; else -1. */
  readonly parameter: number
  /** Where the value behind it starts; 0 if there is none. */
  readonly followingAt: number
  /** Where a value can be added behind all others. */
  readonly addAt: number
  /** No other value stands in the row. */
  readonly isEmpty: boolean
}

/** The rows of a statement. */
export type Rows = {
  /** Those that need an id, or may need one. Where `Insert.readsLastInsertId` is set, all of them. */
  readonly rows: readonly RowId[]
  readonly last: RowId
  /** How many there are in all. */
  readonly count: number
}

/** The id's entry in a list of columns, or its assignment. */
export type ListedId = {
  readonly start: number
  readonly end: number
  /** Where the entry behind it starts; 0 if there is none. */
  readonly followingAt: number
}

/** How the columns are named: by a list, not at all, or by SET. */
export type Columns =
  | {
      readonly form: 'list'
      readonly id: ListedId | undefined
      readonly addAt: number
      readonly isEmpty: boolean
    }
  | {
      readonly form: 'none'
      /** In front of VALUES. */
      readonly listAt: number
      /** All columns, in order; undefined if no row has a value. */
      readonly all: readonly string[] | undefined
    }
  | { readonly form: 'set'; readonly id: ListedId | undefined }

/** One INSERT or REPLACE into a filled table. */
export type Insert = {
  readonly column: FilledColumn
  readonly verb: 'insert' | 'replace'
  readonly isIgnore: boolean
  readonly isReturning: boolean
  readonly onDuplicate: OnDuplicate | undefined
  readonly columns: Columns
  /** See `Rows`. */
  readonly rows: readonly RowId[]
  readonly lastRow: RowId
  /** How many rows there are in all. */
  readonly count: number
  /** The table as the statement names it, without its database. */
  readonly tableStart: number
  readonly tableEnd: number
  /** Where an alias of one more column goes, if the rows have an alias with a list of columns. */
  readonly aliasAt: number | undefined
  /** Whether a value is LAST_INSERT_ID(), as it was before the statement. */
  readonly readsLastInsertId: boolean
  /** The modes of the session that have decided which rows need ids, as they were. */
  readonly modes: ReadonlyMap<IdMode, boolean>
}

/** ON DUPLICATE KEY UPDATE. */
export type OnDuplicate = {
  /** Where the assignments start, and where they end. */
  readonly at: number
  readonly endAt: number
  /** Whether the column is assigned. */
  readonly assignsId: boolean
  /** Whether the statement itself says which id comes back. */
  readonly decidesId: boolean
}

/** Whether the row gets an id, if the statement is text. */
export function needsId(row: RowId): boolean {
  return row.state !== 'given' && row.state !== 'parameter'
}

/** How many ids the statement needs, beside those of its parameters. */
export function idsNeeded(insert: Insert): number {
  return insert.rows.reduce((count, row) => count + (needsId(row) ? 1 : 0), 0)
}

/** The id of the last row, if the text gives one that is a positive integer. */
export function lastGiven({ lastRow }: Insert, sql: Buffer): bigint | undefined {
  const { state, start, end } = lastRow
  if (state !== 'given') return undefined
  return positiveInteger(latin1(sql, start, end).replace(/^(['"])(.*)\1$/, '$2'))
}
