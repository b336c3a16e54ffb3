/** fahao-client while its service is away, comes back, and moves from leader to leader. */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { type ClientOptions, connect } from '../../client/src/index.ts'
import { settled, startCluster, viewOf } from '../integration/cluster-start.ts'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'

/** A client that is closed with its test. */
async function connected(t: TestContext, urls: string | readonly string[], options: ClientOptions = {}) {
  const client = await connect(urls, options)
  t.after(() => client.close())
  return client
}

for (const protocol of ['RESP', 'HTTP'] as const) {
  test(`ids last while the service is away, then one error says so, and they go on once it is back: ${protocol}`, async (t) => {
    const server = await startFahao(t)
    const admin = await server.connect()
    await admin.command('ID.CREATE', 'user', 'KIND', 'segment')
    await admin.command('ID.CREATE', 'event', 'KIND', 'snowflake')
    await admin.command('ID.CREATE', 'order', 'KIND', 'sequence')
    const url = protocol === 'RESP' ? `redis://127.0.0.1:${server.resp}` : server.http
    const client = await connected(t, url, { timeoutMs: 4000 })
    const [user, event, order] = await Promise.all(
      ['user', 'event', 'order'].map((name) => client.generator(name)),
    )
    const ids = new Set<bigint>()
    const take = async () => {
      for (const id of [...(await user!.nextBatch(100)), ...(await event!.nextBatch(100))]) {
        assert.ok(!ids.has(id))
        ids.add(id)
      }
    }
    await take()
    await order!.next()
    await server.kill()
    await take()
    assert.ok(user!.stats().lastsMs > 0 && event!.stats().lastsMs > 30_000)
    await assert.rejects(order!.next(), { code: 'UNAVAILABLE' })
    await assert.rejects(user!.nextBatch(100_000), {
      code: 'UNAVAILABLE',
      message: /no id of 'user' is left/,
    })
    await take()
    await server.start()
    assert.equal((await user!.nextBatch(100_000)).length, 100_000)
    await take()
    assert.ok((await order!.next()) > 1n)
  })
}

describe('in a cluster', () => {
  test('leaders that are killed and stopped are no error to callers, and every sequence stays in order', async (t) => {
    const { nodes } = await startCluster(t, [[], [], []])
    const names = Array.from({ length: 12 }, (_, at) => `order:${at}`)
    const admin = await nodes[0]!.connect()
    for (const name of names) await admin.command('ID.CREATE', name, 'KIND', 'sequence')
    await admin.close()
    const urls = nodes.map(({ resp }) => `redis://127.0.0.1:${resp}`)
    const client = await connected(t, urls, { timeoutMs: 60_000, attemptTimeoutMs: 2000 })
    const load = new Load()
    const running = Promise.all(names.map(async (name) => load.run(await client.generator(name))))
    for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
      const victim = await leaderOf(nodes)
      await load.each(names.length)
      await victim.kill(signal)
      await load.each(names.length)
      await victim.start()
      await settled(nodes)
      await load.each(names.length)
    }
    load.stop()
    await running
  })
})

/** The node that leads the most. */
async function leaderOf(nodes: readonly FahaoServer[]): Promise<FahaoServer> {
  const view = await viewOf(nodes[0]!)
  const [most] = view.nodes.toSorted((a, b) => b.leads - a.leads)
  return nodes.find(({ resp }) => most!.resp.endsWith(`:${resp}`))!
}

/** Callers that take ids one after the other, and check that they increase. */
class Load {
  #stopped = false
  #waiting: { names: Set<string>; count: number; done: () => void } | undefined

  /** Takes ids until it is stopped. Rejects when a call does. */
  async run(generator: { readonly name: string; next(): Promise<bigint> }): Promise<void> {
    for (let last = 0n; !this.#stopped; ) {
      const id = await generator.next()
      assert.ok(id > last, `${generator.name}: ${id} after ${last}`)
      last = id
      this.#waiting?.names.add(generator.name)
      if (this.#waiting !== undefined && this.#waiting.names.size === this.#waiting.count)
        this.#waiting.done()
    }
  }

  /** Resolves when each of so many callers has got an id from now on. */
  each(count: number): Promise<void> {
    return new Promise((done) => {
      this.#waiting = { names: new Set(), count, done }
    })
  }

  stop(): void {
    this.#stopped = true
  }
}
