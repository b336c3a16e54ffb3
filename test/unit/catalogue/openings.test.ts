import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Clock } from '../../../src/base/clock.ts'
import { openInTurn } from '../../../src/catalogue/open-issuer.ts'
import { Limiter } from '../../../src/issuing/engine-permits.ts'
import { FakeClock, settled } from '../fake-clock.ts'
import { draw, startNode } from './node.ts'

/** Opens in turn, as a catalogue does. */
function newOpenings(clock: Clock = new FakeClock()) {
  const limiter = new Limiter()
  return { run: <Value>(open: () => Promise<Value>) => openInTurn(limiter, clock, open) }
}

/** An opening that ends when the test resolves `done`. */
function opening(log: number[], index: number) {
  const done = Promise.withResolvers<number>()
  const open = () => {
    log.push(index)
    return done.promise
  }
  return { open, done }
}

describe('openings', () => {
  test('run 64 at once, in the order of the requests', async () => {
    const openings = newOpenings()
    const begun: number[] = []
    const all = Array.from({ length: 100 }, (_, index) => opening(begun, index))
    const running = all.map(({ open }) => openings.run(open))
    await settled()
    assert.deepEqual(
      begun,
      Array.from({ length: 64 }, (_, index) => index),
    )
    all[3]!.done.resolve(3)
    await settled()
    assert.deepEqual(begun.slice(64), [64])
    all.forEach(({ done }, index) => {
      done.resolve(index)
    })
    assert.deepEqual(await Promise.all(running), begun)
    assert.equal(begun.length, 100)
  })

  test('make room when they succeed and when they fail', async () => {
    const openings = newOpenings()
    const fail = () => Promise.reject(new Error('no'))
    const outcomes = await Promise.allSettled(Array.from({ length: 100 }, () => openings.run(fail)))
    assert.ok(outcomes.every(({ status }) => status === 'rejected'))
    assert.equal(await openings.run(async () => 'yes'), 'yes')
  })

  test('are rejected when their turn does not come in time, and take no other turn', async () => {
    const clock = new FakeClock()
    const openings = newOpenings(clock)
    const begun: number[] = []
    const all = Array.from({ length: 65 }, (_, index) => opening(begun, index))
    const running = all.map(({ open }) => openings.run(open))
    const refused = assert.rejects(running[64]!, { code: 'UNAVAILABLE', message: /retry/ })
    await clock.pass(10_001)
    await refused
    const last = openings.run(async () => 'last')
    all[0]!.done.resolve(0)
    assert.equal(await last, 'last')
    assert.equal(begun.length, 64)
  })

  test('of a catalogue take all their steps before others begin, so that many at once do not wait for each other', async () => {
    const node = await startNode({ autoCreate: [{ pattern: '*', kind: 'segment' }] })
    const before = node.engine.count('read')
    const first = node.engine.hold('read')
    const names = Array.from({ length: 3000 }, (_, index) => `g${index}`)
    const opened = names.map(async (name) => draw(await node.catalogue.open(name)))
    await first.arrived
    const readsAtFirst = node.engine.count('read') - before
    assert.ok(readsAtFirst <= 2 * 1024, String(readsAtFirst))
    first.letGo()
    assert.equal((await Promise.all(opened)).flat().length, 3000)
    await node.stop()
  })
})
