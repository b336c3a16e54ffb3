/** Callers that wait: their order, and that each is settled once. */
import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'node:test'
import { WaitQueue } from '../../../client/src/wait-queue.ts'
import { FahaoError } from '../../../src/base/errors.ts'
import { Run } from '../../../src/ids/run.ts'
import { FakeClock, settled } from '../fake-clock.ts'
import { stateOf } from './fake-service.ts'
import { Leasing } from './leasing.ts'

const late = () => new FahaoError('UNAVAILABLE', 'no id in time; retry')

const opened: WaitQueue[] = []
afterEach(() => {
  for (const queue of opened.splice(0)) queue.assertInvariants()
})

/** A queue, and what serves ids to it, from 1 on. */
function queueOf() {
  const clock = new FakeClock()
  const queue = new WaitQueue(clock, 1000, late)
  opened.push(queue)
  let next = 1n
  /** Serves as long as `buffered` suffices. */
  const serve = (buffered: number) => {
    let left = buffered
    queue.serve(({ count }) => {
      if (count > left) return undefined
      left -= count
      const run = new Run()
      run.set(next, count, 1)
      next += BigInt(count)
      return [run]
    })
  }
  return { clock, queue, serve }
}

const waiter = (count = 1) => ({ count, safe: false })
const firstOf = (runs: Promise<Run[]>) => runs.then(([run]) => run!.first)

describe('callers that wait', () => {
  test('are served in the order in which they came, as far as the ids suffice', async () => {
    const { queue, serve } = queueOf()
    const [a, b, c] = [queue.wait(waiter(2)), queue.wait(waiter(5)), queue.wait(waiter(1))]
    assert.deepEqual([queue.length, queue.demand, queue.waits], [3, 8, 3])
    serve(3)
    assert.equal(await firstOf(a), 1n)
    // The third would have enough, but the second came before it.
    assert.equal(await stateOf(c), undefined)
    assert.deepEqual([queue.length, queue.demand, queue.waits], [2, 6, 3])
    serve(6)
    assert.deepEqual([await firstOf(b), await firstOf(c)], [3n, 8n])
    assert.equal(queue.length, 0)
  })

  test('are refused after their own timeout, and leave their place then', async () => {
    const { clock, queue, serve } = queueOf()
    const first = queue.wait(waiter(100))
    const rejected = assert.rejects(first, { code: 'UNAVAILABLE' })
    await clock.pass(500)
    const second = queue.wait(waiter())
    await clock.pass(499)
    assert.equal(queue.length, 2)
    await clock.pass(1)
    await rejected
    assert.equal(queue.length, 1)
    serve(1)
    assert.equal(await firstOf(second), 1n)
    assert.equal(clock.timers, 0)
  })

  test('leave their place when they abort, and get no ids', async () => {
    const { clock, queue, serve } = queueOf()
    const stop = new AbortController()
    const [first, second] = [queue.wait(waiter(), stop.signal), queue.wait(waiter())]
    const rejected = assert.rejects(first, { code: 'ABORTED' })
    stop.abort()
    await rejected
    serve(1)
    assert.equal(await firstOf(second), 1n)
    assert.equal(clock.timers, 0)
    await assert.rejects(queue.wait(waiter(), stop.signal), { code: 'ABORTED' })
    assert.deepEqual([queue.length, queue.waits], [0, 2])
  })

  test('keep no listener at a signal once they are served', async () => {
    const { queue, serve } = queueOf()
    const { signal } = new AbortController()
    let listeners = 0
    const counted = Object.assign(signal, {
      addEventListener: () => void listeners++,
      removeEventListener: () => void listeners--,
    })
    const served = queue.wait(waiter(), counted)
    assert.equal(listeners, 1)
    serve(1)
    await served
    assert.equal(listeners, 0)
  })

  test('are rejected alone when the ids are not for them', async () => {
    const { queue } = queueOf()
    const first = queue.wait({ count: 1, safe: true })
    const second = queue.wait(waiter())
    const run = new Run()
    run.setOne(2n ** 60n)
    queue.serve(({ safe }) => {
      if (safe) throw new FahaoError('UNSAFE', 'use next')
      return [run]
    })
    await assert.rejects(first, { code: 'UNSAFE' })
    assert.equal(await firstOf(second), 2n ** 60n)
  })

  test('are all rejected when the queue refuses them, and later ones wait again', async () => {
    const { clock, queue } = queueOf()
    const reason = new FahaoError('EXHAUSTED', 'no id is left; use another generator')
    const rejected = [queue.wait(waiter()), queue.wait(waiter())].map((each) => assert.rejects(each, reason))
    queue.refuse(reason)
    await Promise.all(rejected)
    assert.deepEqual([queue.length, clock.timers], [0, 0])
    assert.equal(await stateOf(queue.wait(waiter())), undefined)
    queue.refuse(reason)
  })

  test('keep the process alive, and nothing does once they are settled', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    const { queue, serve } = queueOf()
    const before = timers()
    const waiting = [queue.wait(waiter()), queue.wait(waiter())]
    assert.equal(timers(), before + 1)
    serve(1)
    assert.equal(timers(), before + 1)
    serve(1)
    assert.equal(timers(), before)
    await Promise.all(waiting)
  })
})

test('callers behind one that gives up are served at once, if the buffer has enough for them', async () => {
  const leasing = new Leasing()
  leasing.isAway = true
  const stop = new AbortController()
  const large = leasing.source.draw(5000, { signal: stop.signal })
  const small = leasing.source.draw(10, {})
  await settled()
  assert.equal(await stateOf(small), undefined)
  stop.abort()
  await assert.rejects(large, { code: 'ABORTED' })
  assert.equal((await small)[0]!.count, 10)
})

test('callers behind one whose time is over are served at once, if the buffer has enough for them', async () => {
  const leasing = new Leasing()
  leasing.isAway = true
  const large = assert.rejects(leasing.source.draw(5000, {}), { code: 'UNAVAILABLE' })
  await leasing.clock.pass(1)
  const small = leasing.source.draw(10, {})
  await leasing.clock.pass(9999)
  await large
  assert.equal((await small)[0]!.count, 10)
})
