/** Stores in temporary folders, for tests that change their files while an engine is open. */

import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { LogEvent } from '../../../../src/base/events.ts'
import type { EngineOptions } from '../../../../src/engine/engine-options.ts'
import { openSqlite, type SqliteEngine } from '../../../../src/engine/sqlite/engine.ts'
import { engineOptions } from '../../../conformance/store-under-test.ts'
import { atEnd, type Lifetime } from '../../../launch/lifetime.ts'
import { temporaryFolder } from '../../../launch/places.ts'

/** The writer identity of these tests. */
export const mine = { incarnation: 1n }

/** The path of a store that does not exist yet, in a folder of its own. */
export function freshFile(lifetime: Lifetime): string {
  return join(temporaryFolder(lifetime), 'fahao.db')
}

/** A folder for a store and its copy. What it opens is closed at the end of the test. */
export function freshStore(lifetime: Lifetime) {
  const folder = temporaryFolder(lifetime)
  const file = join(folder, 'fahao.db')
  const events: LogEvent[] = []
  const open = async (path = file, options: Partial<EngineOptions> = {}): Promise<SqliteEngine> => {
    const engine = await openSqlite(path, engineOptions(options, events))
    atEnd(lifetime, () => engine.close())
    return engine
  }
  return { folder, file, copy: join(folder, 'copy.db'), open, events }
}

/** Opens a store, which is closed at the end of the test. */
export async function openStore(
  lifetime: Lifetime,
  file: string,
  options: Partial<EngineOptions> = {},
): Promise<{ readonly engine: SqliteEngine; readonly events: readonly LogEvent[] }> {
  const events: LogEvent[] = []
  const engine = await openSqlite(file, engineOptions(options, events))
  atEnd(lifetime, () => engine.close())
  return { engine, events }
}

/** Opens a store, calls `use` with it, and closes it. */
export async function withStore<Result>(
  file: string,
  use: (engine: SqliteEngine) => Promise<Result>,
): Promise<Result> {
  const engine = await openSqlite(file, engineOptions())
  try {
    return await use(engine)
  } finally {
    await engine.close()
  }
}

/** Runs statements on a file, as another program would. */
export function sqlite(file: string, sql: string): void {
  const database = new DatabaseSync(file)
  database.exec(sql)
  database.close()
}
