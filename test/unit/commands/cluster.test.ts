import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import type { Cluster } from '../../../src/cluster/cluster.ts'
import { Scope } from '../../launch/lifetime.ts'
import { isSettled, notJoined, startNodes, until } from './cluster-nodes.ts'
import { Desk } from './desk.ts'

const addresses = [
  { resp: '10.0.0.1:7379', http: '10.0.0.1:7380' },
  { resp: 'ids-2.example.org:7379', http: 'ids-2.example.org:7380' },
  { resp: '[fd00::3]:7379' },
]

/** Clusters for tests that only read, by their number of nodes. */
const shared = new Map<number, Promise<Cluster[]>>()
const scope = new Scope()
after(() => scope.end())

/** A desk at each node of a cluster that other tests read as well; every shard is led by the node that should. */
async function desks(count = addresses.length): Promise<Desk[]> {
  const starting = shared.get(count) ?? startNodes(scope, addresses.slice(0, count))
  shared.set(count, starting)
  const nodes = await starting
  await until(() => nodes.every((node) => isSettled(node, count)))
  return nodes.map(deskOf)
}

function deskOf(cluster: Cluster): Desk {
  const desk = new Desk()
  desk.cluster = cluster
  return desk
}

type SlotsEntry = [first: number, last: number, node: [host: string, port: number, id: string, more: object]]

/** Checks that runs of slots follow each other without holes from 0 to 16383. */
function assertCovered(runs: readonly (readonly [number, number])[]): void {
  let next = 0
  for (const [first, last] of runs.toSorted((a, b) => a[0] - b[0])) {
    assert.equal(first, next)
    next = last + 1
  }
  assert.equal(next, 16_384)
}

describe('the table of slots', () => {
  test('is the same on every node and in every form, with hosts as they were announced', async () => {
    const nodes = await desks()
    const tables = await Promise.all(nodes.map((desk) => desk.ask('CLUSTER SLOTS')))
    const [table] = tables as SlotsEntry[][]
    for (const other of tables) assert.deepEqual(other, table)
    assertCovered(table!.map(([first, last]) => [first, last]))
    const places = new Set(table!.map(([, , [host, port]]) => `${host} ${port}`))
    assert.deepEqual([...places].sort(), ['10.0.0.1 7379', 'fd00::3 7379', 'ids-2.example.org 7379'])
    const ids = new Set(table!.map(([, , [, , id]]) => id))
    assert.deepEqual([...ids].sort(), nodes.map((desk) => desk.cluster!.nodeId).sort())

    const shards = (await nodes[0]!.ask('CLUSTER', 'SHARDS')) as {
      slots: number[]
      nodes: [Record<string, unknown>]
    }[]
    const fromShards = shards.flatMap(({ slots, nodes: [{ endpoint, port, id }] }) =>
      pairs(slots).map(([first, last]) => [first, last, [endpoint, port, id, {}]]),
    )
    assert.deepEqual(fromShards.sort(byFirst), table)

    const lines = String(await nodes[1]!.ask('CLUSTER', 'NODES'))
      .trimEnd()
      .split('\n')
    const fromLines = lines.flatMap((line) => {
      const [id, address, , , , , , , ...runs] = line.split(' ')
      const [, host, port] = /^(.*):(\d+)@0$/.exec(address!)!
      return runs.map((run) => [...run.split('-').map(Number), [host, Number(port), id, {}]])
    })
    assert.deepEqual(fromLines.sort(byFirst), table)
  })

  test('names nodes that lead nothing as replicas of every slot, in every form, unless they drain', async (t) => {
    const nodes = (await startNodes(t, addresses, 1)).map(deskOf)
    const ids = nodes.map(({ cluster }) => cluster!.nodeId)
    const leader = nodes[0]!.cluster!.status().shards[0]!.leader!.id
    const standbys = ids.filter((id) => id !== leader).sort()
    const [asked] = nodes
    const named = async () => {
      const table = (await asked!.ask('CLUSTER', 'SLOTS')) as [
        number,
        number,
        ...[string, number, string][],
      ][]
      assert.equal(table.length, 1)
      const [[, , ...places]] = table as [(typeof table)[0]]
      return places.map(([, , id]) => id)
    }
    assert.deepEqual(await named(), [leader, ...standbys])
    const shards = (await asked!.ask('CLUSTER', 'SHARDS')) as {
      slots: number[]
      nodes: { id: string; role: string }[]
    }[]
    assert.deepEqual(
      shards.map(({ slots, nodes }) => [slots, nodes.map(({ id, role }) => `${role} ${id}`)]),
      [
        [
          [0, 16_383],
          [`master ${leader}`, ...standbys.map((id) => `replica ${id}`)],
        ],
      ],
    )
    for (const desk of nodes) {
      const lines = String(await desk.ask('CLUSTER NODES'))
        .trimEnd()
        .split('\n')
      const own = await desk.ask('CLUSTER MYID')
      for (const line of lines) {
        const [id, , role, master] = line.split(' ')
        const self = id === own ? 'myself,' : ''
        if (id === leader) assert.deepEqual([role, master], [`${self}master`, '-'])
        else assert.deepEqual([role, master], [`${self}slave`, leader])
      }
    }
    const drains = nodes.find(({ cluster }) => cluster!.nodeId === standbys[0])!
    assert.equal(await drains.ask('CLUSTER', 'FAILOVER'), 'OK')
    await until(() => asked!.cluster!.status().nodes.some(({ draining }) => draining))
    assert.deepEqual(await named(), [leader, standbys[1]])
  })

  test('CLUSTER NODES marks the node that was asked, and gives each leader an epoch of its own', async () => {
    for (const desk of await desks()) {
      const lines = String(await desk.ask('CLUSTER NODES'))
        .trimEnd()
        .split('\n')
      const myself = lines.filter((line) => line.split(' ')[2] === 'myself,master')
      assert.deepEqual(
        myself.map((line) => line.split(' ')[0]),
        [await desk.ask('CLUSTER MYID')],
      )
      for (const line of lines)
        assert.match(line, /^[0-9a-f]{40} \S+@0 \S+ - 0 \d{13} [1-9]\d* connected( \d+(-\d+)?)+$/)
    }
  })

  test('stays whole when a node leaves, without that node', async (t) => {
    const [first, second] = await startNodes(t, addresses.slice(0, 2))
    const desk = deskOf(first!)
    const gone = second!.nodeId
    await second!.close()
    await until(() => isSettled(first!, 1))
    const table = (await desk.ask('CLUSTER SLOTS')) as SlotsEntry[]
    assertCovered(table.map(([from, to]) => [from, to]))
    assert.ok(table.every(([, , [, , id]]) => id !== gone))
  })

  test('before it has joined a node shows itself for all slots, and no leader', async () => {
    const desk = deskOf(notJoined())
    const id = await desk.ask('CLUSTER MYID')
    assert.deepEqual(await desk.ask('CLUSTER SLOTS'), [[0, 16_383, ['127.0.0.1', 7379, id, {}]]])
    const info = fieldsOf(await desk.ask('CLUSTER INFO'))
    assert.equal(info.cluster_state, 'fail')
    assert.equal(info.cluster_slots_assigned, '16384')
    assert.equal(info.cluster_slots_ok, '0')
    assert.equal(info.cluster_slots_fail, '16384')
  })
})

