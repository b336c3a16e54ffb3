/**
 * Leaders that are stopped past their lease under load, with a reserve on its way to the engine, and go on when
 * another one leads. A reply that was checked before the stop and arrives after it overlaps everything in between:
 * its client waited all the while, and the journal says so.
 */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { systemClock } from '../../src/base/clock.ts'
import type { Engine } from '../../src/engine/engine.ts'
import { openEngine } from '../../src/engine/open.ts'
import type { RawClient } from '../launch/raw-client.ts'
import { ReplyError } from '../launch/raw-reply.ts'
import { judge, restOf, roundsOf } from './campaign.ts'
import type { ClusterEngine } from './cluster-engines.ts'
import { retryable } from './cluster-kill.ts'
import { type FollowingAsk, FollowingLoad } from './cluster-load.ts'
import {
  type ClusterNode,
  type ClusterOptions,
  connectTo,
  eventually,
  startCluster,
  type TestCluster,
} from './cluster-nodes.ts'
import { nowUs } from './load.ts'

const patient: FollowingAsk = { generator: 'order', command: ['INCR', 'order'], restMs: restOf(1) }
const asks: readonly FollowingAsk[] = [
  ...Array<FollowingAsk>(3).fill(patient),
  ...Array<FollowingAsk>(3).fill({ ...patient, patienceMs: 300 }),
  { generator: 'order', command: ['ID.NEXT', 'order', 'COUNT', 20], restMs: restOf(1), patienceMs: 300 },
  { generator: 'stamp', command: ['ID.NEXT', 'stamp'], restMs: restOf(1), patienceMs: 300 },
]
/** In the shard of `order`, and asked for by the campaign alone. */
const quiet = '{order}quiet'
let visitors = 0

/** The campaign: each round stops the leader of `order` past its lease. */
export async function zombies(
  t: TestContext,
  name: string,
  engine: ClusterEngine,
  short: number,
  options: ClusterOptions = {},
) {
  const rounds = roundsOf(short, 0.25)
  const cluster = await startCluster(t, engine, { ...options, proxied: true })
  await cluster.create('order', 'sequence', 'STEP', '200', 'HORIZON', '100ms')
  await cluster.create('stamp', 'timestamp', 'HORIZON', '100ms')
  await cluster.create(quiet, 'sequence', 'STEP', '10', 'STEPMAX', '10')
  const store = await openEngine(cluster.engine, {
    clock: systemClock,
    callTimeoutMs: 10_000,
    onEvent() {},
  })
  const load = new FollowingLoad(t, cluster.ports)
  const recoveriesMs: number[] = []
  try {
    load.start(asks)
    for (let round = 0; round < rounds; round++) {
      await pause(300)
      recoveriesMs.push(await oneStop(cluster, load, store))
    }
    await load.stop()
  } finally {
    await store.close()
  }
  t.diagnostic(`errors that clients saw: ${JSON.stringify([...load.errors])}`)
  judge(t, load, ['order', 'stamp', quiet], { name: `zombies on ${name}`, rounds, recoveriesMs })
  for (const code of load.errors.keys()) assert.ok(retryable.includes(code), load.errorTexts.get(code))
}

/** Resolves to how long the others took to issue again, in ms. */
async function oneStop(cluster: TestCluster, load: FollowingLoad, store: Engine): Promise<number> {
  const zombie = await cluster.untilLed('order')
  const others = cluster.nodes.filter((node) => node !== zombie)
  const journal = load.journal('order')
  const early = await askFor(zombie, quiet, 1)
  await early.answered
  for (const proxy of zombie.proxies) proxy.stall()
  // More than it has buffered, so its reserve is on the way and does not arrive.
  const stuck = await askFor(zombie, quiet, 500)
  await pause(20)
  zombie.server.signal('SIGSTOP')
  const stoppedUs = nowUs()
  const from = journal.replies.length
  const first = await eventually('no node took over', async () =>
    [...journal.replies.since(from)].find(({ sentUs }) => sentUs > stoppedUs),
  )
  const successor = await eventually('the others do not hear of the successor', async () => {
    const leader = await cluster.leaderOf('order', others[0])
    return leader === zombie ? undefined : leader
  })
  await note(load, quiet, await askFor(successor, quiet, 1))
  // Requests that find it stopped, after others have been answered elsewhere.
  const late = await Promise.all([askFor(zombie, 'order', 1), askFor(zombie, quiet, 1)])
  const before = await store.counter(`generators/${quiet}`)
  for (const proxy of zombie.proxies) proxy.resume()
  await pause(100)
  zombie.server.signal('SIGCONT')
  await note(load, quiet, stuck)
  await note(load, 'order', late[0]!)
  await note(load, quiet, late[1]!)
  await eventually('the zombie does not come back', async () => {
    const { leaseLeftMs, nodes } = await cluster.status(zombie)
    return (leaseLeftMs > 0 && nodes.length === 3) || undefined
  })
  const after = await store.counter(`generators/${quiet}`)
  if (!late[1]!.issued && !stuck.issued)
    assert.deepEqual(after, before, 'a reserve of the zombie was carried out')
  return (first.receivedUs - stoppedUs) / 1000
}

type Visit = {
  readonly client: RawClient
  readonly sentUs: number
  readonly answered: Promise<unknown>
  issued?: true
}

/** Asks one node, on a connection of its own. */
async function askFor(node: ClusterNode, generator: string, count: number): Promise<Visit> {
  const client = await connectTo(node)
  const sentUs = nowUs()
  return { client, sentUs, answered: client.command('ID.NEXT', generator, 'COUNT', count) }
}

/** Waits for the answer, and has it judged if it holds ids. */
async function note(load: FollowingLoad, generator: string, visit: Visit): Promise<void> {
  const reply = await visit.answered
  const receivedUs = nowUs()
  await visit.client.close()
  if (reply instanceof ReplyError) return
  visit.issued = true
  const ids = [reply].flat().map((id) => BigInt(id as string))
  load.journal(generator).add({ ids, sentUs: visit.sentUs, receivedUs, connection: -++visitors })
}
