import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FahaoError } from '../../../src/base/errors.ts'
import { timeBuckets } from '../../../src/base/times.ts'
import type { IdMaker } from '../../../src/proxy/id-supply.ts'
import { FakeClock } from '../fake-clock.ts'
import { idsAtHand, startScene } from './obedient-server.ts'

const [query, ping] = [3, 14]
const insert = "INSERT INTO orders (item) VALUES ('x')"

test('commands are measured until the end of the reply, with the wait for ids', async (t) => {
  const clock = new FakeClock()
  const asked = Promise.withResolvers<void>()
  const ids = Promise.withResolvers<void>()
  const maker: IdMaker = {
    ...idsAtHand(),
    tryDraw: () => undefined,
    async draw() {
      asked.resolve()
      await ids.promise
      return { ids: ['7'], isText: false }
    },
  }
  const { proxy, login } = await startScene(t, maker, {}, clock)
  const client = await login()
  client.send(ping)
  await client.reply()
  client.send(query, insert)
  await asked.promise
  clock.mono += 2_000_000
  ids.resolve()
  assert.equal((await client.reply())[4], 0)
  const { counts, seconds } = proxy.stats.requests.times.ok
  assert.equal(seconds, 2)
  assert.deepEqual([counts[0], counts[timeBuckets.indexOf(2.5)]], [1, 1])
})

test('errors of the proxy are counted by code', async (t) => {
  const dry = async () => {
    throw new FahaoError('DRY', 'there are no ids')
  }
  const maker: IdMaker = { ...idsAtHand(), tryDraw: () => undefined, draw: dry }
  const { proxy, login } = await startScene(t, maker)
  const client = await login()
  client.send(query, insert)
  assert.equal((await client.reply())[4], 0xff)
  assert.deepEqual(Object.fromEntries(proxy.stats.requests.errors), { DRY: 1 })
  assert.equal(
    proxy.stats.requests.times.failed.counts.reduce((sum, count) => sum + count),
    1,
  )
})
