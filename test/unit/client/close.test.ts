/** How a client ends while its service is away. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FahaoClient } from '../../../client/src/client.ts'
import { settingsOf } from '../../../client/src/options.ts'
import { FahaoError } from '../../../src/base/errors.ts'
import { FakeClock, settled } from '../fake-clock.ts'
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

test('a plain worker id whose claim is answered while the client closes is returned', async () => {
  const sent: string[] = []
  const answer = Promise.withResolvers<unknown>()
  const link = {
    node: 'a:1',
    send: ({ words }: { readonly words: readonly string[] }) => {
      sent.push(words.slice(0, 4).join(' '))
      return words[1] === 'CLAIM' ? answer.promise : Promise.resolve(1)
    },
    close: () => void sent.push('end'),
  }
  const clock = new FakeClock()
  const url = new URL('redis://a:1')
  const client = new FahaoClient([url], settingsOf([url], {}), { clock, random: () => 0, link: () => link })
  const rejected = assert.rejects(client.leaseWorker('p'), { code: 'SHUTDOWN' })
  await settled()
  const closed = client.close()
  await settled()
  answer.resolve({ worker: 3, lease: 'x', ttlMs: 60_000, lastSeenMs: -1 })
  await Promise.all([rejected, closed])
  assert.deepEqual(sent, ['ID.WORKER CLAIM p OWNER', 'ID.WORKER RETURN p x', 'end'])
  assert.equal(clock.timers, 0)
})
