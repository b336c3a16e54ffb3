import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { FahaoError } from '../../../src/base/errors.ts'
import type { ClusterEvent, LeaderTerm } from '../../../src/cluster/events.ts'
import {
  type Leadership,
  type LeftoverRange,
  type NodeRecord,
  nodeKey,
  pinKey,
  shardKey,
} from '../../../src/cluster/records.ts'
import type { StoredRecord } from '../../../src/engine/engine.ts'
import { MemoryEngine } from '../../../src/engine/memory/engine.ts'
import { repairShards } from '../../../src/recovery/repair-shards.ts'
import { FaultyEngine } from '../../conformance/faulty-engine.ts'
import { settled } from '../fake-clock.ts'
import { leaseMs, type Node, Nodes, two } from './nodes.ts'

const marginMs = 300

/** How many shards each leads, and how many are led in all. */
function shares(...nodes: Node[]): number[] {
  return nodes.map((node) => node.leads().length)
}

/** The first slot of a shard that this node leads. */
function slotLedBy(node: Node): number {
  return node.cluster.status().shards[node.leads()[0]!]!.firstSlot
}

/** The nodes' events of one type. */
function told<Type extends string>(type: Type, ...nodes: Node[]) {
  return nodes.flatMap(({ events }) => events.filter((event) => event.type === type))
}

describe('joining a cluster', () => {
  test('leads everything at once when it is the first, and shares once others have stayed for a while', async () => {
    const nodes = new Nodes(6)
    const a = await nodes.start('a:1')
    assert.deepEqual(shares(a), [6])
    const b = await nodes.start('b:1')
    await nodes.clock.pass(leaseMs - 100)
    assert.deepEqual(shares(a, b), [6, 0])
    await nodes.clock.pass(1000)
    assert.deepEqual(shares(a, b), [3, 3])
    assert.equal(told('handedOver', a, b).length, 3)
    assert.equal(told('lost', a, b).length, 0)
  })

  test('goes on when the engine is away at first, and when every first answer is lost', async () => {
    const nodes = new Nodes(2)
    const node = nodes.make('a:1')
    node.engine.always('any', 'unavailable')
    const started = node.cluster.start()
    await nodes.clock.pass(1000)
    node.engine.heal()
    node.engine.next('write', 'lose-reply', 3)
    await nodes.clock.pass(1000)
    await started
    assert.deepEqual(shares(node), [2])
  })
})

describe('an address that two nodes announce', () => {
  test('keeps out the second node, and names the first', async () => {
    const { nodes, clock, a, b } = await two()
    const events: ClusterEvent[] = []
    const onEvent = (event: ClusterEvent) => events.push(event)
    await assert.rejects(nodes.start('a:1', { onEvent }), { code: 'CONFIG', message: /has the address/ })
    assert.ok(events.some((event) => event.type === 'trouble' && event.message.includes(a.cluster.nodeId)))
    await clock.pass(10_000)
    assert.deepEqual(shares(a, b), [3, 3])
  })

  test('may be that of a predecessor that is silent', async () => {
    const { nodes, clock, a, b } = await two()
    b.engine.always('any', 'unavailable')
    const again = await nodes.start('b:1')
    await clock.pass(10_000)
    assert.deepEqual(shares(a, again), [3, 3])
  })

  test('may be that of a predecessor whose last renewal is carried out after its death', async () => {
    const { nodes, clock, b } = await two()
    const renewal = b.engine.hold('write')
    await clock.pass(1000)
    await renewal.arrived
    b.engine.always('any', 'unavailable')
    const joining = nodes.make('b:1')
    const joined = joining.cluster.start()
    await clock.pass(500)
    renewal.letGo()
    await clock.pass(3000)
    await joined
  })

  test('is told of once by each of two that have joined at the same time', async () => {
    const nodes = new Nodes(2)
    const both = [nodes.make('a:1'), nodes.make('a:1')]
    for (const { cluster } of both) void cluster.start()
    await nodes.clock.pass(10_000)
    for (const node of both) {
      const conflicts = told('trouble', node).filter((event) =>
        JSON.stringify(event).includes('announces a:1 as well'),
      )
      assert.equal(conflicts.length, 1)
    }
  })
})

