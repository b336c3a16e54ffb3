/** Stores with many defined generators, written into them directly. */
import { DatabaseSync } from 'node:sqlite'
import type { DatabaseServer } from '../test/launch/database.ts'
import type { EtcdCluster } from '../test/launch/etcd.ts'
import { startFahao } from '../test/launch/fahao.ts'
import { type Lifetime, Scope } from '../test/launch/lifetime.ts'
import { RawClient } from '../test/launch/raw-client.ts'

/** Where in etcd the store is. */
export const etcdPrefix = 'defined'
const etcdTogether = 64
const etcdLanes = 16

/** The name of the defined generator with this number. */
export function definedName(index: number): string {
  return `shop:${index % 1000}:order:${index}`
}

/**
 * Creates a SQLite store with `count` sequences, each with a record and a counter as if one reserve had been made. Their rows are
 * inserted in the order of their names, as SQLite keeps them.
 */
export async function defineInSqlite(lifetime: Lifetime, engine: string, count: number): Promise<void> {
  const file = await withTemplate(lifetime, engine)
  const database = new DatabaseSync(file)
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

/** As `defineInSqlite`, in a new database of a server. */
export async function defineInDatabase(
  lifetime: Lifetime,
  server: DatabaseServer,
  engine: string,
  count: number,
): Promise<void> {
  await withTemplate(lifetime, engine)
  const [numbers, name] =
    server.kind === 'postgres'
      ? [
          `generate_series(0, ${count - 1}) AS numbers (n)`,
          `'generators/shop:' || n % 1000 || ':order:' || n`,
        ]
      : [
          `(SELECT seq AS n FROM seq_0_to_${count - 1}) AS numbers`,
          `CONCAT('generators/shop:', n % 1000, ':order:', n)`,
        ]
  await server.admin(
    `BEGIN;
    INSERT INTO fahao_records (name, value, version)
      SELECT ${name}, value, n + 1 + (SELECT revision FROM fahao_about)
      FROM ${numbers}, (SELECT value FROM fahao_records WHERE name = 'generators/template') AS template;
    INSERT INTO fahao_counters (name, last, fence, incarnation, version)
      SELECT ${name}, last, fence, incarnation, version
      FROM ${numbers}, (SELECT * FROM fahao_counters WHERE name = 'generators/template') AS template;
    UPDATE fahao_about SET revision = revision + ${count};
    COMMIT`,
    new URL(engine).pathname.slice(1),
  )
  if (server.kind === 'postgres')
    await server.admin('VACUUM ANALYZE fahao_records, fahao_counters', new URL(engine).pathname.slice(1))
}

/** As `defineInSqlite`, in etcd below `etcdPrefix`. */
export async function defineInEtcd(lifetime: Lifetime, etcd: EtcdCluster, count: number): Promise<void> {
  await withTemplate(lifetime, etcd.url(etcdPrefix))
  const url = `http://127.0.0.1:${etcd.members[0]!.clientPort}/v3/kv`
  const ask = async (path: string, body: object) => {
    const response = await fetch(`${url}/${path}`, { method: 'POST', body: JSON.stringify(body) })
    if (!response.ok) throw new Error(`etcd answers ${await response.text()}`)
    return response.json() as Promise<{ kvs?: { value: string }[] }>
  }
  const keyOf = (part: string, name: string) =>
    Buffer.from(`${etcdPrefix}/${part}/generators/${name}`).toString('base64')
  const templateOf = async (part: string) =>
    (await ask('range', { key: keyOf(part, 'template') })).kvs![0]!.value
  const [record, counter] = [await templateOf('records'), await templateOf('counters')]
  let next = 0
  const lane = async () => {
    while (next < count) {
      const indexes = Array.from({ length: Math.min(etcdTogether, count - next) }, () => next++)
      const success = indexes
        .map(definedName)
        .flatMap((name) => [
          { requestPut: { key: keyOf('records', name), value: record } },
          { requestPut: { key: keyOf('counters', name), value: counter } },
        ])
      await ask('txn', { success })
    }
  }
  await Promise.all(Array.from({ length: etcdLanes }, lane))
}

/** Creates the store, with the generator `template`, which has issued an id; resolves to the file of SQLite's. */
async function withTemplate(lifetime: Lifetime, engine: string): Promise<string> {
  const scope = new Scope()
  lifetime.after(() => scope.end())
  const server = await startFahao(scope, { engine, args: ['--log-level', 'warn'] })
  const client = await RawClient.connect(server.resp)
  for (const command of [
    ['ID.CREATE', 'template', 'KIND', 'segment'],
    ['ID.NEXT', 'template'],
  ]) {
    const reply = await client.command(...command)
    if (reply instanceof Error) throw reply
  }
  await client.close()
  await server.kill('SIGTERM')
  return server.file
}
