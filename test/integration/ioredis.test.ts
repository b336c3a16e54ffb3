/** ioredis as it comes from the registry, in both protocols. */
import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import { Redis, type RedisOptions } from 'ioredis'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { Scope } from '../launch/lifetime.ts'
import {
  assertDistinct,
  assertGapless,
  assertIncreasing,
  creations,
  issuedOf,
  narrow,
  ordered,
  wide,
} from './examples.ts'

for (const protocol of [2, 3] as const) {
  describe(`ioredis over RESP${protocol}`, () => {
    let server: FahaoServer
    const scope = new Scope()
    before(async () => {
      server = await startFahao(scope)
    })
    after(() => scope.end())

    function connect(t: TestContext, options: RedisOptions = {}, port = server.resp): Redis {
      const client = new Redis({ port, host: '127.0.0.1', protocol, ...options })
      // It reports each lost connection, and this server is stopped under it.
      client.on('error', () => {})
      t.after(() => client.disconnect())
      return client
    }

    test('creates all four kinds, and gets ids of each as text', async (t) => {
      const client = connect(t)
      for (const [command, ...words] of creations) assert.equal(await client.call(command!, words), 'OK')
      for (const [, name] of creations as [string, string][]) {
        const texts = (await client.call('ID.NEXT', name, 'COUNT', 100)) as string[]
        texts.push((await client.call('ID.NEXT', name)) as string)
        assert.equal(texts.length, 101)
        assertDistinct(texts)
        if (!ordered.includes(name)) continue
        assertIncreasing(texts.map((text) => text.replace(/^\D+/, '')))
        // Maps come as flat arrays in both protocols.
        const decoded = (await client.call('ID.DECODE', texts[100]!, name)) as string[]
        assert.equal(await client.get(name), decoded[1])
      }
    })

    test('counts with INCR and INCRBY, and reads with GET and MGET', async (t) => {
      const client = connect(t)
      await client.call('ID.CREATE', 'count', 'KIND', 'sequence')
      assert.equal(await client.incr('count'), 1)
      assert.equal(await client.incrby('count', 10), 11)
      assert.equal(await client.incr('count'), 12)
      assert.equal(await client.get('count'), '12')
      assert.deepEqual(await client.mget('count', 'absent'), ['12', null])
      assert.deepEqual(await client.call('ID.RANGE', 'count', 5), [['13', '18']])
      assert.deepEqual(await client.call('ID.RUNS', 'count', 5), [['18', '1', 5]])
      for (const name of narrow) assert.equal(typeof (await client.incr(name)), 'number')
    })

    test('makes, moves, finds, scans and drops generators by Redis’s names', async (t) => {
      const client = connect(t)
      assert.equal(await client.set('moved', 41, 'NX'), 'OK')
      assert.equal(await client.set('moved', 41, 'NX'), null)
      assert.equal(await client.incr('moved'), 42)
      await assert.rejects(client.set('moved', 41), /^ReplyError: ERR .*42/)
      assert.equal(await client.exists('moved', 'moved', 'absent'), 2)
      const created = Array.from({ length: 25 }, (_, at) => `scan:${at}`).sort()
      await Promise.all(created.map((name) => client.set(name, 0)))
      const found: string[] = []
      for await (const names of client.scanStream({ match: 'scan:*', count: 4 })) found.push(...names)
      assert.deepEqual(found, created)
      assert.equal(await client.del(created), 25)
      assert.equal(await client.exists(created), 0)
    })

    test('gets a snowflake past 2^53 exactly or not at all', async (t) => {
      const client = connect(t)
      for (const name of wide) {
        const before = await issuedOf(server, name)
        const asked: Promise<unknown>[] = [
          client.incr(name),
          client.incrby(name, 1),
          client.call('INCR', name),
          client
            .pipeline()
            .incr(name)
            .exec()
            .then((replies) => replies![0]![0] ?? replies![0]![1]),
        ]
        const replies = await Promise.all(asked.map((reply) => reply.catch((error) => error)))
        if (protocol === 2) {
          for (const reply of replies) assert.match(String(reply), /UNSAFE .*ID\.NEXT/)
          assert.equal(await issuedOf(server, name), before)
        } else {
          assert.deepEqual(
            replies.map((reply) => typeof reply),
            Array(4).fill('string'),
          )
          assertIncreasing(replies as string[])
          assert.equal(await client.get(name), replies[3])
          assert.equal(await issuedOf(server, name), before + 4n)
        }
      }
    })

    test('stringNumbers makes every id text; in RESP2 the server must be told that it is safe', async (t) => {
      const client = connect(t, { stringNumbers: true })
      assert.match(String(await client.incr('order')), /^\d+$/)
      if (protocol === 3) {
        const id = (await client.incr('event')) as unknown
        assert.equal(typeof id, 'string')
        return assert.equal(await client.get('event'), id)
      }
      await assert.rejects(client.incr('event'), /UNSAFE/)
      const trusting = await startFahao(t, {
        args: ['--rounding-guard', 'off', '--auto-create', '*=snowflake'],
      })
      const exact = connect(t, { stringNumbers: true }, trusting.resp)
      const ids: unknown[] = await Promise.all(Array.from({ length: 100 }, () => exact.incr('event')))
      assertIncreasing(ids as string[])
      assert.equal(await exact.get('event'), ids[99])
    })

    test('takes a thousand ids of each kind in one pipeline, in order', async (t) => {
      const client = connect(t)
      for (const name of [...narrow, ...wide]) {
        const pipeline = client.pipeline()
        for (let sent = 0; sent < 1000; sent++) pipeline.call('ID.NEXT', name)
        const texts = (await pipeline.exec())!.map(([error, text]) => {
          assert.equal(error, null)
          return text as string
        })
        assert.equal(texts.length, 1000)
        assertDistinct(texts)
        if (ordered.includes(name)) assertIncreasing(texts.map((text) => text.replace(/^\D+/, '')))
      }
    })

    test('pipelines by itself where it is told to', async (t) => {
      const client = connect(t, { enableAutoPipelining: true })
      const ids = await Promise.all(Array.from({ length: 1000 }, () => client.incr('order')))
      assertIncreasing(ids)
      assertGapless(ids, BigInt(ids[0]!))
    })

    test('a pipeline in which some requests fail gives the ids to the others', async (t) => {
      const client = connect(t)
      const id = await client.incr('order')
      const pipeline = client.pipeline().incr('order').incr('absent').decr('order').eval('return 1', 0)
      const replies = await pipeline.incr('order').exec()
      assert.deepEqual(
        replies!.map(([error, reply]) => error?.message.split(' ')[0] ?? reply),
        [id + 1, 'NOGENERATOR', 'ERR', 'ERR', id + 2],
      )
    })

    test('multi() draws ids in a transaction, and a refused one uses up none', async (t) => {
      const client = connect(t)
      const id = await client.incr('order')
      const replies = await client.multi().incr('order').incr('absent').call('ID.NEXT', 'order').exec()
      assert.deepEqual(
        replies!.map(([error, reply]) => error?.message.split(' ')[0] ?? reply),
        [id + 1, 'NOGENERATOR', `${id + 2}`],
      )
      await assert.rejects(client.multi().incr('order').decr('order').exec(), /^\w+: EXECABORT /)
      await assert.rejects(client.watch('order'), /WATCH is not supported: there is no value to compare/)
      assert.equal(await client.incr('order'), id + 3)
    })

    test('scripts are refused with the way around them', async (t) => {
      const client = connect(t)
      client.defineCommand('twice', { numberOfKeys: 1, lua: "return redis.call('incr', KEYS[1])" })
      const { twice } = client as unknown as { twice: (key: string) => Promise<unknown> }
      await assert.rejects(twice.call(client, 'order'), /EVAL is not supported: .*ID\.NEXT name COUNT n/)
    })

    test('50 connections get every id once', async (t) => {
      const clients = Array.from({ length: 50 }, () => connect(t))
      await clients[0]!.call('ID.CREATE', 'pooled', 'KIND', 'sequence')
      const own = await Promise.all(
        clients.map(async (client) => {
          const ids: number[] = []
          for (let drawn = 0; drawn < 40; drawn++) ids.push(await client.incr('pooled'))
          return ids
        }),
      )
      for (const ids of own) assertIncreasing(ids)
      assertGapless(own.flat(), 1n)
    })

    test('reconnects by itself to a server that was stopped or killed, and goes on above', async (t) => {
      const client = connect(t)
      const id = await client.incr('order')
      const text = (await client.call('ID.NEXT', 'event')) as string
      await server.restart()
      assert.equal(await client.incr('order'), id + 1)
      await server.kill()
      const waiting = client.incr('order')
      await server.restart()
      assertIncreasing([id + 1, await waiting, await client.incr('order')])
      assertIncreasing([text, (await client.call('ID.NEXT', 'event')) as string])
    })
  })
}
