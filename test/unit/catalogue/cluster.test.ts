import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { FahaoError } from '../../../src/base/errors.ts'
import type { Generator } from '../../../src/catalogue/catalogue.ts'
import { generatorKey } from '../../../src/catalogue/stored-generator.ts'
import { slotOf } from '../../../src/cluster/slots.ts'
import { type FakeClock, settled } from '../fake-clock.ts'
import { type Member, twoMembers } from './cluster-nodes.ts'
import { draw, tryNext } from './node.ts'

const strict = ['sequence', 'timestamp'] as const

async function created(kind: 'sequence' | 'timestamp', issueTimeout = 2000) {
  const members = await twoMembers('g')
  await members.leader.catalogue.create('g', { kind, issueTimeout })
  const g = await members.leader.catalogue.open('g')
  return { ...members, g }
}

/** Has the shard led by the other one. */
async function handOver(leader: Member, other: Member, clock: FakeClock): Promise<void> {
  await leader.cluster.move(0, other.cluster.nodeId)
  while (other.cluster.here(0) === undefined) await clock.pass(10)
  assert.equal(leader.cluster.here(0), undefined)
}

function code(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'answered',
    (error) => (error as FahaoError).code,
  )
}

for (const kind of strict) {
  describe(`a ${kind} in a cluster`, () => {
    test('is issued by its leader, with the fence on every reserve, and nowhere else', async () => {
      const { g, leader, other, store } = await created(kind)
      const [first] = await draw(g)
      assert.equal(g.mode, 'leader')
      assert.ok(tryNext(g)! > first!)
      assert.equal(store.counters.get(generatorKey('g'))!.fence, leader.cluster.here(slotOf('g'))!.fence)
      const there = await other.catalogue.open('g')
      assert.equal(tryNext(there), undefined)
      await assert.rejects(draw(there), { code: 'MOVED', message: `${slotOf('g')} ${leader.address}` })
      await assert.rejects(there.ledHere(), { code: 'MOVED' })
    })

    test('continues at once on the next leader in a hand-over, with the next id, without an error', async () => {
      const { g, leader, other, clock } = await created(kind)
      const [first] = await draw(g)
      const there = await other.catalogue.open('g')
      await handOver(leader, other, clock)
      const [second] = await draw(there)
      if (kind === 'sequence') assert.equal(second, first! + 1n)
      assert.ok(second! > first!)
      assert.equal(tryNext(g), undefined)
      await assert.rejects(draw(g), { code: 'MOVED', message: `${slotOf('g')} ${other.address}` })
    })

    test('waits while the lease has lapsed, and continues with its buffer when the lease is renewed', async () => {
      const { g, leader, clock } = await created(kind)
      const [first] = await draw(g)
      leader.clusterEngine.always('write', 'unavailable')
      clock.mono += 2_800_000
      clock.wall += 2_800_000
      assert.equal(leader.cluster.check(), false)
      assert.equal(tryNext(g), undefined, 'ready ids are taken back')
      leader.engine.always('reserve', 'unavailable')
      const parked = draw(g)
      await clock.pass(1)
      leader.clusterEngine.heal()
      await clock.pass(500)
      assert.ok((await parked)[0]! > first!)
    })

    test('issues no buffered id after the lease has lapsed, before the lapse was noticed', async () => {
      const { g, leader, clock } = await created(kind, 10_000)
      await draw(g, 3)
      leader.clusterEngine.always('write', 'unavailable')
      clock.mono += 2_800_000
      clock.wall += 2_800_000
      let answered = false
      const parked = draw(g).then(() => {
        answered = true
      })
      await settled()
      assert.equal(answered, false)
      leader.clusterEngine.heal()
      await clock.pass(500)
      await parked
    })

    test('rejects a waiting call after the longest take-over, because no node leads', async () => {
      const { g, leader, other, clock } = await created(kind)
      await draw(g)
      for (const { clusterEngine } of [leader, other]) clusterEngine.always('any', 'unavailable')
      await clock.pass(2800)
      const parked = [code(draw(g)), code(g.ledHere()), code(draw(g, 5))]
      // A lease of 3 s, its margin, a look at the records, and the time that a free shard is left to its node.
      await clock.pass(4801)
      assert.deepEqual(await Promise.all(parked), ['CLUSTERDOWN', 'CLUSTERDOWN', 'CLUSTERDOWN'])
    })

    test('sends waiting calls to the successor when the leader was declared dead, and issues no buffered id', async () => {
      const { g, leader, other, clock } = await created(kind)
      const [first] = await draw(g)
      leader.clusterEngine.always('write', 'unavailable')
      await clock.pass(2800)
      const parked = draw(g)
      const outcome = assert.rejects(parked, { code: 'MOVED', message: `${slotOf('g')} ${other.address}` })
      await clock.pass(1900)
      await outcome
      const [second] = await draw(await other.catalogue.open('g'))
      assert.ok(second! > first!)
      leader.clusterEngine.heal()
      await clock.pass(1000)
      assert.equal(tryNext(g), undefined)
      assert.equal(await code(draw(g)), 'MOVED')
    })

    test('issues no id of a reserve that is answered after the lease has lapsed, until the lease is resumed', async () => {
      const { g, leader, clock } = await created(kind, 10_000)
      const held = leader.engine.hold('reserve')
      let answered = false
      const parked = draw(g).then((ids) => {
        answered = true
        return ids
      })
      await held.arrived
      leader.clusterEngine.always('write', 'unavailable')
      // No callback has read the clock since: the answer itself wakes the process up.
      clock.mono += 2_800_000
      clock.wall += 2_800_000
      held.letGo()
      await settled()
      assert.equal(answered, false)
      leader.clusterEngine.heal()
      await clock.pass(500)
      assert.equal((await parked).length, 1)
    })

    test('is not opened under a leadership that has ended before its counter is read', async () => {
      const { leader, other, clock } = await created(kind)
      await leader.catalogue.create('h', { kind })
      await leader.catalogue.reopenAll()
      const held = leader.engine.hold('counter')
      const asked = code(leader.catalogue.open('h').then((h) => draw(h)))
      await held.arrived
      await handOver(leader, other, clock)
      // The successor has reserved nothing yet: the engine would let the old fence in.
      held.letGo()
      assert.equal(await asked, 'MOVED')
    })

    test('issues no id of a reserve that was made while it was opened in a lapse', async () => {
      const { leader, clock } = await created(kind, 100)
      await leader.catalogue.reopenAll()
      const held = leader.engine.hold('counter')
      const asked = code(leader.catalogue.open('g').then((g) => draw(g)))
      await held.arrived
      leader.clusterEngine.always('write', 'unavailable')
      clock.mono += 2_800_000
      clock.wall += 2_800_000
      assert.equal(leader.cluster.check(), false)
      held.letGo()
      await clock.pass(101)
      const g = leader.catalogue.find('g')!
      assert.equal(tryNext(g), undefined)
      leader.clusterEngine.heal()
      await clock.pass(500)
      assert.equal(await asked, 'answered')
      assert.equal((await draw(g)).length, 1)
    })

    test('stops at once when a reserve is refused because of a newer leader', async () => {
      const { g, leader, other, store, clock } = await created(kind)
      await draw(g)
      const key = generatorKey('g')
      const counter = store.counters.get(key)!
      store.counters.set(key, { ...counter, fence: counter.fence + 5n, bound: counter.bound * 2n })
      // Uses up the buffer, or its time.
      await clock.pass(20_000)
      let outcome = ''
      for (let each = 0; each < 100 && outcome !== 'CLUSTERDOWN'; each++) outcome = await code(g.draw(100))
      assert.equal(outcome, 'CLUSTERDOWN')
      await clock.pass(10)
      assert.equal(leader.events.filter(({ type }) => type === 'sealedOut').length, 1)
      assert.equal(tryNext(g), undefined)
      // No record names a newer leader: one is made, above the fence that the counter has seen.
      await clock.pass(6000)
      const next = [leader, other].find(({ cluster }) => cluster.here(slotOf('g')) !== undefined)
      assert.ok(next !== undefined, 'no node leads the generator')
      await draw(await next.catalogue.open('g'))
      assert.equal(store.counters.get(key)!.fence, counter.fence + 6n)
    })

    test('is moved forward by its leader alone', async () => {
      const { g, other } = await created(kind)
      const there = await other.catalogue.open('g')
      const [first] = await draw(g)
      const newest = first! + 2n ** 40n
      await assert.rejects(there.moveTo(newest), { code: 'MOVED' })
      if (kind === 'timestamp') return
      await g.moveTo(newest)
      assert.deepEqual(await draw(g), [newest + 1n])
    })

    test('can be dropped, created anew and altered on a node that does not lead it', async () => {
      const { g, leader, other, clock } = await created(kind)
      const [first] = await draw(g)
      assert.equal(await other.catalogue.drop('g'), true)
      await clock.pass(1500)
      assert.equal(await code(draw(g)), 'NOGENERATOR')
      await other.catalogue.create('g', { kind })
      await clock.pass(1500)
      const [second] = await draw(await leader.catalogue.open('g'))
      assert.ok(second! > first!)
      const changes = kind === 'sequence' ? { increment: 5 } : { node: 3 }
      await other.catalogue.alter('g', changes)
      await clock.pass(1500)
      const [third] = await draw(await leader.catalogue.open('g'))
      assert.ok(third! > second!)
    })
  })
}

