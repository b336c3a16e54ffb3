import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { clusterLines, type SentCluster } from '../../../src/cli/cluster-text.ts'

const [a, b] = ['a'.repeat(40), 'b'.repeat(40)] as const
const node = { http: null, version: '1.0.0', draining: false, silentMs: 420, leads: 1 }
const shard = { nobodyForMs: null, isWish: false }
const status: SentCluster = {
  cluster: 'ids',
  self: a,
  leaseLeftMs: 2000,
  nodes: [
    { ...node, id: a, resp: '10.0.0.1:7379' },
    { ...node, id: b, resp: '10.0.0.2:7379', http: '10.0.0.2:7380' },
  ],
  shards: [
    { ...shard, shard: 0, firstSlot: 0, lastSlot: 8191, leader: a, wanted: a },
    { ...shard, shard: 1, firstSlot: 8192, lastSlot: 16_383, leader: b, wanted: b },
  ],
}

function lines(changed: Partial<SentCluster> = {}): string[] {
  return clusterLines({ ...status, ...changed }).map(stripVTControlCharacters)
}

test('a cluster in good order is one line and its nodes', () => {
  assert.deepEqual(lines(), [
    'ids: 2 nodes, 2 of 2 shards led',
    '',
    'NODE      RESP           HTTP           LEADS  HEARD OF  VERSION',
    'aaaaaaaa  10.0.0.1:7379  -              1/2    0.4s ago  1.0.0    asked',
    'bbbbbbbb  10.0.0.2:7379  10.0.0.2:7380  1/2    0.4s ago  1.0.0',
  ])
})

test('what is not as it should be comes after it, line by line', () => {
  const [first, second] = status.shards as [SentCluster['shards'][number], SentCluster['shards'][number]]
  const shown = lines({
    leaseLeftMs: 0,
    nodes: [status.nodes[0]!, { ...status.nodes[1]!, draining: true }],
    shards: [
      { ...first, leader: b, isWish: true },
      { ...second, leader: null, nobodyForMs: 1250, wanted: a },
    ],
  })
  assert.equal(shown[0], 'ids: 2 nodes, 1 of 2 shards led: 1 without a leader')
  assert.match(shown[3]!, /asked, its lease has lapsed$/)
  assert.match(shown[4]!, /draining$/)
  assert.deepEqual(shown.slice(5), [
    'shard 1 (slots 8192-16383): nobody leads it for 1.3s; 10.0.0.1:7379 should take it',
    'shard 0: goes from 10.0.0.2:7379 to 10.0.0.1:7379, as was asked for',
  ])
})