describe('what libraries look for', () => {
  test('CLUSTER INFO: ok, all slots led, by as many as there are', async () => {
    const [desk] = await desks()
    const info = fieldsOf(await desk!.ask('CLUSTER INFO'))
    assert.equal(info.cluster_state, 'ok')
    assert.equal(info.cluster_slots_ok, '16384')
    assert.equal(info.cluster_slots_fail, '0')
    assert.equal(info.cluster_known_nodes, '3')
    assert.equal(info.cluster_size, '3')
    assert.equal(info.cluster_versions, '0.1.0')
  })

  test('CLUSTER INFO: fail while all leaders are out of hearing, whose slots are possibly failing', async () => {
    const [desk] = await desks(1)
    const { cluster } = desk!
    const { shards, nodes, ...rest } = cluster!.status()
    const silent = (count: number) => ({
      ...rest,
      nodes,
      shards: shards.map((shard) => (shard.shard < count ? { ...shard, nobodyForMs: 1 } : shard)),
    })
    const info = async (count: number) => {
      desk!.cluster = Object.assign(Object.create(cluster!), { status: () => silent(count) })
      const { cluster_state, cluster_slots_ok, cluster_slots_pfail, cluster_slots_fail } = fieldsOf(
        await desk!.ask('CLUSTER INFO'),
      )
      return [cluster_state, cluster_slots_ok, cluster_slots_pfail, cluster_slots_fail].join(' ')
    }
    assert.equal(await info(2), 'ok 12288 4096 0')
    assert.equal(await info(8), 'fail 0 16384 0')
  })

  test('INFO and HELLO state whether it is a cluster', async () => {
    const [desk] = await desks()
    assert.match(String(await desk!.ask('INFO cluster')), /^cluster_enabled:1\r$/m)
    assert.match(String(await desk!.ask('INFO')), /^redis_mode:cluster\r$/m)
    assert.equal(((await desk!.ask('HELLO')) as { mode: string }).mode, 'cluster')
    const alone = new Desk()
    assert.match(String(await alone.ask('INFO')), /^cluster_enabled:0\r$/m)
    assert.equal(((await alone.ask('HELLO')) as { mode: string }).mode, 'standalone')
  })

  test('no node has a list of replicas or links, and the errors say why', async () => {
    const [desk] = await desks(1)
    for (const words of ['REPLICAS x', 'SLAVES x', 'LINKS', 'GETKEYSINSLOT 1 10']) {
      assert.match(
        await desk!.error('CLUSTER', ...words.split(' ')),
        /^ERR CLUSTER \w+ is not supported: (nodes are equal|nodes find each other|slots are shared out)/,
      )
    }
  })

  test('without a cluster all of it is disabled, in Redis’s words', async () => {
    const desk = new Desk()
    for (const words of ['SLOTS', 'SHARDS', 'NODES', 'INFO', 'MYID', 'KEYSLOT x', 'COUNTKEYSINSLOT 1']) {
      assert.equal(
        await desk.error('CLUSTER', ...words.split(' ')),
        'ERR This instance has cluster support disabled',
      )
    }
  })
})

