import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Invalidating, ok } from '../../../src/commands/command.ts'
import { Desk } from './desk.ts'

test('CLIENT TRACKING has each reply to a read followed by an invalidation of its names', async () => {
  const desk = new Desk()
  desk.session.protocol = 3
  desk.catalogue.add('a', { kind: 'sequence' })
  assert.equal(await desk.ask('INCR a'), 1n)
  assert.equal(await desk.ask('GET a'), '1')
  assert.equal(await desk.raw('CLIENT TRACKING ON OPTIN'), ok)
  for (const [request, reply, names] of [
    [['GET', 'a'], '1', ['a']],
    [
      ['MGET', 'a', 'none'],
      ['1', null],
      ['a', 'none'],
    ],
    [['EXISTS', 'a', 'a'], 2, ['a', 'a']],
  ] as const) {
    const answer = await desk.raw(...request)
    assert.ok(answer instanceof Invalidating)
    assert.deepEqual(answer.reply, reply)
    assert.deepEqual(
      answer.names.map((name) => Buffer.from(name).toString()),
      names,
    )
  }
  // An id is new each time: no cache keeps the reply to a write.
  assert.equal(await desk.ask('INCR a'), 2n)
  assert.equal(await desk.raw('CLIENT TRACKING OFF'), ok)
  assert.equal(await desk.ask('GET a'), '2')
})

test('CLIENT TRACKING and CACHING accept what the mode allows', async () => {
  const desk = new Desk()
  desk.session.protocol = 3
  assert.equal(await desk.raw('CLIENT TRACKING on bcast PREFIX a:'), ok)
  assert.equal(await desk.raw('CLIENT TRACKING ON OPTIN'), ok)
  assert.equal(await desk.raw('CLIENT CACHING YES'), ok)
  await desk.refuses([
    ['CLIENT CACHING NO', 'ERR CLIENT CACHING NO needs CLIENT TRACKING ON OPTOUT first'],
    [
      'CLIENT TRACKING ON REDIRECT 5',
      'ERR CLIENT TRACKING takes no REDIRECT here: invalidations go to the connection that reads',
    ],
    ['CLIENT TRACKING ON PREFIX a', 'ERR PREFIX option requires BCAST mode to be enabled'],
    ['CLIENT TRACKING MAYBE', 'ERR syntax error'],
  ])
  await desk.ask('RESET')
  await desk.refuses([
    ['CLIENT CACHING YES', 'ERR CLIENT CACHING YES needs CLIENT TRACKING ON OPTIN first'],
    ['CLIENT TRACKING ON', 'ERR CLIENT TRACKING needs RESP3: send HELLO 3 first'],
  ])
})
