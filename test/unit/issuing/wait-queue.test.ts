import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { FahaoError, hasCode } from '../../../src/base/errors.ts'
import { Run } from '../../../src/ids/run.ts'
import { WaitQueue } from '../../../src/issuing/wait-queue.ts'
import { FakeClock, settled } from '../fake-clock.ts'

const one = { count: 1, contiguous: false, safe: false }
const runs = [new Run()]

const queues: WaitQueue[] = []
afterEach(() => {
  for (const queue of queues.splice(0)) queue.assertInvariants()
})

function opened(lengthMax = 10) {
  const clock = new FakeClock()
  const left: number[] = []
  const queue: WaitQueue = new WaitQueue(
    clock,
    lengthMax,
    () => new FahaoError('DRY', 'dry'),
    () => left.push(queue.length),
  )
  queues.push(queue)
  return { clock, left, queue }
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
  it('serves in the order of arrival and counts the requested ids', async () => {
    const { clock, queue } = opened()
    const places = [1, 2, 3].map((count) => watched(queue.join({ ...one, count }, 1000)))
    assert.equal(queue.length, 3)
    assert.equal(queue.demand, 6)
    assert.equal(queue.first()?.count, 1)
    queue.settleFirst(runs)
    assert.equal(queue.first()?.count, 2)
    queue.settleFirst(new FahaoError('EXHAUSTED', 'full'))
    await settled()
    assert.deepEqual(
      places.map(({ outcome }) => outcome),
      ['served', 'EXHAUSTED', 'waits'],
    )
    assert.equal(queue.demand, 3)
    queue.settleFirst(runs)
    assert.equal(queue.demand, 0)
    assert.equal(clock.timers, 0)
    queue.settleFirst(runs)
  })

  it('rejects each caller at its own deadline, and reports that one has left', async () => {
    const { clock, left, queue } = opened()
    const first = watched(queue.join(one, 1000))
    await clock.pass(400)
    const second = watched(queue.join(one, 1000))
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

  it('lets callers give up at any place', async () => {
    const { left, queue } = opened()
    const aborter = new AbortController()
    const first = watched(queue.join(one, 1000))
    const middle = watched(queue.join({ ...one, count: 5 }, 1000, { signal: aborter.signal }))
    const last = watched(queue.join({ ...one, count: 2 }, 1000))
    aborter.abort()
    assert.equal(queue.demand, 3)
    assert.deepEqual(left, [2])
    queue.settleFirst(runs)
    assert.equal(queue.first()?.count, 2)
    queue.settleFirst(runs)
    await settled()
    assert.deepEqual([first.outcome, middle.outcome, last.outcome], ['served', 'ABORTED', 'served'])
    assert.equal(queue.length, 0)
  })

  it('ignores a caller that gives up when it has been served', async () => {
    const { left, queue } = opened()
    const aborter = new AbortController()
    const place = queue.join(one, 1000, { signal: aborter.signal })
    queue.settleFirst(runs)
    aborter.abort()
    assert.equal(await place, runs)
    assert.equal(queue.length, 0)
    assert.deepEqual(left, [])
  })

  it('is bounded', async () => {
    const { queue } = opened(2)
    watched(queue.join(one, 1000))
    watched(queue.join(one, 1000))
    await assert.rejects(queue.join(one, 1000), (error) => hasCode(error, 'BUSY'))
    queue.settleFirst(runs)
    watched(queue.join(one, 1000))
    assert.equal(queue.length, 2)
  })

  it('keeps no entry of callers that have left, however long another waits', () => {
    const { queue } = opened(1000)
    watched(queue.join(one, 1000))
    for (let each = 0; each < 1000; each++) {
      const aborter = new AbortController()
      watched(queue.join(one, 1000, { signal: aborter.signal }))
      aborter.abort()
    }
    assert.equal(queue.length, 1)
    assert.equal(queue.first()?.count, 1)
    assert.ok(queue.places < 100, `${queue.places} places are kept`)
  })

  it('keeps the process alive while a caller waits, and no longer', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    const queue = new WaitQueue(
      systemClock,
      10,
      () => new FahaoError('DRY', 'dry'),
      () => {},
    )
    const before = timers()
    const aborter = new AbortController()
    const first = queue.join(one, 60_000)
    const second = queue.join(one, 60_000, { signal: aborter.signal })
    assert.equal(timers(), before + 1)
    queue.settleFirst(runs)
    assert.equal(timers(), before + 1)
    aborter.abort()
    assert.equal(timers(), before)
    await first
    await assert.rejects(second, { code: 'ABORTED' })
    await assert.rejects(queue.join(one, 1), { code: 'DRY' })
    assert.equal(timers(), before)
  })

  it('measures how long callers were waiting', async () => {
    const { clock, queue } = opened()
    watched(queue.join(one, 5000))
    await clock.pass(1500)
    assert.equal(queue.drySeconds, 1.5)
    queue.settleFirst(runs)
    await clock.pass(9000)
    assert.equal(queue.drySeconds, 1.5)
  })
})
