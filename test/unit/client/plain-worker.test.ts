/** Plain worker ids of a client: the names under which it claims them. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { LeasedWorker, type WorkerOptions } from '../../../client/src/plain-worker.ts'
import { settled } from '../fake-clock.ts'
import { FakeService, unavailable } from './fake-service.ts'

const grant = { worker: 3, lease: 'x', ttlMs: 60_000, lastSeenMs: -1 }

function claiming(options: WorkerOptions = {}) {
  const service = new FakeService()
  const { nodes, clock, copies } = service
  const claim = () => LeasedWorker.claim('p', options, { nodes, clock, copies, onEvent: () => {} })
  const owners = () =>
    service.sent
      .filter(({ words }) => words[1] === 'CLAIM')
      .map(({ words }) => words[words.indexOf('OWNER') + 1])
  return { service, clock, claim, owners }
}

/** What a resumed copy sees: wall time has run ahead. */
const copied = 5_000_000

describe('a claim of a plain worker id', () => {
  test('is sent again under another random name when a copy of this memory is noticed by its answer', async () => {
    const { service, clock, claim, owners } = claiming()
    const first = Promise.withResolvers<unknown>()
    service.answer = () => (service.sent.length === 1 ? first.promise : grant)
    const worker = claim()
    await settled()
    clock.wall += copied
    first.resolve(grant)
    await (await worker).release()
    assert.equal(owners().length, 2)
    assert.notEqual(owners()[0], owners()[1])
  })

  test('is sent again under another random name when a copy is noticed after a pause', async () => {
    const { service, clock, claim, owners } = claiming()
    service.answer = () => {
      if (service.sent.length <= 3) throw unavailable()
      return grant
    }
    const worker = claim()
    for (let round = 0; round < 3; round++) await clock.pass(0)
    assert.equal(owners().length, 3)
    clock.wall += copied
    await clock.pass(1000)
    await (await worker).release()
    assert.equal(owners().length, 4)
    assert.equal(new Set(owners().slice(0, 3)).size, 1)
    assert.notEqual(owners()[3], owners()[0])
  })

  test('keeps its random name when no copy is noticed: the claim before it may have been carried out', async () => {
    const { service, claim, owners } = claiming()
    service.answer = () => {
      if (service.sent.length === 1) throw unavailable()
      return grant
    }
    const worker = claim()
    await service.clock.pass(0)
    await (await worker).release()
    assert.equal(owners().length, 2)
    assert.equal(owners()[0], owners()[1])
  })

  test('keeps a name that was given', async () => {
    const { service, clock, claim, owners } = claiming({ owner: 'host:1' })
    service.answer = () => {
      if (service.sent.length === 1) clock.wall += copied
      return grant
    }
    await (await claim()).release()
    assert.deepEqual(owners(), ['host:1', 'host:1'])
  })
})