test('a cluster whose engine reads and does not write reads its records no more often than one whose engine does both', async () => {
  const { clock, a, b } = await two()
  await clock.pass(3000)
  const readsOf = async (ms: number) => {
    const before = a.engine.count('list')
    await clock.pass(ms)
    return a.engine.count('list') - before
  }
  const usual = await readsOf(10_000)
  for (const { engine } of [a, b]) engine.always('write', 'unavailable')
  await clock.pass(4000)
  assert.ok((await readsOf(10_000)) <= usual + 2)
})

describe('a node that dies', () => {
  test('is declared dead a lease and a margin after its last renewal, and not before; others lead at once', async () => {
    const { clock, a, b } = await two()
    b.engine.always('any', 'unavailable')
    await clock.pass(leaseMs + marginMs - 1200)
    assert.equal(told('declaredDead', a).length, 0)
    await clock.pass(1300)
    assert.equal(told('declaredDead', a).length, 1)
    assert.deepEqual(shares(a, b), [6, 0])
  })

  test('comes back under a fresh id, having dropped everything', async () => {
    const { clock, a, b } = await two()
    const before = b.cluster.nodeId
    const lost: LeaderTerm[] = []
    b.cluster.listen({ onLost: (here) => lost.push(here) })
    b.engine.always('any', 'unavailable')
    await clock.pass(5000)
    b.engine.heal()
    await clock.pass(500)
    assert.notEqual(b.cluster.nodeId, before)
    assert.equal(lost.length, 3)
    assert.equal(told('died', b).length, 1)
    await clock.pass(5000)
    assert.deepEqual(shares(a, b), [3, 3])
  })

  test('is not taken for dead when the engine was away from all nodes', async () => {
    const { clock, a, b } = await two()
    for (const { engine } of [a, b]) engine.always('any', 'unavailable')
    await clock.pass(60_000)
    assert.deepEqual(shares(a, b), [0, 0])
    for (const { engine } of [a, b]) engine.heal()
    await clock.pass(1000)
    assert.equal(told('declaredDead', a, b).length, 0)
    assert.deepEqual(shares(a, b), [3, 3])
  })

  test('is not redirected to by the process that was started in its place', async () => {
    const nodes = new Nodes(1)
    const old = await nodes.start('a:1')
    old.engine.always('any', 'unavailable')
    const fresh = await nodes.start('a:1')
    assert.equal(fresh.cluster.lead(0).state, 'none')
    const lead = fresh.cluster.leadWithin(0, 10_000)
    await nodes.clock.pass(5000)
    assert.equal((await lead).state, 'here')
  })
})

