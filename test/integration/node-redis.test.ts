/** node-redis as it comes from the registry, in both protocols: where it differs from ioredis, which has more tests. */
import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { createClient, createClientPool, RESP_TYPES, type RespVersions } from 'redis'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { Scope } from '../launch/lifetime.ts'
import { assertDistinct, assertGapless, assertIncreasing, creations, ordered } from './examples.ts'

for (const RESP of [2, 3] as const) {
  describe(`node-redis over RESP${RESP}`, () => {
    let server: FahaoServer
    const scope = new Scope()
    before(async () => {
      server = await startFahao(scope)
    })
    after(() => scope.end())

    const options = () => ({
      RESP: RESP as RespVersions,
      socket: { port: server.resp, host: '127.0.0.1' },
      // By default a command waits 5 s for a connection; on a busy machine a server may need longer to restart.
      commandOptions: { timeout: 60_000 },
    })

    async function connect(t: TestContext) {
      const client = createClient(options())
      // It reports each lost connection, and this server is stopped under it.
      client.on('error', () => {})
      await client.connect()
      t.after(() => client.destroy())
      return client
    }

    test('creates all four kinds, and gets ids of each as text', async (t) => {
      const client = await connect(t)
      for (const creation of creations) assert.equal(await client.sendCommand(creation), 'OK')
      for (const [, name] of creations as [string, string][]) {
        const texts = (await client.sendCommand(['ID.NEXT', name, 'COUNT', '100'])) as unknown as string[]
        texts.push((await client.sendCommand(['ID.NEXT', name])) as unknown as string)
        assert.equal(texts.length, 101)
        assertDistinct(texts)
        if (!ordered.includes(name)) continue
        assertIncreasing(texts.map((text) => text.replace(/^\D+/, '')))
        const decoded = await client.sendCommand(['ID.DECODE', texts[100]!, name])
        const raw =
          RESP === 2 ? (decoded as unknown as string[])[1] : (decoded as unknown as { id: string }).id
        assert.equal(await client.get(name), raw)
      }
    })

    test('makes, moves, finds, scans and drops generators by Redis’s names', async (t) => {
      const client = await connect(t)
      assert.equal(await client.set('moved', '41', { condition: 'NX' }), 'OK')
      assert.equal(await client.set('moved', '41', { condition: 'NX' }), null)
      assert.equal(await client.incr('moved'), 42)
      await assert.rejects(client.set('moved', '41'), /^(Simple)?Error: ERR .*42/)
      assert.equal(await client.exists(['moved', 'moved', 'absent']), 2)
      const created = Array.from({ length: 25 }, (_, at) => `scan:${at}`).sort()
      await Promise.all(created.map((name) => client.set(name, 0)))
      const found: string[] = []
      for await (const names of client.scanIterator({ MATCH: 'scan:*', COUNT: 4 })) found.push(...names)
      assert.deepEqual(found, created)
      assert.equal(await client.del(created), 25)
      assert.equal(await client.exists(created), 0)
    })

    test('gets ids past 2^53 as text where the caller maps numbers to text, in RESP3', async (t) => {
      const client = await connect(t)
      const asText = client.withTypeMapping({
        [RESP_TYPES.NUMBER]: String,
        [RESP_TYPES.BIG_NUMBER]: String,
      })
      assert.match(String(await asText.incr('order')), /^\d+$/)
      // In RESP2 the server cannot see that this caller would read the digits.
      if (RESP === 2) return void (await assert.rejects(asText.incr('event'), /UNSAFE/))
      const id = (await asText.incr('event')) as unknown
      assert.equal(typeof id, 'string')
      assert.equal(await client.get('event'), id)
    })

    test('multi() draws ids in a transaction, and a refused one uses up none', async (t) => {
      const client = await connect(t)
      const id = await client.incr('order')
      const replies = await client.multi().incr('order').get('order').addCommand(['ID.NEXT', 'order']).exec()
      assert.deepEqual(replies, [id + 1, `${id + 1}`, `${id + 2}`])
      await assert.rejects(
        client.multi().incr('order').decr('order').exec(),
        /DECR is not supported|EXECABORT/,
      )
      assert.equal(await client.incr('order'), id + 3)
    })

    test('a pool of 50 connections gets every id once', async (t) => {
      const pool = createClientPool(options(), { minimum: 50, maximum: 50 })
      t.after(() => pool.destroy())
      await pool.connect()
      await pool.sendCommand(['ID.CREATE', 'pooled', 'KIND', 'sequence'])
      const own: number[][] = await Promise.all(
        Array.from({ length: 50 }, () =>
          pool.execute(async (client) => {
            const ids: number[] = []
            for (let drawn = 0; drawn < 40; drawn++) ids.push(await client.incr('pooled'))
            return ids
          }),
        ),
      )
      for (const ids of own) assertIncreasing(ids)
      assertGapless(own.flat(), 1n)
    })

    test('reconnects by itself to a server that was stopped or killed, and goes on above', async (t) => {
      const client = await connect(t)
      const id = await client.incr('order')
      const text = (await client.sendCommand(['ID.NEXT', 'event'])) as unknown as string
      await server.restart()
      assert.equal(await client.incr('order'), id + 1)
      await server.kill()
      // What was written to a connection that has ended is not sent again.
      while (client.isReady) await pause(1)
      const waiting = client.incr('order')
      await server.restart()
      assertIncreasing([id + 1, await waiting, await client.incr('order')])
      assertIncreasing([text, (await client.sendCommand(['ID.NEXT', 'event'])) as unknown as string])
    })
  })
}
