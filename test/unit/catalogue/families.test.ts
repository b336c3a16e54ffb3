import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { FahaoError } from '../../../src/base/errors.ts'
import { rowEndLo, rowLo, rowWords } from '../../../src/buffers/fast-runs.ts'
import type { GeneratorInput } from '../../../src/catalogue/generator-options.ts'
import { generatorKey } from '../../../src/catalogue/stored-generator.ts'
import { slotOf } from '../../../src/cluster/slots.ts'
import { MemoryStore } from '../../../src/engine/memory/engine.ts'
import { newestId } from '../../../src/operations/newest.ts'
import { settled } from '../fake-clock.ts'
import { twoMembers } from './cluster-nodes.ts'
import {
  DeafEngine,
  draw,
  LateEngine,
  type Node,
  type NodeOptions,
  SharedEngine,
  startNode,
  tryNext,
} from './node.ts'
import { allOf } from './part-of.ts'

const family: GeneratorInput = { kind: 'sequence', family: true, step: 10 }

async function started(options: NodeOptions = {}): Promise<Node> {
  const node = await startNode(options)
  await node.catalogue.create('room:*', family)
  return node
}

async function next({ catalogue }: Pick<Node, 'catalogue'>, name: string, count = 1): Promise<number> {
  const ids = await draw(await catalogue.open(name), count)
  return Number(ids.at(-1))
}

function code(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'answered',
    (error) => (error as FahaoError).code,
  )
}

/** A name of the same section: Redis Cluster hashes what is in braces. */
const sibling = (name: string) => `room:{a}${name}`