describe('an engine that has forgotten', () => {
  test('has every leader begin anew, above all forgotten epochs, and after the old one has stopped', async () => {
    const { nodes, clock, a, b } = await two()
    const { store } = nodes
    const before = [...store.records.values()]
    const slot = slotLedBy(a)
    const shard = a.cluster.shardOf(slot)
    await a.cluster.move(shard, b.cluster.nodeId)
    await clock.pass(2000)
    const forgotten = b.cluster.here(slot)!
    assert.equal(forgotten.fence, 2n)
    // An older copy stands in its place, and refuses writes until it has been advanced.
    store.records.clear()
    for (const record of before) store.records.set(record.key, record)
    for (const { engine } of [a, b])
      engine.write = () => Promise.reject(new FahaoError('REGRESSED', 'it has forgotten'))
    await clock.pass(1100)
    assert.deepEqual(shares(a, b), [0, 0])
    await new MemoryEngine(store).advance(1n, repairShards())
    for (const { engine } of [a, b]) Reflect.deleteProperty(engine, 'write')
    await clock.pass(leaseMs)
    assert.deepEqual(shares(a, b), [0, 0])
    await clock.pass(1500)
    assert.equal(shares(a, b)[0]! + shares(a, b)[1]!, 6)
    const here = a.cluster.here(slot) ?? b.cluster.here(slot)
    assert.ok(here!.fence > 2n ** 20n)
  })

  test('ends the leadership of a node that has not noticed, before another node follows it', async () => {
    const { nodes, clock, a, b } = await two()
    const slot = slotLedBy(a)
    const id = a.cluster.nodeId
    await new MemoryEngine(nodes.store).advance(1n, repairShards())
    await clock.pass(1)
    assert.equal(a.cluster.here(slot), undefined, 'not even under the epoch that it has been raised to')
    await clock.pass(1200)
    assert.equal(a.cluster.here(slot), undefined)
    assert.notEqual(a.cluster.nodeId, id)
    assert.equal(b.cluster.here(slot), undefined)
    await clock.pass(5000)
    assert.equal(shares(a, b)[0]! + shares(a, b)[1]!, 6)
  })

  test('has no leader while one whose take-over it has forgotten, and who has not noticed, may issue', async () => {
    const nodes = new Nodes(1)
    const { clock, store } = nodes
    const first = await nodes.start('a:1')
    const engine = new FaultyEngine(new MemoryEngine(store))
    engine.watch = () => Promise.resolve({ close() {} })
    const taker = await nodes.start('b:1', { engine })
    assert.deepEqual(shares(first, taker), [1, 0])
    first.engine.always('any', 'unavailable')
    const write = engine.write.bind(engine)
    let before: StoredRecord[] = []
    engine.write = (key, ...rest) => {
      if (key === shardKey(0)) before = [...store.records.values()]
      return write(key, ...rest)
    }
    while (shares(taker)[0] === 0) await clock.pass(10)
    // Cut off, just after it has become the leader. The record that is kept names the first one, which is dead on record.
    engine.always('any', 'unavailable')
    const other = await nodes.start('c:1')
    store.records.clear()
    for (const record of before) store.records.set(record.key, record)
    const kept = JSON.parse(store.records.get(nodeKey(nodeIdOf(store.records, 'a:1')))!.value) as NodeRecord
    assert.notEqual(kept.deadBy, undefined)
    await new MemoryEngine(store).advance(1n, repairShards())
    let both = 0
    let withoutMs = 0
    for (; shares(other)[0] === 0; withoutMs += 5) {
      await clock.pass(5)
      if (shares(taker)[0]! + shares(other)[0]! > 1) both++
    }
    assert.equal(both, 0)
    assert.deepEqual(shares(taker, other), [0, 1])
    assert.ok(withoutMs >= leaseMs + marginMs && withoutMs < leaseMs + marginMs + 1500, `${withoutMs} ms`)
  })

  test('has no leader at once of a shard whose first leader it has forgotten', async () => {
    const nodes = new Nodes(2)
    const { clock, store } = nodes
    const node = await nodes.start('a:1')
    await clock.pass(100)
    assert.deepEqual(shares(node), [2])
    store.records.delete(shardKey(1))
    await new MemoryEngine(store).advance(1n, repairShards())
    const { epoch, holder } = JSON.parse(store.records.get(shardKey(1))!.value) as Leadership
    assert.deepEqual([epoch, holder], [2 ** 20, ''])
    await clock.pass(leaseMs)
    assert.deepEqual(shares(node), [0])
    await clock.pass(1000)
    assert.deepEqual(shares(node), [2])
  })

  test('lets a node that has just been started join, however often its bounds are raised meanwhile', async () => {
    const { nodes, clock, b } = await two()
    b.engine.always('any', 'unavailable')
    const again = nodes.make('b:1')
    let hasJoined = false
    const joined = again.cluster.start().then(() => {
      hasJoined = true
    })
    for (let each = 0; each < 4; each++) {
      await clock.pass(300)
      await new MemoryEngine(nodes.store).advance(1n, repairShards())
    }
    for (let waitedMs = 0; waitedMs < 10_000 && !hasJoined; waitedMs += 100) await clock.pass(100)
    await joined
    assert.deepEqual(told('trouble', again), [])
  })
})

