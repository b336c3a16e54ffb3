/** What databases do to an engine that a file never does, on real servers. */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, readFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import type { LogEvent } from '../../src/base/events.ts'
import type { Engine } from '../../src/engine/engine.ts'
import type { EngineOptions } from '../../src/engine/engine-options.ts'
import { openEngine } from '../../src/engine/open.ts'
import { constantRepair } from '../constant-repair.ts'
import { type CertificateFiles, makeCertificates } from '../launch/certificates.ts'
import type { DatabaseServer } from '../launch/database.ts'
import { atEnd, type Lifetime } from '../launch/lifetime.ts'
import { startMariaDb } from '../launch/mariadb.ts'
import { temporaryFolder } from '../launch/places.ts'
import { startPostgres } from '../launch/postgres.ts'
import { startTcpProxy } from '../launch/tcp-proxy.ts'
import { assertDisjoint } from './counters.ts'
import { untilItWorks } from './life.ts'
import { lockRow } from './row-lock.ts'
import { engineOptions } from './store-under-test.ts'

const mine = { incarnation: 1n }
const regressed = { code: 'REGRESSED', message: /fahao advance/ }

/** Gives up waiting for a server at its first failure. */
const impatient: Clock = { ...systemClock, monoUs: () => performance.now() * 1_000_000 }
/** What is due in a minute is due at once. */
const minuteless: Clock = {
  ...systemClock,
  timer: (ms, callback) => systemClock.timer(ms === 60_000 ? 10 : ms, callback),
}

type Opened = { readonly engine: Engine; readonly events: LogEvent[] }

/** What differs between the servers. */
type Special = {
  readonly start: (lifetime: Lifetime) => Promise<DatabaseServer>
  /** Creates a user with the right to read, and no other. */

  readonly createLimited: (server: DatabaseServer, database: string) => Promise<void>
  readonly grantLimited: (server: DatabaseServer, database: string) => Promise<void>
  /** Grants this user one right on one table. */
  readonly grant: (server: DatabaseServer, right: string, database: string, table: string) => Promise<unknown>
  /** Takes durability away, and gives it back. */
  readonly relax: (server: DatabaseServer, database: string, on: boolean) => Promise<unknown>
  readonly durabilitySetting: RegExp
  /** The documented way to make the tables on this server. */
  readonly documentedTables: (documentation: string) => string
  readonly startSecured: (lifetime: Lifetime, files: CertificateFiles) => Promise<DatabaseServer>
  /** Whether every connection of the owner is encrypted. */
  readonly isEncrypted: (server: DatabaseServer) => Promise<boolean>
}

const documentation = readFileSync(join(import.meta.dirname, '../../docs/operating/databases.md'), 'utf8')

function sqlBlocks(markdown: string): string[] {
  return [...markdown.matchAll(/```sql\n([\s\S]*?)```/g)].map(([, block]) => block!)
}

const tables = ['fahao_counters', 'fahao_records', 'fahao_about']