describe('a family', () => {
  test('has a sequence for each of its names, without a record and without a reserve for a name', async () => {
    const node = await started()
    assert.equal(await next(node, sibling('1')), 1)
    const { writes, reserves } = {
      writes: node.engine.count('write'),
      reserves: node.engine.count('reserve'),
    }
    assert.equal(await next(node, sibling('2')), 1)
    assert.equal(await next(node, sibling('1')), 2)
    assert.equal(await next(node, sibling('2'), 3), 4)
    assert.equal(node.engine.count('write'), writes)
    assert.equal(node.engine.count('reserve'), reserves)
    assert.deepEqual(
      (await allOf(node.catalogue)).map(({ name }) => name),
      ['room:*'],
    )
    assert.deepEqual(
      [...node.catalogue.inUse()].map(({ name }) => name),
      ['room:*'],
    )
  })

  test('issues past its bound only after a reserve, in the order of arrival', async () => {
    const node = await started()
    const generator = await node.catalogue.open('room:1')
    await draw(generator)
    const held = node.engine.hold('reserve')
    const large = draw(generator, 50)
    const small = draw(generator)
    assert.equal(tryNext(generator), undefined)
    await held.arrived
    held.letGo()
    assert.deepEqual((await large).at(-1), 51n)
    assert.deepEqual(await small, [52n])
    const { bound } = node.store.counters.get(`families/${slotOf('room:1')}/room:*`)!
    assert.ok(bound > 52n)
  })

  test('leaves a gap for a reserve whose reply was lost, and repeats nothing', async () => {
    const node = await started()
    node.engine.next('reserve', 'lose-reply')
    const first = next(node, sibling('1'))
    await node.clock.pass(1000)
    assert.equal(await first, 11)
    assert.equal(await next(node, sibling('2')), 11)
  })

  test('goes on above what another process has reserved of its section, for all of its names', async () => {
    const node = await started()
    await next(node, sibling('1'))
    await next(node, sibling('2'))
    const counter = `families/${slotOf(sibling('1'))}/room:*`
    const { end } = await node.engine.reserve(counter, { size: 100n, incarnation: 1n })
    const ids = await draw(await node.catalogue.open(sibling('1')), 20)
    assert.ok(ids[0]! >= end)
    assert.ok((await next(node, sibling('2'))) >= Number(end))
  })

  test('goes on above its bound after a crash, whatever its names had reached', async () => {
    const node = await started()
    await next(node, sibling('1'), 25)
    await next(node, sibling('2'))
    const { bound } = node.store.counters.get(`families/${slotOf(sibling('1'))}/room:*`)!
    await node.crash()
    const after = await startNode({ store: node.store })
    assert.equal(await next(after, sibling('1')), Number(bound))
    assert.equal(await next(after, sibling('2')), Number(bound))
    assert.equal(await next(after, sibling('3')), Number(bound))
  })

  test('releases at a clean stop what no name has reached', async () => {
    const node = await started()
    await next(node, sibling('1'), 3)
    await next(node, sibling('2'))
    await node.stop()
    const after = await startNode({ store: node.store })
    assert.equal(await next(after, sibling('2')), 4)
  })

  test('has a name that left memory return at the high mark of its section', async () => {
    const node = await started({ familyNamesMax: 2 })
    assert.equal(await next(node, sibling('1'), 5), 5)
    for (const name of ['2', '3', '4', '5', '6', '7']) await next(node, sibling(name))
    assert.ok((await next(node, sibling('1'))) > 5)
    node.catalogue.assertInvariants()
  })

  test('ends all of its names before anything else runs when it is closed, and releases above the largest', async () => {
    const node = await started()
    const names = Array.from({ length: 12_000 }, (_, at) => sibling(String(at)))
    for (const name of names) await next(node, name)
    await next(node, names.at(-1)!, 6)
    const { runs } = node.catalogue
    const issuing = () =>
      Array.from({ length: runs.rows }, (_, row) => row).filter(
        (row) => runs.words[row * rowWords + rowEndLo]! > runs.words[row * rowWords + rowLo]!,
      ).length
    assert.equal(issuing(), names.length)
    const closing = node.catalogue.reopenAll()
    assert.equal(issuing(), 0)
    await closing
    assert.equal(node.store.counters.get(`families/${slotOf(names[0]!)}/room:*`)!.bound, 8n)
    assert.equal(await next(node, names[0]!), 8)
    node.catalogue.assertInvariants()
  })

  test('opens many sections with few calls of a slow engine, whatever is asked of their names', async () => {
    const node = await started()
    const { engine } = node
    const counters = engine.count('counter')
    const reserves = engine.hold('reserve')
    const names = Array.from({ length: 2000 }, (_, at) => `room:${at}`)
    const drawn = names.map((name) => next(node, name))
    await reserves.arrived
    await settled()
    // All sections that are opened together have sent their first reserve; none waits for another, nor for a read.
    assert.ok(engine.count('reserve') > 500, `${engine.count('reserve')} reserves`)
    assert.equal(engine.count('counter'), counters)
    reserves.letGo()
    assert.deepEqual([...new Set(await Promise.all(drawn))], [1])
  })

  test('counts what its names have issued, in memory or not, and when it has been closed', async () => {
    const node = await started({ familyNamesMax: 2 })
    for (let name = 0; name < 10; name++) await next(node, sibling(String(name)), 2)
    const issued = async () => (await node.catalogue.info('room:*')).stats?.issued
    assert.equal(await issued(), 20)
    await node.catalogue.alter('room:*', { step: 20 })
    assert.equal(await issued(), 0)
    assert.equal(node.catalogue.ended.issued, 20)
  })

  test('is counted again after a count that took long when many times as long has passed', async () => {
    const { clock, catalogue } = await started()
    // As transports do, without a look at the generator.
    const take = () => {
      const { names } = catalogue
      names.runs.words[names.entryNamed(sibling('1')) * rowWords + rowLo]! += 1
    }
    const issued = async () => (await catalogue.info('room:*')).stats?.issued
    await next({ catalogue }, sibling('1'))
    const beganUs = clock.mono
    // Each reading of the clock takes 2 ms meanwhile.
    clock.monoUs = () => {
      clock.mono += 2000
      return clock.mono
    }
    assert.equal(await issued(), 1)
    clock.monoUs = () => clock.mono
    clock.mono = beganUs + 10_000
    take()
    assert.equal(await issued(), 1)
    clock.mono += 1_000_000
    assert.equal(await issued(), 2)
    take()
    assert.equal(await issued(), 3)
  })

  test('keeps a name that left memory while a request held its generator in order', async () => {
    const node = await started({ familyNamesMax: 1 })
    const generator = await node.catalogue.open(sibling('1'))
    await draw(generator)
    await next(node, sibling('2'), 7)
    await next(node, sibling('3'))
    assert.equal(tryNext(generator), undefined)
    const [id] = await draw(generator)
    assert.ok(id! >= 8n)
  })

  test('moves one name forward, and with it every name that is not in memory', async () => {
    const node = await started()
    const generator = await node.catalogue.open(sibling('1'))
    await draw(generator)
    await generator.moveTo(500n)
    assert.equal(generator.lastIssued(), 500n)
    assert.deepEqual(await draw(generator), [501n])
    await assert.rejects(generator.moveTo(400n), { code: 'ERR' })
    await node.crash()
    const after = await startNode({ store: node.store })
    assert.ok((await next(after, sibling('2'))) > 501)
  })

  test('has a move that waits for its reserve begin again when the family is altered meanwhile', async () => {
    const node = await started()
    // More names than are ended in one turn: the moved one is in memory until after the reserve.
    for (let at = 0; at < 10_050; at++) await next(node, sibling(`${at}`))
    const generator = await node.catalogue.open(sibling('10049'))
    const held = node.engine.hold('reserve')
    const moved = generator.moveTo(5000n)
    await held.arrived
    const altered = node.catalogue.alter('room:*', { step: 20 })
    await settled()
    held.letGo()
    await Promise.all([moved, altered])
    assert.equal(await next(node, sibling('10049')), 5001)
  })

  test('has a move reserve all that it promises, however little space is left', async () => {
    const node = await startNode()
    await node.catalogue.create('room:*', { ...family, max: 10_000n })
    const generator = await node.catalogue.open(sibling('1'))
    for (let bursts = 0; bursts < 8; bursts++) await draw(generator, 100)
    await generator.moveTo(generator.lastIssued()! + 200n)
    const moved = Number(generator.lastIssued())
    await node.crash()
    assert.ok((await next(await startNode({ store: node.store }), sibling('1'))) > moved)
  })

  test('ends at its largest id, for each name', async () => {
    const node = await startNode()
    await node.catalogue.create('room:*', { ...family, max: 30, issueTimeout: 100 })
    assert.equal(await next(node, 'room:1', 30), 30)
    const exhausted = code(next(node, 'room:1'))
    await node.clock.pass(1000)
    assert.equal(await exhausted, 'EXHAUSTED')
  })

  test('describes itself and its names, and refuses what one name cannot be asked', async () => {
    const node = await started()
    const { catalogue } = node
    await next(node, 'room:1', 3)
    assert.equal(await catalogue.exists('room:7'), true)
    assert.equal(catalogue.find('room:7'), undefined)
    const info = await catalogue.info('room:1')
    assert.deepEqual([info.lastIssued, info.definition.family], [3n, true])
    assert.equal((await catalogue.info('room:7')).lastIssued, undefined)
    assert.equal((await catalogue.info('room:*')).stats?.issued, 3)
    await assert.rejects(catalogue.drop('room:1'), { code: 'ERR', message: /ID.DROP room:\*/ })
    await assert.rejects(catalogue.alter('room:1', { step: 1 }), { code: 'ERR' })
    await assert.rejects(draw(await catalogue.open('room:*')), { code: 'WRONGTYPE' })
    await assert.rejects((await catalogue.open('room:1')).leaseRange(5), { code: 'WRONGTYPE' })
  })

  test('takes only options that it can keep', async () => {
    const { catalogue } = await startNode()
    const created = (name: string, input: GeneratorInput) => code(catalogue.create(name, input))
    assert.equal(await created('room', family), 'ERR')
    assert.equal(await created('r[a]*', family), 'ERR')
    assert.equal(await created('a*b*', family), 'ERR')
    assert.equal(await created('room:*', { kind: 'segment', family: true }), 'ERR')
    assert.equal(await created('room:*', { ...family, increment: 2 }), 'ERR')
    assert.equal(await created('room:*', { ...family, max: `${2n ** 60n}` }), 'ERR')
    assert.equal(await created('room:*', family), 'answered')
    assert.equal(await code(catalogue.alter('room:*', { family: false })), 'ERR')
    assert.equal(await code(catalogue.alter('room:*', { kind: 'segment' })), 'ERR')
  })

  test('applies an alteration, and a floor to sections that were never used', async () => {
    const node = await started()
    await next(node, sibling('1'))
    await node.catalogue.alter('room:*', { floor: 1000n })
    assert.equal(await next(node, sibling('1')), 1000)
    assert.equal(await next(node, 'room:other'), 1000)
    await node.catalogue.alter('room:*', { step: 20 })
    assert.ok((await next(node, sibling('1'))) > 1000)
  })
})