/** The id of the node at an address, in these records. */
function nodeIdOf(records: ReadonlyMap<string, { readonly value: string }>, address: string): string {
  const found = [...records.values()]
    .map(({ value }) => JSON.parse(value) as Partial<NodeRecord>)
    .find(({ resp }) => resp === address)
  return found?.id ?? ''
}

describe('a shard', () => {
  test('gets a higher epoch with each new leader', async () => {
    const { nodes, clock, a, b } = await two()
    const epochs = async () => {
      const records = Array.from({ length: 6 }, (_, shard) => nodes.store.records.get(shardKey(shard))!)
      return records.map(({ value }) => (JSON.parse(value) as Leadership).epoch)
    }
    assert.deepEqual((await epochs()).toSorted(), [1, 1, 1, 2, 2, 2])
    b.engine.always('any', 'unavailable')
    await clock.pass(5000)
    assert.deepEqual((await epochs()).toSorted(), [1, 1, 1, 3, 3, 3])
    for (const shard of a.leads()) {
      const { firstSlot, epoch } = a.cluster.status().shards[shard]!
      assert.equal(a.cluster.here(firstSlot)?.fence, BigInt(epoch))
    }
  })

  test('is not taken from a node that is not dead, though its record has not been seen here', async () => {
    const nodes = new Nodes(1)
    const { store, clock } = nodes
    const unseen: NodeRecord = { id: 's', heartbeat: 1, joinedMs: 0, draining: false, version: '1' }
    const led: Leadership = { holder: 's', epoch: 7, from: '' }
    const a = nodes.make('a:1')
    await a.engine.write(nodeKey('s'), JSON.stringify(unseen), undefined)
    await a.engine.write(shardKey(0), JSON.stringify(led), undefined)
    // Only lists and watches do not show it; a read does.
    const list = a.engine.list.bind(a.engine)
    a.engine.list = async (...args) => (await list(...args)).filter(({ key }) => key !== nodeKey('s'))
    const started = a.cluster.start()
    await clock.pass(2500)
    await started
    assert.equal(JSON.parse(store.records.get(shardKey(0))!.value).holder, 's')
    a.engine.list = list
    await clock.pass(5000)
    assert.equal(JSON.parse(store.records.get(shardKey(0))!.value).epoch, 8)
  })

  test('is handed over: stopped first, then given back, then given away with a new epoch', async () => {
    const { clock, a, b } = await two()
    const slot = slotLedBy(a)
    const shard = a.cluster.shardOf(slot)
    const epoch = a.cluster.here(slot)!.fence
    const givenBack = Promise.withResolvers<void>()
    a.cluster.listen({ onLosing: () => givenBack.promise })
    await a.cluster.move(shard, b.cluster.nodeId)
    await clock.pass(610)
    assert.equal(a.cluster.here(slot), undefined)
    assert.equal(a.cluster.lead(slot).state, 'none')
    assert.equal(b.cluster.here(slot), undefined)
    givenBack.resolve()
    await settled()
    assert.equal(b.cluster.here(slot)?.fence, epoch + 1n)
    const lead = a.cluster.lead(slot)
    assert.equal(lead.state === 'elsewhere' && lead.node.id, b.cluster.nodeId)
  })

  test('comes with what is left of it, which is offered once, also by a record that comes back', async () => {
    const { nodes, clock, a, b } = await two()
    const slot = slotLedBy(a)
    const shard = a.cluster.shardOf(slot)
    const tail: LeftoverRange = { name: 'order', record: '1', start: '10', end: '20', version: '3' }
    a.cluster.listen({ onLosing: async (_, leftovers) => void leftovers?.push(tail) })
    const offered: (readonly LeftoverRange[])[] = []
    b.cluster.listen({ onWon: ({ leftovers }) => void offered.push(leftovers) })
    await a.cluster.move(shard, b.cluster.nodeId)
    await clock.pass(700)
    const record = nodes.store.records.get(shardKey(shard))!
    assert.deepEqual(offered, [[tail]])
    // An operator restores the database as it was then, and the node finds itself named as it was.
    await b.cluster.move(shard, a.cluster.nodeId)
    await clock.pass(700)
    assert.equal(b.cluster.here(slot), undefined)
    const { version } = nodes.store.records.get(shardKey(shard))!
    await new MemoryEngine(nodes.store).write(shardKey(shard), record.value, version)
    await clock.pass(700)
    assert.deepEqual(offered, [[tail], []])
  })

  test('loses what is put aside for a successor too late, or where there is none', async () => {
    const { nodes, clock, a, b } = await two()
    const shard = a.leads()[0]!
    const tail: LeftoverRange = { name: 'order', record: '1', start: '10', end: '20', version: '3' }
    const late = Promise.withResolvers<void>()
    const toSomebody: boolean[] = []
    a.cluster.listen({
      onLosing: async (_, leftovers) => {
        toSomebody.push(leftovers !== undefined)
        await late.promise
        leftovers?.push(tail)
      },
    })
    await a.cluster.move(shard, b.cluster.nodeId)
    await clock.pass(640)
    assert.equal(a.cluster.lead(a.cluster.status().shards[shard]!.firstSlot).state, 'none')
    a.engine.always('write', 'unavailable')
    await clock.pass(50)
    late.resolve()
    await clock.pass(10)
    a.engine.heal()
    await clock.pass(400)
    const { holder, leftovers } = JSON.parse(nodes.store.records.get(shardKey(shard))!.value) as Leadership
    assert.deepEqual([holder, leftovers], [b.cluster.nodeId, []])
    const leaving = b.cluster.close()
    await clock.pass(2000)
    await leaving
    const alone = a.cluster.close()
    await clock.pass(1000)
    await alone
    assert.deepEqual([toSomebody[0], toSomebody.at(-1)], [true, false])
  })

  test('is given away though giving back takes too long, or fails', async () => {
    const { clock, a, b } = await two()
    const [first, second] = a.leads()
    a.cluster.listen({
      onLosing: ({ shard }) => (shard === first ? new Promise(() => {}) : Promise.reject(new Error('no'))),
    })
    await a.cluster.move(first!, b.cluster.nodeId)
    await a.cluster.move(second!, b.cluster.nodeId)
    await clock.pass(700)
    assert.deepEqual(shares(a, b), [1, 5])
  })

  test('is issued by no node while it is not known whether it was handed over', async () => {
    const { clock, a, b } = await two()
    const slot = slotLedBy(a)
    await a.cluster.move(a.cluster.shardOf(slot), b.cluster.nodeId)
    a.engine.always('write', 'late')
    await clock.pass(700)
    assert.equal(a.cluster.here(slot), undefined)
    assert.equal(b.cluster.here(slot), undefined)
    await a.engine.deliver()
    await clock.pass(10)
    assert.notEqual(b.cluster.here(slot), undefined)
    assert.equal(a.cluster.here(slot), undefined)
  })

  test('goes back to the node that it is assigned to when the pin is removed', async () => {
    const { clock, a, b } = await two()
    const [shard] = a.leads()
    await b.cluster.move(shard!, b.cluster.nodeId)
    await clock.pass(700)
    assert.deepEqual(shares(a, b), [2, 4])
    await b.cluster.move(shard!, undefined)
    await clock.pass(700)
    assert.deepEqual(shares(a, b), [3, 3])
  })

  test('is pinned to a node only until that one is dead', async () => {
    const { nodes, clock, a, b } = await two()
    const [shard] = a.leads()
    await a.cluster.move(shard!, b.cluster.nodeId)
    await clock.pass(1000)
    assert.ok(nodes.store.records.has(pinKey(shard!)))
    b.engine.always('any', 'unavailable')
    await clock.pass(5000)
    assert.equal(nodes.store.records.has(pinKey(shard!)), false)
  })

  test('goes to no node that cannot know yet: also an old pin counts only from when it can be carried out', async () => {
    const { clock, a, b } = await two()
    const [shard] = a.leads()
    await a.cluster.move(shard!, b.cluster.nodeId)
    await clock.pass(10_000)
    assert.ok(b.leads().includes(shard!))
    void b.cluster.drain()
    await clock.pass(10_000)
    assert.ok(a.leads().includes(shard!))
    void b.cluster.drain(false)
    await clock.pass(500)
    assert.ok(a.leads().includes(shard!), 'the pin is seconds old, but not that b can lead')
    await clock.pass(300)
    assert.ok(b.leads().includes(shard!))
  })

  test('goes to the node that it was stopped for, though another one is wanted by then', async () => {
    const { clock, a, b, nodes } = await two()
    const c = await nodes.start('c:1')
    await clock.pass(10_000)
    const [shard] = a.leads()
    const givenBack = Promise.withResolvers<void>()
    let isStopped = false
    a.cluster.listen({
      onLosing: () => {
        isStopped = true
        return givenBack.promise
      },
    })
    await a.cluster.move(shard!, b.cluster.nodeId)
    while (!isStopped) await clock.pass(1)
    await a.cluster.move(shard!, c.cluster.nodeId)
    await clock.pass(20)
    givenBack.resolve()
    await clock.pass(20)
    assert.ok(b.leads().includes(shard!))
    await clock.pass(1000)
    assert.ok(c.leads().includes(shard!))
  })

  test('cannot be moved to a node that is not there, nor to one that drains', async () => {
    const { clock, a, b } = await two()
    await assert.rejects(a.cluster.move(0, 'absent'), /no living node absent/)
    await assert.rejects(a.cluster.move(6, b.cluster.nodeId), /no shard 6; the last one is 5/)
    const drained = b.cluster.drain()
    await clock.pass(100)
    await drained
    await assert.rejects(a.cluster.move(0, b.cluster.nodeId), /draining/)
  })
})

