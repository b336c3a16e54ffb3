/** fahao-client while its service is away for seconds and for longer, and comes back. A campaign takes a minute for it. */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { type ClientOptions, connect } from '../../client/src/index.ts'
import { startFahao } from '../launch/fahao.ts'
import { create, secondsOf } from './campaign.ts'
import { ClientLoad, isStrict, type Pulled } from './client-load.ts'
import { clusterEngines } from './cluster-engines.ts'
import { startCluster } from './cluster-nodes.ts'

/** A client that is closed with its test. */
async function connected(t: TestContext, urls: string | readonly string[], options: ClientOptions = {}) {
  const client = await connect(urls, options)
  t.after(() => client.close())
  return client
}

/** For how long the service is away, in ms. */
const awayMs = secondsOf(20, 60) * 1000

/** A service, how it goes away, and how it comes back. */
type Service = {
  readonly urls: { readonly RESP: readonly string[]; readonly HTTP: readonly string[] }
  readonly leave: () => Promise<void>
  readonly comeBack: () => Promise<void>
}

/** One server, which is stopped and started. */
async function oneServer(t: TestContext): Promise<Service> {
  const server = await startFahao(t)
  const admin = await server.connect()
  for (const [name, kind] of Object.entries(kinds)) await create(admin, name, kind)
  return {
    urls: { RESP: [`redis://127.0.0.1:${server.resp}`], HTTP: [server.http] },
    leave: async () => void (await server.kill('SIGTERM')),
    comeBack: () => server.start(),
  }
}

/** Three nodes that keep their connections, and answer nothing. */
async function frozenCluster(t: TestContext): Promise<Service> {
  const cluster = await startCluster(t, await clusterEngines.etcd!(t))
  for (const [name, kind] of Object.entries(kinds)) await cluster.create(name, kind)
  const signal = async (name: 'SIGSTOP' | 'SIGCONT') => {
    for (const { server } of cluster.nodes) server.signal(name)
  }
  return {
    urls: {
      RESP: cluster.ports.map((port) => `redis://127.0.0.1:${port}`),
      HTTP: cluster.nodes.map(({ server }) => server.http),
    },
    leave: () => signal('SIGSTOP'),
    comeBack: () => signal('SIGCONT'),
  }
}

const kinds = { order: 'sequence', stamp: 'timestamp', user: 'segment', event: 'snowflake' }

/**
 * `awayMs` under load. One client of each protocol has ids for longer, and one for less.
 * @param others resolves when all services are ready to leave, so that their outages overlap.
 */
async function outage(t: TestContext, service: Service, others: () => Promise<void>): Promise<void> {
  const load = new ClientLoad(t)
  const names = Object.keys(kinds)
  const start = async (options: ClientOptions) => {
    const { RESP, HTTP } = service.urls
    return [...(await load.start(RESP, names, options)), ...(await load.start(HTTP, names, options))]
  }
  const [enough, few] = [await start({ horizonMs: awayMs + 30_000 }), await start({ horizonMs: 8000 })]
  const buffered = enough.filter((pulled) => !isStrict(pulled))
  const shorter = few.filter((pulled) => !isStrict(pulled))
  // Their rates are known, so that lastsMs is no guess.
  await load.each(1500, shorter)
  while (!buffered.every(({ generator }) => generator.stats().lastsMs > awayMs + 10_000)) await load.each(1)
  await others()
  load.assertNoFailure()

  await service.leave()
  const leftMs = performance.now()
  const promised = shorter.map((pulled) => ({ pulled, had: pulled.count, ...pulled.generator.stats() }))
  await pause(awayMs)
  const failed = (among: readonly Pulled[]) => load.failures.filter(({ of }) => among.includes(of))
  assert.deepEqual(failed(buffered), [], 'ids last')
  const failures = load.failures.length
  assert.ok(failed(few).length > 0)
  for (const { pulled, had, lastsMs, buffered } of promised) {
    const lastedMs = pulled.lastMs - leftMs
    const said = `${pulled.generator.name} lasted ${lastedMs} ms, and was said to last ${lastsMs} ms`
    t.diagnostic(said)
    // On a busy machine the rate may rise when the service needs no time any more: then all that was there is used.
    assert.ok(lastedMs > lastsMs / 2 || pulled.count - had >= buffered, said)
    assert.ok(lastedMs < 2 * lastsMs + 5000, said)
    for (const { error } of failed([pulled])) {
      assert.equal(error.code, 'UNAVAILABLE')
      assert.match(error.message, /^no id of '\w+' is left here.*; retry once it is back$/)
    }
  }
  for (const pulled of [...enough, ...few].filter(isStrict)) {
    assert.ok(failed([pulled]).length > 0)
    for (const { error } of failed([pulled])) assert.equal(error.code, 'UNAVAILABLE', error.message)
  }

  await service.comeBack()
  await load.each(20)
  await load.stop()
  for (const { error } of load.failures) assert.equal(error.code, 'UNAVAILABLE', error.message)
  t.diagnostic(`${load.count} ids, ${failures} calls failed`)
}

// Most of their time they wait, so they wait together.
describe('while the service is away', { concurrency: true }, () => {
  for (const protocol of ['RESP', 'HTTP'] as const) {
    test(`ids last, then one error says so, and they go on once it is back: ${protocol}`, async (t) => {
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

  test('for longer, ids last as long as the client says, and then one error says so', async (t) => {
    const services = await Promise.all([oneServer(t), frozenCluster(t)])
    const ready = new Barrier(services.length)
    await Promise.all(services.map((service) => outage(t, service, () => ready.arrive())))
  })
})

/** A point that all must have reached before one goes on. */
class Barrier {
  readonly #all: Promise<void>
  #missing: number
  #open: () => void = () => {}

  constructor(count: number) {
    this.#missing = count
    this.#all = new Promise((resolve) => {
      this.#open = resolve
    })
  }

  arrive(): Promise<void> {
    if (--this.#missing === 0) this.#open()
    return this.#all
  }
}
