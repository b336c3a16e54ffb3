import assert from 'node:assert/strict'
import { afterEach, describe, test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { FahaoError } from '../../../src/base/errors.ts'
import { WaitQueue } from '../../../src/buffers/wait-queue.ts'
import { Run } from '../../../src/ids/run.ts'
import { FakeClock, settled } from '../fake-clock.ts'

const one = { count: 1, contiguous: false, safe: false }
const runs = [new Run()]

const queues: WaitQueue[] = []
afterEach(() => {
  for (const queue of queues.splice(0)) queue.assertInvariants()
})

function open({ lengthMax = 10, timeoutMs = 1000 } = {}) {
  const clock = new FakeClock()
  const left: number[] = []
  const queue: WaitQueue = new WaitQueue({
    clock,
    timeoutMs,
    lengthMax,
    onTimeout: () => new FahaoError('DRY', 'dry'),
    onLeave: () => left.push(queue.length),
  })
  queues.push(queue)
  return { clock, left, queue }
}

/** Serves the first caller alone. */
function serveOne(queue: WaitQueue, outcome: Run[] | Error = runs): void {
  const { first } = queue
  queue.serve((waiter) => (waiter === first ? outcome : undefined))
}

/** What became of a place in the queue, so far. */
function watched(place: Promise<unknown>): { outcome: string } {
  const seen = { outcome: 'waits' }
  place.then(
    () => (seen.outcome = 'served'),
    (error) => (seen.outcome = error.code),
  )
  return seen
}

describe('a wait queue', () => {
  test('serves in the order of arrival and counts the requested ids', async () => {
    const { clock, queue } = open()
    const places = [1, 2, 3].map((count) => watched(queue.join({ ...one, count })))
    assert.equal(queue.length, 3)
    assert.equal(queue.demand, 6)
    assert.equal(queue.first?.count, 1)
    serveOne(queue)
    assert.equal(queue.first?.count, 2)
    serveOne(queue, new FahaoError('EXHAUSTED', 'full'))
    await settled()
    assert.deepEqual(
      places.map(({ outcome }) => outcome),
      ['served', 'EXHAUSTED', 'waits'],
    )
    assert.equal(queue.demand, 3)
    serveOne(queue)
    assert.equal(queue.demand, 0)
    assert.equal(clock.timers, 0)
    serveOne(queue)
  })

  test('rejects each caller at its own deadline, and reports that one has left', async () => {
    const { clock, left, queue } = open()
    const first = watched(queue.join(one))
    await clock.pass(400)
    const second = watched(queue.join(one))
    await clock.pass(599)
    assert.equal(first.outcome, 'waits')
    await clock.pass(1)
    assert.deepEqual([first.outcome, second.outcome], ['DRY', 'waits'])
    assert.deepEqual(left, [1])
    await clock.pass(400)
    assert.equal(second.outcome, 'DRY')
    assert.equal(queue.length, 0)
    assert.equal(clock.timers, 0)
  })

  test('lets callers give up at any place', async () => {
    const { left, queue } = open()
    const aborter = new AbortController()
    const first = watched(queue.join(one))
    const middle = watched(queue.join({ ...one, count: 5 }, aborter.signal))
    const last = watched(queue.join({ ...one, count: 2 }))
    aborter.abort(new FahaoError('ABORTED', 'the connection has ended'))
    assert.equal(queue.demand, 3)
    assert.deepEqual(left, [2])
    serveOne(queue)
    assert.equal(queue.first?.count, 2)
    serveOne(queue)
    await settled()
    assert.deepEqual([first.outcome, middle.outcome, last.outcome], ['served', 'ABORTED', 'served'])
    assert.equal(queue.length, 0)
  })

  test('ignores a caller that gives up when it has been served', async () => {
    const { left, queue } = open()
    const aborter = new AbortController()
    const place = queue.join(one, aborter.signal)
    serveOne(queue)
    aborter.abort()
    assert.equal(await place, runs)
    assert.equal(queue.length, 0)
    assert.deepEqual(left, [])
  })

  test('is bounded', async () => {
    const { queue } = open({ lengthMax: 2 })
    watched(queue.join(one))
    watched(queue.join(one))
    await assert.rejects(queue.join(one), { code: 'BUSY' })
    serveOne(queue)
    watched(queue.join(one))
    assert.equal(queue.length, 2)
  })

  test('keeps no entry of callers that have left, however long another waits', () => {
    const { queue } = open({ lengthMax: 1000 })
    watched(queue.join(one))
    for (let each = 0; each < 1000; each++) {
      const aborter = new AbortController()
      watched(queue.join(one, aborter.signal))
      aborter.abort()
    }
    assert.equal(queue.length, 1)
    assert.equal(queue.first?.count, 1)
    assert.ok(queue.places < 100, `${queue.places} places are kept`)
  })

  test('keeps the process alive while a caller waits, and no longer', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    const queueOf = (timeoutMs: number) =>
      new WaitQueue({
        clock: systemClock,
        timeoutMs,
        lengthMax: 10,
        onTimeout: () => new FahaoError('DRY', 'dry'),
        onLeave: () => {},
      })
    const queue = queueOf(60_000)
    const before = timers()
    const aborter = new AbortController()
    const first = queue.join(one)
    const second = queue.join(one, aborter.signal)
    assert.equal(timers(), before + 1)
    serveOne(queue)
    assert.equal(timers(), before + 1)
    aborter.abort()
    assert.equal(timers(), before)
    await first
    await assert.rejects(second, { name: 'AbortError' })
    await assert.rejects(queueOf(1).join(one), { code: 'DRY' })
    assert.equal(timers(), before)
  })

  test('measures how long callers were waiting', async () => {
    const { clock, queue } = open({ timeoutMs: 5000 })
    watched(queue.join(one))
    await clock.pass(1500)
    assert.equal(queue.drySeconds, 1.5)
    serveOne(queue)
    await clock.pass(9000)
    assert.equal(queue.drySeconds, 1.5)
  })

  test('serves in order as far as the ids suffice, and passes over no caller', async () => {
    const { queue } = open()
    const places = [2, 5, 1].map((count) => watched(queue.join({ ...one, count })))
    let left = 3
    queue.serve(({ count }) => {
      if (count > left) return undefined
      left -= count
      return runs
    })
    await settled()
    assert.deepEqual(
      places.map(({ outcome }) => outcome),
      ['served', 'waits', 'waits'],
    )
    assert.deepEqual([queue.length, queue.demand, queue.joined], [2, 6, 3])
  })

  test('rejects a caller alone when the ids are not for it', async () => {
    const { queue } = open()
    const first = watched(queue.join({ ...one, safe: true }))
    const second = watched(queue.join(one))
    queue.serve(({ safe }) => (safe ? new FahaoError('UNSAFE', 'use next') : runs))
    await settled()
    assert.deepEqual([first.outcome, second.outcome], ['UNSAFE', 'served'])
  })

  test('rejects the callers that it refuses, and later ones wait again', async () => {
    const { clock, queue } = open()
    const places = [1, 5].map((count) => watched(queue.join({ ...one, count })))
    queue.refuse(({ count }) => (count > 1 ? new FahaoError('EXHAUSTED', 'full') : undefined))
    await settled()
    assert.deepEqual(
      places.map(({ outcome }) => outcome),
      ['waits', 'EXHAUSTED'],
    )
    queue.refuse(() => new FahaoError('SHUTDOWN', 'the end'))
    assert.deepEqual([queue.length, clock.timers], [0, 0])
    const later = watched(queue.join(one))
    await settled()
    assert.equal(later.outcome, 'waits')
  })

  test('keeps no listener at a signal once the caller is served, and takes no caller that has given up', async () => {
    const { queue } = open()
    const aborter = new AbortController()
    let listeners = 0
    const { signal } = aborter
    Object.assign(signal, {
      addEventListener: () => void listeners++,
      removeEventListener: () => void listeners--,
    })
    const place = queue.join(one, signal)
    assert.equal(listeners, 1)
    serveOne(queue)
    await place
    assert.equal(listeners, 0)
    aborter.abort()
    await assert.rejects(queue.join(one, signal), { name: 'AbortError' })
    assert.deepEqual([queue.length, queue.joined], [0, 1])
  })
})
