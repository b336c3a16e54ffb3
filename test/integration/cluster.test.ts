/** A cluster of three servers on etcd: which server answers, in which order, and what happens when one stops. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { settled } from '../launch/cluster.ts'
import { startEtcd } from '../launch/etcd.ts'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { type Lifetime, Scope } from '../launch/lifetime.ts'
import type { RawClient } from '../launch/raw-client.ts'
import { type RawReply, ReplyError } from '../launch/raw-reply.ts'

const leaseTtlMs = 3000
const flags = ['--cluster', 'ids', '--shards', '4', '--lease-ttl', `${leaseTtlMs}ms`]

/** The servers of one cluster, and a client that follows redirects as cluster-aware ones do. */
class Three {
  readonly servers: FahaoServer[] = []
  readonly #lifetime: Lifetime
  readonly #clients = new Map<number, RawClient>()
  readonly #slots = new Map<string, number>()

  constructor(lifetime: Lifetime) {
    this.#lifetime = lifetime
  }

  async start(engine: string): Promise<void> {
    this.servers.push(
      ...(await Promise.all([1, 2, 3].map(() => startFahao(this.#lifetime, { engine, args: flags })))),
    )
    await settled(this.servers)
  }

  get alive(): FahaoServer[] {
    return this.servers.filter(({ process }) => process.exit() === undefined)
  }

  /** One command to one server. */
  async ask(port: number, ...command: string[]): Promise<RawReply> {
    const server = this.servers.find(({ resp }) => resp === port)!
    const client = this.#clients.get(port) ?? (await server.connect())
    this.#clients.set(port, client)
    try {
      return await client.command(...command)
    } catch (error) {
      this.#clients.delete(port)
      throw error
    }
  }

  /** Who leads a generator, as one of the servers says. */
  async leaderOf(name: string): Promise<FahaoServer> {
    for (const server of this.alive) {
      const reply = await this.ask(server.resp, 'INCR', name)
      if (typeof reply === 'bigint') return server
    }
    throw new Error(`no node issues ids of ${name}`)
  }

  /** The next id, wherever it comes from, however long it takes. */
  async next(name: string): Promise<bigint> {
    for (;;) {
      const alive = this.alive
      const port = this.#slots.get(name) ?? alive[Math.floor(Math.random() * alive.length)]!.resp
      const reply = await this.ask(port, 'INCR', name).catch((error: unknown) => error)
      if (typeof reply === 'bigint') return reply
      if (reply instanceof ReplyError && reply.code === 'MOVED')
        this.#slots.set(name, Number(reply.text.split(':').at(-1)))
      else this.#slots.delete(name)
      if (!(reply instanceof ReplyError && reply.code === 'MOVED')) await pause(5)
    }
  }
}

/** Nothing was issued twice, and nothing out of order. */
class Ids {
  readonly #three: Three
  readonly #last = new Map<string, bigint>()

  constructor(three: Three) {
    this.#three = three
  }

  async issue(count: number): Promise<void> {
    for (let each = 0; each < count; each++) {
      for (const name of ['order', 'ts']) {
        const id = await this.#three.next(name)
        const last = this.#last.get(name) ?? 0n
        assert.ok(id > last, `${name}: ${id} came after ${last}`)
        this.#last.set(name, id)
      }
    }
  }
}

describe('three nodes on etcd', { timeout: 120_000 }, () => {
  const scope = new Scope()
  const three = new Three(scope)
  const ids = new Ids(three)

  before(async () => {
    await three.start((await startEtcd(scope)).url('cluster'))
    for (const [name, of] of Object.entries({ order: 'sequence', ts: 'timestamp', user: 'segment' }))
      assert.equal(await three.ask(three.servers[0]!.resp, 'ID.CREATE', name, 'KIND', of), 'OK')
  })

  after(() => scope.end())

  test('send clients of strict kinds to the leader, and answer for the others anywhere', async () => {
    const leader = await three.leaderOf('order')
    const there = new RegExp(`^MOVED \\d+ 127\\.0\\.0\\.1:${leader.resp}$`)
    for (const server of three.servers) {
      assert.equal(typeof (await three.ask(server.resp, 'INCR', 'user')), 'bigint')
      for (const command of [['INCR'], ['GET'], ['ID.NEXT'], ['ID.RANGE', '5'], ['ID.RUNS', '5']]) {
        const [word, ...rest] = command as [string, ...string[]]
        const reply = await three.ask(server.resp, word, 'order', ...rest)
        if (server === leader) assert.ok(!(reply instanceof ReplyError), String(reply))
        else assert.match((reply as ReplyError).text, there)
      }
    }
  })

  test('issue in strict order through kill -9 of the leader, whose successor is there within a lease', async () => {
    await ids.issue(100)
    const leader = await three.leaderOf('order')
    const killedAt = performance.now()
    await leader.kill()
    await ids.issue(1)
    const tookMs = performance.now() - killedAt
    // Time to live, margin, and much for a machine that has other things to do.
    assert.ok(tookMs < leaseTtlMs * 1.1 + 5000, `the first id came after ${tookMs} ms`)
    await ids.issue(100)
    await leader.start()
    await settled(three.servers)
    await ids.issue(50)
  })

  test('lose no id when a leader is stopped: its successor goes on with the next', async () => {
    const leader = await three.leaderOf('order')
    const newest = String(await three.ask(leader.resp, 'GET', 'order'))
    await leader.kill('SIGTERM')
    assert.equal(await three.next('order'), BigInt(newest) + 1n)
    await leader.start()
    await settled(three.servers)
  })

  test('take changes of a generator on any node', async () => {
    const [one] = three.servers
    const { resp } = one!
    assert.equal(await three.ask(resp, 'ID.ALTER', 'order', 'INCREMENT', '10'), 'OK')
    let newest = await three.next('order')
    // The leader may be another node, which goes on as before until it hears of it, and then above all that was reserved.
    for (let by = 0n; by !== 10n; ) {
      const next = await three.next('order')
      by = next - newest
      assert.ok(by > 0n, `${next} after ${newest}`)
      newest = next
    }
    assert.equal(await three.ask(resp, 'ID.DROP', 'order'), 1n)
    assert.equal(await three.ask(resp, 'ID.CREATE', 'order', 'KIND', 'sequence'), 'OK')
    const [first, second] = [await three.next('order'), await three.next('order')]
    assert.ok(first > newest && second > first)
  })

  test('refuse to be joined by a node that was not told of the cluster', async () => {
    const alone = startFahao(scope, { engine: three.servers[0]!.engine })
    await assert.rejects(alone, /start this node with --cluster ids --shards 4/)
  })
})
