/** Stores of the version before: opened once more, they are of this version, and no id is repeated. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import { systemClock } from '../../src/base/clock.ts'
import type { LogEvent } from '../../src/base/events.ts'
import { backupSqlite, restoreSqlite } from '../../src/engine/sqlite/backup.ts'
import { startEtcd } from '../launch/etcd.ts'
import type { Lifetime } from '../launch/lifetime.ts'
import { startMariaDb } from '../launch/mariadb.ts'
import { temporaryFolder } from '../launch/places.ts'
import { startPostgres } from '../launch/postgres.ts'
import { mine, openStore } from '../unit/engine/etcd/stores.ts'

type Kind = {
  readonly name: string
  /** An empty store: its URL, and how its form is set to that of another version. */
  readonly store: (lifetime: Lifetime) => Promise<{
    readonly url: string
    readonly toEarlier: () => Promise<unknown>
    readonly toLater: () => Promise<unknown>
  }>
}

function runSql(file: string, sql: string): void {
  const database = new DatabaseSync(file)
  database.exec(sql)
  database.close()
}

function sqliteToEarlier(file: string): void {
  runSql(file, 'ALTER TABLE state RENAME COLUMN history TO lineage; PRAGMA user_version = 1')
}

const kinds: readonly Kind[] = [
  {
    name: 'SQLite',
    async store(lifetime) {
      const file = join(temporaryFolder(lifetime), 'ids.db')
      return {
        url: `sqlite:${file}`,
        toEarlier: async () => sqliteToEarlier(file),
        toLater: async () => runSql(file, 'PRAGMA user_version = 3'),
      }
    },
  },
  ...[
    { name: 'PostgreSQL', start: startPostgres },
    { name: 'MariaDB', start: startMariaDb },
  ].map(({ name, start }) => ({
    name,
    async store(lifetime: Lifetime) {
      const server = await start(lifetime)
      const url = await server.newDatabase()
      const database = new URL(url).pathname.slice(1)
      const run = (sql: string) => server.admin(sql, database)
      return {
        url,
        async toEarlier() {
          await run('ALTER TABLE fahao_about RENAME COLUMN history TO lineage')
          await run('UPDATE fahao_about SET schema_version = 1')
        },
        toLater: () => run('UPDATE fahao_about SET schema_version = 3'),
      }
    },
  })),
  {
    name: 'etcd',
    async store(lifetime) {
      const cluster = await startEtcd(lifetime)
      const change = async (form: (state: Record<string, unknown>) => object) => {
        const stored = JSON.parse(await cluster.ctl('get', '--print-value-only', 'ids/state'))
        await cluster.ctl('put', 'ids/state', JSON.stringify(form(stored)))
      }
      return {
        url: cluster.url('ids'),
        toEarlier: () =>
          change(({ status, histories, ...state }) => ({
            ...state,
            format: 1,
            phase: status,
            eras: histories,
          })),
        toLater: () => change((state) => ({ ...state, format: 3 })),
      }
    },
  },
]

for (const { name, store } of kinds) {
  describe(`a store of another version on ${name}`, { timeout: 120_000 }, () => {
    test('of the version before is converted once, also by several processes at the same moment, and goes on above what it has given out', async (t) => {
      const { url, toEarlier } = await store(t)
      const before = await openStore(t, url)
      const given = await before.reserve('a', mine)
      const record = await before.write('k', 'x', undefined)
      await before.close()
      await toEarlier()
      const events: LogEvent[] = []
      const engines = await Promise.all([1, 2, 3].map(() => openStore(t, url, {}, events)))
      let end = given.end
      for (const engine of engines) {
        const next = await engine.reserve('a', mine)
        assert.equal(next.start, end)
        end = next.end
      }
      assert.deepEqual(await engines[0]!.read('k'), record)
      assert.ok(await engines[1]!.write('k', 'y', record!.version))
      assert.deepEqual(engines[2]!.status(), { state: 'up' })
      const said = events.length
      assert.match(events.map(({ message }) => message).join(), /converted/)
      assert.equal((await (await openStore(t, url, {}, events)).counter('a')).bound, end)
      assert.deepEqual(events.slice(said), [], 'nothing is left to convert')
    })

    test('of a later version is refused', async (t) => {
      const { url, toLater } = await store(t)
      await (await openStore(t, url)).close()
      await toLater()
      await assert.rejects(openStore(t, url), { code: 'ENGINE', message: /newer Fahao.*upgrade this one/ })
    })
  })
}

test('a backup that the version before has made is restored', async (t) => {
  const folder = temporaryFolder(t)
  const [file, copy, restored] = ['ids.db', 'copy.db', 'restored.db'].map((name) => join(folder, name))
  const before = await openStore(t, `sqlite:${file}`)
  const { end } = await before.reserve('a', mine)
  await before.close()
  sqliteToEarlier(file!)
  backupSqlite(file!, copy!)
  restoreSqlite(copy!, restored!, { skip: 100n, clock: systemClock })
  assert.equal((await (await openStore(t, `sqlite:${restored}`)).reserve('a', mine)).start, end + 100n)
})
