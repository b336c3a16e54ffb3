import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Deadlines } from '../../../src/engine/deadlines.ts'
import { FakeClock } from '../fake-clock.ts'

function start() {
  const clock = new FakeClock()
  const late: string[] = []
  const deadlines = new Deadlines(clock, 1000)
  return { clock, late, begin: (name: string) => deadlines.begin(() => late.push(name)) }
}

describe('deadlines', () => {
  test('of calls that begin in one turn share a timer, and each call is told', async () => {
    const { clock, late, begin } = start()
    for (const name of ['a', 'b', 'c']) begin(name)
    assert.equal(clock.timers, 1)
    await clock.pass(500)
    begin('d')
    assert.equal(clock.timers, 2)
    await clock.pass(500)
    assert.deepEqual(late, ['a', 'b', 'c'])
    await clock.pass(500)
    assert.deepEqual(late, ['a', 'b', 'c', 'd'])
  })

  test('that were cancelled pass without a call, and leave no timer behind', async () => {
    const { clock, late, begin } = start()
    const [a, b] = [begin('a'), begin('b')]
    await clock.pass(1)
    a.cancel()
    a.cancel()
    assert.equal(clock.timers, 1)
    b.cancel()
    assert.equal(clock.timers, 0)
    await clock.pass(1000)
    assert.deepEqual(late, [])
  })

  test('hold for a call that begins in the turn in which all earlier ones are cancelled', async () => {
    const { clock, late, begin } = start()
    begin('a').cancel()
    begin('b')
    await clock.pass(1000)
    assert.deepEqual(late, ['b'])
    begin('c').cancel()
    await clock.pass(0)
    assert.equal(clock.timers, 0)
  })

  test('that pass in a call of another one are over as well', async () => {
    const clock = new FakeClock()
    const late: string[] = []
    const deadlines = new Deadlines(clock, 1000)
    deadlines.begin(() => b.cancel())
    const b = deadlines.begin(() => late.push('b'))
    await clock.pass(1000)
    assert.deepEqual(late, [])
  })
})