const kinds: readonly (Special & { readonly name: string })[] = [
  {
    name: 'PostgreSQL',
    start: startPostgres,
    startSecured(lifetime, { cert, key }) {
      chmodSync(key, 0o600)
      chownSync(key, ...userOfPostgres())
      return startPostgres(lifetime, { settings: { ssl: 'on', ssl_cert_file: cert, ssl_key_file: key } })
    },
    async isEncrypted(server) {
      const rows = await server.admin(
        "SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = 'fahao'",
      )
      return rows.length > 0 && rows.every(({ ssl }) => ssl === true)
    },
    durabilitySetting: /synchronous_commit is off: set it to on/,
    relax: (server, database, on) =>
      server.admin(`ALTER DATABASE ${database} SET synchronous_commit = ${on ? 'off' : 'on'}`),
    async createLimited(server) {
      await server.admin("CREATE ROLE limited LOGIN PASSWORD 'secret'")
    },
    async grantLimited(server, database) {
      await server.admin(
        `GRANT SELECT, INSERT, UPDATE ON fahao_counters, fahao_records TO limited;
         GRANT SELECT, UPDATE ON fahao_about TO limited`,
        database,
      )
    },
    grant: (server, right, database, table) =>
      server.admin(`GRANT ${right} ON ${table} TO limited`, database),
    documentedTables: (text) => sqlBlocks(text).find((block) => block.includes('regclass'))!,
  },
  {
    name: 'MariaDB',
    start: startMariaDb,
    startSecured: (lifetime, { cert, key }) =>
      startMariaDb(lifetime, { settings: { 'ssl-cert': cert, 'ssl-key': key } }),
    async isEncrypted(server) {
      const rows = await server.admin("SHOW GLOBAL STATUS LIKE 'Ssl_finished_accepts'")
      return Number(rows[0]?.Value) > 0
    },
    durabilitySetting: /innodb_flush_log_at_trx_commit is 2: set it to 1/,
    relax: (server, _database, on) =>
      server.admin(`SET GLOBAL innodb_flush_log_at_trx_commit = ${on ? 2 : 1}`),
    async createLimited(server, database) {
      await server.admin(`CREATE USER limited@'127.0.0.1' IDENTIFIED BY 'secret';
        GRANT SELECT ON ${database}.* TO limited@'127.0.0.1'`)
    },
    async grantLimited(server, database) {
      const to = "TO limited@'127.0.0.1'"
      await server.admin(`GRANT SELECT, INSERT, UPDATE ON ${database}.fahao_counters ${to};
        GRANT SELECT, INSERT, UPDATE ON ${database}.fahao_records ${to};
        GRANT SELECT, UPDATE ON ${database}.fahao_about ${to}`)
    },
    grant: (server, right, database, table) =>
      server.admin(`GRANT ${right} ON ${database}.${table} TO limited@'127.0.0.1'`),
    documentedTables: (text) =>
      sqlBlocks(text)
        .find((block) => block.includes('InnoDB'))!
        .replace('@@server_uuid', "CONCAT(@@server_uid, '/', @@global.server_id)"),
  },
]

async function openAt(
  lifetime: Lifetime,
  url: string,
  options: Partial<EngineOptions> = {},
): Promise<Opened> {
  const events: LogEvent[] = []
  const engine = await openEngine(url, engineOptions(options, events))
  atEnd(lifetime, () => engine.close())
  return { engine, events }
}

/** Whose a key must be to be believed by PostgreSQL. */
function userOfPostgres(): [number, number] {
  const of = (flag: string) =>
    Number(execFileSync('id', [flag, process.getuid?.() === 0 ? 'postgres' : userInfo().username]))
  return [of('-u'), of('-g')]
}

function nameIn(url: string): string {
  return new URL(url).pathname.slice(1)
}

function reserve(engine: Engine, size = 10n) {
  return engine.reserve('a', { size, ...mine })
}

/** Resolves when `condition` holds; rejects when it does not come to hold. */
async function until(condition: () => boolean): Promise<void> {
  for (const giveUpAt = performance.now() + 60_000; !condition(); ) {
    assert.ok(performance.now() < giveUpAt, 'it did not come about')
    await new Promise((again) => setTimeout(again, 10))
  }
}

