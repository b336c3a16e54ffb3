/** Worker leases of two servers on SQLite, PostgreSQL and etcd: holders that change at both of them, copies, lost replies, a kill -9. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startEtcd } from '../launch/etcd.ts'
import type { FahaoServer } from '../launch/fahao.ts'
import { type Lifetime, Scope } from '../launch/lifetime.ts'
import { startPostgres } from '../launch/postgres.ts'
import { RawClient } from '../launch/raw-client.ts'
import { ReplyError } from '../launch/raw-reply.ts'
import { startTcpProxy } from '../launch/tcp-proxy.ts'
import { startTwoServers } from './two-servers.ts'

type Lease = {
  readonly lease: string
  readonly incarnation: string
  readonly worker: number
  readonly fromUs: number
  readonly untilUs: number
  readonly nowUs: number
}

/** Time of one worker id that one holder may have used. */
type Used = { readonly worker: number; readonly fromUs: number; readonly untilUs: number }

/** Time has the same place in all of them. */
const layoutOf = (nodeBits: number) =>
  `time:41,node:${nodeBits},sequence:${22 - nodeBits};epoch=2026-01-01T00:00:00Z`
const longMs = '900000'

/** The lease in a reply; undefined: all worker ids are taken. */
function leaseOf(reply: unknown): Lease | undefined {
  if (reply instanceof ReplyError && reply.text.startsWith('EXHAUSTED')) return undefined
  assert.ok(Array.isArray(reply), String(reply instanceof ReplyError ? reply.text : reply))
  const pairs = reply.flatMap((name, index) => (index % 2 === 0 ? [[String(name), reply[index + 1]]] : []))
  const { lease, incarnation, worker, fromUs, untilUs, nowUs } = Object.fromEntries(pairs)
  const [from, until, now] = [fromUs, untilUs, nowUs].map(Number) as [number, number, number]
  return { lease, incarnation, worker: Number(worker), fromUs: from, untilUs: until, nowUs: now }
}

async function claim(client: RawClient, name: string, ttlMs = '60000'): Promise<Lease> {
  for (;;) {
    const lease = leaseOf(await client.command('ID.LEASE', name, 'TTL', ttlMs))
    if (lease !== undefined) return lease
  }
}

function renewal(name: string, { lease, untilUs }: Lease, ttlMs: string): string[] {
  return ['ID.RENEW', name, lease, 'UNTIL', String(untilUs), 'TTL', ttlMs]
}

function giveBack(client: RawClient, { lease, untilUs }: Lease, fromUs: number): Promise<unknown> {
  return client.command('ID.RETURN', 'event', lease, 'FROM', String(fromUs), 'UNTIL', String(untilUs))
}

async function refusal(client: RawClient, words: readonly string[]): Promise<string> {
  const reply = await client.command(...words)
  assert.ok(reply instanceof ReplyError, 'an error is expected')
  return reply.text
}

