import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Invalidating, MapReply, ok, SetReply } from '../../../src/commands/command.ts'
import { Desk } from './desk.ts'

test('CLIENT TRACKING has each reply to a read followed by an invalidation of its names', async () => {
  const desk = new Desk()
  desk.session.protocol = 3
  desk.catalogue.make('a', { kind: 'sequence' })
  assert.equal(await desk.ask('INCR', 'a'), 1n)
  assert.equal(await desk.ask('GET', 'a'), '1')
  assert.equal(await desk.raw('CLIENT', 'TRACKING', 'ON', 'OPTIN'), ok)
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
  assert.equal(await desk.ask('INCR', 'a'), 2n)
  assert.equal(await desk.raw('CLIENT', 'TRACKING', 'OFF'), ok)
  assert.equal(await desk.ask('GET', 'a'), '2')
})

test('CLIENT TRACKINGINFO, GETREDIR and CACHING tell and take what the mode allows', async () => {
  const desk = new Desk()
  desk.session.protocol = 3
  const info = (flags: string[], redirect: number, prefixes: string[]) =>
    new MapReply([
      ['flags', new SetReply(flags)],
      ['redirect', redirect],
      ['prefixes', prefixes],
    ])
  assert.deepEqual(await desk.raw('CLIENT', 'TRACKINGINFO'), info(['off'], -1, []))
  assert.equal(await desk.raw('CLIENT', 'GETREDIR'), -1)
  assert.equal(await desk.raw('CLIENT', 'TRACKING', 'on', 'bcast', 'PREFIX', 'a:'), ok)
  assert.deepEqual(await desk.raw('CLIENT', 'TRACKINGINFO'), info(['on', 'bcast'], 0, ['a:']))
  assert.equal(await desk.raw('CLIENT', 'TRACKING', 'ON', 'OPTIN'), ok)
  assert.equal(await desk.raw('CLIENT', 'CACHING', 'YES'), ok)
  assert.equal(await desk.raw('CLIENT', 'GETREDIR'), 0)
  await desk.refuses([
    [['CLIENT', 'CACHING', 'NO'], 'ERR CLIENT CACHING NO needs CLIENT TRACKING ON OPTOUT first'],
    [
      ['CLIENT', 'TRACKING', 'ON', 'REDIRECT', '5'],
      'ERR CLIENT TRACKING takes no REDIRECT here: invalidations go to the connection that reads',
    ],
    [['CLIENT', 'TRACKING', 'ON', 'PREFIX', 'a'], 'ERR PREFIX option requires BCAST mode to be enabled'],
    [['CLIENT', 'TRACKING', 'MAYBE'], 'ERR syntax error'],
  ])
  await desk.ask('RESET')
  assert.deepEqual(await desk.raw('CLIENT', 'TRACKINGINFO'), info(['off'], -1, []))
  await desk.refuses([[['CLIENT', 'TRACKING', 'ON'], 'ERR CLIENT TRACKING needs RESP3: send HELLO 3 first']])
})
