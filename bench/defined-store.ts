/** A SQLite store with many defined generators, written into its tables directly. */
import { DatabaseSync } from 'node:sqlite'
import { startFahao } from '../test/launch/fahao.ts'
import { type Lifetime, Scope } from '../test/launch/lifetime.ts'
import { RawClient } from '../test/launch/raw-client.ts'

/** The name of the defined generator with this number. */
export function definedName(index: number): string {
  return `shop:${index % 1000}:order:${index}`
}

/**
 * Creates a store with `count` sequences, each with a record and a counter as if one reserve had been made. Their rows are
 * inserted in the order of their names, as SQLite keeps them.
 */
export async function defineNames(lifetime: Lifetime, engine: string, count: number): Promise<void> {
  const scope = new Scope()
  lifetime.after(() => scope.end())
  const server = await startFahao(scope, { engine, args: ['--log-level', 'warn'] })
  const client = await RawClient.connect(server.resp)
  for (const command of [
    ['ID.CREATE', 'template', 'KIND', 'sequence'],
    ['INCR', 'template'],
  ]) {
    const reply = await client.command(...command)
    if (reply instanceof Error) throw reply
  }
  await client.close()
  await server.kill('SIGTERM')
  const database = new DatabaseSync(server.file)
  database.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -262144')
  const numbers = `WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < ${count})`
  const name = `'shop:' || (n % 1000) || ':order:' || n`
  database.exec(`BEGIN;
    INSERT INTO records (key, value, version)
      ${numbers} SELECT 'generators/' || ${name} AS key, value, n + 1 + (SELECT revision FROM state)
      FROM numbers, (SELECT value FROM records WHERE key = 'generators/template') ORDER BY 1;
    INSERT INTO counters (name, last, fence, incarnation, version)
      ${numbers} SELECT 'generators/' || ${name} AS name, last, fence, incarnation, version
      FROM numbers, (SELECT last, fence, incarnation, version FROM counters WHERE name = 'generators/template') ORDER BY 1;
    UPDATE state SET revision = revision + ${count}, commits = commits + 1;
    COMMIT; PRAGMA wal_checkpoint(TRUNCATE)`)
  database.close()
}
