/** Plain worker ids of two servers on SQLite, PostgreSQL and etcd: over RESP and HTTP, through a kill -9. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startEtcd } from '../launch/etcd.ts'
import type { FahaoServer } from '../launch/fahao.ts'
import { type Lifetime, Scope } from '../launch/lifetime.ts'
import { startPostgres } from '../launch/postgres.ts'
import type { RawClient } from '../launch/raw-client.ts'
import { ReplyError } from '../launch/raw-reply.ts'
import { startTwoServers } from './two-servers.ts'

type Lease = { readonly worker: number; readonly lease: string; readonly ttlMs: number }

/** The reply to ID.WORKER CLAIM or RENEW in RESP2: names and values in turn. */
function leaseOf(reply: unknown): Lease {
  assert.ok(Array.isArray(reply), String(reply instanceof ReplyError ? reply.text : reply))
  const pairs = reply.flatMap((name, index) => (index % 2 === 0 ? [[String(name), reply[index + 1]]] : []))
  const { worker, lease, ttlMs } = Object.fromEntries(pairs)
  return { worker: Number(worker), lease: String(lease), ttlMs: Number(ttlMs) }
}

async function claimOverHttp(server: FahaoServer, pool: string, query: string): Promise<Lease> {
  const answer = await fetch(`${server.http}/v1/pools/${pool}/workers?${query}`, { method: 'POST' })
  const body = await answer.json()
  assert.equal(answer.status, 200, JSON.stringify(body))
  return body as Lease
}

function describePools(title: string, open: (lifetime: Lifetime) => Promise<string | undefined>): void {
  describe(`plain worker ids on ${title}`, () => {
    const scope = new Scope()
    let servers: FahaoServer[] = []
    let clients: RawClient[] = []

    before(async () => {
      const two = await startTwoServers(scope, await open(scope))
      servers = two.servers
      clients = two.clients
    })
    after(() => scope.end())

    test('are dense and distinct, whichever server and transport is asked', async () => {
      const claims = Array.from({ length: 120 }, async (_, index) => {
        const server = servers[index % 2]!
        if (index % 3 !== 0) return claimOverHttp(server, 'many', `owner=host-${index}`)
        const client = await server.connect()
        const lease = leaseOf(await client.command('ID.WORKER', 'CLAIM', 'many', 'OWNER', `host-${index}`))
        await client.close()
        return lease
      })
      const workers = (await Promise.all(claims)).map(({ worker }) => worker)
      assert.deepEqual(
        workers.sort((a, b) => a - b),
        Array.from({ length: 120 }, (_, id) => id),
      )
    })

    test('are renewed and returned at the other server, and the same owner gets its id again', async () => {
      const [one, two] = clients as [RawClient, RawClient]
      const first = leaseOf(await one.command('ID.WORKER', 'CLAIM', 'pay', 'OWNER', 'a', 'SEEN', '7'))
      const renewed = leaseOf(await two.command('ID.WORKER', 'RENEW', 'pay', first.lease, 'TTL', '90000'))
      assert.deepEqual([renewed.worker, renewed.lease], [0, first.lease])
      assert.ok(renewed.ttlMs > 80_000)
      const again = await claimOverHttp(servers[1]!, 'pay', 'owner=a')
      assert.equal(again.worker, 0)
      const refused = await one.command('ID.WORKER', 'RENEW', 'pay', first.lease)
      assert.ok(refused instanceof ReplyError)
      assert.match(refused.text, /^NOLEASE pool 'pay' has no such lease/)
      const url = `${servers[0]!.http}/v1/pools/pay/workers/${again.lease}`
      for (const returned of [true, false])
        assert.deepEqual(await (await fetch(url, { method: 'DELETE' })).json(), { returned })
    })

    test('outlive the server that leased them', async () => {
      const [server] = servers as [FahaoServer]
      const held = await claimOverHttp(server, 'kill', 'owner=a')
      await server.kill()
      const { lease } = leaseOf(await clients[1]!.command('ID.WORKER', 'RENEW', 'kill', held.lease))
      assert.equal(lease, held.lease)
      const other = leaseOf(await clients[1]!.command('ID.WORKER', 'CLAIM', 'kill', 'OWNER', 'b'))
      assert.equal(other.worker, 1)
      await server.start()
      assert.equal((await claimOverHttp(server, 'kill', 'owner=b')).worker, 1)
    })
  })
}

describePools('SQLite', async () => undefined)
describePools('PostgreSQL', async (lifetime) => (await startPostgres(lifetime)).newDatabase())
describePools('etcd', async (lifetime) => (await startEtcd(lifetime)).url('pools'))