describe('a cluster', () => {
  test('answers for kinds in order per node on each node, also if a generator was strict before', async () => {
    const { g, leader, other, clock } = await created('sequence')
    const ids = await draw(g, 10)
    await other.catalogue.alter('g', { kind: 'segment' })
    await clock.pass(1500)
    for (const { catalogue } of [leader, other, leader])
      ids.push(...(await draw(await catalogue.open('g'), 10)))
    assert.equal(new Set(ids).size, 40)
    await leader.catalogue.alter('g', { kind: 'sequence' })
    await clock.pass(1500)
    const [again] = await draw(await leader.catalogue.open('g'))
    assert.ok(ids.every((id) => id < again!))
  })

  test('shows the leader, and the last id if it is certain', async () => {
    const { g, leader, other, clock } = await created('sequence')
    await draw(g, 37)
    const here = await leader.catalogue.info('g')
    assert.deepEqual(
      [here.leader, here.elsewhere, here.lastIssued, here.stats?.issued],
      [leader.address, undefined, 37n, 37],
    )
    for (const isInUse of [false, true]) {
      if (isInUse) await other.catalogue.open('g')
      const there = await other.catalogue.info('g')
      assert.deepEqual([there.mode, there.leader, there.bound], ['leader', leader.address, here.bound])
      const { nodeId: node } = leader.cluster
      const elsewhere = { node, slot: slotOf('g'), resp: leader.address, http: undefined }
      assert.deepEqual(there.elsewhere, elsewhere)
      assert.deepEqual([there.lastIssued, there.stats, there.notes], [undefined, undefined, []])
    }
    leader.clusterEngine.always('write', 'unavailable')
    await clock.pass(3000)
    const leaderless = await leader.catalogue.info('g')
    assert.deepEqual(
      [leaderless.leader, leaderless.elsewhere, leaderless.lastIssued],
      [undefined, undefined, undefined],
    )
    assert.deepEqual(leaderless.notes, ['led by no node at this moment'])
  })

  test('releases the range of each generator when a node leaves', async () => {
    const { leader, other, clock } = await created('sequence')
    const names = Array.from({ length: 40 }, (_, at) => `g${at}`)
    for (const name of names) {
      await leader.catalogue.create(name, { kind: 'sequence' })
      assert.deepEqual(await draw(await leader.catalogue.open(name)), [1n])
    }
    let left = false
    const leaving = leader.cluster.close().then(() => {
      left = true
    })
    while (!left) await clock.pass(100)
    await leaving
    await leader.catalogue.close()
    await clock.pass(1000)
    for (const name of names) assert.deepEqual(await draw(await other.catalogue.open(name)), [2n])
  })

  test('stops all generators of a shard before the first range is released', async () => {
    const { leader, other, clock } = await created('sequence')
    const names = Array.from({ length: 40 }, (_, at) => `g${at}`)
    const all: Generator[] = []
    for (const name of names) {
      await leader.catalogue.create(name, { kind: 'sequence' })
      const generator = await leader.catalogue.open(name)
      await draw(generator)
      all.push(generator)
    }
    leader.engine.slow('release', 10_000, clock)
    await leader.cluster.move(0, other.cluster.nodeId)
    while (leader.engine.count('release') === 0) await clock.pass(1)
    // Connections know generators, too, not only the catalogue.
    assert.deepEqual(
      all.filter((generator) => tryNext(generator) !== undefined),
      [],
    )
    assert.ok(leader.engine.count('release') < names.length, 'not all of them at once')
  })

  test('leaves the buffered range to the successor, which issues it without a call of the engine', async () => {
    for (const kind of ['sequence', 'timestamp'] as const) {
      const { g, leader, other, clock } = await created(kind)
      const [last] = await draw(g)
      // It was asked for this generator before, and has its definition.
      await code(draw(await other.catalogue.open('g')))
      const asked = () => (['read', 'counter', 'reserve'] as const).map((each) => other.engine.count(each))
      const before = asked()
      const { bound } = await leader.engine.counter(generatorKey('g'))
      const left: [string, bigint][] = []
      const adopted: [string, bigint][] = []
      leader.engine.transfer = (...args) => void left.push(args)
      other.engine.acquire = (...args) => void adopted.push(args)
      await leader.cluster.move(0, other.cluster.nodeId)
      while (other.cluster.here(0) === undefined) await clock.pass(1)
      const next = tryNext(other.catalogue.find('g')!)
      assert.deepEqual([asked(), leader.engine.count('release')], [before, 0])
      assert.ok(kind === 'sequence' ? next === last! + 1n : next! > last!, `${next} after ${last}`)
      const [[counter, from]] = left as [[string, bigint]]
      assert.equal(counter, generatorKey('g'))
      assert.deepEqual(adopted, [[counter, bound]])
      assert.ok(
        from < bound && (kind === 'timestamp' || from === next),
        'it does not miss what others give back',
      )
      await settled()
      await other.catalogue.close()
      const after = await leader.engine.counter(generatorKey('g'))
      assert.ok(after.bound < bound, 'the node that has the range releases it')
      if (kind === 'sequence') assert.equal(after.bound, next! + 1n)
    }
  })

  test('leaves it also to a node that had no request for the generator', async () => {
    const { g, leader, other, clock } = await created('sequence')
    await draw(g)
    await handOver(leader, other, clock)
    await settled()
    assert.equal(tryNext(other.catalogue.find('g')!), 2n)
  })

  test('leaves no range of an altered generator, which continues above', async () => {
    const { g, leader, other, clock } = await created('sequence')
    await draw(g)
    await code(draw(await other.catalogue.open('g')))
    await other.catalogue.alter('g', { horizon: '30s' })
    await handOver(leader, other, clock)
    const altered = await other.catalogue.open('g')
    assert.equal(altered.definition.horizon, 30_000)
    assert.ok((await draw(altered))[0]! > 1n)
  })

  test('returns to the node that keeps the shard after all, with its leftover range', async () => {
    const { g, leader, other, clock } = await created('sequence')
    await draw(g)
    const here = leader.cluster.here(0)!
    await leader.cluster.move(0, other.cluster.nodeId)
    leader.clusterEngine.always('write', 'unavailable')
    while (leader.cluster.lead(0).state === 'here') await clock.pass(1)
    await other.cluster.drain()
    await clock.pass(200)
    leader.clusterEngine.heal()
    while (leader.cluster.lead(0).state !== 'here') await clock.pass(1)
    assert.notEqual(leader.cluster.here(0), here)
    assert.equal(tryNext(leader.catalogue.find('g')!), 2n)
  })

  test('reads record and counter in parallel at the first request to a leader', async () => {
    const { leader, other, clock } = await created('sequence')
    await handOver(leader, other, clock)
    const before = other.engine.count('counter')
    const held = other.engine.hold('read')
    const opening = other.catalogue.open('g')
    await held.arrived
    assert.equal(other.engine.count('counter'), before + 1)
    held.letGo()
    await opening
    assert.equal(other.engine.count('counter'), before + 1)
  })

  test('releases idle ranges though a reserve of another generator takes too long', async () => {
    const { leader, other, clock } = await created('sequence')
    const busy = await leader.catalogue.create('busy', { kind: 'sequence' })
    const names = Array.from({ length: 40 }, (_, at) => `g${at}`)
    for (const name of names) {
      await leader.catalogue.create(name, { kind: 'sequence' })
      await draw(await leader.catalogue.open(name))
    }
    const held = leader.engine.hold('reserve')
    void code(draw(busy))
    await held.arrived
    await leader.cluster.move(0, other.cluster.nodeId)
    while (other.cluster.here(0) === undefined) await clock.pass(1)
    held.letGo()
    await settled()
    for (const name of names)
      assert.deepEqual(
        await draw(await other.catalogue.open(name)),
        [2n],
        `${name} has lost its leftover range`,
      )
  })

  test('issues no id from the moment at which another node removes its record', async () => {
    const { g, leader, clock } = await created('sequence', 10_000)
    await draw(g)
    // The renewal that announces the leave comes so late that there is no time left for hand-overs.
    leader.clusterEngine.always('write', 'unavailable')
    const closing = leader.cluster.close()
    await clock.pass(2500)
    leader.clusterEngine.heal()
    const held = leader.clusterEngine.hold('remove')
    let isLeaving = false
    void held.arrived.then(() => {
      isLeaving = true
    })
    while (!isLeaving) await clock.pass(10)
    assert.equal(tryNext(g), undefined)
    held.letGo()
    await clock.pass(100)
    await closing
  })

  test('resigns beside the releases, not after them, and loses ranges that are not released in time', async () => {
    const { leader, other, clock } = await created('sequence')
    // More than are left to a successor.
    const names = Array.from({ length: 17 }, (_, at) => `g${at}`)
    for (const name of names) {
      await leader.catalogue.create(name, { kind: 'sequence' })
      await draw(await leader.catalogue.open(name))
    }
    const held = leader.engine.hold('release')
    await handOver(leader, other, clock)
    await held.arrived
    const second = async (name: string) => (await draw(await other.catalogue.open(name)))[0]!
    const drawn = await Promise.all(names.map(second))
    held.letGo()
    await settled()
    assert.equal(drawn.filter((id) => id === 2n).length, 16)
    const third = await Promise.all(names.map(second))
    for (const [at, id] of third.entries()) assert.ok(id > drawn[at]!)
  })
})
