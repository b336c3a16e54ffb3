import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { clusterLines, rangesText } from '../../../src/cli/cluster-text.ts'
import type { ClusterAnswer } from '../../../src/operations/cluster.ts'

const [a, b] = ['a'.repeat(40), 'b'.repeat(40)] as const
const joined = '2026-11-22T00:00:00.000Z'
const node = { http: null, version: '1.0.0', joined, draining: false, silentMs: 420, leads: 1 }
const shard = { epoch: 1, nobodyForMs: null, restsForMs: null, isWish: false }
const status: ClusterAnswer = {
  cluster: 'ids',
  self: a,
  leaseLeftMs: 2000,
  engine: { state: 'up', reason: null },
  versions: ['1.0.0'],
  nodes: [
    { ...node, id: a, resp: '10.0.0.1:7379' },
    { ...node, id: b, resp: '10.0.0.2:7379', http: '10.0.0.2:7380' },
  ],
  shards: [
    { ...shard, shard: 0, firstSlot: 0, lastSlot: 8191, leader: a, wanted: a },
    { ...shard, shard: 1, firstSlot: 8192, lastSlot: 16_383, leader: b, wanted: b },
  ],
}

function lines(changed: Partial<ClusterAnswer> = {}): string[] {
  return clusterLines({ ...status, ...changed }).map(stripVTControlCharacters)
}

test('a healthy cluster is one line and its nodes', () => {
  assert.deepEqual(lines(), [
    'ids: 2 nodes, 2 of 2 shards led',
    '',
    'NODE      RESP           HTTP           LEADS   RENEWED   VERSION',
    'aaaaaaaa  10.0.0.1:7379  -              1/2: 0  0.4s ago  1.0.0    asked',
    'bbbbbbbb  10.0.0.2:7379  10.0.0.2:7380  1/2: 1  0.4s ago  1.0.0',
  ])
})

test('a cluster with nodes of several versions says so', () => {
  const nodes = [status.nodes[0]!, { ...status.nodes[1]!, version: '1.1.0' }]
  assert.equal(
    lines({ nodes }).at(-1),
    'the nodes run different versions (1.0.0 on 1 node, 1.1.0 on 1 node): the cluster is being upgraded, or was left half-way',
  )
})

test('each problem follows on a line of its own', () => {
  const [first, second] = status.shards as [ClusterAnswer['shards'][number], ClusterAnswer['shards'][number]]
  const shown = lines({
    leaseLeftMs: 0,
    nodes: [status.nodes[0]!, { ...status.nodes[1]!, draining: true }],
    shards: [
      { ...first, leader: b, isWish: true },
      { ...second, leader: null, nobodyForMs: 1250, wanted: a },
    ],
  })
  assert.equal(shown[0], "this node's lease has lapsed; the rest is out of date")
  assert.equal(shown[1], 'ids: 2 nodes, 1 of 2 shards led: 1 without a leader')
  assert.match(shown[4]!, /asked, its lease has lapsed$/)
  assert.match(shown[5]!, /draining$/)
  assert.deepEqual(shown.slice(6), [
    'shard 1 (slots 8192-16383): no leader for 1.3s; 10.0.0.1:7379 should take it',
    'shard 0: moves from 10.0.0.2:7379 to 10.0.0.1:7379, as pinned',
    "shard 0: pinned to 10.0.0.1:7379; 'fahao cluster move 0 auto' unpins it",
  ])
})

test('a down engine is the first line, with its reason', () => {
  const engine = { state: 'down', reason: 'connection refused' } as const
  assert.equal(
    lines({ engine })[0],
    'the engine does not answer this node (connection refused); the rest is out of date',
  )
  assert.match(lines({ engine, leaseLeftMs: 0 })[0]!, /refused\), and this node's lease has lapsed; the/)
  assert.match(lines({ leaseLeftMs: 0, nodes: [] })[0]!, /^this node has not joined yet; the/)
})

test('the shards of a node are shown as aligned runs, and a long list is cut off', () => {
  assert.equal(rangesText([1, 5, 6, 12, 13, 14]), '1,5-6,12-14')
  const shards = Array.from({ length: 101 }, (_, at) => ({
    ...status.shards[0]!,
    shard: at,
    leader: at % 2 === 0 && at < 80 ? b : a,
    wanted: at % 2 === 0 && at < 80 ? b : a,
    nobodyForMs: at > 80 ? 1 : null,
  }))
  const shown = lines({ shards, nodes: [status.nodes[0]!, { ...status.nodes[1]!, leads: 40 }] })
  assert.match(shown[3]!, / {2} 1\/101: 1,3,5,[0-9,]+,… /)
  assert.match(shown[4]!, / {2}40\/101: 0,2,4,[0-9,]+,… /)
  assert.deepEqual(shown.slice(5), [
    'shards 81-100: no leader for up to 0.0s; 10.0.0.1:7379 should take them',
  ])
})

test('shards that move to their assigned nodes are one line', () => {
  const [first] = status.shards as [ClusterAnswer['shards'][number]]
  const shards = [0, 1, 2, 3].map((shard) => ({ ...first, shard, wanted: shard === 1 ? a : b }))
  assert.deepEqual(lines({ shards }).slice(5), [
    '3 shards move to their assigned nodes in about one lease: 0,2-3 to 10.0.0.2:7379',
  ])
})
