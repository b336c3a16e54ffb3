/** Large batches of a snowflake. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ClientOptions } from '../../../client/src/index.ts'
import { FakeClock } from '../fake-clock.ts'
import { clientOf, LeaseService } from './lease-service.ts'

/** Four ids in each ms; bursts borrow 10 s. */
const layout = 'time:41,node:10,sequence:2;epoch=2025-01-01T00:00:00Z'

async function opened(options: ClientOptions) {
  const clock = new FakeClock()
  const service = new LeaseService(clock, layout)
  const client = clientOf(service, options)
  return { clock, service, client, event: await client.generator('event') }
}

test('a batch of all that the clock can lend is issued, and a larger one is refused at once', async () => {
  const { service, client, event } = await opened({})
  await assert.rejects(event.nextBatch(40_005), {
    code: 'LIMIT',
    message:
      /^40005 ids are above the limit of 40004 at once that the clock of 'event' allows; ask for fewer/,
  })
  assert.deepEqual([event.stats().issued, event.stats().waiting, service.requests.length], [0, 0, 1])
  assert.equal((await event.nextBatch(40_004)).length, 40_004)
  await client.close()
  await assert.rejects(event.nextBatch(40_005), { code: 'SHUTDOWN' })
})

test('a batch of more than a span is refused at once, and one of a whole span waits for the next span', async () => {
  const { clock, client, event } = await opened({ horizonMs: 1000 })
  await assert.rejects(event.nextBatch(8001), { code: 'LIMIT', message: /limit of 8000 at once/ })
  await clock.pass(1500)
  const waiting = event.nextBatch(8000)
  await clock.pass(200)
  assert.equal((await waiting).length, 8000)
  await client.close()
})
