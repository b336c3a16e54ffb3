/** What queries are analysed into, and what they run in. */
import { SqlError } from '../sql-error.ts'

import type { Snapshot } from './snapshot.ts'
import type { ObjectNames, Value } from './values.ts'

/** A row of one element of FROM. */
export type Row = readonly Value[]

/** What an expression is evaluated in. */
export type Frame = {
  /** A row of each element of FROM; null where an outer join found none. */
  readonly rows: readonly (Row | null | undefined)[]
  /** The frame of the query around. */
  readonly outer: Frame | undefined
  readonly run: Run
  /** Values that are computed beside the expressions of a query: its groups, aggregates, windows and sets. */
  readonly slots: readonly Value[]
}

/** What functions ask of a session. It is a copy: the session itself is in another thread. */
export type SessionFacts = {
  readonly user: string
  readonly database: string
  readonly backendId: number
  /** When the transaction and the server began, in µs since 2000-01-01. */
  readonly transactionUs: bigint
  readonly serverStartUs: bigint
  readonly version: string
  readonly settings: readonly (readonly [name: string, value: string])[]
  readonly cursors: readonly CursorFacts[]
}

/** A cursor, as pg_cursors shows it. */
export type CursorFacts = {
  readonly name: string
  readonly text: string
  readonly isHeld: boolean
  readonly isForward: boolean
  readonly sinceUs: bigint
}

/** One run of a statement. */
export interface Run {
  readonly session: SessionFacts
  readonly snapshot: Snapshot
  readonly objects: ObjectNames
  /** The values of the parameters, from index 1. */
  readonly parameters: readonly Value[]
  /** What is computed once for the run, by the part of the plan that computes it. */
  readonly memory: Map<object, unknown>
  /** Changes a setting, in the thread of the session; undefined: elsewhere. Throws SqlError. Returns the new value. */
  readonly changeSetting?: (name: string, value: string, isLocal: boolean) => string
  /** Calls nextval, currval, lastval or setval for the session; undefined: the statement may not. */
  readonly draw?: (call: string, args: readonly Value[]) => Value
  /** Counts steps of work. Throws 54000 when it is more than a statement may take. */
  spend(count: number): void
  /** Counts what stays in memory, in rows or in pieces of texts of 128 characters. Throws 54000. */
  keep(count: number): void
}

/** A column of a table of PostgreSQL's own: the table's oid, and the column's number from 1. */
export type ColumnSource = { readonly table: number; readonly number: number }

/** A field of a row. */
export type Field = { readonly name: string; readonly type: number }

/** An expression that is analysed. */
export type Expression = {
  /** The oid of its type; `unknown` for a text or a parameter whose type is open. */
  readonly type: number
  /** The modifier of its type; -1: none. */
  readonly modifier: number
  readonly run: (frame: Frame) => Value
  /** The elements of its own query's FROM that it reads, as bits. */
  readonly uses: number
  /** Whether it reads what is not constant during a run: a query around, a slot, a query of WITH. */
  readonly isOpen: boolean
  /** Whether each evaluation has a value of its own. */
  readonly isVolatile?: boolean
  /** The text of a literal of open type; null: NULL. */
  readonly literal?: string | null
  /** Gives a parameter of open type its type. */
  readonly settle?: (type: number) => void
  /** The sides of an equality, in one type. */
  readonly equality?: readonly [left: Expression, right: Expression]
  /** What must be one of some values for the expression to hold. */
  readonly membership?: { readonly operand: Expression; readonly list: Expression }
  /** The column of its own FROM that it is. */
  readonly column?: { readonly item: number; readonly column: number }
  readonly source?: ColumnSource | undefined
  /** The fields of a row. */
  readonly fields?: readonly Field[] | undefined
}

/** A column of a query or a table. */
export type Column = {
  readonly name: string
  readonly type: number
  readonly modifier: number
  readonly source?: ColumnSource | undefined
  readonly fields?: readonly Field[] | undefined
}

/** Columns with names of their own. Throws 42P10 for too many. */
export function withNames(columns: readonly Column[], names: readonly string[], what: string): Column[] {
  if (names.length > columns.length)
    throw new SqlError(
      '42P10',
      `${what} has ${columns.length} columns available but ${names.length} columns specified`,
    )
  return columns.map((column, index) => ({ ...column, name: names[index] ?? column.name }))
}

/** A query that is analysed. */
export type Query = {
  readonly columns: readonly Column[]
  /** Whether it reads columns of a query around it. */
  readonly readsOuter: boolean
  run(outer: Frame | undefined, run: Run): readonly Row[]
  /** The same query with columns of other types. Throws 0A000. */
  retyped(types: readonly number[]): Query
}

/** Whether the rows of a query are the same in one run. */
export function isConstant({ readsOuter }: Query): boolean {
  return !readsOuter
}

/** The rows of a query. Those of a constant query are computed once in a run. */
export function rowsOf(query: Query, outer: Frame | undefined, run: Run): readonly Row[] {
  if (!isConstant(query)) return query.run(outer, run)
  const known = run.memory.get(query) as readonly Row[] | undefined
  if (known !== undefined) return known
  const rows = query.run(outer, run)
  run.memory.set(query, rows)
  return rows
}

/** An expression made of others. */
export function combined(
  type: number,
  parts: readonly Expression[],
  run: Expression['run'],
  modifier = -1,
): Expression {
  return {
    type,
    modifier,
    run,
    uses: parts.reduce((bits, part) => bits | part.uses, 0),
    isOpen: parts.some((part) => part.isOpen),
    ...(parts.some((part) => part.isVolatile) && { isVolatile: true }),
  }
}

/** OR of what `ask` says of some items, or AND where `decisive` is false: they are asked until one decides. */
export function decided<T>(decisive: boolean, items: readonly T[], ask: (item: T) => Value): Value {
  let result: Value = !decisive
  for (const item of items) {
    const value = ask(item)
    if (value === decisive) return decisive
    if (value === null) result = null
  }
  return result
}

/** An expression with one value. */
export function constant(type: number, value: Value): Expression {
  return { type, modifier: -1, run: () => value, uses: 0, isOpen: false }
}
