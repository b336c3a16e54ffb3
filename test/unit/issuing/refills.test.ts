import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FahaoError } from '../../../src/base/errors.ts'
import { Limiter, Ticket } from '../../../src/issuing/limiter.ts'
import { Refills } from '../../../src/issuing/refills.ts'
import { FakeClock, settled } from '../fake-clock.ts'

/** A refill under way that has been stopped, and fails with `error`; how many others the limiter lets in after it. */
async function stoppedAndFailed(error: Error): Promise<{ letIn: number; told: string[] }> {
  const told: string[] = []
  const limiter = new Limiter()
  const clock = new FakeClock()
  const options = {
    limiter,
    clock,
    random: () => 0,
    onRefillOutcome: () => void told.push('outcome'),
    onStale: () => void told.push('stale'),
  }
  const refills = new Refills('order', options, () => told.push('again'))
  const answer = Promise.withResolvers<void>()
  refills.start(
    false,
    () => answer.promise,
    () => told.push('after'),
  )
  refills.stop(new Error('the shard was lost'))
  answer.reject(error)
  await settled()
  await clock.pass(60_000)
  let letIn = 0
  while (limiter.acquire(new Ticket(), false) === true) letIn++
  return { letIn, told }
}

describe('a refill that fails after it was stopped', () => {
  it('tells the limiter what became of the engine, and nobody what became of the generator', async () => {
    const away = await stoppedAndFailed(new FahaoError('UNAVAILABLE', 'the engine is away'))
    assert.deepEqual(away, { letIn: 4, told: ['after'] })
  })

  it('says nothing against the engine where that has refused it', async () => {
    const refused = await stoppedAndFailed(new FahaoError('STALE', 'another one leads'))
    assert.deepEqual(refused, { letIn: 64, told: ['after'] })
  })
})
