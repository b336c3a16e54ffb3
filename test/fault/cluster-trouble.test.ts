/**
 * A cluster whose clocks jump, whose nodes do not reach each other, and whose generators are dropped, recreated and
 * altered on one node while all issue.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { movableClock } from '../launch/faketime.ts'
import { Scope } from '../launch/lifetime.ts'
import { type RawReply, ReplyError } from '../launch/raw-reply.ts'
import { startTcpProxy } from '../launch/tcp-proxy.ts'
import { judge, restOf, roundsOf } from './campaign.ts'
import { type ClusterEngine, clusterEngines } from './cluster-engines.ts'
import { retryable } from './cluster-kill.ts'
import { type FollowingAsk, FollowingLoad } from './cluster-load.ts'
import { connectTo, eventually, shardOf, startCluster } from './cluster-nodes.ts'
import { nowUs } from './load.ts'

const timeout = 1_800_000
/** Stands for a node's until that is known. */
const nobodysPort = 1
const strict = ['order', 'stamp']
const strictAsks: readonly FollowingAsk[] = strict.flatMap((generator) => [
  { generator, command: ['ID.NEXT', generator], restMs: restOf(1) },
  { generator, command: ['ID.NEXT', generator, 'COUNT', 5], restMs: restOf(1) },
])
const staying = (generator: string): FollowingAsk[] =>
  Array<FollowingAsk>(3).fill({ generator, command: ['ID.NEXT', generator], restMs: restOf(1), stays: true })

/** What happens to a clock, in libfaketime's words, and for how long it stays so. */
const jumps = [
  ['-1h', 700],
  ['+1h', 700],
  ['+1y', 1000],
  ['-1d', 700],
] as const