function describeLeases(title: string, open: (lifetime: Lifetime) => Promise<string | undefined>): void {
  describe(`worker leases on ${title}`, () => {
    const scope = new Scope()
    let servers: FahaoServer[] = []
    let clients: RawClient[] = []
    const leases: Lease[] = []

    before(async () => {
      const two = await startTwoServers(scope, await open(scope))
      servers = two.servers
      clients = two.clients
      for (const [name, nodeBits] of [
        ['few', 2],
        ['event', 6],
      ] as const)
        await clients[0]!.command('ID.CREATE', name, 'KIND', 'snowflake', 'LAYOUT', layoutOf(nodeBits))
    })
    after(() => scope.end())

    test('never share a moment of one worker id, while holders come, renew, stop and crash at both servers', async () => {
      const used: Used[] = []
      const hold = async (holder: number) => {
        const both = await Promise.all(servers.map((server) => server.connect()))
        for (let round = 0; round < 8; round++) {
          // Six holders for the three worker ids that the layout has for callers.
          const [one, other] = [both[(holder + round) % 2]!, both[(holder + round + 1) % 2]!]
          if (round === holder) {
            // It crashes: the worker id rests for its span, a second.
            used.push(await claim(one, 'few', '1000'))
            continue
          }
          const held = await claim(one, 'few')
          const renewed = leaseOf(await other.command(...renewal('few', held, '90000')))!
          const stoppedUs = Math.max(renewed.nowUs, renewed.fromUs) + 1000
          assert.equal(await giveBack(one, renewed, stoppedUs), 1n)
          used.push({ ...held, untilUs: stoppedUs })
        }
      }
      await Promise.all([0, 1, 2, 3, 4, 5].map(hold))
      assert.equal(used.length, 48)
      for (const [index, a] of used.entries())
        for (const b of used.slice(0, index))
          assert.ok(
            a.worker !== b.worker || a.untilUs <= b.fromUs || b.untilUs <= a.fromUs,
            `${JSON.stringify(a)} and ${JSON.stringify(b)} share time`,
          )
    })

    test('are all different when many are claimed of both servers at once, and then there is none left', async () => {
      const claims = Array.from({ length: 63 }, async (_, index) =>
        claim(await servers[index % 2]!.connect(), 'event', longMs),
      )
      leases.push(...(await Promise.all(claims)))
      assert.equal(new Set(leases.map(({ worker }) => worker)).size, 63)
      assert.match(await refusal(clients[1]!, ['ID.LEASE', 'event']), /^EXHAUSTED all 63 worker ids/)
      // The lowest is left to a server.
      assert.ok(leases.every(({ worker }) => worker > 0))
      assert.equal(typeof (await clients[0]!.command('ID.NEXT', 'event')), 'string')
    })

    test('go to one of two copies of a holder: the other neither renews nor returns', async () => {
      const [one, two] = clients as [RawClient, RawClient]
      const held = leases.pop()!
      const renewed = leaseOf(await one.command(...renewal('event', held, longMs)))!
      assert.match(await refusal(two, renewal('event', held, longMs)), /^NOLEASE/)
      assert.equal(await giveBack(two, held, held.fromUs), 0n)
      const again = leaseOf(await two.command(...renewal('event', renewed, longMs)))!
      assert.deepEqual([again.worker, again.fromUs], [held.worker, held.fromUs])
      assert.equal(await giveBack(one, again, again.fromUs), 1n)
      assert.equal(await giveBack(two, again, again.fromUs), 1n, 'repeated')
      assert.match(await refusal(two, renewal('event', again, longMs)), /^NOLEASE/)
    })

    test('get more time for one of two copies that renew at the same moment at both servers', async () => {
      const [one, two] = clients as [RawClient, RawClient]
      let held = leases.pop()!
      let lengthened = 0
      for (let round = 0; round < 10; round++) {
        const words = renewal('event', held, longMs)
        const replies = await Promise.all([one.command(...words), two.command(...words)])
        for (const reply of replies) if (reply instanceof ReplyError) assert.match(reply.text, /^NOLEASE/)
        const granted = replies
          .filter((reply) => !(reply instanceof ReplyError))
          .map((reply) => leaseOf(reply)!)
        assert.ok(granted.length > 0)
        assert.ok(granted.every(({ worker, untilUs }) => worker === held.worker && untilUs >= held.untilUs))
        // A server whose clock is behind that of the other confirms the span as it is: that is no more time.
        const longer = granted.filter(({ untilUs }) => untilUs > held.untilUs)
        assert.ok(longer.length <= 1)
        held = longer[0] ?? held
        lengthened += longer.length
      }
      assert.ok(lengthened > 0)
    })

    test('end where the reply to a renewal was lost, and stay the holder’s until its span has passed', async () => {
      const [one, two] = clients as [RawClient, RawClient]
      const proxy = await startTcpProxy(scope, servers[0]!.resp)
      const held = leases.pop()!
      const isListed = async () => {
        const listed = (await two.command('ID.LEASES', 'MATCH', 'event')) as unknown[][]
        return listed.find((each) => each[1] === BigInt(held.worker))!.includes(BigInt(held.untilUs))
      }
      for (const [ttlMs, isExtended] of [
        ['1000', false],
        [longMs, true],
      ] as const) {
        const lost = proxy.dropReplyOf((request) => request.includes('ID.RENEW'))
        const client = await RawClient.connect(proxy.port, scope)
        await assert.rejects(client.command(...renewal('event', held, ttlMs)))
        await lost.all
        assert.equal(await isListed(), !isExtended)
        if (isExtended) assert.match(await refusal(two, renewal('event', held, ttlMs)), /^NOLEASE/)
        else assert.equal(leaseOf(await two.command(...renewal('event', held, ttlMs)))?.untilUs, held.untilUs)
      }
      assert.equal(await giveBack(one, held, held.fromUs), 0n, 'it rests')
    })

    test('are renewed and given back by the other server, also after the first was killed', async () => {
      const [held, returned] = leases as [Lease, Lease]
      await servers[0]!.kill()
      const other = clients[1]!
      const renewed = leaseOf(await other.command(...renewal('event', held, longMs)))!
      assert.deepEqual([renewed.worker, renewed.fromUs], [held.worker, held.fromUs])
      assert.ok(renewed.untilUs > held.untilUs)
      assert.equal(await giveBack(other, returned, returned.fromUs), 1n)
      await servers[0]!.start()
      clients[0] = await servers[0]!.connect()
      assert.equal(await giveBack(clients[0]!, returned, returned.fromUs), 1n, 'repeated')
      // Two are free: this one, and that of the copies.
      const next = [await claim(clients[0]!, 'event', longMs), await claim(clients[0]!, 'event', longMs)]
      const again = next.find(({ worker }) => worker === returned.worker)!
      assert.ok(again.fromUs >= returned.fromUs)
      leases.splice(0, 2, ...next)
    })

    test('permit no time of an incarnation below the spans of the one before', async () => {
      const latestUs = Math.max(...leases.map(({ untilUs }) => untilUs))
      await clients[1]!.command('ID.ALTER', 'event', 'LAYOUT', layoutOf(7))
      const renewed = leaseOf(await clients[0]!.command(...renewal('event', leases[2]!, '60000')))!
      assert.equal(renewed.incarnation, '2')
      assert.ok(renewed.fromUs >= latestUs && renewed.untilUs > renewed.fromUs)
    })
  })
}

describeLeases('SQLite', async () => undefined)
describeLeases('PostgreSQL', async (lifetime) => (await startPostgres(lifetime)).newDatabase())
describeLeases('etcd', async (lifetime) => (await startEtcd(lifetime)).url('leases'))
