/** A fleet on one database behind a load balancer: nodes come, go and die, and no id is issued twice. */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { startNginx } from '../launch/nginx.ts'
import { create, judge, restOf, runsOn, secondsOf } from './campaign.ts'
import { databases } from './databases.ts'
import { HttpLoad } from './http-load.ts'

const clients = 200

/** Every kind that a fleet without a cluster offers. */
const generators: readonly (readonly [name: string, ...options: string[]])[] = [
  ['segment', 'segment'],
  ['shuffled', 'segment', 'WITHIN', 'shuffled'],
  ['scrambled', 'segment', 'SCRAMBLE', 'on'],
  ['odd', 'segment', 'INCREMENT', '2', 'OFFSET', '1'],
  ['snowflake', 'snowflake'],
  ['sequence', 'sequence'],
]
const unordered = ['shuffled', 'scrambled']

for (const [database, start] of Object.entries(databases)) {
  if (!runsOn(database, ['PostgreSQL'])) continue
  describe(`a fleet on ${database}`, () => {
    test('issues every kind without a repeat while its nodes are killed, stopped and added', {
      timeout: 600_000,
    }, async (t) => {
      const server = await start(t)
      const engine = await server.newDatabase()
      const nodes = await Promise.all([1, 2, 3].map(() => startNode(t, engine)))
      const client = await nodes[0]!.connect()
      for (const [name, ...options] of generators) await create(client, name, ...options)
      const balancer = await startNginx(t, { http: { backends: nodes.map(({ http }) => http) } })
      const load = new HttpLoad(t)
      const asks = generators.map(([generator]) => ({ generator, count: generator === 'sequence' ? 1 : 10 }))
      load.start(balancer.httpPort, asks, clients, 50 * restOf(0))

      await quarter(load)
      await nodes[1]!.kill('SIGKILL')
      await quarter(load)
      const fourth = await startNode(t, engine)
      await nodes[1]!.start()
      await balancer.reload([...nodes, fourth].map(({ http }) => http))
      await quarter(load)
      await nodes[2]!.kill('SIGTERM')
      await quarter(load)
      await load.stop()

      assert.equal(load.nodes.size, 4, 'every node has answered')
      // What a dead or stopping node had been asked, the balancer asks another: clients notice nothing of it.
      assert.deepEqual([...load.failures], [], 'requests that failed, and how often')
      judge(t, load, ['sequence'], { name: `a fleet on ${database}`, rounds: 1, unordered })
    })
  })
}

/** A quarter of the run, in which every generator must go on. */
async function quarter(load: HttpLoad): Promise<void> {
  const counts = () => generators.map(([name]) => load.journal(name).count)
  const before = counts()
  await pause((secondsOf(8, 60) * 1000) / 4)
  const still = generators.filter((_, at) => counts()[at] === before[at]).map(([name]) => name)
  assert.deepEqual(still, [], 'generators that stood still')
}

function startNode(t: TestContext, engine: string): Promise<FahaoServer> {
  return startFahao(t, { engine, args: ['--log-level', 'warn'] })
}