describe('a cluster of three nodes', { timeout }, () => {
  const scope = new Scope()
  let engine: ClusterEngine
  before(async () => {
    engine = await clusterEngines.etcd!(scope)
  })
  after(() => scope.end())

  test('issues in order and nothing twice while the clocks of its nodes jump', { timeout }, async (t) => {
    const rounds = roundsOf(6, 0.2)
    const clocks = [0, 1, 2].map(() => movableClock(t))
    const cluster = await startCluster(t, engine, { env: (index) => clocks[index]!.env })
    await cluster.create('order', 'sequence', 'STEP', '200', 'HORIZON', '100ms')
    await cluster.create('stamp', 'timestamp', 'HORIZON', '100ms')
    await cluster.create('event', 'snowflake')
    const load = new FollowingLoad(t, cluster.ports)
    load.start([...strictAsks, ...staying('event')])
    await pause(500)
    const silencesMs: number[] = []
    for (let round = 0; round < rounds; round++) {
      // In turn: the clock of the leader, of another node, of all nodes.
      const leader = cluster.nodes.indexOf(await cluster.untilLed('order'))
      const moved = round % 3 === 2 ? clocks : [clocks[(leader + (round % 3)) % 3]!]
      const [to, forMs] = jumps[round % jumps.length]!
      const fromUs = nowUs()
      for (const clock of moved) clock.set(to)
      await pause(forMs)
      for (const clock of moved) clock.set('+0')
      await pause(500)
      const toUs = nowUs()
      silencesMs.push(Math.max(...strict.map((name) => load.journal(name).silenceMs(fromUs, toUs))))
    }
    await load.stop()
    t.diagnostic(`longest silences: ${silencesMs.map((ms) => ms.toFixed(0)).join(', ')} ms`)
    judge(t, load, strict, { name: 'clock jumps in a cluster', rounds, recoveriesMs: silencesMs })
    assertRetryable(load, retryable)
  })

  test('answers for what it leads though nodes do not reach each other, and changes no leader', {
    timeout,
  }, async (t) => {
    // What nodes announce is a proxy, so that what one sends to another can be cut off.
    const proxies = await Promise.all([0, 1, 2].map(() => startTcpProxy(t, nobodysPort)))
    const announced = proxies.map(({ port }) => port)
    const cluster = await startCluster(t, engine, { announced, args: () => ['--forward'] })
    for (const [at, port] of cluster.ports.entries()) proxies[at]!.retarget(port)
    await cluster.untilSettled()
    await cluster.create('order', 'sequence')
    const load = new FollowingLoad(t, cluster.ports)
    load.start(
      Array<FollowingAsk>(6).fill({ generator: 'order', command: ['INCR', 'order'], restMs: restOf(1) }),
    )
    await pause(500)
    const leader = await cluster.untilLed('order')
    const { epoch } = (await cluster.status(leader)).shards[shardOf('order')]!
    const other = cluster.nodes.find((node) => node !== leader)!
    for (let round = 0; round < roundsOf(2, 0.05); round++) {
      for (const proxy of proxies) await (round % 2 === 0 ? proxy.cut() : proxy.stall())
      const [atLeader, elsewhere] = [await connectTo(leader), await connectTo(other)]
      const fromUs = nowUs()
      assert.equal(typeof (await atLeader.command('INCR', 'order')), 'bigint')
      assert.ok((nowUs() - fromUs) / 1000 < 1000, 'the leader asks no other node')
      const refused = await elsewhere.command('INCR', 'order')
      assert.ok(isError(refused, ['CLUSTERDOWN', 'UNKNOWN']), JSON.stringify(refused))
      await pause(1000)
      for (const proxy of proxies) await (round % 2 === 0 ? proxy.restore() : proxy.resume())
      await eventually('requests are not forwarded again', async () => {
        return typeof (await elsewhere.command('INCR', 'order')) === 'bigint' || undefined
      })
      await Promise.all([atLeader.close(), elsewhere.close()])
    }
    await load.stop()
    assert.equal(
      (await cluster.status(leader)).shards[shardOf('order')]!.epoch,
      epoch,
      'no other node has led',
    )
    judge(t, load, ['order'], { name: 'nodes cut off from each other', rounds: roundsOf(2, 0.05) })
    assertRetryable(load, retryable)
  })

  test('repeats nothing where generators are dropped, recreated and altered on one node', {
    timeout,
  }, async (t) => {
    const rounds = roundsOf(4, 0.5)
    const cluster = await startCluster(t, engine)
    const kinds = { order: 'sequence', stamp: 'timestamp', user: 'segment', event: 'snowflake' }
    const create = async (name: string, kind: string) => {
      const small = kind === 'segment' || kind === 'sequence' ? ['STEP', '100', 'HORIZON', '100ms'] : []
      await cluster.create(name, kind, ...small)
    }
    for (const [name, kind] of Object.entries(kinds)) await create(name, kind)
    const load = new FollowingLoad(t, cluster.ports)
    load.start([...strictAsks, ...staying('user'), ...staying('event')])
    const clients = await Promise.all(cluster.nodes.map(connectTo))
    // Now by the leader, now by others: each command as a client would send it that follows redirects.
    const tell = async (round: number, ...command: string[]) => {
      const reply = await clients[round % clients.length]!.command(...command)
      if (!isError(reply, ['MOVED'])) return reply
      const port = Number(reply.text.slice(reply.text.lastIndexOf(':') + 1))
      return await clients[cluster.ports.indexOf(port)]!.command(...command)
    }
    for (let round = 0; round < rounds; round++) {
      const [name, kind] = Object.entries(kinds)[round % 4]!
      await pause(150)
      if (kind === 'sequence' || kind === 'segment') {
        const highest = load.journal(name).highest
        assert.equal(text(await tell(round, 'ID.ALTER', name, 'FLOOR', `${highest + 10_000n}`)), 'OK')
        await pause(100)
      }
      assert.equal(text(await tell(round + 1, 'ID.DROP', name)), '1')
      await pause(50)
      await create(name, kind)
      const from = load.journal(name).replies.length
      await eventually(`${name} is not issued again`, async () => load.journal(name).replies.at(from + 20))
    }
    await load.stop()
    await Promise.all(clients.map((client) => client.close()))
    t.diagnostic(`errors that clients saw: ${JSON.stringify([...load.errors])}`)
    judge(t, load, strict, { name: 'generators changed in a cluster', rounds })
    assertRetryable(load, [...retryable, 'NOGENERATOR'])
  })
})

function assertRetryable(load: FollowingLoad, allowed: readonly string[]): void {
  for (const code of load.errors.keys()) assert.ok(allowed.includes(code), load.errorTexts.get(code))
}

function isError(reply: RawReply, codes: readonly string[]): reply is ReplyError {
  return reply instanceof ReplyError && codes.includes(reply.code)
}

function text(reply: RawReply): string {
  return reply instanceof ReplyError ? reply.text : `${reply}`
}
