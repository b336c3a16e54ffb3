/** Arguments that a program without types gets wrong: refused at once, without a request. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FahaoClient } from '../../../client/src/client.ts'
import { settingsOf } from '../../../client/src/options.ts'
import { FakeClock } from '../fake-clock.ts'

function clientOf(replies: readonly unknown[]) {
  const url = new URL('redis://a:1')
  const sent: unknown[] = []
  const link = {
    node: 'a:1',
    send: async (request: unknown) => replies[sent.push(request) - 1],
    close() {},
  }
  const parts = { clock: new FakeClock(), random: () => 0, link: () => link }
  return { client: new FahaoClient([url], settingsOf([url], {}), parts), sent }
}

test('a name that is no text', async () => {
  const { client, sent } = clientOf([])
  for (const name of [undefined, '', 7])
    await assert.rejects(client.generator(name as string), { code: 'ERR', message: /name of a generator/ })
  assert.deepEqual(sent, [])
  await client.close()
})

test('a count that is none, or more than one call gives', async () => {
  const { client, sent } = clientOf([{ kind: 'sequence', incarnation: '1', definition: '{}', nowUs: 1 }])
  const order = await client.generator('order')
  for (const [count, shown] of [
    [0, '0'],
    [1.5, '1.5'],
    [1_000_001, '1000001'],
    ['3', 'a string'],
  ] as const)
    await assert.rejects(order.nextBatch(count as number), {
      code: 'ERR',
      message: `count must be a whole number from 1 to 1000000, not ${shown}`,
    })
  assert.equal(sent.length, 1)
  await client.close()
})
