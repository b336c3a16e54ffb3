/** Leaders that are killed under load: how soon another one issues, and whether order holds. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { judge, restOf, roundsOf } from './campaign.ts'
import type { ClusterEngine } from './cluster-engines.ts'
import { type FollowingAsk, FollowingLoad } from './cluster-load.ts'
import { type ClusterOptions, eventually, startCluster } from './cluster-nodes.ts'
import { figuresOf } from './figures.ts'
import { nowUs } from './load.ts'

const strict = ['order', 'stamp']
const asks: readonly FollowingAsk[] = [
  ...Array<FollowingAsk>(3).fill({ generator: 'order', command: ['INCR', 'order'], restMs: restOf(1) }),
  { generator: 'order', command: ['ID.NEXT', 'order', 'COUNT', 20], restMs: restOf(1) },
  { generator: 'stamp', command: ['ID.NEXT', 'stamp'], restMs: restOf(1) },
]

/** Rounds beyond those asked for, while more than half of the recoveries are late. */
const moreRoundsMax = 4

/** The campaign: each round kills the leader of `order`. */
export async function kills(
  t: TestContext,
  name: string,
  engine: ClusterEngine,
  short: number,
  options: ClusterOptions = {},
) {
  const rounds = roundsOf(short, 0.25)
  const cluster = await startCluster(t, engine, options)
  const { leaseMs, vacancyMs } = cluster
  // Small ranges, so that a killed node has a reserve under way.
  await cluster.create('order', 'sequence', 'STEP', '200', 'HORIZON', '100ms')
  await cluster.create('stamp', 'timestamp', 'HORIZON', '100ms')
  const load = new FollowingLoad(t, cluster.ports)
  load.start(asks)
  const journal = load.journal('order')
  const recoveriesMs: number[] = []
  // Where tests share a machine, one recovery may be late; half of them may not.
  const areLate = () => recoveriesMs.filter((ms) => ms > vacancyMs).length * 2 > recoveriesMs.length
  for (let round = 0; round < rounds || (areLate() && round < rounds + moreRoundsMax); round++) {
    await pause(300 + Math.random() * leaseMs * 0.3)
    const leader = await cluster.untilLed('order')
    const killedUs = nowUs()
    await leader.server.kill()
    const from = journal.replies.length
    const first = await eventually('no node took over', async () =>
      [...journal.replies.since(from)].find(({ sentUs }) => sentUs > killedUs),
    )
    recoveriesMs.push((first.receivedUs - killedUs) / 1000)
    await leader.server.start()
    await cluster.untilComplete()
  }
  await load.stop()
  t.diagnostic(
    `${name}, lease ${leaseMs} ms: the first id of the successor after ${figuresOf(recoveriesMs)} ms`,
  )
  t.diagnostic(`errors that clients saw: ${JSON.stringify([...load.errors])}`)
  judge(t, load, strict, { name: `kill -9 of leaders on ${name}`, rounds, recoveriesMs })
  for (const code of load.errors.keys()) assert.ok(retryable.includes(code), load.errorTexts.get(code))
  assert.ok(!areLate(), figuresOf(recoveriesMs))
  assert.ok(Math.max(...recoveriesMs) <= vacancyMs * 2, figuresOf(recoveriesMs))
}

/** Errors that a client of strict kinds may receive while no node leads, or a reserve does not come. */
export const retryable: readonly string[] = ['CLUSTERDOWN', 'DRY', 'UNAVAILABLE', 'UNKNOWN', 'BUSY', 'STALE']
