/** A cluster whose etcd goes away: one member after another, all of them, slow, or out of reach of one node. */
import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { type EtcdCluster, startEtcd } from '../launch/etcd.ts'
import { Scope } from '../launch/lifetime.ts'
import { startProcess } from '../launch/process.ts'
import { judge, restOf, roundsOf, secondsOf } from './campaign.ts'
import { onEtcd } from './cluster-engines.ts'
import { retryable } from './cluster-kill.ts'
import { type FollowingAsk, FollowingLoad } from './cluster-load.ts'
import { defaultLeaseMs, eventually, startCluster, type TestCluster } from './cluster-nodes.ts'
import { figuresOf } from './figures.ts'
import { nowUs } from './load.ts'

const timeout = 1_800_000
const strict = ['order', 'stamp']
const perNode = ['user', 'event']
const strictAsks: readonly FollowingAsk[] = strict.flatMap((generator) =>
  Array<FollowingAsk>(2).fill({ generator, command: ['ID.NEXT', generator], restMs: restOf(1) }),
)
const perNodeAsks: readonly FollowingAsk[] = perNode.flatMap((generator) =>
  Array<FollowingAsk>(3).fill({ generator, command: ['ID.NEXT', generator], restMs: restOf(2), stays: true }),
)

async function loaded(t: TestContext, cluster: TestCluster): Promise<[FollowingLoad, FollowingLoad]> {
  // Clients have not been there for long enough to show how fast ids go: a step that lasts whatever comes.
  for (const [name, kind] of [
    ['order', 'sequence'],
    ['stamp', 'timestamp'],
    ['user', 'segment'],
    ['event', 'snowflake'],
  ])
    await cluster.create(name!, kind!, ...(kind === 'segment' ? ['STEP', '100000'] : []))
  const loads: [FollowingLoad, FollowingLoad] = [
    new FollowingLoad(t, cluster.ports),
    new FollowingLoad(t, cluster.ports),
  ]
  loads[0].start(strictAsks)
  loads[1].start(perNodeAsks)
  // Until each node leads shards and has buffered ids.
  await pause(secondsOf(2000, 5000))
  return loads
}

/** The longest silence of any strict generator in a time, in ms. */
function silenceMs(load: FollowingLoad, fromUs: number): number {
  const toUs = nowUs()
  return Math.max(...strict.map((name) => load.journal(name).silenceMs(fromUs, toUs)))
}

async function judgeBoth(
  t: TestContext,
  [ordered, others]: readonly [FollowingLoad, FollowingLoad],
  name: string,
  recoveriesMs: readonly number[],
): Promise<void> {
  await Promise.all([ordered.stop(), others.stop()])
  t.diagnostic(`errors of strict kinds: ${JSON.stringify([...ordered.errors])}`)
  judge(t, ordered, strict, { name, rounds: recoveriesMs.length, recoveriesMs })
  judge(t, others, [], { name: `${name}: per node`, rounds: recoveriesMs.length })
  for (const code of ordered.errors.keys()) assert.ok(retryable.includes(code), ordered.errorTexts.get(code))
  assert.deepEqual([...others.errorTexts.values()], [], 'no request for an id of a per-node kind has failed')
}