describe('slots of names', () => {
  test('are those of Redis, hash tags included', async () => {
    const [desk] = await desks(1)
    // From the Redis Cluster specification and a redis-server.
    const known = [
      ['123456789', 12_739],
      ['foo', 12_182],
      ['{foo}bar', 12_182],
      ['a{foo}{bar}', 12_182],
      ['foo{}{bar}', 8363],
      ['发号', await desk!.ask('CLUSTER KEYSLOT x{发号}')],
    ] as const
    for (const [name, slot] of known) assert.equal(await desk!.ask('CLUSTER', 'KEYSLOT', name), slot)
  })

  test('generators are counted by slot', async () => {
    const [desk] = await desks(1)
    for (const name of ['{shop}a', '{shop}b', 'c']) await desk!.ask('ID.CREATE', name, 'KIND', 'sequence')
    const slot = String(await desk!.ask('CLUSTER KEYSLOT shop'))
    assert.equal(await desk!.ask('CLUSTER', 'COUNTKEYSINSLOT', slot), 2)
    assert.equal(await desk!.error('CLUSTER COUNTKEYSINSLOT 16384'), 'ERR Invalid slot')
  })

  test('a node counts and lists the names of its own slots, as in Redis Cluster; ID.LIST has all', async () => {
    const all = await desks()
    const names = Array.from({ length: 60 }, (_, index) => `name-${index}`).sort()
    for (const desk of all) for (const name of names) await desk.ask('ID.CREATE', name, 'KIND', 'sequence')
    const listed = await Promise.all(all.map((desk) => desk.ask('KEYS *')))
    assert.ok(listed.every((some) => (some as string[]).length > 0))
    assert.deepEqual((listed as string[][]).flat().sort(), names)
    for (const [index, desk] of all.entries()) {
      assert.equal(await desk.ask('DBSIZE'), (listed[index] as string[]).length)
      assert.deepEqual(await desk.ask('SCAN 0 COUNT 1000'), ['0', listed[index]])
      assert.equal(((await desk.ask('ID.LIST')) as unknown[]).length, names.length)
    }
  })

  test('a command over several of them is refused in a cluster, and only there', async () => {
    const [desk] = await desks(1)
    for (const name of ['{s}a', '{s}b', 'c']) await desk!.ask('ID.CREATE', name, 'KIND', 'sequence')
    const refusal = "CROSSSLOT Keys in request don't hash to the same slot"
    for (const command of ['MGET', 'EXISTS', 'DEL', 'UNLINK'])
      assert.equal(await desk!.error(command, '{s}a', 'c'), refusal)
    assert.deepEqual(await desk!.ask('MGET {s}a {s}b'), [null, null])
    assert.equal(await desk!.ask('DEL {s}a {s}b'), 2)
    assert.equal(await new Desk().ask('EXISTS a b'), 0)
  })
})

describe('demotion', () => {
  test('CLUSTER FAILOVER hands everything over, and TAKEOVER takes part again', async (t) => {
    const [first, second] = await startNodes(t, addresses.slice(0, 2))
    const desk = deskOf(first!)
    const leads = (cluster: Cluster) => cluster.status().nodes.find(({ isSelf }) => isSelf)!.leads
    assert.equal(leads(first!), 4)
    assert.equal(await desk.ask('CLUSTER FAILOVER'), 'OK')
    await until(() => leads(second!) === 8)
    assert.equal(leads(first!), 0)
    assert.equal(await desk.ask('CLUSTER FAILOVER TAKEOVER'), 'OK')
    await until(() => isSettled(first!, 2) && isSettled(second!, 2) && leads(first!) === 4)
  })

  test('is refused if no other node could take over, and accepted if forced', async (t) => {
    const [only] = await startNodes(t, addresses.slice(0, 1))
    const desk = deskOf(only!)
    assert.match(await desk.error('CLUSTER FAILOVER'), /^ERR no other node could take over/)
    assert.equal(await desk.ask('CLUSTER FAILOVER FORCE'), 'OK')
    assert.equal(fieldsOf(await desk.ask('CLUSTER INFO')).cluster_slots_ok, '16384')
    assert.equal(await desk.error('CLUSTER FAILOVER NOW'), 'ERR syntax error')
  })
})

function fieldsOf(text: unknown): Record<string, string> {
  return Object.fromEntries(
    String(text)
      .trimEnd()
      .split('\r\n')
      .map((line) => line.split(':')),
  )
}

function pairs(numbers: readonly number[]): [number, number][] {
  return Array.from({ length: numbers.length / 2 }, (_, at) => [numbers[at * 2]!, numbers[at * 2 + 1]!])
}

function byFirst(a: readonly unknown[], b: readonly unknown[]): number {
  return Number(a[0]) - Number(b[0])
}
