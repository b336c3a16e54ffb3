/** Commits on servers: their answers are lost on the way, and other sessions write in between. */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { Commit, Engine } from '../../src/engine/engine.ts'
import { openEngine } from '../../src/engine/open.ts'
import type { DatabaseServer } from '../launch/database.ts'
import { startEtcd } from '../launch/etcd.ts'
import { atEnd, type Lifetime } from '../launch/lifetime.ts'
import { startMariaDb } from '../launch/mariadb.ts'
import { startPostgres } from '../launch/postgres.ts'
import { startTcpProxy } from '../launch/tcp-proxy.ts'
import { untilItWorks } from './life.ts'
import { engineOptions } from './store-under-test.ts'

const one = { size: 1n, incarnation: 1n }

/** A server, and the URL of a fresh store on it, by this port. */
type Server = { readonly port: number; readonly urlBy: (port: number) => string }

const servers: readonly {
  readonly name: string
  readonly start: (l: Lifetime) => Promise<() => Promise<Server>>
}[] = [
  { name: 'PostgreSQL', start: async (l) => databases(await startPostgres(l)) },
  { name: 'MariaDB', start: async (l) => databases(await startMariaDb(l)) },
  {
    name: 'etcd',
    async start(lifetime) {
      const port = (await startEtcd(lifetime)).members[0]!.clientPort
      let stores = 0
      return async () => {
        const store = `store${stores++}`
        return { port, urlBy: (by) => `etcd://127.0.0.1:${by}/${store}` }
      }
    },
  },
]

function databases(server: DatabaseServer): () => Promise<Server> {
  return async () => {
    const url = await server.newDatabase()
    return { port: server.port, urlBy: (by) => url.replace(`:${server.port}/`, `:${by}/`) }
  }
}

async function openAt(lifetime: Lifetime, url: string, callTimeoutMs: number): Promise<Engine> {
  const engine = await openEngine(url, engineOptions({ callTimeoutMs }))
  atEnd(lifetime, () => engine.close())
  return engine
}

for (const { name, start } of servers) {
  describe(`commits on ${name}`, { timeout: 60_000 }, async () => {
    const newStore = await start({ after })

    test('are carried out once or not at all if their answers are lost', async (t) => {
      const { port, urlBy } = await newStore()
      const proxy = await startTcpProxy(t, port)
      const engine = await openAt(t, urlBy(proxy.port), 1000)
      const other = await openAt(t, urlBy(port), 5000)
      await engine.write('a', '0', undefined)
      for (let round = 1; round <= 3; round++) {
        const [record, { version }] = await Promise.all([engine.read('a'), engine.counter('c')])
        const commit: Commit = {
          records: [
            { key: 'a', value: `${round}`, expected: record!.version },
            { key: `b/${round}`, value: `${round}`, expected: undefined },
          ],
          counter: { name: 'c', request: one, version },
        }
        proxy.stallReplies()
        await assert.rejects(engine.commit(commit), { code: 'UNKNOWN' })
        proxy.resume()
        // Sent again, it is carried out if it was not before.
        const again = await untilItWorks(() => engine.commit(commit))
        assert.equal(again, undefined)
        assert.equal((await other.read('a'))?.value, `${round}`)
        assert.equal((await other.read(`b/${round}`))?.value, `${round}`)
        assert.equal((await other.counter('c')).bound, BigInt(round))
      }
      assert.equal((await untilItWorks(() => engine.reserve('c', one))).start, 3n)
    })

    test('change nothing if one version differs, or the counter refuses', async (t) => {
      const { port, urlBy } = await newStore()
      const [engine, other] = [await openAt(t, urlBy(port), 5000), await openAt(t, urlBy(port), 5000)]
      const record = (await engine.write('a', 'old', undefined))!
      await engine.reserve('c', { ...one, fence: 2n })
      const { version } = await engine.counter('c')
      const records = [
        { key: 'a', value: 'new', expected: record.version },
        { key: 'b', value: 'new', expected: undefined },
      ]
      const counter = { name: 'c', request: { ...one, fence: 2n }, version }
      await other.write('b', 'other', undefined)
      assert.equal(await engine.commit({ records, counter }), undefined)
      await other.remove('b', (await other.read('b'))!.version)
      await other.reserve('c', { ...one, fence: 2n })
      assert.equal(await engine.commit({ records, counter }), undefined)
      const stale = { ...counter, request: one, version: version + 1n }
      await assert.rejects(engine.commit({ records, counter: stale }), { code: 'STALE' })
      assert.deepEqual([await other.read('a'), await other.read('b')], [record, undefined])
      assert.equal((await other.counter('c')).version, version + 1n)
      const done = await engine.commit({ records, counter: { ...counter, version: version + 1n } })
      assert.equal(done?.reservation?.start, 2n)
    })
  })
}
