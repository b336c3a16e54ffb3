/** Ranges of a segment for callers, of two servers on SQLite, PostgreSQL and etcd: beside draws, through a kill -9. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startEtcd } from '../launch/etcd.ts'
import type { FahaoServer } from '../launch/fahao.ts'
import { type Lifetime, Scope } from '../launch/lifetime.ts'
import { startPostgres } from '../launch/postgres.ts'
import type { RawClient } from '../launch/raw-client.ts'
import { ReplyError } from '../launch/raw-reply.ts'
import { startTwoServers } from './two-servers.ts'

type Range = { readonly name: string; readonly lease: string; readonly start: bigint; readonly end: bigint }

async function lease(client: RawClient, count: number, name = 'order'): Promise<Range> {
  const reply = await client.command('ID.LEASE', name, 'COUNT', String(count))
  assert.ok(Array.isArray(reply), String(reply instanceof ReplyError ? reply.text : reply))
  const pairs = reply.flatMap((name, index) => (index % 2 === 0 ? [[String(name), reply[index + 1]]] : []))
  const { ranges, lease: token } = Object.fromEntries(pairs)
  const [[start, end]] = ranges
  return { name, lease: String(token), start: BigInt(String(start)), end: BigInt(String(end)) }
}

async function giveBack(client: RawClient, { name, lease: token }: Range, from: bigint): Promise<number> {
  return Number(await client.command('ID.RETURN', name, token, 'FROM', String(from)))
}

function describeRanges(title: string, open: (lifetime: Lifetime) => Promise<string | undefined>): void {
  describe(`ranges that callers lease on ${title}`, () => {
    const scope = new Scope()
    let servers: FahaoServer[] = []
    let clients: RawClient[] = []
    const used = new Set<bigint>()

    const use = (start: bigint, end: bigint) => {
      for (let id = start; id < end; id++) {
        assert.ok(!used.has(id), `${id} is used twice`)
        used.add(id)
      }
    }

    before(async () => {
      const two = await startTwoServers(scope, await open(scope))
      servers = two.servers
      clients = two.clients
      await clients[0]!.command('ID.CREATE', 'order', 'KIND', 'segment', 'STEP', '10')
    })
    after(() => scope.end())

    test('share no id with each other, or with what the servers issue', async () => {
      for (let round = 0; round < 20; round++) {
        const client = clients[round % 2]!
        const range = await lease(client, 30)
        assert.equal(range.end - range.start, 30n)
        const from = range.start + BigInt(round)
        use(range.start, from)
        if (round % 3 === 0) await giveBack(client, range, from)
        for (const each of clients) {
          const ids = await each.command('ID.NEXT', 'order', 'COUNT', '7')
          assert.ok(Array.isArray(ids))
          for (const id of ids) use(BigInt(String(id)), BigInt(String(id)) + 1n)
        }
      }
    })

    test('go back to the server that leased them, while no other reserve has followed', async () => {
      const [one, two] = clients as [RawClient, RawClient]
      // No server draws from it, and so none reserves in between.
      await one.command('ID.CREATE', 'quiet', 'KIND', 'segment')
      const first = await lease(one, 100, 'quiet')
      assert.equal(await giveBack(one, first, first.start + 40n), 1)
      assert.equal(await giveBack(one, first, first.start + 40n), 0)
      const second = await lease(two, 10, 'quiet')
      assert.equal(second.start, first.start + 40n)
      assert.equal(await giveBack(two, first, first.start), 0, 'the other server does not know it')
      const third = await lease(one, 10, 'quiet')
      assert.equal(await giveBack(two, second, second.start), 0)
      assert.ok(third.start >= second.end)
    })

    test('stay their callers’ when the server is killed', async () => {
      const [server] = servers as [FahaoServer]
      const held = await lease(clients[0]!, 50)
      await server.kill()
      const next = await lease(clients[1]!, 50)
      await server.start()
      clients[0] = await server.connect()
      assert.equal(await giveBack(clients[0]!, held, held.start), 0)
      const last = await lease(clients[0]!, 50)
      for (const { start, end } of [held, next, last]) use(start, end)
    })
  })
}

describeRanges('SQLite', async () => undefined)
describeRanges('PostgreSQL', async (lifetime) => (await startPostgres(lifetime)).newDatabase())
describeRanges('etcd', async (lifetime) => (await startEtcd(lifetime)).url('ranges'))
