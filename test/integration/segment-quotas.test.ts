/** Segments of fahao-client in namespaces that limit ids: it takes what they permit, and says when they permit no more. */
import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import { connect } from '../../client/src/index.ts'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { Scope } from '../launch/lifetime.ts'
import type { RawClient } from '../launch/raw-client.ts'

const scope = new Scope()
let server: FahaoServer
let admin: RawClient

before(async () => {
  server = await startFahao(scope)
  admin = await server.connect()
})
after(() => scope.end())

for (const protocol of ['RESP', 'HTTP'])
  describe(`a segment over ${protocol}`, () => {
    /** Makes a namespace with these limits, and a generator in it. */
    async function prepared(t: TestContext, ...limits: readonly string[]) {
      const space = `${protocol}-${limits.join('-')}`.toLowerCase()
      const name = `${space}:user`
      assert.equal(await admin.command('ID.CREATE', name, 'KIND', 'segment'), 'OK')
      assert.equal(await admin.command('ID.NAMESPACE', 'SET', space, 'MATCH', `${space}:*`, ...limits), 'OK')
      const url = protocol === 'RESP' ? `redis://127.0.0.1:${server.resp}` : server.http
      const client = await connect(url, { timeoutMs: 3000 })
      t.after(() => client.close())
      return client.generator(name)
    }

    test('with fewer ids a second than a refill usually has opens, and gets them', async (t) => {
      const generator = await prepared(t, 'RATE', '400')
      const ids = new Set<bigint>()
      while (ids.size < 1000) ids.add(await generator.next())
      await assert.rejects(generator.nextBatch(100_000), { code: 'LIMIT' })
      assert.equal((await generator.nextBatch(10)).length, 10)
    })

    test('issues the ids of a day to the last, then rejects with QUOTA', async (t) => {
      const generator = await prepared(t, 'DAILY', '300')
      const ids = new Set<bigint>()
      while (ids.size < 300) ids.add(await generator.next())
      const calls = Array.from({ length: 50 }, () => generator.next())
      for (const call of calls) await assert.rejects(call, { code: 'QUOTA' })
      assert.ok(generator.stats().failures <= 10)
    })
  })
