/** For how long a client uses what the service has said of a snowflake. */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { FahaoError } from '../../../src/base/errors.ts'
import { settled } from '../fake-clock.ts'
import { open } from './lease-service.ts'

/** A generator whose spans start so far ahead of the clock, and whose horizon is 60 s. */
const openAhead = (t: TestContext, aheadMinutes: number) =>
  open(t, undefined, {}, {}, aheadMinutes * 60_000_000)

const away = new FahaoError('UNAVAILABLE', 'no answer; is it running?')

for (const minutes of [0, 12, 20]) {
  describe(`a snowflake whose span starts ${minutes} minutes ahead of the clock`, () => {
    test('is renewed when the horizon is over, and not before', async (t) => {
      const { clock, service, generator: event } = await openAhead(t, minutes)
      for (let round = 1; round <= 5; round++) {
        await clock.pass(59_999)
        await event.next()
        await settled()
        assert.equal(service.requests.length, round)
        await clock.pass(1)
        await event.next()
        await settled()
        assert.equal(service.requests.at(-1), 'ID.RENEW event')
        assert.equal(service.requests.length, round + 1)
      }
    })

    test('issues nothing after a drop once it is used later than the horizon', async (t) => {
      const { clock, service, generator: event } = await openAhead(t, minutes)
      await event.next()
      service.refusal = new FahaoError('NOGENERATOR', 'create it')
      await clock.pass(60_000)
      event.tryNext()
      await settled()
      assert.equal(event.tryNext(), undefined)
      await assert.rejects(event.next(), { code: 'NOGENERATOR' })
    })

    test('ends after two horizons without an answer, also when the permission is lost', async (t) => {
      for (const refusal of [away, new FahaoError('NOPERM', 'ask for it')]) {
        const { clock, service, generator: event } = await openAhead(t, minutes)
        const before = await event.next()
        service.refusal = refusal
        await clock.pass(119_999)
        assert.ok(event.tryNext()! > before)
        assert.ok(event.stats().lastsMs <= 1)
        await clock.pass(1)
        assert.equal(event.tryNext(), undefined)
        assert.equal(event.tryNextNumber(), undefined)
        assert.deepEqual([event.stats().buffered, event.stats().lastsMs], [0, 0])
        service.refusal = undefined
        const waiting = event.next()
        await clock.pass(2000)
        assert.ok((await waiting) > before)
      }
    })

    test('lasts as long as its deadline, and no longer', async (t) => {
      const { clock, generator: event } = await openAhead(t, minutes)
      assert.equal(event.stats().lastsMs, 120_000)
      await clock.pass(50_000)
      assert.equal(event.stats().lastsMs, 70_000)
    })
  })
}

test('an alteration that cannot be followed leaves the ids that are left their earlier format', async (t) => {
  const { clock, service, generator: event } = await openAhead(t, 0)
  service.layout = 'time:10,node:10,sequence:12;epoch=2025-01-01T00:00:00Z'
  service.format = 'new-{id}'
  await clock.pass(60_000)
  await event.next()
  await settled()
  assert.match(event.tryNextText()!, /^\d+$/)
  assert.match(await event.nextText(), /^\d+$/)
  await clock.pass(60_000)
  await assert.rejects(event.nextText(), { code: 'EXHAUSTED' })
})

test('calls without a promise renew what was dropped because memory was copied', async (t) => {
  const { clock, service, generator: event } = await openAhead(t, 0)
  await event.next()
  clock.wall += 5_000_000
  assert.equal(event.tryNext(), undefined)
  await settled()
  assert.deepEqual(service.requests, ['ID.LEASE event', 'ID.LEASE event'])
  assert.notEqual(event.tryNext(), undefined)
})
