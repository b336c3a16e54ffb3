/** Generators leave memory when they are not used: what they give back, what keeps them, and requests that come meanwhile. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { GeneratorInput } from '../../../src/catalogue/generator-options.ts'
import { IdleGenerators } from '../../../src/catalogue/idle-generators.ts'
import type { OpenGenerator } from '../../../src/catalogue/open-generator.ts'
import { rowVersion } from '../../../src/catalogue/stored-generator.ts'
import { slotOf } from '../../../src/cluster/slots.ts'
import type { Engine } from '../../../src/engine/engine.ts'
import { FakeClock, settled } from '../fake-clock.ts'
import { twoMembers } from './cluster-nodes.ts'
import { draw, type Node, startNode, tryNext } from './node.ts'

const idleAfterMs = 600_000
const adaptive = { kind: 'sequence', step: 'adaptive' } as const

async function started(options: GeneratorInput = adaptive): Promise<Node> {
  return await startNode({ idleAfterMs, generators: { g: options } })
}

async function boundOf({ engine }: Node): Promise<bigint> {
  return (await engine.counter('generators/g')).bound
}

describe('a generator that is not used', () => {
  for (const [what, options] of Object.entries({
    sequence: adaptive,
    segment: { kind: 'segment', step: 'adaptive' },
  } as const)) {
    test(`leaves memory with all that it holds: ${what}`, async () => {
      const node = await started(options)
      const { catalogue, clock } = node
      for (let each = 1n; each <= 20n; each++) {
        assert.deepEqual(await draw(await catalogue.open('g')), [each])
        await clock.pass(1000)
      }
      assert.ok((await boundOf(node)) > 21n)
      await clock.pass(1.5 * idleAfterMs)
      assert.equal(catalogue.find('g'), undefined)
      assert.equal(await boundOf(node), 21n)
      assert.equal((await catalogue.info('g')).lastIssued, 20n)
      assert.deepEqual(await draw(await catalogue.open('g')), [21n])
      await node.stop()
      assert.equal(clock.timers, 0)
    })
  }

  test('stays while it is used now and then', async () => {
    const { catalogue, clock } = await started()
    const first = await catalogue.open('g')
    for (let use = 0; use < 10; use++) {
      await draw(first)
      await clock.pass(0.9 * idleAfterMs)
      assert.equal(catalogue.find('g'), first)
    }
  })

  test('is opened again by the next call of those who have it', async () => {
    const { catalogue, clock } = await started()
    const first = await catalogue.open('g')
    await draw(first, 10)
    await clock.pass(1.5 * idleAfterMs)
    assert.equal(tryNext(first), undefined)
    assert.deepEqual(await draw(first), [11n])
    assert.notEqual(catalogue.find('g'), undefined)
  })

  test('stays if it has a step of its own, or is of the clock, and few are in use', async () => {
    const generators = {
      step: { kind: 'sequence' },
      stamp: { kind: 'timestamp' },
      event: { kind: 'snowflake' },
    } as const
    const { catalogue, clock } = await startNode({ idleAfterMs, generators })
    for (const name of Object.keys(generators)) await draw(await catalogue.open(name))
    await clock.pass(3 * idleAfterMs)
    for (const name of Object.keys(generators)) assert.notEqual(catalogue.find(name), undefined, name)
  })

  test('stays at rest if it has a step of its own, and is not woken to find that out', async () => {
    const generators = { g: { kind: 'sequence' } } as const
    const { catalogue, clock } = await startNode({ idleAfterMs, restAfterMs: 1000, generators })
    const { names } = catalogue
    await draw(catalogue.find('g')!)
    await clock.pass(idleAfterMs / 4)
    const woken: string[] = []
    const waker = names.waker!
    const wake = waker.wake.bind(waker)
    waker.wake = (name, row) => {
      woken.push(name)
      return wake(name, row)
    }
    await clock.pass(3 * idleAfterMs)
    assert.deepEqual(woken, [])
    assert.ok(names.isAtRest(names.entryNamed('g')))
  })

  for (const [count, version, left] of [
    [10_000, 1n, 0],
    [10_001, 1n, 1],
    [10_001, rowVersion, 0],
  ] as const) {
    test(`leaves whatever its step is where more than ten thousand are in use: ${left} of ${count}, of version ${version}`, async () => {
      const clock = new FakeClock()
      const one = { name: 'g', version, definition: {}, keepsIds: true, usedUs: -1e9, noteUse: () => false }
      const open = { ...one, holdsSpare: false } as unknown as OpenGenerator
      let closed = 0
      const close = async () => void closed++
      const engine = { status: () => ({ state: 'up' }) } as Engine
      const ownAt = () => open
      const names = { entries: () => Array.from({ length: count }).keys(), ownAt, awakeAt: ownAt }
      const resting = { isIdle: () => false, keepsIds: () => false }
      const idle = IdleGenerators.start({ clock, engine, idleAfterMs }, { names, resting, close })!
      for (let look = 0; look < 100 && closed < left; look++) await clock.pass(idleAfterMs / 2)
      assert.equal(closed > 0, left > 0)
      idle.stop()
    })
  }

  test('stays while a caller waits for its ids, and while its refill is under way', async () => {
    const { catalogue, clock, engine } = await started({ ...adaptive, issueTimeout: '2h' })
    const held = engine.hold('reserve')
    const generator = await catalogue.open('g')
    const waiting = draw(generator)
    await held.arrived
    await clock.pass(3 * idleAfterMs)
    assert.equal(catalogue.find('g'), generator)
    held.letGo()
    assert.deepEqual(await waiting, [1n])
  })

  test('stays while the engine does not answer, and issues what it holds', async () => {
    const { catalogue, clock, engine } = await started()
    const generator = await catalogue.open('g')
    await draw(generator)
    await draw(generator)
    engine.status = () => ({ state: 'down', reason: 'no answer' })
    await clock.pass(3 * idleAfterMs)
    assert.equal(catalogue.find('g'), generator)
    assert.equal(tryNext(generator), 3n)
  })

  for (const fault of [undefined, 'lose-request', 'lose-reply'] as const) {
    test(`issues no id twice to a request that comes while it leaves (${fault ?? 'no fault'})`, async () => {
      const { catalogue, clock, engine } = await started()
      const generator = await catalogue.open('g')
      await draw(generator)
      await draw(generator)
      const held = engine.hold('release')
      await clock.pass(1.5 * idleAfterMs)
      await held.arrived
      const opening = catalogue.open('g').then((next) => draw(next))
      const follows = draw(generator)
      await settled()
      held.letGo(fault)
      await clock.pass(10_000)
      const ids = [...(await opening), ...(await follows)].sort((a, b) => Number(a - b))
      assert.ok(ids[0]! >= 3n && ids[1]! > ids[0]!, String(ids))
      if (fault === undefined) assert.deepEqual(ids, [3n, 4n])
    })
  }

  test('counts no less in all, although it begins at 0 when it is opened again', async () => {
    const { catalogue, clock } = await started()
    const sum = () => {
      let { issued, reserved, released } = catalogue.ended
      for (const generator of catalogue.inUse()) {
        const stats = generator.stats()
        issued += stats.issued
        reserved += stats.reserved
        released += stats.released
      }
      return { issued, reserved, released }
    }
    const generator = await catalogue.open('g')
    await draw(generator, 5)
    await draw(generator, 5)
    await clock.pass(0)
    const { reserved } = sum()
    await clock.pass(1.5 * idleAfterMs)
    assert.equal([...catalogue.inUse()].length, 0)
    assert.deepEqual(sum(), { issued: 10, reserved, released: reserved - 10 })
    await draw(await catalogue.open('g'), 5)
    assert.equal(sum().issued, 15)
  })
})

describe('a generator that was hot', () => {
  test('gives back what it holds above what is used now, and is used on', async () => {
    const node = await started()
    const { catalogue, clock } = node
    for (let second = 0; second < 900; second++) {
      await draw(await catalogue.open('g'), 100)
      await clock.pass(1000)
    }
    assert.ok((await boundOf(node)) > 100_000n)
    for (let minute = 1; minute <= 60; minute++) {
      const [id] = await draw(await catalogue.open('g'))
      assert.equal(id, 90_000n + BigInt(minute))
      await clock.pass(60_000)
    }
    assert.ok((await boundOf(node)) <= 90_061n + 20n)
  })
})

describe('an idle generator of a cluster', () => {
  test('leaves the memory of its leader, which leads on, and of a node that does not lead it', async () => {
    const { clock, leader, other } = await twoMembers('g', { idleAfterMs })
    await leader.catalogue.create('g', adaptive)
    const [led, elsewhere] = [await leader.catalogue.open('g'), await other.catalogue.open('g')]
    await draw(led)
    await draw(led)
    await assert.rejects(draw(elsewhere), { code: 'MOVED' })
    const term = leader.cluster.here(slotOf('g'))
    await clock.pass(1.5 * idleAfterMs)
    assert.equal(leader.catalogue.find('g'), undefined)
    assert.equal(other.catalogue.find('g'), undefined)
    assert.equal(leader.cluster.here(slotOf('g')), term)
    assert.deepEqual(await draw(led), [3n])
  })
})
