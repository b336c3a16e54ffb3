/** Leaderships that are handed over on purpose, under load: what clients see of it. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { Cluster } from 'ioredis'
import { judge, restOf, roundsOf } from './campaign.ts'
import type { ClusterEngine } from './cluster-engines.ts'
import { type FollowingAsk, FollowingLoad, longestWaitMs } from './cluster-load.ts'
import { connectTo, eventually, startCluster, type TestCluster } from './cluster-nodes.ts'
import { figuresOf } from './figures.ts'
import type { Journal } from './journal.ts'
import { nowUs } from './load.ts'
import { startPuller } from './pulled.ts'

const strict = ['order', 'stamp']
const asks: readonly FollowingAsk[] = [
  ...Array<FollowingAsk>(3).fill({ generator: 'order', command: ['INCR', 'order'], restMs: restOf(1) }),
  { generator: 'order', command: ['ID.NEXT', 'order', 'COUNT', 20], restMs: restOf(1) },
  { generator: 'stamp', command: ['ID.NEXT', 'stamp'], restMs: restOf(1) },
]

/** From and until, in µs. */
type Time = readonly [fromUs: number, toUs: number]

/** The campaign: by moves, and every fifth time by demoting the node. */
export async function handOvers(t: TestContext, name: string, engine: ClusterEngine, short: number) {
  const rounds = roundsOf(short, 0.5)
  const cluster = await startCluster(t, engine)
  await cluster.untilSettled()
  await cluster.create('order', 'sequence')
  await cluster.create('stamp', 'timestamp')
  const load = new FollowingLoad(t, cluster.ports)
  load.start(asks)
  const puller = startPuller(t, cluster.ports, load.journal('order'), 'order', 'INCR', 'order')
  const library = pullWithLibrary(cluster, load.journal('order'))
  await pause(500)
  const times = { moves: [] as Time[], demotions: [] as Time[] }
  for (let round = 0; round < rounds; round++) {
    const fromUs = nowUs()
    const way = round % 5 === 2 ? 'demotions' : 'moves'
    await (way === 'moves' ? moveOn(cluster) : demote(cluster))
    await pause(150)
    times[way].push([fromUs, nowUs()])
  }
  const [pulled] = await Promise.all([puller.stop(), load.stop(), library.stop()])
  const longestMs = ([fromUs, toUs]: Time) => longestWaitMs(pulled.waits, fromUs, toUs)
  const { replies } = load.journal('order')
  for (const [way, all] of Object.entries(times))
    t.diagnostic(`${name}: longest wait in each of ${all.length} ${way}: ${figuresOf(all.map(longestMs))} ms`)
  const all = [...times.moves, ...times.demotions].map(longestMs)
  t.diagnostic(`${name}: longest wait in each of all ${rounds}: ${figuresOf(all)} ms`)
  t.diagnostic(`as servers tell it: ${toldBy(cluster)}`)
  t.diagnostic(`ioredis: longest wait ${library.longestMs().toFixed(0)} ms, ${library.count()} ids`)
  const longestChase = Math.max(load.longestChase, pulled.longestChase)
  t.diagnostic(`${load.redirects + pulled.redirects} redirects, at most ${longestChase} in a row`)
  t.diagnostic(`sequence: ${load.journal('order').jumps()} gaps in ${replies.length} replies`)
  judge(t, load, strict, { name: `hand-overs on ${name}`, rounds })
  assert.deepEqual([...load.errorTexts.values(), ...pulled.errors], [], 'errors that raw clients saw')
  assert.deepEqual(library.errors, [], 'errors that ioredis saw')
  assert.equal(load.lostLinks + pulled.lostLinks, 0, 'connections that ended')
  assert.ok(longestChase <= 2, `${longestChase} redirects in a row`)
  // Nearly every hand-over returns the leftover ranges; a slow machine may miss the deadline of a hand-over.
  assert.ok(load.journal('order').jumps() <= Math.ceil(rounds / 2), 'leftover ranges are given back')
  // Loose, for machines that tests share: the figures are in the report.
  assert.ok(Math.max(...all) < 2000, `${figuresOf(all)} ms`)
}

async function moveOn(cluster: TestCluster): Promise<void> {
  const leader = await cluster.untilLed('order')
  const to = cluster.nodes[(cluster.nodes.indexOf(leader) + 1) % cluster.nodes.length]!
  await cluster.move('order', to)
  await eventually('the shard is not led where it was moved to', async () => {
    return (await cluster.leaderOf('order', to)) === to || undefined
  })
}

async function demote(cluster: TestCluster): Promise<void> {
  const leader = await cluster.untilLed('order')
  const client = await connectTo(leader)
  assert.equal(await client.command('CLUSTER', 'FAILOVER'), 'OK')
  await eventually('the node goes on leading', async () => {
    const next = await cluster.leaderOf('order', leader)
    return (next !== undefined && next !== leader) || undefined
  })
  assert.equal(await client.command('CLUSTER', 'FAILOVER', 'TAKEOVER'), 'OK')
  await client.close()
}

/** A library's client of one sequence, as users have it. */
function pullWithLibrary(cluster: TestCluster, journal: Journal) {
  const client = new Cluster(cluster.ports.map((port) => ({ host: '127.0.0.1', port })))
  const errors: string[] = []
  let stopped = false
  let longestUs = 0
  let count = 0
  const pull = async () => {
    while (!stopped) {
      const sentUs = nowUs()
      try {
        const id = BigInt(await client.incr('order'))
        const receivedUs = nowUs()
        journal.add({ ids: [id], sentUs, receivedUs, connection: -1 })
        longestUs = Math.max(longestUs, receivedUs - sentUs)
        count++
        await pause(restOf(0))
      } catch (error) {
        errors.push(String(error))
        await pause(10)
      }
    }
    client.disconnect()
  }
  const running = pull()
  return {
    errors,
    longestMs: () => longestUs / 1000,
    count: () => count,
    async stop() {
      stopped = true
      await running
    },
  }
}

/** The time in which no node could issue, from the logs. */
function toldBy(cluster: TestCluster): string {
  const told = cluster.nodes.flatMap(({ server }) => [
    ...server.output().matchAll(/released in ([\d.]+) ms, written in ([\d.]+) ms/g),
  ])
  const released = figuresOf(told.map(([, ms]) => Number(ms)))
  return `released in ${released} ms, written in ${figuresOf(told.map(([, , ms]) => Number(ms)))} ms`
}
