/** The audit trail of two servers on one store of each kind: each reads what the other has written, within the bound. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { startEtcd } from '../launch/etcd.ts'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import type { Lifetime } from '../launch/lifetime.ts'
import { startPostgres } from '../launch/postgres.ts'
import { asking } from './cli-program.ts'

type Entry = { readonly event: string; readonly object: string; readonly node: string }

const stores: Record<string, (lifetime: Lifetime) => Promise<string>> = {
  PostgreSQL: async (lifetime) => (await startPostgres(lifetime)).newDatabase(),
  etcd: async (lifetime) => (await startEtcd(lifetime)).url('audit'),
}

/** Two records of 32 entries for each part of the trail. */
const bound = 64

/** The changes that a server shows, newest first. */
async function changes(server: FahaoServer, limit = 1000): Promise<Entry[]> {
  const answer = await fetch(`${server.http}/v1/audit?event=set&limit=${limit}`)
  assert.equal(answer.status, 200)
  return ((await answer.json()) as { entries: Entry[] }).entries
}

/** Waits until all servers show an entry about an object, and resolves to what the first one shows. */
async function shown(servers: readonly FahaoServer[], object: string): Promise<Entry[]> {
  for (const server of servers)
    while (!(await changes(server)).some((entry) => entry.object === object)) await pause(20)
  return changes(servers[0]!)
}

for (const [title, open] of Object.entries(stores)) {
  describe(`the audit trail on ${title}`, { timeout: 120_000 }, () => {
    test('is one of all servers, bounded, and is there after a crash and a restart', async (t) => {
      const engine = await open(t)
      const start = () =>
        startFahao(t, { engine, args: ['--audit-max', String(bound)], readyWithinMs: 60_000 })
      const servers = await Promise.all([start(), start()])
      const clients = await Promise.all(servers.map((server) => server.connect()))

      // Both write at the same time, so that they extend the same records.
      const made: string[] = []
      for (let round = 0; round < 10; round++) {
        for (const [index, client] of clients.entries()) {
          made.push(`g:${index}:${round}`)
          assert.equal(await client.command('SET', made.at(-1)!, '5000'), 'OK')
        }
      }
      await shown(servers, made.at(-2)!)
      const entries = await shown(servers, made.at(-1)!)
      assert.deepEqual(entries.map(({ object }) => object).sort(), [...made].sort(), 'each of them once')
      assert.equal(new Set(entries.map(({ node }) => node)).size, 2)
      assert.deepEqual(await changes(servers[1]!), entries)

      // By the command line, a page at a time.
      const run = asking(t, servers[1]!)
      const printed = (await run('audit', '--event', 'set', '--object', 'g:0:*')).stdout
      assert.equal(printed.trim().split('\n').length, 1 + 10)
      const first = await fetch(`${servers[0]!.http}/v1/audit?event=set&limit=15`)
      const page = (await first.json()) as { entries: Entry[]; next: string }
      const rest = `${servers[0]!.http}/v1/audit?event=set&limit=15&after=${encodeURIComponent(page.next)}`
      const { entries: last } = (await (await fetch(rest)).json()) as { entries: Entry[] }
      assert.deepEqual([...page.entries, ...last], entries)

      // A crash of one and a clean stop of the other lose nothing that was shown.
      await Promise.all([servers[0]!.kill('SIGKILL'), servers[1]!.kill('SIGTERM')])
      await Promise.all(servers.map((server) => server.start()))
      for (const server of servers) assert.deepEqual(await changes(server), entries)

      // More than fit: the newest are kept, and the rest gives way.
      const later = await Promise.all(servers.map((server) => server.connect()))
      let kept: Entry[] = []
      for (let round = 0; round < 60; round++) {
        for (const [index, client] of later.entries())
          assert.equal(await client.command('SET', `later:${index}:${round}`, '5000'), 'OK')
        // Servers record what they have at times of their own: what one has recorded must not give way before it is looked for.
        if (round % 10 === 9)
          for (const index of later.keys()) kept = await shown(servers, `later:${index}:${round}`)
      }
      assert.ok(kept.length <= bound && kept.length > bound / 2, `${kept.length} entries`)
      assert.equal(new Set(kept.map(({ object }) => object)).size, kept.length)
      assert.ok(kept.every(({ object }) => object.startsWith('later:')))
      await Promise.all(servers.map((server) => server.restart()))
      for (const server of servers) assert.deepEqual(await changes(server), kept)
    })
  })
}
