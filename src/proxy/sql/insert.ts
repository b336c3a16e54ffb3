/** An INSERT or REPLACE into a filled table: its rows' ids, and where the text may be edited. */
import type { FilledColumn } from './configured-columns.ts'

/** The id of one row that needs one, or may need one. Positions are bytes of the statement. */
export type RowId = {
  /** The value; both are `addAt` when it is absent. */
  readonly start: number
  readonly end: number
  /** The number of the client's parameter that is this id, from 0; otherwise -1. Either all ids of a statement are parameters, or none. */
  readonly parameter: number
  /** Where the value behind it starts; 0: it is the last one, or absent. */
  readonly followingAt: number
  /** Where a value can be added behind all others. */
  readonly addAt: number
  /** No other value stands in the row. */
  readonly isEmpty: boolean
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
      /** All columns, in order; empty: no row has a value. */
      readonly all: readonly string[]
    }
  | { readonly form: 'set'; readonly id: ListedId | undefined }

/** One INSERT or REPLACE into a filled table. */
export type Insert = {
  readonly column: FilledColumn
  readonly isReplace: boolean
  readonly isIgnore: boolean
  readonly columns: Columns
  /** The rows that need an id, or may need one. */
  readonly rows: readonly RowId[]
  /** How many rows there are in all. */
  readonly count: number
  /** The id of the last row, if the text gives one that is a positive integer: its digits. */
  readonly lastGiven: string | undefined
  /** The parameter that is the id of the last row; -1: none. */
  readonly lastParameter: number
  /** The table as the statement names it, without its database. */
  readonly table: string
  /** Where ON DUPLICATE KEY UPDATE ends; 0: there is none. */
  readonly onDuplicateEnd: number
  /** Whether the statement itself says which id comes back, by LAST_INSERT_ID(…). */
  readonly decidesId: boolean
  /** Whether a value is LAST_INSERT_ID(), as it was before the statement. */
  readonly readsLastInsertId: boolean
}
