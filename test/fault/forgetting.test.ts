/** Databases that lose what they had acknowledged, and answers that get lost: noticed, skipped, never repeated. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { startTcpProxy, type TcpProxy } from '../launch/tcp-proxy.ts'
import { create, judge, roundsOf, until } from './campaign.ts'
import { databaseOf, databases, through } from './databases.ts'
import { type Ask, Load } from './load.ts'

/** More than can be issued from what is lost here. */
const gap = 100_000_000
const kinds = ['segment', 'snowflake', 'sequence']
const asks: readonly Ask[] = kinds.flatMap((kind) =>
  Array<Ask>(3).fill({ generator: kind, command: ['ID.NEXT', kind, 'COUNT', kind === 'segment' ? 50 : 1] }),
)

async function startNodes(t: TestContext, engine: string, ...args: string[]): Promise<FahaoServer[]> {
  const nodes = await Promise.all(
    [1, 2, 3].map(() => startFahao(t, { engine, args: ['--log-level', 'warn', ...args] })),
  )
  const client = await nodes[0]!.connect()
  // Ranges that last moments: every second has its reserves.
  for (const kind of kinds)
    await create(client, kind, kind, ...(kind === 'segment' ? ['STEP', '500', 'HORIZON', '200ms'] : []))
  return nodes
}

/** Every generator issues again on every node. */
async function untilAllIssue(nodes: readonly FahaoServer[]): Promise<void> {
  for (const node of nodes) {
    const client = await node.connect()
    for (const kind of kinds) {
      await until(
        () => client.command('ID.NEXT', kind),
        (reply) => typeof reply === 'string',
        30_000,
      )
    }
  }
}

function assertNoticed(nodes: readonly FahaoServer[]): void {
  const noticed = nodes.filter((node) => node.output().includes('the database is not what it was'))
  assert.ok(noticed.length > 0, 'a node has told that the database went back')
}

/** MariaDB restores table by table, and a node that looks half-way finds its worker id forgotten: none does. */
async function restoreUnseen(proxy: TcpProxy, restore: () => Promise<void>): Promise<void> {
  proxy.stall()
  await restore()
  proxy.resume()
}

for (const [name, start] of Object.entries(databases)) {
  describe(`three nodes on a ${name} that forgets`, () => {
    async function startBehindProxy(t: TestContext, ...args: string[]) {
      const database = await start(t)
      const proxy = await startTcpProxy(t, database.port)
      const engine = await database.newDatabase()
      const nodes = await startNodes(t, through(engine, proxy.port), ...args)
      return { database, proxy, engine, nodes }
    }

    it('leave a gap, and repeat nothing, where the reply of a commit is lost', {
      timeout: 900_000,
    }, async (t) => {
      const rounds = roundsOf(10)
      const { proxy, nodes } = await startBehindProxy(t)
      const load = new Load()
      const ports = nodes.map(({ resp }) => resp)
      load.start(ports, asks)
      for (let round = 0; round < rounds; round++) {
        const dropped = proxy.dropReplyOf((request) =>
          /UPDATE fahao_(counters|records)/.test(request.toString('latin1')),
        )
        await dropped.all
        await pause(50)
      }
      await load.stop()
      for (const code of load.errors.keys())
        assert.ok(['DRY', 'UNKNOWN', 'UNAVAILABLE'].includes(code), load.errorTexts.get(code))
      await untilAllIssue(nodes)
      judge(t, load, ['sequence'], { name: `lost replies of ${name}`, rounds })
    })

    it('notice an older dump that is restored under them, and skip what it may have forgotten', {
      timeout: 900_000,
    }, async (t) => {
      const rounds = roundsOf(1, 0.05)
      const { database, engine, proxy, nodes } = await startBehindProxy(t, '--failover-gap', `${gap}`)
      const load = new Load()
      for (let round = 0; round < rounds; round++) {
        // A third loss within ten minutes is left to the operator.
        if (round > 0 && round % 2 === 0) for (const node of nodes) await node.restart()
        load.start(
          nodes.map(({ resp }) => resp),
          asks,
        )
        await untilAllIssue(nodes)
        await pause(1500)
        const dump = await database.dump(databaseOf(engine))
        await pause(2500)
        await restoreUnseen(proxy, () => database.restore(databaseOf(engine), dump))
        await untilAllIssue(nodes)
        await pause(1500)
        await load.stop()
      }
      assertNoticed(nodes)
      judge(t, load, ['sequence'], { name: `a dump restored under ${name}`, rounds })
    })

    it('notice a replica that was promoted without the last writes, and skip those', {
      timeout: 900_000,
    }, async (t) => {
      const primary = await start(t)
      const engine = await primary.newDatabase()
      const replica = await start(t, { replicaOf: primary })
      const proxy = await startTcpProxy(t, primary.port)
      const nodes = await startNodes(t, through(engine, proxy.port), '--failover-gap', `${gap}`)
      const load = new Load()
      load.start(
        nodes.map(({ resp }) => resp),
        asks,
      )
      await untilAllIssue(nodes)
      await pause(1500)
      await replica.catchUp()
      await replica.stopReplicating()
      await pause(1500)
      await primary.kill()
      await replica.promote()
      proxy.retarget(replica.port)
      await untilAllIssue(nodes)
      await pause(1500)
      await load.stop()
      assertNoticed(nodes)
      judge(t, load, ['sequence'], { name: `a replica of ${name} promoted`, rounds: 1 })
    })

    it('reserve nothing without a gap to skip, until somebody advances by hand', {
      timeout: 900_000,
    }, async (t) => {
      const { database, engine, proxy, nodes } = await startBehindProxy(t)
      const load = new Load()
      const ports = nodes.map(({ resp }) => resp)
      load.start(ports, asks)
      await untilAllIssue(nodes)
      await pause(1500)
      const dump = await database.dump(databaseOf(engine))
      await pause(2500)
      await restoreUnseen(proxy, () => database.restore(databaseOf(engine), dump))
      const client = await nodes[1]!.connect()
      await until(
        () => client.command('ID.NEXT', 'sequence'),
        (reply) => (reply as { code?: string }).code === 'REGRESSED',
        15_000,
      )
      const answer = await fetch(`${nodes[2]!.http}/v1/engine/advance`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ by: `${gap}` }),
      })
      assert.equal(answer.status, 200, await answer.text())
      await untilAllIssue(nodes)
      await load.stop()
      judge(t, load, ['sequence'], { name: `a dump restored under ${name}, advanced by hand`, rounds: 1 })
    })
  })
}
