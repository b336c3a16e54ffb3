import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { FahaoError } from '../../../src/base/errors.ts'
import { Limiter, Ticket } from '../../../src/issuing/engine-permits.ts'
import { Refills } from '../../../src/issuing/refills.ts'
import { FakeClock, settled } from '../fake-clock.ts'

/** Stops a refill under way, which then fails with `error`. Returns how many others the limiter admits after it. */
async function stoppedAndFailed(error: Error): Promise<{ admitted: number; calls: string[] }> {
  const calls: string[] = []
  const limiter = new Limiter()
  const clock = new FakeClock()
  const options = {
    limiter,
    clock,
    random: () => 0,
    onRefillOutcome: () => void calls.push('outcome'),
    onStale: () => void calls.push('stale'),
  }
  const answer = Promise.withResolvers<void>()
  const refills = new Refills('order', options, {
    reserve: () => answer.promise,
    ended: () => void calls.push('ended'),
    paused: () => void calls.push('paused'),
  })
  refills.start(false)
  refills.stop(new Error('the shard was lost'))
  answer.reject(error)
  await settled()
  await clock.pass(60_000)
  let admitted = 0
  while (limiter.acquire(new Ticket(), false) === true) admitted++
  return { admitted, calls }
}

describe('a refill that fails after it was stopped', () => {
  test('reports the failure of the engine to the limiter, and the failure of the generator to no listener', async () => {
    const away = await stoppedAndFailed(new FahaoError('UNAVAILABLE', 'the engine is away'))
    assert.deepEqual(away, { admitted: 4, calls: ['ended'] })
  })

  test('reports no failure of the engine where that has rejected the reserve', async () => {
    const refused = await stoppedAndFailed(new FahaoError('STALE', 'another one leads'))
    assert.deepEqual(refused, { admitted: 64, calls: ['ended'] })
  })
})

test('a failure counts until a success, or until none has followed for five minutes', async () => {
  const clock = new FakeClock()
  let failure: Error | undefined = new FahaoError('UNAVAILABLE', 'the engine is away')
  const reserve = () => (failure === undefined ? Promise.resolve() : Promise.reject(failure))
  const options = { limiter: new Limiter(), clock, random: () => 0 }
  const refills = new Refills('order', options, { reserve, ended() {}, paused() {} })
  const attempt = async () => {
    refills.start(true)
    await settled()
    return refills.stats().refillsFailing
  }
  assert.equal(await attempt(), 1)
  await clock.pass(200_000)
  assert.equal(await attempt(), 1)
  await clock.pass(299_000)
  assert.equal(refills.stats().refillsFailing, 1)
  await clock.pass(1000)
  assert.equal(refills.stats().refillsFailing, 0)
  assert.equal(await attempt(), 1)
  await clock.pass(1000)
  failure = undefined
  assert.equal(await attempt(), 0)
})
