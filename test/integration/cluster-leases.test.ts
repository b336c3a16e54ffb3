/** Leases of callers in a cluster of three nodes: no lease hangs on the node that gave it, or on a leader. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { connect } from '../../client/src/index.ts'
import { settled, viewOf } from '../launch/cluster.ts'
import { startEtcd } from '../launch/etcd.ts'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { Scope } from '../launch/lifetime.ts'
import type { RawClient } from '../launch/raw-client.ts'
import { type RawReply, ReplyError } from '../launch/raw-reply.ts'

type Lease = {
  readonly kind: string
  readonly lease: string | null
  readonly worker: number
  readonly fromUs: number
  readonly untilUs: number
  readonly ranges: readonly (readonly [string, string])[]
}

function leaseOf(reply: RawReply): Lease {
  assert.ok(Array.isArray(reply), reply instanceof ReplyError ? reply.text : String(reply))
  const pairs = reply.flatMap((name, index) => (index % 2 === 0 ? [[String(name), reply[index + 1]]] : []))
  const { kind, lease, worker, fromUs, untilUs, ranges } = Object.fromEntries(pairs)
  const text = lease === null ? null : String(lease)
  return {
    kind: String(kind),
    lease: text,
    worker: Number(worker),
    fromUs: Number(fromUs),
    untilUs: Number(untilUs),
    ranges,
  }
}

const renewal = ({ lease, untilUs }: Lease) =>
  ['ID.RENEW', 'event', lease!, 'UNTIL', String(untilUs), 'TTL', '900000'] as const

describe('leases of callers in a cluster', { timeout: 120_000 }, () => {
  const scope = new Scope()
  const servers: FahaoServer[] = []
  let clients: RawClient[] = []
  /** By worker leases of each node. */
  const leases: Lease[][] = []
  const ranges: (readonly [bigint, bigint])[] = []
  /** The leader of the sequence when the tests begin. */
  let leader = 0

  const rangeFrom = async (client: RawClient) => {
    const given = leaseOf(await client.command('ID.LEASE', 'user', 'COUNT', '500'))
    for (const [start, end] of given.ranges) ranges.push([BigInt(start), BigInt(end)])
    return given
  }

  before(async () => {
    const engine = (await startEtcd(scope)).url('leases')
    // The third one forwards requests to leaders; the others answer MOVED.
    const args = [[], [], ['--forward']].map((own) => ['--cluster', 'ids', '--shards', '1', ...own])
    servers.push(...(await Promise.all(args.map((own) => startFahao(scope, { engine, args: own })))))
    await settled(servers)
    clients = await Promise.all(servers.map((server) => server.connect()))
    for (const [name, kind] of Object.entries({ order: 'sequence', user: 'segment', event: 'snowflake' }))
      assert.equal(await clients[0]!.command('ID.CREATE', name, 'KIND', kind), 'OK')
    const { nodes, shards } = await viewOf(servers[0]!)
    const { resp } = nodes.find(({ id }) => id === shards[0]!.leader)!
    leader = servers.findIndex((server) => resp.endsWith(`:${server.resp}`))
    assert.ok(leader >= 0)
  })
  after(() => scope.end())

  test('are given by every node, and no request for one is sent to a leader', async () => {
    for (const client of clients) {
      const strict = leaseOf(await client.command('ID.LEASE', 'order'))
      assert.deepEqual([strict.kind, strict.lease], ['sequence', null])
      await rangeFrom(client)
      const own = []
      for (let each = 0; each < 3; each++)
        own.push(leaseOf(await client.command('ID.LEASE', 'event', 'TTL', '60000')))
      leases.push(own)
      assert.equal(await client.command('MULTI'), 'OK')
      assert.equal(await client.command('ID.LEASE', 'order'), 'QUEUED')
      const [queued] = (await client.command('EXEC')) as RawReply[]
      assert.equal(leaseOf(queued!).kind, 'sequence')
    }
    assert.equal(new Set(leases.flat().map(({ worker }) => worker)).size, 9)
  })

  test('stay their holders’ when the leader, which gave them, is killed: the others renew and return them at once', async () => {
    const range = await rangeFrom(clients[leader]!)
    await servers[leader]!.kill()
    const others = clients.filter((_, index) => index !== leader)
    const [one, two] = others as [RawClient, RawClient]
    // There is no leader yet: it has been dead for a moment only.
    for (const client of others) {
      const strict = leaseOf(await client.command('ID.LEASE', 'order'))
      assert.deepEqual([strict.kind, strict.lease], ['sequence', null])
    }
    const [first, second] = leases[leader] as [Lease, Lease]
    const renewed = leaseOf(await one.command(...renewal(first)))
    assert.deepEqual([renewed.worker, renewed.fromUs], [first.worker, first.fromUs])
    assert.ok(renewed.untilUs > first.untilUs)
    const refused = await two.command(...renewal(first))
    assert.ok(refused instanceof ReplyError && refused.text.startsWith('NOLEASE'))
    const words = ['ID.RETURN', 'event', second.lease!, 'FROM', String(second.fromUs)]
    assert.equal(await two.command(...words, 'UNTIL', String(second.untilUs)), 1n)
    assert.equal(await one.command('ID.RETURN', 'user', range.lease!, 'FROM', range.ranges[0]![0]), 0n)
    for (const client of others) await rangeFrom(client)
  })

  test('go on through the change of the leader and the restart of the node, without a repeated id', async (t) => {
    const urls = servers.map(({ resp }) => `redis://127.0.0.1:${resp}`)
    const client = await connect(urls, { horizonMs: 500, timeoutMs: 60_000 })
    t.after(() => client.close())
    const issued = new Map<string, Set<bigint>>()
    const draw = async (name: string) => {
      const id = await (await client.generator(name)).next()
      const ids = issued.get(name) ?? new Set()
      issued.set(name, ids)
      assert.ok(!ids.has(id), `${name} has issued ${id} twice`)
      ids.add(id)
    }
    // The strict one waits for the successor of the leader.
    const strict = draw('order')
    for (let each = 0; each < 20_000; each++) await Promise.all([draw('user'), draw('event')])
    await strict
    await servers[leader]!.start()
    await settled(servers)
    clients[leader] = await servers[leader]!.connect()
    for (let each = 0; each < 100; each++) await Promise.all(['order', 'user', 'event'].map(draw))
    for (const each of clients) await rangeFrom(each)
    for (const [start, end] of ranges)
      for (const id of issued.get('user')!) assert.ok(id < start || id >= end, `${id} is in a leased range`)
    ranges.sort(([a], [b]) => Number(a - b))
    for (const [index, [start]] of ranges.entries()) assert.ok(index === 0 || ranges[index - 1]![1] <= start)
    const third = leases[leader]![2]!
    const renewed = leaseOf(await clients[leader]!.command(...renewal(third)))
    assert.deepEqual([renewed.worker, renewed.fromUs], [third.worker, third.fromUs])
  })
})