describe('leaving', () => {
  test('gives everything away and leaves no record, so that no node waits for a lease', async () => {
    const { nodes, clock, a, b } = await two()
    const id = b.cluster.nodeId
    b.engine.next('remove', 'lose-reply')
    const closed = b.cluster.close()
    await clock.pass(700)
    await closed
    assert.deepEqual(shares(a), [6])
    assert.equal(nodes.store.records.has(nodeKey(id)), false)
    assert.equal(told('handedOver', a, b).length, 6, 'three to join, three to leave, and none back')
  })

  test('redirects the last requests to the nodes that lead by then', async () => {
    const { clock, a, b } = await two()
    const closed = b.cluster.close()
    await clock.pass(700)
    await closed
    for (const { firstSlot } of b.cluster.status().shards) {
      const lead = await b.cluster.leadWithin(firstSlot)
      assert.equal(lead.state === 'elsewhere' && lead.node.id, a.cluster.nodeId)
    }
  })

  test('ends within a lease or so when the engine is away', async () => {
    const { clock, b } = await two()
    b.engine.always('any', 'unavailable')
    const closed = b.cluster.close()
    await clock.pass(leaseMs + 100)
    await closed
    assert.deepEqual(b.leads(), [])
  })

  test('of the last one leaves its shards free for the next', async () => {
    const nodes = new Nodes(3)
    const a = await nodes.start('a:1')
    const closed = a.cluster.close()
    await nodes.clock.pass(20)
    await closed
    const b = await nodes.start('b:1')
    assert.deepEqual(shares(b), [3])
    assert.equal(nodes.clock.timers < 20, true)
  })

  test('is not needed to lead nothing: draining does, and can be taken back', async () => {
    const { clock, a, b } = await two()
    const drained = b.cluster.drain()
    await clock.pass(500)
    await drained
    assert.deepEqual(shares(a, b), [3, 3], 'until the other nodes have the record')
    await clock.pass(200)
    assert.deepEqual(shares(a, b), [6, 0])
    await clock.pass(10_000)
    assert.deepEqual(shares(a, b), [6, 0])
    void b.cluster.drain(false)
    await clock.pass(leaseMs + 1000)
    assert.deepEqual(shares(a, b), [3, 3])
  })

  test('says that the other nodes do not know yet when the engine is away, and stands', async () => {
    const { clock, a, b } = await two()
    b.engine.always('any', 'unavailable')
    const drained = assert.rejects(b.cluster.drain(), { code: 'UNKNOWN' })
    await clock.pass(leaseMs)
    await drained
    b.engine.heal()
    await clock.pass(2000)
    assert.deepEqual(shares(a, b), [6, 0])
  })

  test('keeps shards led where all nodes drain', async () => {
    const { clock, a, b } = await two()
    for (const { cluster } of [a, b]) void cluster.drain()
    await clock.pass(10_000)
    assert.equal(a.leads().length + b.leads().length, 6)
  })
})