describe('a family beside generators', () => {
  test('is not created while a generator has one of its names, and begins above those that were dropped', async () => {
    const node = await startNode()
    await node.catalogue.create('room:1', { kind: 'sequence', start: 700, step: 5 })
    await next(node, 'room:1')
    await assert.rejects(node.catalogue.create('room:*', family), { code: 'EXISTS', message: /'room:1'/ })
    // The refused family leaves no trace: the generator is opened again.
    await node.crash()
    const after = await startNode({ store: node.store })
    assert.ok((await next(after, 'room:1')) > 700)
    await after.catalogue.drop('room:1')
    await after.catalogue.create('room:*', family)
    assert.ok((await next(after, 'room:1')) > 701)
    assert.ok((await next(after, 'room:2')) > 701)
  })

  test('has its names created by nothing else', async () => {
    const node = await started({ autoCreate: [{ pattern: '*', kind: 'segment' }] })
    const generator = await node.catalogue.open('room:1')
    assert.equal(generator.kind, 'sequence')
    assert.equal(node.store.records.get(generatorKey('room:1')), undefined)
    await assert.rejects(node.catalogue.create('room:1', { kind: 'sequence' }), { code: 'EXISTS' })
    await assert.rejects(node.catalogue.create('room:1*', family), { code: 'EXISTS', message: /'room:\*'/ })
    await assert.rejects(node.catalogue.create('ro*', family), { code: 'EXISTS' })
    assert.equal((await node.catalogue.open('other')).kind, 'segment')
  })

  test('is followed above its ids: by generators, by itself, and by a family with other names', async () => {
    const node = await started()
    await next(node, 'room:1', 34)
    assert.equal(await node.catalogue.drop('room:*'), true)
    assert.equal(await node.catalogue.exists('room:1'), false)
    await assert.rejects(node.catalogue.open('room:1'), { code: 'NOGENERATOR' })
    await node.catalogue.create('room:1', { kind: 'sequence' })
    const ordinary = await next(node, 'room:1')
    assert.ok(ordinary > 34)
    await node.catalogue.drop('room:1')
    await node.catalogue.create('ro*', family)
    const wider = await next(node, 'room:1')
    assert.ok(wider > ordinary)
    await node.catalogue.drop('ro*')
    await node.catalogue.create('room:*', family)
    assert.ok((await next(node, 'room:1')) > wider)
  })

  test('is completed by a second creation, or taken back by a drop, where the first ended in between', async () => {
    for (const complete of [true, false]) {
      const node = await startNode()
      // The announcement is written; the record is not.
      node.engine.hold('write').letGo()
      node.engine.next('write', 'unavailable')
      assert.equal(await code(node.catalogue.create('room:*', family)), 'UNAVAILABLE')
      await assert.rejects(node.catalogue.open('room:1'), { code: 'CONFLICT' })
      if (complete) {
        await node.catalogue.create('room:*', family)
        assert.equal(await next(node, 'room:1'), 1)
      } else {
        await node.catalogue.drop('room:*')
        await node.catalogue.create('room:1', { kind: 'sequence' })
        assert.equal(await next(node, 'room:1'), 1)
      }
    }
  })

  test('shares no name with a generator that another node creates at the same time', async () => {
    // The generator is written after each call of the creation of the family in turn.
    for (let after = 0; after < 14; after++) {
      const store = new MemoryStore()
      const reach = (reached: MemoryStore) => new DeafEngine(reached)
      const one = await startNode({ store, reach })
      const two = await startNode({ store, reach })
      const write = two.engine.hold('write')
      const ordinary = code(two.catalogue.create('room:1', { kind: 'sequence' }))
      await write.arrived
      const stop = stopped(one, after)
      const creating = code(one.catalogue.create('room:*', family))
      await Promise.race([stop.arrived, creating])
      write.letGo()
      // Before the family goes on, as far as the generator can without it.
      await settled()
      stop.go()
      const outcomes = [await creating, await ordinary]
      assert.ok(outcomes.filter((each) => each === 'answered').length <= 1, `after ${after}: ${outcomes}`)
      const three = await startNode({ store, reach })
      const opened = await three.catalogue
        .open('room:1')
        .then((generator) => (generator.definition.family ? 'family' : 'generator'), codeOf)
      if (outcomes[0] === 'answered') assert.equal(opened, 'family')
      if (outcomes[1] === 'answered') assert.equal(opened, 'generator')
    }
  })

  test('never has a record used that was written late, nor one that comes back when it is dropped', async () => {
    const store = new MemoryStore()
    const reach = (reached: MemoryStore) => new DeafEngine(reached)
    const one = await startNode({ store, reach })
    const two = await startNode({ store, reach })
    // The write arrives when the family is active, and its node has ended by then.
    two.engine.next('write', 'late')
    await assert.rejects(two.catalogue.create('room:1', { kind: 'sequence' }), { code: 'UNKNOWN' })
    await one.catalogue.create('room:*', family)
    await two.engine.deliver()
    const three = await startNode({ store, reach })
    const last = await next(three, 'room:1', 40)
    await three.catalogue.drop('room:*')
    const four = await startNode({ store, reach, autoCreate: [{ pattern: '*', kind: 'sequence' }] })
    assert.ok((await next(four, 'room:1')) > last)
  })
})

