import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callerStopped } from '../../../src/operations/caller-session.ts'
import { Desk } from './desk.ts'

const past53 = String(2n ** 53n)

test('INCR issues the next id, buffered or not', async () => {
  const desk = new Desk()
  const order = desk.catalogue.add('order', { kind: 'sequence', start: 5n })
  assert.equal(await desk.ask('INCR order'), 5n)
  order.empty = true
  assert.equal(await desk.ask('incr order'), 6n)
  assert.equal(order.drawn, 2)
  order.empty = true
  desk.session.signal = AbortSignal.abort(callerStopped)
  assert.equal(await desk.error('INCR order'), 'ABORTED the caller stopped waiting; no id was used up')
  assert.equal(order.drawn, 2, 'a caller that has gone while it waited uses up nothing')
})

test('INCR opens a generator that is not in use yet, and creates one where autoCreate matches', async () => {
  const desk = new Desk({ order: { kind: 'sequence' } })
  desk.catalogue.asleep.add('order')
  assert.equal(await desk.ask('INCR order'), 1n)
  assert.equal(await desk.ask('INCR auto-x'), 1n)
})

test('INCRBY returns the last id of a contiguous block', async () => {
  const desk = new Desk()
  const order = desk.catalogue.add('order', { kind: 'sequence' })
  assert.equal(await desk.ask('INCRBY order 10'), 10n)
  assert.equal(order.lastDraw.contiguous, true)
  assert.equal(await desk.ask('INCRBY order 1'), 11n)
  assert.equal(await desk.ask('INCRBY order 2'), 13n)
  assert.equal(order.drawn, 13)
})

test('INCRBY 1 is INCR, on kinds without contiguous blocks too: redis-py sends it for incr()', async () => {
  const desk = new Desk({ odd: { kind: 'sequence', increment: 2 } })
  assert.equal(await desk.ask('INCRBY odd 1'), 1n)
  assert.equal(await desk.ask('INCRBY odd 1'), 3n)
})

test('what is refused gets its exact error and uses up no id', async () => {
  const desk = new Desk({
    order: { kind: 'sequence' },
    odd: { kind: 'sequence', increment: 2 },
    mixed: { kind: 'segment', within: 'shuffled' },
    event: { kind: 'snowflake' },
  })
  const taken = 'ERR increment must be at least 1: ids are issued, and never taken back'
  const notInteger = 'ERR value is not an integer or out of range'
  await desk.refuses([
    ['INCR none', "NOGENERATOR no generator 'none'; create it with ID.CREATE none KIND kind"],
    ['INCRBY none 1', "NOGENERATOR no generator 'none'; create it with ID.CREATE none KIND kind"],
    [['INCR', Buffer.from([0xff])], 'ERR argument 1 is not valid UTF-8'],
    ['INCRBY order 0', taken],
    ['INCRBY order -5', taken],
    ['INCRBY order 1.5', notInteger],
    [['INCRBY', 'order', ' 1'], notInteger],
    ['INCRBY order +1', notInteger],
    ['INCRBY order 01', notInteger],
    [['INCRBY', 'order', ''], notInteger],
    ['INCRBY order 9223372036854775808', notInteger],
    [
      'INCRBY order 9223372036854775807',
      'LIMIT increment 9223372036854775807 is above the limit of 1000000; ask for fewer at a time',
    ],
    ['INCRBY odd 5', "WRONGTYPE 'odd' issues no contiguous blocks; use ID.NEXT odd COUNT 5"],
    ['INCRBY mixed 5', "WRONGTYPE 'mixed' issues no contiguous blocks; use ID.NEXT mixed COUNT 5"],
    ['INCRBY event 5', "WRONGTYPE 'event' issues no contiguous blocks; use ID.NEXT event COUNT 5"],
  ])
})

test('a client that may round the id is refused before one is used up', async () => {
  const desk = new Desk({ big: { kind: 'sequence', start: past53 } })
  // Some clients round ids a few below 2^53 as well.
  const lastExact = 2n ** 53n - 65n
  const edge = desk.catalogue.add('edge', { kind: 'sequence', start: lastExact - 1n })
  const unsafe = (name: string) =>
    `UNSAFE '${name}' issues ids past 2^53-1, and this client has not shown that it reads such integers exactly; use ID.NEXT ${name}, which replies a string, or send CLIENT SETINFO LIB-NAME with the name of your library, or see rounding-guard in the server documentation`
  desk.session.exact = false
  await desk.refuses([
    ['INCR big', unsafe('big')],
    ['INCRBY big 1', unsafe('big')],
    ['INCRBY big 3', unsafe('big')],
  ])
  assert.equal(await desk.ask('INCR edge'), lastExact - 1n)
  await desk.refuses([['INCRBY edge 2', unsafe('edge')]])
  assert.equal(await desk.ask('INCR edge'), lastExact)
  await desk.refuses([['INCR edge', unsafe('edge')]])
  desk.session.exact = true
  assert.equal(await desk.ask('INCR edge'), lastExact + 1n)
  assert.equal(edge.drawn, 3)
})

test('GET and MGET show the newest id as text, and nil where there is none', async () => {
  const desk = new Desk({ big: { kind: 'sequence', start: past53 }, new: { kind: 'sequence' } })
  await desk.ask('INCR big')
  assert.equal(await desk.ask('GET big'), past53)
  assert.equal(await desk.ask('GET new'), null)
  assert.equal(await desk.ask('GET none'), null)
  desk.catalogue.asleep.add('big')
  assert.deepEqual(await desk.ask('MGET none big big new'), [null, past53, past53, null])
  assert.ok(desk.catalogue.asleep.has('big'), 'reading does not put a generator in use')
  assert.equal(await desk.ask('GET auto-x'), null, 'reading creates nothing')
  assert.equal(await desk.catalogue.exists('auto-x'), false)
})
