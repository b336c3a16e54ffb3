import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FahaoError, hasCode } from '../../../src/base/errors.ts'
import { Run } from '../../../src/ids/run.ts'
import { WaitQueue } from '../../../src/issuing/wait-queue.ts'
import { FakeClock, settled } from '../fake-clock.ts'

const one = { count: 1, contiguous: false, safe: false }
const runs = [new Run()]

function opened(lengthMax = 10) {
  const clock = new FakeClock()
  const left: number[] = []
  const line: WaitQueue = new WaitQueue(
    clock,
    lengthMax,
    () => new FahaoError('DRY', 'dry'),
    () => left.push(line.length),
  )
  return { clock, left, line }
}

/** What became of a place in the line, so far. */
function watched(place: Promise<unknown>): { outcome: string } {
  const seen = { outcome: 'waits' }
  place.then(
    () => (seen.outcome = 'served'),
    (error) => (seen.outcome = error.code),
  )
  return seen
}

describe('a line', () => {
  it('serves in the order of arrival and counts what is wanted', async () => {
    const { clock, line } = opened()
    const places = [1, 2, 3].map((count) => watched(line.join({ ...one, count }, 1000)))
    assert.equal(line.length, 3)
    assert.equal(line.demand, 6)
    assert.equal(line.first()?.count, 1)
    line.settleFirst(runs)
    assert.equal(line.first()?.count, 2)
    line.settleFirst(new FahaoError('EXHAUSTED', 'full'))
    await settled()
    assert.deepEqual(
      places.map(({ outcome }) => outcome),
      ['served', 'EXHAUSTED', 'waits'],
    )
    assert.equal(line.demand, 3)
    line.settleFirst(runs)
    assert.equal(line.demand, 0)
    assert.equal(clock.timers, 0)
    line.settleFirst(runs)
  })

  it('sends each home when its own time is up, and says that somebody left', async () => {
    const { clock, left, line } = opened()
    const first = watched(line.join(one, 1000))
    await clock.pass(400)
    const second = watched(line.join(one, 1000))
    await clock.pass(599)
    assert.equal(first.outcome, 'waits')
    await clock.pass(1)
    assert.deepEqual([first.outcome, second.outcome], ['DRY', 'waits'])
    assert.deepEqual(left, [1])
    await clock.pass(400)
    assert.equal(second.outcome, 'DRY')
    assert.equal(line.length, 0)
    assert.equal(clock.timers, 0)
  })

  it('lets callers give up, wherever they stand', async () => {
    const { left, line } = opened()
    const aborter = new AbortController()
    const first = watched(line.join(one, 1000))
    const middle = watched(line.join({ ...one, count: 5 }, 1000, aborter.signal))
    const last = watched(line.join({ ...one, count: 2 }, 1000))
    aborter.abort()
    assert.equal(line.demand, 3)
    assert.deepEqual(left, [2])
    line.settleFirst(runs)
    assert.equal(line.first()?.count, 2)
    line.settleFirst(runs)
    await settled()
    assert.deepEqual([first.outcome, middle.outcome, last.outcome], ['served', 'ABORTED', 'served'])
    assert.equal(line.length, 0)
  })

  it('ignores a caller that gives up when it has been served', async () => {
    const { left, line } = opened()
    const aborter = new AbortController()
    const place = line.join(one, 1000, aborter.signal)
    line.settleFirst(runs)
    aborter.abort()
    assert.equal(await place, runs)
    assert.equal(line.length, 0)
    assert.deepEqual(left, [])
  })

  it('is bounded', async () => {
    const { line } = opened(2)
    watched(line.join(one, 1000))
    watched(line.join(one, 1000))
    await assert.rejects(line.join(one, 1000), (error) => hasCode(error, 'BUSY'))
    line.settleFirst(runs)
    watched(line.join(one, 1000))
    assert.equal(line.length, 2)
  })

  it('remembers nobody who has gone, however long somebody waits', () => {
    const { line } = opened(1000)
    watched(line.join(one, 1000))
    for (let each = 0; each < 1000; each++) {
      const aborter = new AbortController()
      watched(line.join(one, 1000, aborter.signal))
      aborter.abort()
    }
    assert.equal(line.length, 1)
    assert.equal(line.first()?.count, 1)
    assert.ok(line.places < 100, `${line.places} places are kept`)
  })

  it('measures how long somebody was waiting', async () => {
    const { clock, line } = opened()
    watched(line.join(one, 5000))
    await clock.pass(1500)
    assert.equal(line.drySeconds, 1.5)
    line.settleFirst(runs)
    await clock.pass(9000)
    assert.equal(line.drySeconds, 1.5)
  })
})