describe('a lookup of the leader', () => {
  test('waits for a leader, and gives up when it takes too long', async () => {
    const { clock, a, b } = await two()
    const slot = slotLedBy(b)
    b.engine.always('any', 'unavailable')
    const answer = b.cluster.leadWithin(slot, 1000)
    assert.equal((await answer).state, 'here')
    await clock.pass(2800)
    const late = b.cluster.leadWithin(slot, 100)
    const patient = a.cluster.leadWithin(slot, 5000)
    await clock.pass(200)
    assert.equal((await late).state, 'none')
    await clock.pass(2000)
    assert.equal((await patient).state, 'here', 'from the dead')
  })

  test('is answered from the engine by the node that should lead: it never sends a client back', async () => {
    const { clock, a, b } = await two()
    const slot = slotLedBy(a)
    const shard = a.cluster.shardOf(slot)
    await a.cluster.move(shard, b.cluster.nodeId)
    await clock.pass(100)
    // News reach b late from here on: it learns only what it reads.
    const reads = b.engine.count('read')
    const asked = await b.cluster.leadWithin(slot, 1000)
    assert.equal(asked.state, 'elsewhere')
    assert.equal(b.engine.count('read'), reads + 1)
    const known = await a.cluster.leadWithin(slotLedBy(b), 1000)
    assert.equal(known.state, 'elsewhere')
  })

  test('is so too for a while after that node should have led: the leader that stopped for it finishes that', async () => {
    const { clock, a, b } = await two()
    const slot = slotLedBy(a)
    const shard = a.cluster.shardOf(slot)
    await a.cluster.move(shard, b.cluster.nodeId)
    await clock.pass(100)
    await a.cluster.move(shard, a.cluster.nodeId)
    await clock.pass(500)
    const reads = () => b.engine.count('read')
    const before = reads()
    assert.equal((await b.cluster.leadWithin(slot, 1000)).state, 'elsewhere')
    assert.equal(reads(), before + 1)
    await clock.pass(600)
    assert.equal((await b.cluster.leadWithin(slot, 1000)).state, 'elsewhere')
    assert.equal(reads(), before + 1, 'longer ago than a hand-over can last')
  })

  test('names another node after a lapse only if the engine says so, and waits while it is away', async () => {
    const { clock, a, b } = await two()
    const slot = slotLedBy(b)
    a.engine.always('any', 'unavailable')
    await clock.pass(2750)
    assert.equal(a.cluster.lead(slot).state, 'elsewhere')
    const late = a.cluster.leadWithin(slot, 300)
    await clock.pass(400)
    assert.equal((await late).state, 'none')
    const patient = a.cluster.leadWithin(slot, 5000)
    await clock.pass(300)
    a.engine.heal()
    await clock.pass(300)
    assert.equal((await patient).state, 'elsewhere')
  })

  test('never sends to the own address, under which a predecessor is on record, not even before it has joined', async () => {
    const nodes = new Nodes(1)
    const before = await nodes.start('a:1')
    before.engine.always('any', 'unavailable')
    const fresh = nodes.make('a:1')
    fresh.engine.always('write', 'unavailable')
    void fresh.cluster.start()
    await nodes.clock.pass(1000)
    assert.equal(fresh.cluster.lead(0).state, 'none')
  })

  test('does not name a leader that has missed a renewal, but waits for another one', async () => {
    const { clock, a, b } = await two()
    const slot = slotLedBy(b)
    b.engine.always('any', 'unavailable')
    await clock.pass(2000)
    const lead = a.cluster.leadWithin(slot, 2000)
    await clock.pass(2000)
    assert.equal((await lead).state, 'here')
  })

  test('names one that was late as soon as it has renewed, and one that stays away in the end', async () => {
    const { clock, a, b } = await two()
    const slot = slotLedBy(b)
    b.engine.always('any', 'unavailable')
    await clock.pass(2000)
    const inTheEnd = a.cluster.leadWithin(slot, 100)
    const soon = a.cluster.leadWithin(slot, 2000)
    await clock.pass(101)
    assert.equal((await inTheEnd).state, 'elsewhere')
    b.engine.heal()
    await clock.pass(200)
    assert.equal((await soon).state, 'elsewhere')
  })

  test('wakes lookups when a lease that lapsed is resumed', async () => {
    const { clock, a } = await two()
    const slot = slotLedBy(a)
    a.engine.always('any', 'unavailable')
    await clock.pass(2750)
    assert.equal(a.cluster.check(), false)
    const lead = a.cluster.leadWithin(slot, 5000)
    a.engine.heal()
    await clock.pass(300)
    assert.equal((await lead).state, 'here')
  })
})