describe('a family on a store that nodes share', () => {
  test('draws from its section by group commit, in strict order across nodes', async () => {
    const store = new MemoryStore()
    const reach = (reached: MemoryStore) => new SharedEngine(reached)
    const one = await startNode({ store, reach })
    const two = await startNode({ store, reach })
    await one.catalogue.create('room:*', family)
    await settled()
    let last = 0
    for (let turn = 0; turn < 20; turn++) {
      const id = await next(turn % 2 === 0 ? one : two, 'room:1')
      assert.ok(id > last)
      last = id
    }
    assert.equal((await one.catalogue.info('room:1')).mode, 'group commit')
  })

  test('has one reserve for all names of a section that wait, each of which counts for itself', async () => {
    const store = new MemoryStore()
    const node = await startNode({ store, reach: (reached) => new SharedEngine(reached) })
    await node.catalogue.create('room:*', family)
    await settled()
    await next(node, sibling('0'))
    const reserves = node.engine.count('reserve')
    const first = next(node, sibling('1'), 3)
    const others = [sibling('1'), sibling('2'), sibling('2'), sibling('3')].map((name) => next(node, name))
    assert.deepEqual([await first, ...(await Promise.all(others))], [4, 5, 2, 3, 2])
    assert.equal(node.engine.count('reserve'), reserves + 1)
    assert.equal((await node.catalogue.info('room:*')).stats?.issued, 8)
  })

  test('is refused an old incarnation after a drop that a node has not received', async () => {
    const store = new MemoryStore()
    const late: LateEngine[] = []
    const one = await startNode({ store, reach: (reached) => new SharedEngine(reached) })
    const two = await startNode({
      store,
      reach: (reached) => {
        late.push(new LateEngine(reached))
        return late[0]!
      },
    })
    await one.catalogue.create('room:*', family)
    await settled()
    const generator = await two.catalogue.open('room:1')
    await draw(generator)
    late[0]!.late = true
    await one.catalogue.drop('room:*')
    await one.catalogue.create('room:1', { kind: 'sequence' })
    const id = await next(one, 'room:1')
    const drawn = draw(generator)
    late[0]!.report()
    await two.clock.pass(2000)
    assert.ok(Number((await drawn)[0]) > id)
  })
})

