/**
 * Ids for Knex: inserts of one instance, and of its transactions, draw what they lack before they are run.
 *
 * Invariants
 *  1. A query that the caller built is not changed: each execution fills a copy, with ids of its own.
 *  2. A merge without a list of columns updates what the caller gave, never an id that was drawn for the row.
 */
import { columnsOf, type Id, type IdColumn, type Ids, MissingIds } from './missing-ids.ts'

type Row = Readonly<Record<string, unknown>>
type Builder = {
  readonly _method?: string
  readonly _single?: Single
  clone(): Builder
}
type Single = { table?: unknown; insert?: unknown; merge?: { updates?: unknown } }
type Runner = { builder: Builder; run(): Promise<unknown> }
type Client = { runner(builder: Builder): Runner }

/**
 * Fills the columns of `ids` in each `insert`, and `batchInsert`, of `knex` that gives them no value: one batch for all
 * rows of a statement. Tables have the name that queries use, columns that of rows. Ids are bigints unless the column says `as`. Returns
 * `knex`. An insert rejects with the error of the generator when ids cannot be drawn, and is not sent.
 */
export function addIds<K extends { readonly client: object }>(knex: K, ids: Ids): K {
  const client = knex.client as Client
  const original = Object.getPrototypeOf(client) as Client
  // Knex makes the client of a transaction from `client.constructor.prototype`: so that this reaches transactions too.
  const prototype = Object.create(original) as Client
  prototype.runner = function (this: Client, builder: Builder): Runner {
    const runner = original.runner.call(this, builder)
    const run = runner.run
    runner.run = async () => {
      await fill(runner, ids)
      return run.call(runner)
    }
    return runner
  }
  Object.defineProperty(prototype, 'constructor', { value: { prototype } })
  Object.setPrototypeOf(client, prototype)
  return knex
}

/** Gives the runner a copy of its query with ids. A query is never a result here: a promise of one would run it. */
async function fill(runner: Runner, ids: Ids): Promise<void> {
  const { builder } = runner
  const { insert, table } = builder._single ?? {}
  if (builder._method !== 'insert' || typeof table !== 'string') return
  const columns = columnsOf(ids, table)
  const given = Array.isArray(insert) ? insert : [insert]
  if (columns.length === 0 || !given.every(isRow)) return
  const { rows, missing } = copies(given, columns)
  if (missing.empty) return
  await missing.draw()
  const copy = builder.clone() as Builder & { _single: Single }
  Object.assign(copy, eventsOf(builder))
  copy._single.insert = rows
  const { merge } = copy._single
  if (merge && merge.updates === undefined)
    copy._single.merge = { ...merge, updates: [...new Set(given.flatMap(givenColumns))] }
  runner.builder = copy
}

/** Listeners of a query, which a copy of it lacks. */
function eventsOf(builder: Builder): object {
  const { _events, _eventsCount } = builder as { _events?: unknown; _eventsCount?: unknown }
  return { _events, _eventsCount }
}

function copies(given: readonly Row[], columns: readonly IdColumn[]) {
  const missing = new MissingIds()
  const rows = given.map((each) => {
    const row: Record<string, unknown> = { ...each }
    for (const { column, generator, as } of columns)
      if (row[column] === undefined)
        missing.add(generator, as ?? 'bigint', (id: Id) => {
          row[column] = id
        })
    return row
  })
  return { rows, missing }
}

function givenColumns(row: Row): string[] {
  return Object.keys(row).filter((column) => row[column] !== undefined)
}

/** Whether it has values by column; a raw insert or one of what a query selects has methods instead. */
function isRow(value: unknown): value is Row {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return (
    prototype === null || prototype === Object.prototype || !('toSQL' in value || typeof value === 'function')
  )
}
