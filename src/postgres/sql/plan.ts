/** What statements are compiled into, and what they run in. */
import type { Budget } from './budget.ts'
import type { ObjectOids } from './text-input.ts'
import type { ObjectNames } from './text-output.ts'
import type { Value } from './values.ts'

/** A row of a table or of a subquery. A column that is undefined is computed when it is first read. */
export type Row = {
  readonly values: (Value | undefined)[]
  readonly compute?: (column: number) => Value
}

/** What an expression is evaluated in: one row of each element of FROM, and the frame of the query around. */
export type Frame = {
  /** By the number of the element; null where an outer join found no row. */
  readonly rows: readonly (Row | null | undefined)[]
  readonly outer: Frame | undefined
  readonly context: Context
  /** Results of aggregates, by their number. */
  readonly aggregates?: readonly Value[]
  /** Results of calls that are computed beside the expression: sets and functions with effects. */
  readonly slots?: readonly Value[]
}

/** The steps of a plan: pauses (undefined) or promises to wait for, and rows in the end. */
export type Steps<T> = Generator<Promise<unknown> | undefined, T, unknown>

/** What a running statement has at hand. */
export interface Context {
  readonly budget: Budget
  readonly session: SqlSession
  readonly objects: ObjectOids & ObjectNames
  /** The parameters, from index 1. */
  readonly parameters: readonly Value[]
  /** Results that are computed once for a statement, by the part of the plan. */
  readonly memory: Map<object, unknown>
  /** The rows of a recursive query, by its name's object. */
  readonly working: Map<object, readonly Row[]>
  /** The rows of a table that `narrowing` admits, and maybe more; or a promise: rows must be loaded before the same call gives them. */
  scan(table: Table, narrowing: Narrowing): readonly Row[] | Promise<unknown>
  /** Whether steps may wait now: not inside of `drain`. */
  readonly canWait: boolean
  /** Runs steps that cannot pause. Throws `Missing` with the promise when they have to wait. */
  drain<T>(steps: Steps<T>): T
}

/** Thrown by an expression that needs what must be loaded first: the statement starts again after `loading`. */
export class Missing extends Error {
  readonly loading: Promise<unknown>

  constructor(loading: Promise<unknown>) {
    super('loading')
    this.loading = loading
  }
}

/** A table that can be scanned. */
export interface Table {
  /** Its oid; 0: it is the generator `generator`. */
  readonly oid: number
  readonly name: string
  readonly columns: readonly ResultColumn[]
  /** The oid of the type of its rows. */
  readonly rowType?: number
  /** The name of the generator that the table shows, of a table without an oid. */
  readonly generator?: string
}

/** What is known about the rows of a table that are wanted. */
export type Narrowing = {
  /** Columns with all values that they may have. */
  readonly keys: readonly { readonly column: number; readonly values: readonly Value[] }[]
  /** Whether a row can be wanted; asked of each row before it is kept. */
  admits(row: Row): boolean
}

/** A compiled expression. */
export type Compiled = {
  /** The oid of its type; `unknown` of a literal or parameter whose type is open. */
  readonly type: number
  readonly modifier: number
  readonly run: (frame: Frame) => Value
  /** Which elements of its own query's FROM it reads, as bits. */
  readonly uses: number
  /** The value of a literal of open type. */
  readonly literal?: string | null
  /** The number of a parameter of open type. */
  readonly parameter?: number
  /** The column that it is, of the query's own FROM. */
  readonly column?: ColumnReference
  /** The column of a table of PostgreSQL's that it shows, through any subqueries. */
  readonly source?: ColumnSource
  /** Both sides of an equality. */
  readonly equality?: { readonly left: Compiled; readonly right: Compiled }
  /** A column that has one of these values wherever the condition holds. */
  readonly keys?: {
    readonly column: ColumnReference
    readonly uses: number
    readonly values: (frame: Frame) => readonly Value[] | undefined
  }
  /** The fields of a row. */
  readonly fields?: readonly { readonly name: string; readonly type: number }[]
}

/** A column of a table by the table's oid and its own number, from 1. */
export type ColumnSource = { readonly table: number; readonly number: number }

/** A column of an element of FROM. */
export type ColumnReference = { readonly item: number; readonly column: number }

/** A sequence as catalogues show it. */
export type SequenceFacts = {
  readonly name: string
  readonly dataType: 'smallint' | 'integer' | 'bigint'
  readonly start: bigint
  readonly increment: bigint
  readonly min: bigint
  readonly max: bigint
  readonly cache: bigint
}

/** Some of the sequences. */
export type SequencePage = { readonly found: readonly SequenceFacts[]; readonly next: string | undefined }

/** The sequences that catalogues show. */
export interface SequenceList {
  /** Whether the session may know whether there is a sequence of this name. */
  reaches(name: string): boolean
  /** The sequence of this name. */
  find(name: string): SequenceFacts | undefined | Promise<SequenceFacts | undefined>
  /** Sequences after the name `after` in a fixed order, at most `limit`; `next`: the name to go on after, undefined at the end. */
  page(after: string | undefined, limit: number): Promise<SequencePage>
  /** The last value that each of these sequences has issued; undefined: none yet. */
  lastValues(names: readonly string[]): Promise<readonly (bigint | undefined)[]>
}

/** A cursor, as pg_cursors shows it. */
export type CursorFacts = {
  readonly name: string
  /** The text of its DECLARE. */
  readonly text: string
  /** WITH HOLD. */
  readonly isHeld: boolean
  /** NO SCROLL. */
  readonly isForward: boolean
  /** When it was declared, in µs since 2000-01-01. */
  readonly sinceUs: bigint
}

/** What functions such as current_user ask of a session. */
export interface SqlSession {
  readonly user: string
  readonly database: string
  readonly backendId: number
  /** When the transaction and the server began, in µs since 2000-01-01. */
  readonly transactionUs: bigint
  readonly serverStartUs: bigint
  readonly version: string
  readonly sequences: SequenceList
  /** The value of a setting; undefined if there is none. */
  setting(name: string): string | undefined
  /** Sets a setting; throws SqlError. Returns the new value. */
  changeSetting(name: string, value: string, isLocal: boolean): string
  /** Every setting and its value. */
  settings(): Iterable<readonly [name: string, value: string]>
  /** The cursors of the session. */
  cursors(): Iterable<CursorFacts>
  /** Names of the users, beside `user`. */
  users(): readonly string[]
  /**
   * Carries out calls of one of `serverFunctions`, one for each row, in order; gives one value for each. No argument is null.
   */
  call(name: string, calls: readonly (readonly Value[])[]): Promise<readonly Value[]> | readonly Value[]
}

/** A column of a result. */
export type ResultColumn = {
  readonly name: string
  /** The oid of its type. */
  readonly type: number
  readonly modifier: number
  readonly fields?: Compiled['fields']
  readonly source?: ColumnSource
}

/** A compiled query. */
export type Query = {
  readonly columns: readonly ResultColumn[]
  /** Whether one result serves every evaluation of a statement. */
  readonly isConstant: boolean
  /** Its rows; `outer` is the frame of the query around. `isLazy`: columns may be computed when they are first read. */
  run(outer: Frame | undefined, context: Context, isLazy?: boolean): Steps<readonly Row[]>
}