describe('a family in a cluster', () => {
  async function clustered() {
    const members = await twoMembers('room:1')
    await members.leader.catalogue.create('room:*', family)
    await members.clock.pass(100)
    return members
  }

  test('has the leader of a name’s slot issue, and every other node name it', async () => {
    const { leader, other, store } = await clustered()
    assert.equal(await next(leader, 'room:1'), 1)
    const counter = store.counters.get(`families/${slotOf('room:1')}/room:*`)!
    assert.equal(counter.fence, leader.cluster.here(slotOf('room:1'))!.fence)
    const there = await other.catalogue.open('room:1')
    assert.equal(there.mode, 'leader')
    await assert.rejects(draw(there), { code: 'MOVED' })
  })

  test('has no newest id of a name that is not in memory on its leader, and the question brings none into it', async () => {
    const { leader, other } = await clustered()
    assert.equal(await newestId(leader.catalogue, 'room:1'), undefined)
    assert.equal(leader.catalogue.find('room:1'), undefined)
    await next(leader, 'room:1')
    assert.equal(await newestId(leader.catalogue, 'room:1'), 1n)
    await assert.rejects(newestId(other.catalogue, 'room:1'), { code: 'MOVED' })
  })

  test('goes on above every id on the next leader in a hand-over', async () => {
    const { leader, other, clock } = await clustered()
    const generator = await leader.catalogue.open('room:1')
    const [first] = await draw(generator, 3)
    const there = await other.catalogue.open('room:1')
    await leader.cluster.move(0, other.cluster.nodeId)
    while (other.cluster.here(0) === undefined) await clock.pass(10)
    assert.equal(tryNext(generator), undefined)
    const [second] = await draw(there)
    assert.ok(second! > first! + 2n)
    await assert.rejects(draw(generator), { code: 'MOVED' })
  })

  test('issues nothing while the lease has lapsed, and goes on when it is renewed', async () => {
    const { leader, clock } = await clustered()
    const generator = await leader.catalogue.open('room:1')
    await draw(generator)
    leader.clusterEngine.always('write', 'unavailable')
    clock.mono += 2_800_000
    clock.wall += 2_800_000
    assert.equal(leader.cluster.check(), false)
    assert.equal(tryNext(generator), undefined)
    const waiting = draw(generator)
    await clock.pass(1)
    leader.clusterEngine.heal()
    await clock.pass(500)
    assert.equal((await waiting)[0], 2n)
  })

  test('drops what a lost leadership had, and goes on above its bound', async () => {
    const { leader, other, clock } = await clustered()
    const generator = await leader.catalogue.open('room:1')
    const [first] = await draw(generator)
    leader.clusterEngine.always('any', 'unavailable')
    leader.engine.always('any', 'unavailable')
    for (let waited = 0; other.cluster.here(slotOf('room:1')) === undefined; waited++) {
      assert.ok(waited < 1000)
      await clock.pass(100)
    }
    leader.cluster.check()
    assert.equal(tryNext(generator), undefined)
    const [second] = await draw(await other.catalogue.open('room:1'))
    assert.ok(second! > first!)
    leader.clusterEngine.heal()
    leader.engine.heal()
    await clock.pass(5000)
    assert.equal(tryNext(generator), undefined)
  })
})

const codeOf = (error: unknown): string => (error as FahaoError).code

/** Stops a node at its call number `at` from now on, until `go`. */
function stopped({ engine }: Node, at: number) {
  const holds = Array.from({ length: at + 1 }, () => engine.hold('any'))
  for (const held of holds.slice(0, at)) held.letGo()
  return { arrived: holds[at]!.arrived, go: () => holds[at]!.letGo() }
}
