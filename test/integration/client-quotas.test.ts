/** Snowflakes of fahao-client in namespaces that count ids: on a real server. */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { ClientEvent } from '../../client/src/events.ts'
import { type ClientOptions, connect } from '../../client/src/index.ts'
import { startFahao } from '../launch/fahao.ts'

async function started(t: TestContext, options: ClientOptions = {}) {
  const server = await startFahao(t, { engine: 'memory:' })
  const admin = await server.connect()
  for (const name of ['shop:event', 'mail'])
    assert.equal(await admin.command('ID.CREATE', name, 'KIND', 'snowflake'), 'OK')
  const set = (...limits: string[]) =>
    admin.command('ID.NAMESPACE', 'SET', 'shop', 'MATCH', 'shop:*', ...limits)
  const issued = async () => {
    const reply = (await admin.command('ID.NAMESPACE', 'GET', 'shop')) as unknown[]
    return reply[reply.indexOf('issued') + 1]
  }
  const open = async (url: string) => {
    const client = await connect(url, options)
    t.after(() => client.close())
    return client
  }
  return { server, admin, set, issued, open, resp: `redis://127.0.0.1:${server.resp}` }
}

describe('a client in a namespace that counts ids', { timeout: 60_000 }, () => {
  test('asks for each id of a snowflake, which is counted, over RESP and HTTP', async (t) => {
    const { server, admin, set, issued, open, resp } = await started(t)
    assert.equal(await set('DAILY', '30'), 'OK')
    for (const url of [resp, server.http]) {
      const client = await open(url)
      await client.generator('mail')
      const event = await client.generator('shop:event')
      const ids = [await event.next(), ...(await event.nextBatch(9))]
      assert.equal(new Set(ids).size, 10)
      assert.deepEqual(ids.toSorted(), ids)
      await assert.rejects(event.nextBatch(31), { code: 'LIMIT' })
      assert.equal(event.stats().buffered, 0)
    }
    assert.equal(await issued(), 20n)
    assert.deepEqual(await admin.command('ID.LEASES', 'MATCH', 'shop:*'), [])
  })

  test('follows its namespace from leased time to requests and back, by one renewal', async (t) => {
    const changes: ClientEvent[] = []
    let changed = () => {}
    const onEvent = (event: ClientEvent) => {
      if (event.type !== 'generator-changed') return
      changes.push(event)
      changed()
    }
    const { admin, set, issued, open, resp } = await started(t, { onEvent, horizonMs: 500 })
    const event = await (await open(resp)).generator('shop:event')
    const ids = new Set([await event.next()])
    const untilChanged = async (count: number) => {
      while (changes.length < count) {
        const next = new Promise<void>((resolve) => {
          changed = resolve
        })
        ids.add(await event.next())
        await Promise.race([next, new Promise((resolve) => setTimeout(resolve, 20))])
      }
    }
    assert.equal(await set('DAILY', '1000000'), 'OK')
    await untilChanged(1)
    const before = Number(await issued())
    for (const id of await event.nextBatch(10)) ids.add(id)
    assert.equal(Number(await issued()) - before, 10)
    assert.equal(await admin.command('ID.NAMESPACE', 'DROP', 'shop'), 1n)
    await untilChanged(2)
    assert.ok(event.tryNext() !== undefined, 'ids are here again')
    assert.ok(ids.size > 10)
  })
})
