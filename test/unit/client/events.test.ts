/** Receivers of events that fail. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FahaoError } from '../../../src/base/errors.ts'
import { open } from './lease-service.ts'

for (const [how, fail] of [
  ['throws', () => assert.fail('the log is full')],
  ['rejects', () => Promise.reject(new Error('the log is full'))],
] as const) {
  test(`a client whose onEvent ${how} issues ids after an outage as before it`, async (t) => {
    const events: string[] = []
    const onEvent = ({ type }: { readonly type: string }) => {
      events.push(type)
      return fail()
    }
    const { clock, service, generator: event } = await open(t, undefined, { onEvent })
    service.refusal = new FahaoError('UNAVAILABLE', 'no answer; is it running?')
    await clock.pass(60_000)
    await event.next()
    await clock.pass(15_000)
    service.refusal = undefined
    await clock.pass(2000)
    await event.next()
    assert.deepEqual([...new Set(events)], ['node-failed', 'refill-failed', 'refill-recovered'])
    assert.ok(event.stats().lastsMs > 60_000)
  })
}
