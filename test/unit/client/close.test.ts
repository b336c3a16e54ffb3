/** How a client ends while its service is away. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FahaoClient } from '../../../client/src/client.ts'
import { settingsOf } from '../../../client/src/options.ts'
import { FahaoError } from '../../../src/base/errors.ts'
import { FakeClock } from '../fake-clock.ts'
import { stateOf } from './fake-service.ts'

test('close waits 2 s for what is under way, and ends what is not answered', async () => {
  const clock = new FakeClock()
  const url = new URL('redis://a:1')
  const nowUs = clock.wall
  const grant = { kind: 'snowflake', incarnation: '1', definition: '{"layout":"twitter"}', nowUs, lease: 'x' }
  let isAway = false
  let end: (error: Error) => void = () => {}
  const link = {
    node: 'a:1',
    send: () =>
      isAway
        ? new Promise((_, reject) => {
            end = reject
          })
        : Promise.resolve({ ...grant, worker: 7, fromUs: nowUs, untilUs: nowUs + 120_000_000 }),
    close: () => end(new FahaoError('UNAVAILABLE', 'the connection was ended')),
  }
  const client = new FahaoClient([url], settingsOf([url], {}), { clock, random: () => 0, link: () => link })
  const event = await client.generator('event')
  await event.next()
  isAway = true
  await clock.pass(61_000)
  await event.next()
  const closed = client.close().then(() => 'closed')
  await clock.pass(1999)
  assert.equal(await stateOf(closed), undefined)
  await clock.pass(1)
  assert.equal(await closed, 'closed')
  assert.equal(event.tryNext(), undefined)
  assert.equal(clock.timers, 0)
})
