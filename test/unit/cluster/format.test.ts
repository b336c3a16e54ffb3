import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { misfit, refuseMisfits } from '../../../src/cluster/format.ts'
import {
  type NodeFormat,
  type NodeRecord,
  nodeKey,
  ownFormat,
  readNode,
} from '../../../src/cluster/records.ts'
import { agreeOnSettings } from '../../../src/cluster/settings.ts'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import { FakeClock } from '../fake-clock.ts'
import { Nodes } from './nodes.ts'

const node: NodeRecord = {
  id: 'n1',
  resp: '10.0.0.1:7379',
  version: '9.0.0',
  joinedMs: 1,
  heartbeat: 1,
  draining: false,
}

function format(writes: number, oldest: number, newest: number): NodeFormat {
  return { writes, reads: [oldest, newest] }
}

/** A cluster with this node on record, which has sent one heartbeat. */
async function withNode(record: NodeRecord) {
  const [engine, clock] = [new MemoryEngine(new MemoryStore()), new FakeClock()]
  await agreeOnSettings(engine, { cluster: 'ids', shards: 1 })
  await engine.write(nodeKey(record.id), JSON.stringify(record), undefined)
  const renew = async () => {
    const stored = (await engine.read(nodeKey(record.id)))!
    const next = { ...readNode(stored).value, heartbeat: readNode(stored).value.heartbeat + 1 }
    await engine.write(stored.key, JSON.stringify(next), stored.version)
  }
  return { engine, clock, renew }
}

/** What comes of a start, while time passes and something happens each 100 ms. */
async function started(start: Promise<void>, clock: FakeClock, happen = async () => {}): Promise<string> {
  let outcome = ''
  const settled = start.then(
    () => {
      outcome = 'started'
    },
    (error: Error) => {
      outcome = error.message
    },
  )
  while (outcome === '') {
    await happen()
    await clock.pass(100)
  }
  await settled
  return outcome
}

describe('two formats', () => {
  const cases: readonly (readonly [string, NodeFormat, NodeFormat, boolean])[] = [
    ['the same', format(2, 2, 2), format(2, 2, 2), true],
    ['one that reads the next, and the one that writes it', format(2, 2, 3), format(3, 2, 3), true],
    ['one that does not know what the other writes', format(2, 2, 2), format(3, 2, 3), false],
    ['one that has forgotten what the other writes', format(2, 2, 3), format(3, 3, 3), false],
  ]
  for (const [what, one, other, fits] of cases)
    test(`${what}: ${fits ? 'run in one cluster' : 'do not'}`, () => {
      assert.equal(misfit({ ...node, format: one }, other) === undefined, fits)
      assert.equal(misfit({ ...node, format: other }, one) === undefined, fits)
    })

  test('of which one is not named fit while the other reads and writes format 2', () => {
    assert.equal(misfit(node, ownFormat), undefined)
    assert.match(
      misfit(node, format(3, 3, 4)) ?? '',
      /writes format 2 and reads 2, .* format 3 and reads 3 to 4/,
    )
  })
})

describe('the start of a node', () => {
  const newer = { ...node, format: format(4, 4, 5) }

  test('is refused while a node runs that reads no record of it', async () => {
    const { engine, clock, renew } = await withNode(newer)
    const message = await started(refuseMisfits(engine, clock), clock, renew)
    assert.match(
      message,
      /^node 10\.0\.0\.1:7379 runs version 9\.0\.0, which writes format 4 and reads 4 to 5/,
    )
    assert.match(message, /upgrade by way of a version that reads both, or stop every node/)
  })

  test('is refused while a node of a newer version renews a record that this one cannot read', async () => {
    const { heartbeat: _, ...unreadable } = newer
    const { engine, clock } = await withNode(unreadable as NodeRecord)
    const renew = async () => {
      const { key, version } = (await engine.read(nodeKey(node.id)))!
      await engine.write(key, JSON.stringify({ ...unreadable, pulse: Number(version) }), version)
    }
    assert.match(
      await started(refuseMisfits(engine, clock), clock, renew),
      /^node 10\.0\.0\.1:7379 runs version 9\.0\.0, .*; upgrade by way of a version that reads both/,
    )
  })

  test('goes on once such a node has been silent for a lease and a margin', async () => {
    const { engine, clock } = await withNode(newer)
    const beganUs = clock.monoUs()
    assert.equal(await started(refuseMisfits(engine, clock), clock), 'started')
    assert.ok(clock.monoUs() - beganUs >= 3_300_000)
  })

  test('waits for nothing where all nodes fit, or the node is dead', async () => {
    for (const record of [node, { ...newer, deadBy: 'n2' }]) {
      const { engine, clock } = await withNode(record)
      await refuseMisfits(engine, clock)
    }
  })
})

describe('nodes of several versions', () => {
  test('report that they differ, and when they do no more', async () => {
    const nodes = new Nodes(2)
    const a = await nodes.start('a:1')
    const b = await nodes.start('b:1', { version: '2' })
    await nodes.clock.pass(1000)
    const reports = () => a.events.flatMap((event) => (event.type === 'versions' ? [event.versions] : []))
    assert.deepEqual(reports(), [['1', '2']])
    assert.deepEqual(b.cluster.status().versions, ['1', '2'])
    const closed = b.cluster.close()
    await nodes.clock.pass(5000)
    await closed
    assert.deepEqual(reports(), [['1', '2'], ['1']])
  })

  test('report that a newer Fahao has written a record that they cannot read, and do not advise to remove it', async () => {
    const nodes = new Nodes(2)
    const a = await nodes.start('a:1')
    const { heartbeat: _, ...newer } = { ...node, id: 'later', format: format(4, 4, 5) }
    await new MemoryEngine(nodes.store).write(nodeKey('later'), JSON.stringify(newer), undefined)
    await nodes.clock.pass(1000)
    const told = a.events.flatMap((event) => (event.type === 'trouble' ? [event.message] : []))
    assert.match(told[0]!, /later cannot be read .*; a newer Fahao has written it: upgrade this one$/)
    assert.equal(told.length, 1)
  })

  test('report a node that does not fit', async () => {
    const nodes = new Nodes(2)
    const a = await nodes.start('a:1')
    const engine = new MemoryEngine(nodes.store)
    const newer = { ...node, id: 'later', format: format(4, 4, 5) }
    await engine.write(nodeKey('later'), JSON.stringify(newer), undefined)
    await nodes.clock.pass(1000)
    const told = a.events.flatMap((event) => (event.type === 'trouble' ? [event.message] : []))
    assert.deepEqual(told.length, 1)
    assert.match(told[0]!, /runs version 9\.0\.0, which writes format 4 .*; stop that node$/)
  })
})