describe('a cluster of three nodes on three members of etcd', { timeout }, () => {
  const scope = new Scope()
  let etcd: EtcdCluster
  before(async () => {
    etcd = await startEtcd(scope, { members: 3 })
  })
  after(() => scope.end())

  test('goes on while each member is frozen, killed and restarted in turn', { timeout }, async (t) => {
    const awayMs = secondsOf(1500, 6000)
    const cluster = await startCluster(t, onEtcd(etcd))
    const loads = await loaded(t, cluster)
    const silencesMs: number[] = []
    const away = async (begin: () => unknown, end: () => unknown) => {
      const fromUs = nowUs()
      await begin()
      await pause(awayMs)
      await end()
      await pause(500)
      silencesMs.push(silenceMs(loads[0], fromUs))
    }
    for (const member of etcd.members) {
      await away(
        () => member.freeze(),
        () => member.thaw(),
      )
      await away(
        () => member.kill(),
        () => member.restart(),
      )
    }
    t.diagnostic(`longest silence while a member was away: ${figuresOf(silencesMs)} ms`)
    await judgeBoth(t, loads, 'members of etcd away in turn', silencesMs)
    assert.ok(Math.max(...silencesMs) <= cluster.vacancyMs * 2, `${silencesMs}`)
  })

  test('parks strict ids and refuses them clearly while all of etcd is down, and issues the others', {
    timeout,
  }, async (t) => {
    const downMs = secondsOf(defaultLeaseMs + 3500, 30_000)
    const cluster = await startCluster(t, onEtcd(etcd))
    await cluster.untilSettled()
    const loads = await loaded(t, cluster)
    const journal = loads[0].journal('order')
    const beganUs = nowUs()
    await Promise.all(etcd.members.map((member) => member.kill()))
    await pause(downMs)
    const { sentUs, receivedUs: lastUs } = journal.replies.at(-1)!
    // What was issued in time may be read late by a process that has other things to do.
    const isInTime =
      (sentUs - beganUs) / 1000 < cluster.leaseMs && (lastUs - beganUs) / 1000 < cluster.leaseMs + 500
    assert.ok(isInTime, 'no node issues past its lease')
    assert.ok((loads[0].errors.get('CLUSTERDOWN') ?? 0) > 0, 'strict requests were refused')
    for (const name of perNode) {
      const silentMs = loads[1].journal(name).silenceMs(beganUs, nowUs())
      assert.ok(silentMs < 2000, `${name} was silent for ${silentMs} ms`)
    }
    const epochs = await epochsOf(cluster)
    await etcd.start()
    const backUs = nowUs()
    const from = journal.replies.length
    await eventually('strict ids do not come back', async () => journal.replies.at(from))
    const backMs = (nowUs() - backUs) / 1000
    t.diagnostic(
      `strict ids for ${((lastUs - beganUs) / 1000).toFixed(0)} ms more, back after ${backMs.toFixed(0)} ms`,
    )
    await cluster.untilSettled()
    assert.deepEqual(await epochsOf(cluster), epochs, 'the same nodes lead again')
    await judgeBoth(t, loads, 'all of etcd down', [backMs])
    assert.ok(backMs <= cluster.vacancyMs, `${backMs}`)
  })

  test('keeps order while syncs of etcd’s leader are slow', { timeout }, async (t) => {
    const cluster = await startCluster(t, onEtcd(etcd))
    const loads = await loaded(t, cluster)
    const leader = await etcd.leader()
    const fromUs = nowUs()
    const strace = await startProcess(t, {
      command: 'strace',
      args: [
        ...['-f', '-p', `${leader.pid}`, '-o', '/dev/null', '-e', 'trace=fsync,fdatasync'],
        ...['-e', 'inject=fsync,fdatasync:delay_enter=150000'],
      ],
      readyWhen: { line: /attached/ },
    })
    await pause(secondsOf(4000, 20_000))
    await strace.kill('SIGINT')
    const slowMs = silenceMs(loads[0], fromUs)
    t.diagnostic(`longest silence with slow syncs: ${slowMs.toFixed(0)} ms`)
    await judgeBoth(t, loads, 'slow syncs of etcd’s leader', [slowMs])
  })

  test('leads on elsewhere when a leader is cut off from etcd, by silence or by resets', {
    timeout,
  }, async (t) => {
    const cluster = await startCluster(t, onEtcd(etcd), { proxied: true })
    const loads = await loaded(t, cluster)
    const silencesMs: number[] = []
    for (let round = 0; round < roundsOf(2, 0.05); round++) {
      const leader = await cluster.untilLed('order')
      const other = cluster.nodes.find((node) => node !== leader)!
      const fromUs = nowUs()
      for (const proxy of leader.proxies) await (round % 2 === 0 ? proxy.stall() : proxy.cut())
      await eventually('no node takes over', async () => {
        const next = await cluster.leaderOf('order', other)
        return (next !== undefined && next !== leader) || undefined
      })
      await pause(300)
      silencesMs.push(silenceMs(loads[0], fromUs))
      for (const proxy of leader.proxies) await (round % 2 === 0 ? proxy.resume() : proxy.restore())
      await cluster.untilComplete()
    }
    t.diagnostic(`longest silence where a leader was cut off: ${figuresOf(silencesMs)} ms`)
    await judgeBoth(t, loads, 'a leader cut off from etcd', silencesMs)
    assert.ok(Math.max(...silencesMs) <= cluster.vacancyMs * 2, `${silencesMs}`)
  })
})

async function epochsOf(cluster: TestCluster): Promise<number[]> {
  const { shards } = await cluster.status(cluster.nodes[0]!)
  return shards.map(({ epoch }) => epoch)
}
