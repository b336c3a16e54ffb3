import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NodeRecord } from '../../../src/cluster/records.ts'
import type { ClusterListener } from '../../../src/cluster/shell.ts'
import { type NodeEventSources, NodeEvents } from '../../../src/metrics/node-events.ts'
import type { Health } from '../../../src/node/health.ts'
import { FakeClock } from '../fake-clock.ts'

/** A node of a cluster with two shards, whose leaders and health a test changes. */
function start() {
  const clock = new FakeClock(1_000_000_000_000)
  const leaders: [string | undefined, number][] = [
    [undefined, 0],
    ['b', 7],
  ]
  let health: Health = { state: 'ok', reason: undefined, inHandSeconds: undefined }
  let listener: ClusterListener = {}
  const cluster = {
    status: () => ({
      shards: leaders.map(([id, epoch], shard) => ({ shard, epoch, leader: id && { id } })),
    }),
    listen: (given: ClusterListener) => {
      listener = given
      return () => {}
    },
  } as unknown as NodeEventSources['cluster']
  const timeline = { nowUs: () => clock.wallUs() }
  const events = new NodeEvents({ clock, timeline, cluster, id: () => 'a', health: () => health })
  const startMs = clock.wallUs() / 1000
  /** What is noted in the next second. */
  const next = async () => {
    const before = events.count
    await clock.pass(1000)
    return events.since(before).map(({ atMs, ...event }) => [(atMs - startMs) / 1000, event] as const)
  }
  return {
    next,
    events,
    leads: (shard: number, id: string | undefined, epoch: number) => {
      leaders[shard] = [id, epoch]
    },
    dies: (id: string) => listener.onDead?.({ id } as NodeRecord),
    is: (state: Health['state'], reason?: string) => {
      health = { state, reason, inHandSeconds: undefined }
    },
  }
}

const lead = (shard: number, epoch: number, from: string, to: string, how: string) =>
  ({ node: 'a', kind: 'lead', shard, epoch, from, to, how }) as const
const ofHealth = (state: string, reason?: string) => ({ node: 'a', kind: 'health', state, reason }) as const

test('a change of a leader is a failover only if the leader before was declared dead', async () => {
  const { next, leads, dies } = start()
  assert.deepEqual(await next(), [[1, ofHealth('ok')]])
  leads(0, 'c', 3)
  assert.deepEqual(await next(), [], 'the first leader that is seen')
  leads(1, 'c', 8)
  assert.deepEqual(await next(), [[3, lead(1, 8, 'b', 'c', 'handover')]])
  dies('c')
  leads(0, undefined, 3)
  leads(1, undefined, 8)
  assert.deepEqual(await next(), [])
  leads(0, 'a', 4)
  leads(1, 'b', 9)
  assert.deepEqual(await next(), [
    [5, lead(0, 4, 'c', 'a', 'failover')],
    [5, lead(1, 9, 'c', 'b', 'failover')],
  ])
  leads(1, 'b', 10)
  assert.deepEqual(await next(), [[6, lead(1, 10, 'b', 'b', 'taken')]])
})

test('a change of health is noted at once, and another reason once in ten seconds', async () => {
  const { next, is } = start()
  await next()
  is('degraded', 'the store is away')
  assert.deepEqual(await next(), [[2, ofHealth('degraded', 'the store is away')]])
  const noted: unknown[] = []
  for (let second = 3; second <= 23; second++) {
    is('degraded', `the store is away for ${second} s`)
    noted.push(...(await next()).map(([at]) => at))
  }
  assert.deepEqual(noted, [12, 22])
  is('ok')
  assert.deepEqual(await next(), [[24, ofHealth('ok')]])
})

test('the newest 100 of each kind are kept, and told from a moment on or behind what was told', async () => {
  const { next, leads, events } = start()
  await next()
  for (let epoch = 8; epoch < 258; epoch++) {
    leads(1, epoch % 2 === 0 ? 'c' : 'b', epoch)
    await next()
  }
  const all = events.since(0)
  assert.deepEqual([events.count, all.length], [251, 101])
  assert.deepEqual(
    all.map(({ kind }) => kind),
    ['health', ...Array.from({ length: 100 }, () => 'lead')],
  )
  assert.deepEqual(events.since(251), [])
  assert.deepEqual(events.since(251, all[98]!.atMs), all.slice(98))
  assert.deepEqual(events.since(249, all[100]!.atMs), all.slice(99))
})
