/** A database with an old service's table in it, and engines of Fahao beside it. */
import type { Engine } from '../../src/engine/engine.ts'
import type { EngineOptions } from '../../src/engine/engine-options.ts'
import { openAnyEngine } from '../../src/legacy/open.ts'
import { engineOptions } from '../conformance/store-under-test.ts'
import type { DatabaseServer } from '../launch/database.ts'
import { atEnd, type Lifetime } from '../launch/lifetime.ts'
import { type OldDatabase, oldDatabase } from './database.ts'
import { addRow, boundOf, createTables, type Rule, type Schema } from './tables.ts'

export type LegacyBench = {
  readonly schema: Schema
  /** Of the database, without `schema=`. */
  readonly plainUrl: string
  readonly url: string
  readonly database: OldDatabase
  /** Adds a row. */
  readonly add: (rule: Rule) => Promise<void>
  /** What the next range of a row starts with. */
  readonly bound: (key: string) => Promise<bigint | undefined>
  /** Opens an engine as a node of its own would; closed with the test. */
  readonly open: (options?: Partial<EngineOptions>) => Promise<Engine>
}

/** A fresh database on `server`, with the tables of an old service. */
export async function legacyBench(
  lifetime: Lifetime,
  server: DatabaseServer,
  schema: Schema,
): Promise<LegacyBench> {
  const plainUrl = await server.newDatabase()
  const database = oldDatabase(lifetime, plainUrl)
  const { send, dialect } = database
  await createTables(send, dialect, schema)
  const url = `${plainUrl}?schema=${schema}`
  return {
    schema,
    plainUrl,
    url,
    database,
    add: (rule) => addRow(send, schema, rule),
    bound: (key) => boundOf(send, schema, key),
    async open(options = {}) {
      const engine = await openAnyEngine(url, engineOptions(options))
      atEnd(lifetime, () => engine.close())
      return engine
    },
  }
}