for (const kind of kinds) {
  describe(`an engine on ${kind.name}`, async () => {
    const server = await kind.start({ after })

    test('is opened by ten nodes at once on an empty database, again and again', async (t) => {
      for (let round = 0; round < 8; round++) {
        const url = await server.newDatabase()
        const opened = await Promise.all(Array.from({ length: 10 }, () => openAt(t, url)))
        const ranges = await Promise.all(opened.map(({ engine }) => reserve(engine)))
        assertDisjoint(ranges)
        assert.equal((await opened[0]!.engine.counter('a')).bound, 100n)
        const said = opened.flatMap(({ events }) => events.map(({ message }) => message))
        assert.equal(said.length, 1, said.join('\n'))
        assert.match(said[0]!, /created an empty one/)
        await Promise.all(opened.map(({ engine }) => engine.close()))
      }
    })

    test('tells a user without the right to create tables what is missing, and works once the tables exist', async (t) => {
      const url = await server.newDatabase()
      const database = nameIn(url)
      await kind.createLimited(server, database)
      const limited = server.url(database, 'limited')
      await assert.rejects(openAt(t, limited), { code: 'ENGINE', message: /may not make them.*grant CREATE/ })
      await (await openAt(t, url)).engine.close()
      await kind.grantLimited(server, database)
      const { engine } = await openAt(t, limited)
      assert.equal((await reserve(engine)).start, 0n)
      const record = await engine.write('k', 'x', undefined)
      assert.ok(await engine.remove('k', record!.version))
      assert.equal(await engine.advance(5n), 1)
    })

    test('accepts tables that were created by hand as documented', async (t) => {
      const url = await server.newDatabase()
      const database = nameIn(url)
      await server.admin(kind.documentedTables(documentation), database)
      await kind.grantLimited(server, database)
      const { engine, events } = await openAt(t, server.url(database, 'limited'))
      await reserve(engine)
      await engine.write('k', 'x', undefined)
      assert.deepEqual(events, [])
    })

    test('refuses a server that may lose commits in a crash, unless the operator accepts it', async (t) => {
      const url = await server.newDatabase()
      await kind.relax(server, nameIn(url), true)
      await assert.rejects(openAt(t, url), { code: 'ENGINE', message: kind.durabilitySetting })
      await assert.rejects(server.admin('SELECT 1 FROM fahao_about', nameIn(url)), 'it has made no tables')
      const { engine, events } = await openAt(t, url, { unsafe: true })
      await reserve(engine)
      assert.ok(events.some(({ level, message }) => level === 'warn' && kind.durabilitySetting.test(message)))
      await kind.relax(server, nameIn(url), false)
      await openAt(t, url)
    })

    test('reports that a running server has begun to risk commits, and that it has stopped', async (t) => {
      const url = await server.newDatabase()
      const { engine, events } = await openAt(t, url, { clock: minuteless })
      const set = async (relaxed: boolean) => {
        await kind.relax(server, nameIn(url), relaxed)
        // A session of PostgreSQL keeps the settings of its database with which it began.
        if (server.kind === 'postgres')
          await server.admin(
            `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${nameIn(url)}'`,
          )
      }
      await reserve(engine)
      assert.equal(engine.status().state, 'up')
      atEnd(t, () => set(false))
      await set(true)
      await until(() => events.some(({ message }) => kind.durabilitySetting.test(message)))
      const { level, message } = events.find(({ message }) => kind.durabilitySetting.test(message))!
      assert.deepEqual([level, /may lose acknowledged writes/.test(message)], ['error', true])
      await until(() => kind.durabilitySetting.test(engine.status().reason ?? ''))
      await set(false)
      await until(() => engine.status().state === 'up')
    })

    test('reports at once a wrong password, an unknown database and an unknown parameter', async (t) => {
      const url = await server.newDatabase()
      const refused = async (wrong: string, error: { code: string; message: RegExp }) => {
        await assert.rejects(openAt(t, wrong), error)
        await assert.rejects(openAt(t, wrong), ({ message }: Error) => !/secret|guessed/.test(message))
      }
      await refused(url.replace(':secret@', ':guessed@'), {
        code: 'ENGINE',
        message: /look at the engine's URL: its host, user/,
      })
      await refused(url.replace(nameIn(url), 'nowhere'), { code: 'ENGINE', message: /nowhere/ })
      await refused(`${url}?colour=red`, { code: 'CONFIG', message: /no parameter 'colour'.*pool/ })
      assert.doesNotMatch((await openAt(t, url)).engine.location, /secret/)
    })

    test('reports at its opening that the server is read-only', async (t) => {
      const url = await server.newDatabase()
      await (await openAt(t, url)).engine.close()
      await server.setReadOnly(true)
      atEnd(t, () => server.setReadOnly(false))
      await assert.rejects(openAt(t, url, { clock: impatient }), { code: 'ENGINE', message: /read-only/ })
      await server.setReadOnly(false)
      assert.equal((await reserve((await openAt(t, url)).engine)).start, 0n)
    })

    test('reports at its opening that its user may not write to every table', async (t) => {
      const url = await server.newDatabase()
      const limited = server.url(nameIn(url), 'limited')
      await (await openAt(t, url)).engine.close()
      for (const table of tables) await kind.grant(server, 'SELECT', nameIn(url), table)
      for (const table of tables)
        for (const right of table === 'fahao_about' ? ['UPDATE'] : ['INSERT', 'UPDATE']) {
          await assert.rejects(openAt(t, limited), {
            code: 'ENGINE',
            message: /this user may not write to the tables.*grant SELECT, INSERT and UPDATE/,
          })
          await kind.grant(server, right, nameIn(url), table)
        }
      assert.equal((await reserve((await openAt(t, limited)).engine)).start, 0n)
    })

    test('changes nothing while the server is read-only, logs it once, and recovers by itself', async (t) => {
      const { engine, events } = await openAt(t, await server.newDatabase())
      const before = await reserve(engine)
      await server.setReadOnly(true)
      atEnd(t, () => server.setReadOnly(false))
      for (let each = 0; each < 5; each++) {
        await assert.rejects(reserve(engine), { code: 'UNAVAILABLE', message: /read-only/ })
        await assert.rejects(engine.write('k', 'x', undefined), { code: 'UNAVAILABLE', message: /read-only/ })
      }
      assert.equal((await engine.counter('a')).bound, 10n)
      assert.equal(engine.status().state, 'down')
      await server.setReadOnly(false)
      await until(() => engine.status().state === 'up')
      assertDisjoint([before, await reserve(engine)])
      const said = events.slice(1).map(({ message }) => message)
      assert.equal(said.length, 2, said.join('\n'))
      assert.match(said[1]!, /works again/)
    })

    test('fails fast while the server is down, survives its restart, and loses nothing', async (t) => {
      const { engine, events } = await openAt(t, await server.newDatabase())
      const ranges = [await reserve(engine)]
      await server.kill()
      // What was sent just as it died may be unknown; soon there is no connection any more.
      await engine.counter('a').catch(() => {})
      await until(() => engine.status().state === 'down')
      const startedMs = performance.now()
      for (let each = 0; each < 100; each++) {
        await assert.rejects(reserve(engine), { code: 'UNAVAILABLE' })
      }
      assert.ok(performance.now() - startedMs < 2000, 'calls waited for a server that was known to be gone')
      await server.restart()
      await until(() => engine.status().state === 'up')
      ranges.push(await untilItWorks(() => reserve(engine)))
      assertDisjoint(ranges)
      assert.equal(events.filter(({ level }) => level === 'error').length, 1)
    })

    test('waits for a server that is down when it is opened', async (t) => {
      const url = await server.newDatabase()
      await server.kill()
      const opening = openAt(t, url)
      await new Promise((wait) => setTimeout(wait, 300))
      await server.restart()
      const { engine, events } = await opening
      assert.equal((await reserve(engine)).start, 0n)
      assert.equal(events.filter(({ message }) => /trying for up to/.test(message)).length, 1)
    })

    test('settles a call by its deadline while another session has locked the row', async (t) => {
      const url = await server.newDatabase()
      const { engine } = await openAt(t, url, { callTimeoutMs: 1500 })
      const { engine: other } = await openAt(t, url)
      await Promise.all([reserve(engine), reserve(other)])
      const unlock = await lockRow(t, url, 'a')
      await assert.rejects(reserve(engine), { code: 'UNAVAILABLE', message: /holds a lock/ })
      // Records and other counters do not care.
      await engine.write('k', 'x', undefined)
      assert.equal((await engine.reserve('b', { size: 1n, ...mine })).start, 0n)
      await unlock()
      assert.equal((await untilItWorks(() => reserve(engine))).start, 20n)
    })

    test('detects a dump that was restored while it runs, stops all nodes, and works again after one advance', async (t) => {
      const url = await server.newDatabase()
      const told: string[] = []
      const nodes = await Promise.all(
        [0, 1, 2].map(() => openAt(t, url, { onRegressed: (reason) => told.push(reason) })),
      )
      const [one, two, three] = nodes.map(({ engine }) => engine) as [Engine, Engine, Engine]
      await reserve(one)
      await one.write('k/old', 'x', undefined)
      const dump = await server.dump(nameIn(url))
      const lost = [await reserve(one), await reserve(two)]
      const written = await two.write('k/new', 'x', undefined)
      await three.watch('k/', () => {})
      await server.restore(nameIn(url), dump)
      // The first to reserve notices by what it holds itself; the others learn of it before they write.
      await assert.rejects(one.reserve('a', { size: 1n, ...mine }), regressed)
      assert.ok(told.length > 0)
      for (const node of [one, two, three]) {
        await assert.rejects(node.reserve('other', { size: 1n, ...mine }), regressed)
        await assert.rejects(node.write('k/x', 'x', undefined), regressed)
        assert.equal(node.status().state, 'down')
      }
      // Nor does a new process.
      const { engine: late } = await openAt(t, url)
      await assert.rejects(reserve(late), regressed)
      const advances = [one, two, three].map((node) => node.advance(50n, undefined, { ifRegressed: true }))
      assert.deepEqual((await Promise.all(advances)).sort(), [0, 0, 1])
      const after = await Promise.all([one, two, three, late].map((node) => reserve(node)))
      assertDisjoint([...lost, ...after])
      assert.ok(after.every(({ start }) => start >= 60n))
      assert.equal(await one.release('a', lost[0]!, 10n, mine), false)
      assert.equal(await two.remove('k/old', written!.version), false)
      for (const node of [one, two, three, late]) await until(() => node.status().state === 'up')
    })

    test('skips the reserves above an advance that is lost as well, also if another node advances', async (t) => {
      const url = await server.newDatabase()
      const [{ engine: one }, { engine: two }] = [await openAt(t, url), await openAt(t, url)]
      await reserve(one)
      const dump = await server.dump(nameIn(url))
      const given = [await reserve(one)]
      for (const node of [one, two]) {
        await server.restore(nameIn(url), dump)
        await assert.rejects(reserve(node), regressed)
        assert.equal(await node.advance(100n), 1)
        given.push(await reserve(node), await reserve(node))
        // By now it has heard of this advance.
        await untilItWorks(() => two.write('k', 'x', undefined))
      }
      assertDisjoint(given)
    })

    test('is not advanced without an operator on a database from before the latest advance, which lacks all reserves since', async (t) => {
      const url = await server.newDatabase()
      const [one, two] = [(await openAt(t, url)).engine, (await openAt(t, url)).engine]
      const byItself = (engine: Engine) => engine.advance(1000n, undefined, { ifRegressed: true })
      await reserve(two)
      const dump = await server.dump(nameIn(url))
      await one.reserve('b', { size: 1n, ...mine })
      await server.restore(nameIn(url), dump)
      await assert.rejects(one.reserve('b', { size: 1n, ...mine }), regressed)
      assert.equal(await byItself(one), 2)
      const between = await reserve(two, 5000n)
      await server.restore(nameIn(url), dump)
      const { engine: late } = await openAt(t, url)
      await assert.rejects(two.reserve('b', { size: 1n, ...mine }), regressed)
      // Also a process that does not know the later history learns of it.
      for (const engine of [one, two, late])
        await assert.rejects(byItself(engine), { code: 'REGRESSED', message: /before its bounds were last/ })
      assert.equal((await late.counter('a')).bound, 10n)
      assert.equal(await two.advance(10_000n), 1)
      for (const engine of [one, two, late]) assert.ok((await reserve(engine)).start >= between.end)
    })

    test('writes nothing once its history has gone back in any respect, and marks it for all nodes', async (t) => {
      for (const loss of ['pulse = 0', 'revision = 0', "history = 'another'", "server = 'another'"]) {
        const url = await server.newDatabase()
        const [{ engine }, { engine: other }] = [await openAt(t, url), await openAt(t, url)]
        await other.write('k', 'x', undefined)
        const record = await engine.write('k/mine', 'x', undefined)
        // By now a process has raised the pulse, and this one has read it.
        const pulse = async () => (await server.admin('SELECT pulse FROM fahao_about', nameIn(url)))[0]!.pulse
        while (BigInt(String(await pulse())) === 0n) await new Promise((again) => setTimeout(again, 10))
        const reserved = await reserve(engine)
        await server.admin(`UPDATE fahao_about SET ${loss}`, nameIn(url))
        const before = await server.admin('SELECT * FROM fahao_counters', nameIn(url))
        await assert.rejects(engine.release('a', reserved, 0n, mine), regressed, loss)
        await assert.rejects(engine.reserve('unused', { size: 1n, ...mine }), regressed, loss)
        await assert.rejects(engine.write('k/mine', 'y', record!.version), regressed, loss)
        await assert.rejects(engine.remove('k/mine', record!.version), regressed, loss)
        await assert.rejects(other.write('k/other', 'x', undefined), regressed, loss)
        assert.deepEqual(await server.admin('SELECT * FROM fahao_counters', nameIn(url)), before)
        assert.equal((await engine.read('k/mine'))?.value, 'x')
        assert.equal(await engine.advance(0n), 1)
        assert.equal((await reserve(other)).start, 10n)
      }
    })

    test('releases nothing under a version that an earlier history has used as well', async (t) => {
      const url = await server.newDatabase()
      const { engine } = await openAt(t, url)
      const reserved = await reserve(engine)
      await engine.advance(5n)
      // As it comes to be when one dump is restored twice.
      await server.admin(`UPDATE fahao_counters SET version = ${reserved.version}`, nameIn(url))
      assert.equal(await engine.release('a', reserved, 0n, mine), false)
      assert.equal((await engine.counter('a')).bound, 15n)
    })

    test('detects tables that were recreated from a dump while no node ran, if the server names tables', async (t) => {
      const url = await server.newDatabase()
      const { engine } = await openAt(t, url)
      await reserve(engine)
      await engine.close()
      await server.restore(nameIn(url), await server.dump(nameIn(url)))
      const { engine: again } = await openAt(t, url)
      if (server.kind === 'postgres') await assert.rejects(reserve(again), regressed)
      else await reserve(again)
    })

    test('suspects a history that another server has written, which may lack its end', async (t) => {
      const url = await server.newDatabase()
      const { engine } = await openAt(t, url)
      const before = await reserve(engine)
      await engine.close()
      const dump = await server.dump(nameIn(url))
      const other = await kind.start(t)
      await other.newDatabase()
      const copy = await other.newDatabase()
      await other.restore(nameIn(copy), dump)
      const { engine: restored, events } = await openAt(t, copy)
      await assert.rejects(reserve(restored), { code: 'REGRESSED', message: /on server .* this is server/ })
      assert.ok(events.length > 0)
      await restored.advance(100n)
      const { start } = await reserve(restored)
      assert.ok(start >= before.end + 100n)
      await openAt(t, copy).then(({ engine: again }) => reserve(again))
    })

    test('never creates tables that disappear while it runs', async (t) => {
      const url = await server.newDatabase()
      const { engine } = await openAt(t, url)
      await reserve(engine)
      const database = nameIn(url)
      const dump = await server.dump(database)
      await server.admin(`DROP TABLE ${tables.join(', ')}`, database)
      await assert.rejects(reserve(engine), { code: 'UNAVAILABLE', message: /tables are missing/ })
      await assert.rejects(engine.write('k', 'x', undefined), { code: 'UNAVAILABLE' })
      await server.restore(database, dump)
      await server.admin('DELETE FROM fahao_about', database)
      await assert.rejects(reserve(engine), { code: 'UNAVAILABLE', message: /being restored/ })
      await assert.rejects(openAt(t, url), { code: 'ENGINE', message: /finish restoring the dump/ })
    })

    test('rejects a write with a lost answer as unknown, and never returns its range again', async (t) => {
      const url = await server.newDatabase()
      const proxy = await startTcpProxy(t, server.port)
      const { engine } = await openAt(t, url.replace(`:${server.port}/`, `:${proxy.port}/`))
      const ranges = [await reserve(engine)]
      const moves = (request: Buffer) => request.includes('UPDATE fahao_counters')
      for (let each = 1; each <= 5; each++) {
        const dropped = proxy.dropReplyOf(moves)
        await assert.rejects(reserve(engine), { code: 'UNKNOWN' })
        await dropped.all
        ranges.push(await untilItWorks(() => reserve(engine)))
      }
      assertDisjoint(ranges)
      // MariaDB answers a transaction piece by piece, and may not have come to its end.
      const least = server.kind === 'postgres' ? 110n : 60n
      const { bound } = await engine.counter('a')
      assert.ok(bound >= least && bound <= 110n, String(bound))
      const writes = (request: Buffer) => request.includes('UPDATE fahao_about')
      // The pulse beats in between; it may be what is lost first.
      for (let each = 0; each < 50; each++) {
        proxy.dropReplyOf(writes)
        const outcome = await engine.write(`k/${each}`, 'x', undefined).catch((error) => error.code)
        if (outcome !== 'UNKNOWN') continue
        const found = await untilItWorks(() => engine.read(`k/${each}`))
        if (server.kind === 'postgres') assert.equal(found?.value, 'x')
        return
      }
      assert.fail('no answer of a record write was lost')
    })

    test('carries out a write or an advance completely or not at all if its client disconnects in the middle', async (t) => {
      const url = await server.newDatabase()
      const proxy = await startTcpProxy(t, server.port)
      const { engine: leaving } = await openAt(t, url.replace(`:${server.port}/`, `:${proxy.port}/`))
      const { engine: staying } = await openAt(t, url)
      const hex = (text: string) => Buffer.from(text).toString('hex')
      const has = (word: string) => (chunk: Buffer) => chunk.includes(word) || chunk.includes(hex(word))
      for (let round = 0; round < 40; round++) {
        const before = await staying.read('leaving')
        proxy.dropReplyOf(has('goodbye'))
        await assert.rejects(leaving.write('leaving', `goodbye ${round}`, before?.version), {
          code: 'UNKNOWN',
        })
        // A version that was used and not counted would be given out again, and refused.
        const other = await staying.read('staying')
        assert.notEqual(await staying.write('staying', String(round), other?.version), undefined)
      }
      await staying.reserve('order', { size: 10n, ...mine })
      const look = async () => {
        const both = 'SELECT s.pulse, c.last FROM fahao_about AS s, fahao_counters AS c'
        const [row] = await server.admin(both, nameIn(url))
        return { pulse: BigInt(String(row!.pulse)), last: BigInt(String(row!.last)) }
      }
      for (let round = 0; round < 8; round++) {
        const before = await look()
        proxy.dropReplyOf(has('GREATEST(pulse'))
        await leaving.advance(1000n).catch(() => {})
        const after = await look()
        // What was begun before may have been carried out meanwhile: each jump of the pulse raises the bound once.
        const jumps = (after.pulse - before.pulse + 2n ** 31n) / 2n ** 32n
        assert.equal(after.last - before.last, 1000n * jumps, `round ${round}`)
      }
    })

    test('settles every call by its deadline while the network is stalled', async (t) => {
      const url = await server.newDatabase()
      const proxy = await startTcpProxy(t, server.port)
      const options = { callTimeoutMs: 1500 }
      const { engine } = await openAt(t, url.replace(`:${server.port}/`, `:${proxy.port}/`), options)
      const ranges = [await reserve(engine)]
      // Now one connection is free, whatever the other one is doing.
      await engine.counter('a')
      proxy.stallReplies()
      await assert.rejects(reserve(engine), { code: 'UNKNOWN' })
      await assert.rejects(engine.counter('a'), { code: 'UNAVAILABLE' })
      await until(() => /connect/.test(engine.status().reason ?? ''))
      const startedMs = performance.now()
      await assert.rejects(reserve(engine), { code: 'UNAVAILABLE' })
      assert.ok(performance.now() - startedMs < 1000, 'a call waited although no connection could be made')
      proxy.resume()
      ranges.push(await untilItWorks(() => reserve(engine)))
      assertDisjoint(ranges)
    })

    test('speaks TLS, and accepts only a server with a valid certificate', async (t) => {
      const folder = temporaryFolder(t)
      const { ca, cert, key } = await makeCertificates(folder)
      chmodSync(folder, 0o755)
      const secured = await kind.startSecured(t, { ca, cert, key })
      const url = await secured.newDatabase()
      const encrypted = `${url}?sslmode=verify-full&sslrootcert=${ca}`
      await reserve((await openAt(t, encrypted)).engine)
      assert.equal(await kind.isEncrypted(secured), true)
      await reserve((await openAt(t, `${url}?sslmode=require`)).engine)
      const unproven = openAt(t, `${url}?sslmode=verify-full`, { clock: impatient })
      await assert.rejects(unproven, { code: 'ENGINE', message: /certificate/ })
      await assert.rejects(openAt(t, `${await server.newDatabase()}?sslmode=require`, { clock: impatient }), {
        code: 'ENGINE',
        message: /the server does not speak TLS: use sslmode=disable, or/,
      })
    })

    test('gives an advance a longer deadline than any other call', async (t) => {
      const url = await server.newDatabase()
      const proxy = await startTcpProxy(t, server.port)
      const through = url.replace(`:${server.port}/`, `:${proxy.port}/`)
      const { engine } = await openAt(t, through, { callTimeoutMs: 500 })
      await reserve(engine)
      // Now one connection is free, whatever the other one is doing.
      await engine.counter('a')
      proxy.stallReplies()
      const advancing = engine.advance(5n)
      await assert.rejects(reserve(engine), { code: /UNKNOWN|UNAVAILABLE/ })
      proxy.resume()
      assert.equal(await advancing, 1)
    })

    if (server.kind === 'mysql')
      test('advances many counters and large records on a server that accepts small packets only', async (t) => {
        const [{ size }] = (await server.admin('SELECT @@max_allowed_packet AS size')) as [{ size: number }]
        await server.admin('SET GLOBAL max_allowed_packet = 1048576')
        atEnd(t, () => server.admin(`SET GLOBAL max_allowed_packet = ${size}`))
        const { engine } = await openAt(t, await server.newDatabase())
        const large = "it's large ".repeat(2900)
        const keys = Array.from({ length: 40 }, (_, at) => `large/${at}`)
        for (const key of keys) await engine.write(key, large, undefined)
        const standing = { from: 5n, gap: 10n, incarnation: 2n }
        const names = Array.from({ length: 5000 }, (_, at) => `${at}/${'long'.repeat(60)}`)
        const repaired = {
          records: new Map(keys.map((key) => [key, `${large}!`])),
          counters: new Map(names.map((name) => [name, standing])),
        }
        assert.equal(await engine.advance(10n, constantRepair(repaired)), 5000)
        assert.equal((await engine.counter(names.at(-1)!)).bound, 15n)
        const records = await engine.list('')
        assert.ok(records.every(({ value }) => value === `${large}!`))
        assert.equal(new Set(records.map(({ version }) => version)).size, 40)
      })

    if (server.kind === 'mysql')
      test('returns no range from a dump of which only the first table is restored so far', async (t) => {
        const url = await server.newDatabase()
        const [{ engine: one }, { engine: two }] = [await openAt(t, url), await openAt(t, url)]
        await reserve(one)
        const dump = await server.dump(nameIn(url))
        await reserve(one)
        await two.write('k', 'x', undefined)
        const secondTable = dump.indexOf('DROP TABLE', dump.indexOf('DROP TABLE') + 1)
        await server.restore(nameIn(url), dump.slice(0, secondTable))
        await assert.rejects(reserve(two), regressed)
        await server.restore(nameIn(url), dump)
        await assert.rejects(reserve(two), regressed)
      })

    if (server.kind === 'mysql')
      test('distinguishes a replica by its server_id if both have the same hardware address and port, as containers may', async (t) => {
        const { engine } = await openAt(t, await server.newDatabase())
        await reserve(engine)
        const [{ id }] = (await server.admin('SELECT @@server_id AS id')) as [{ id: number }]
        await server.admin(`SET GLOBAL server_id = ${id + 1}`)
        atEnd(t, () => server.admin(`SET GLOBAL server_id = ${id}`))
        await assert.rejects(reserve(engine), { code: 'REGRESSED', message: /this is server/ })
      })

    if (server.kind === 'postgres')
      test('names a server by what it reveals, warns of what the name does not show, and all nodes use the same name', async (t) => {
        const hide = (name: string, database: string) =>
          server.admin(`REVOKE EXECUTE ON FUNCTION ${name}() FROM PUBLIC`, database)
        const warned = ({ events }: Opened) =>
          events.filter(({ level }) => level === 'warn').map(({ message }) => message)
        const [whole, noTimeline, nothing] = await Promise.all([1, 2, 3].map(() => server.newDatabase()))
        const before = await openAt(t, whole!)
        assert.deepEqual(warned(before), [])
        await hide('pg_current_wal_lsn', nameIn(noTimeline!))
        const first = await openAt(t, noTimeline!)
        assert.match(warned(first).join(), /does not tell its timeline/)
        await reserve(first.engine)
        // A user with more rights uses the same name.
        await server.admin('GRANT EXECUTE ON FUNCTION pg_current_wal_lsn() TO PUBLIC', nameIn(noTimeline!))
        const second = await openAt(t, noTimeline!)
        assertDisjoint([await reserve(second.engine), await reserve(first.engine)])
        for (const name of ['pg_current_wal_lsn', 'pg_control_system']) await hide(name, nameIn(nothing!))
        const third = await openAt(t, nothing!)
        assert.match(warned(third).join(), /neither its system identifier nor its timeline/)
        await reserve(third.engine)
        // A user with fewer rights than the creator of the tables is refused, with a reason.
        await hide('pg_control_system', nameIn(whole!))
        await assert.rejects(openAt(t, whole!), { code: 'ENGINE', message: /GRANT EXECUTE/ })
      })

    test('refuses tables that a newer version has created', async (t) => {
      const url = await server.newDatabase()
      await (await openAt(t, url)).engine.close()
      await server.admin('UPDATE fahao_about SET schema_version = 3', nameIn(url))
      await assert.rejects(openAt(t, url), { code: 'ENGINE', message: /newer Fahao.*upgrade this one/ })
    })
  })
}
