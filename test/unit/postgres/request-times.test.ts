import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeClock } from '../fake-clock.ts'
import { query, serve } from './serve.ts'

test('statements are measured from their arrival until their result, and a login is none', async (t) => {
  const clock = new FakeClock()
  const mayIssue = () => {
    clock.mono += 2000
    return true
  }
  const { server, session } = await serve(t, { clock, mayIssue })
  const client = await session()
  const { ok } = server.stats.requests.times
  assert.deepEqual([ok.counts.some((count) => count > 0), ok.seconds], [false, 0])
  for (const sql of ['SELECT 1', 'CREATE SEQUENCE a', "SELECT nextval('a')", "SELECT nextval('a')"]) {
    client.send(query(sql))
    await client.until('Z')
  }
  const counted = ok.counts.reduce((sum, count) => sum + count)
  // The last one is answered with a buffered id, in the callback in which it arrives.
  assert.equal(counted, 4)
  assert.equal(counted, server.stats.commands)
  assert.equal(ok.counts[0], 0)
  assert.ok(ok.seconds >= 4 * 0.002, `${ok.seconds} s`)
})

test('errors are counted by code', async (t) => {
  const { server, session } = await serve(t)
  const client = await session()
  for (const sql of ['SELEKT', "SELECT nextval('none')"]) {
    client.send(query(sql))
    await client.until('Z')
  }
  const { errors, times } = server.stats.requests
  assert.deepEqual(Object.fromEntries(errors), { ERR: 2 })
  assert.equal(
    times.refused.counts.reduce((sum, count) => sum + count),
    2,
  )
  assert.ok(times.ok.counts.every((count) => count === 0))
})
