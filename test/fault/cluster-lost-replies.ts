/**
 * Writes of a cluster's records that are carried out and whose answers never arrive: renewals, first records,
 * hand-overs, declarations of death, and what is taken from the dead.
 */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { DroppedReplies } from '../launch/tcp-proxy.ts'
import { judge, restOf, roundsOf } from './campaign.ts'
import type { ClusterEngine } from './cluster-engines.ts'
import { retryable } from './cluster-kill.ts'
import { type FollowingAsk, FollowingLoad } from './cluster-load.ts'
import { type ClusterNode, eventually, startCluster, type TestCluster } from './cluster-nodes.ts'
import { nowUs } from './load.ts'

// One in each of several shards; in `order` the campaign looks for its victims.
const names = ['order', 'invoice', 'user', 'ticket']
const asks: readonly FollowingAsk[] = [...names, 'order', 'order'].map((generator) => ({
  generator,
  command: ['INCR', generator],
  restMs: restOf(1),
}))

type Loss = (cluster: TestCluster) => Promise<DroppedReplies[]>

/** Each by the write whose answer is lost. */
const losses: Readonly<Record<string, Loss>> = {
  'a renewal': async (cluster) => {
    const leader = await cluster.untilLed('order')
    const dropped = drop([leader], 'heartbeat')
    await one(dropped)
    return dropped
  },
  'a hand-over': async (cluster) => {
    const leader = await cluster.untilLed('order')
    const to = cluster.nodes.find((node) => node !== leader)!
    const dropped = drop([leader], 'holder')
    await cluster.move('order', to)
    await eventually('the shard is not handed over', async () => {
      return (await cluster.leaderOf('order', to)) === to || undefined
    })
    // The successor can be told of the write before its answer comes.
    await one(dropped)
    return dropped
  },
  'a death, and what is taken then': async (cluster) => {
    const leader = await cluster.untilLed('order')
    const others = cluster.nodes.filter((node) => node !== leader)
    await leader.server.kill()
    const dropped = [...drop(others, 'deadBy'), ...drop(others, 'holder')]
    await eventually('no node takes over', async () => {
      return (await cluster.leaderOf('order', others[0])) === leader ? undefined : true
    })
    await cluster.untilLed('order', others[0])
    await one(dropped)
    await leader.server.start()
    return dropped
  },
  'a first record': async (cluster) => {
    const leader = await cluster.untilLed('order')
    await leader.server.kill('SIGTERM')
    const dropped = drop([leader], 'joinedMs')
    await leader.server.start()
    await one(dropped)
    return dropped
  },
}

/** A node has a way to each member of etcd, and takes one of them. */
function one(dropped: readonly DroppedReplies[]): Promise<void> {
  return Promise.race(dropped.map(({ all }) => all))
}

/** The campaign: a round is one loss of each sort. */
export async function lostReplies(t: TestContext, name: string, engine: ClusterEngine, short: number) {
  const rounds = roundsOf(short, 0.1)
  const cluster = await startCluster(t, engine, { proxied: true })
  for (const generator of names)
    await cluster.create(generator, 'sequence', 'STEP', '200', 'HORIZON', '100ms')
  const load = new FollowingLoad(t, cluster.ports)
  load.start(asks)
  const lost = new Map(Object.keys(losses).map((what) => [what, 0]))
  const silencesMs: number[] = []
  for (let round = 0; round < rounds; round++) {
    for (const [what, lose] of Object.entries(losses)) {
      await pause(200)
      const fromUs = nowUs()
      const dropped = await lose(cluster)
      lost.set(what, lost.get(what)! + dropped.reduce((sum, { count }) => sum + count, 0))
      await cluster.untilComplete()
      await pause(100)
      const toUs = nowUs()
      silencesMs.push(Math.max(...names.map((each) => load.journal(each).silenceMs(fromUs, toUs))))
    }
  }
  await load.stop()
  t.diagnostic(`answers lost: ${JSON.stringify([...lost])}`)
  t.diagnostic(`longest silences, in turn: ${silencesMs.map((ms) => ms.toFixed(0)).join(', ')} ms`)
  judge(t, load, names, { name: `lost replies of records on ${name}`, rounds, recoveriesMs: silencesMs })
  for (const [what, count] of lost) assert.ok(count > 0, `no answer to ${what} was lost`)
  for (const code of load.errors.keys()) assert.ok(retryable.includes(code), load.errorTexts.get(code))
  // Twice, for machines that tests share.
  assert.ok(Math.max(...silencesMs) <= cluster.vacancyMs * 2, `${silencesMs}`)
}

/** Loses the answer to the next write, by each of these nodes, of a record in which a word stands. */
function drop(nodes: readonly ClusterNode[], word: string): DroppedReplies[] {
  // MariaDB is sent bytes in hexadecimal.
  const hex = Buffer.from(word).toString('hex')
  const matches = (request: Buffer) => request.includes(word) || request.includes(hex)
  return nodes.flatMap(({ proxies }) => proxies.map((proxy) => proxy.dropReplyOf(matches)))
}