describe('listeners', () => {
  test('are called at a lapse and a resumption, before anything else happens', async () => {
    const { clock, a } = await two()
    const calls: string[] = []
    const unlisten = a.cluster.listen({
      onLapse: () => calls.push('lapse'),
      onResume: () => calls.push('resume'),
      onLost: () => calls.push('lost'),
    })
    clock.mono += 2_800_000
    clock.wall += 2_800_000
    assert.equal(a.cluster.check(), false)
    assert.deepEqual(calls, ['lapse'])
    await clock.pass(100)
    assert.deepEqual(calls, ['lapse', 'resume'])
    unlisten()
    a.engine.always('any', 'unavailable')
    await clock.pass(2800)
    assert.equal(calls.length, 2)
  })

  test('are not needed to report a leader that was sealed out', async () => {
    const { a } = await two()
    const here = a.cluster.here(slotLedBy(a))!
    const reads = a.engine.count('read')
    for (let each = 0; each < 3; each++) a.cluster.sealedOut(here, here.fence + 1n)
    await settled()
    assert.equal(a.engine.count('read'), reads + 1)
    assert.equal(told('sealedOut', a).length, 1)
  })
})

describe('a leader whose fence a counter has refused', () => {
  test('gives its shard up, which rests, and is led again above the fence that the counter has seen', async () => {
    const { clock, a, b } = await two()
    const slot = slotLedBy(a)
    const here = a.cluster.here(slot)!
    const ofShard = () => a.cluster.status().shards[here.shard]!
    a.cluster.sealedOut(here, here.fence + 41n)
    await clock.pass(10)
    assert.deepEqual(shares(a, b), [2, 3])
    assert.ok(ofShard().restsForMs! > leaseMs && ofShard().nobodyForMs !== undefined)
    await clock.pass(leaseMs + marginMs - 100)
    assert.deepEqual(shares(a, b), [2, 3])
    await clock.pass(1500)
    assert.equal(shares(a, b)[0]! + shares(a, b)[1]!, 6)
    const next = a.cluster.here(slot) ?? b.cluster.here(slot)
    assert.equal(next!.fence, here.fence + 42n)
    assert.equal(ofShard().restsForMs, undefined)
  })

  test('keeps its shard where the fence is none above its own', async () => {
    const { clock, a, b } = await two()
    const here = a.cluster.here(slotLedBy(a))!
    a.cluster.sealedOut(here, here.fence)
    await clock.pass(leaseMs)
    assert.deepEqual(shares(a, b), [3, 3])
  })

  test('finds out whether another node leads before it gives anything up', async () => {
    const { clock, a, b } = await two()
    const here = a.cluster.here(slotLedBy(a))!
    a.engine.next('read', 'unavailable')
    a.cluster.sealedOut(here, here.fence + 1n)
    await clock.pass(leaseMs)
    assert.deepEqual(shares(a, b), [3, 3])
    a.cluster.sealedOut(here, here.fence + 1n)
    await clock.pass(10)
    assert.deepEqual(shares(a, b), [2, 3])
  })
})
