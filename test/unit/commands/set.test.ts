import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Desk } from './desk.ts'

test('SET creates a sequence whose next id is the first above the number', async () => {
  const desk = new Desk()
  assert.equal(await desk.ask('SET order 1000'), 'OK')
  assert.equal(desk.catalogue.generators.get('order')!.kind, 'sequence')
  // Nothing of it is in memory: an import makes a million of them.
  assert.equal(desk.catalogue.find('order'), undefined)
  assert.equal(await desk.ask('INCR order'), 1001n)
  assert.equal(await desk.ask('SET zero 0 nx'), 'OK')
  assert.equal(await desk.ask('INCR zero'), 1n)
})

test('SET moves a sequence forward, by its increment', async () => {
  const desk = new Desk({ odd: { kind: 'sequence', increment: 2 } })
  assert.equal(await desk.ask('SET odd 11'), 'OK')
  assert.equal(await desk.ask('INCR odd'), 13n)
  assert.equal(await desk.ask('SET odd 13 XX'), 'OK')
})

test('SET NX and SETNX leave a sequence alone, and SET XX creates none', async () => {
  const desk = new Desk({ order: { kind: 'sequence' } })
  assert.equal(await desk.ask('SET order 50 NX'), null)
  assert.equal(await desk.ask('SETNX order 50'), 0)
  assert.equal(await desk.ask('INCR order'), 1n)
  assert.equal(await desk.ask('SET none 50 XX'), null)
  assert.equal(await desk.catalogue.exists('none'), false)
  assert.equal(await desk.ask('SETNX new 50'), 1)
  assert.equal(await desk.ask('INCR new'), 51n)
})

test('if another client creates it first, SET moves it and NX does not', async () => {
  const desk = new Desk()
  desk.catalogue.createUnopened = async (name) => {
    desk.catalogue.add(name, { kind: 'sequence' })
    return false
  }
  assert.equal(await desk.ask('SET a 50 NX'), null)
  assert.equal(await desk.ask('SET b 50'), 'OK')
  assert.equal(await desk.ask('INCR b'), 51n)
})

test('SET passes FORCE on, and creates nothing far away without it', async () => {
  const desk = new Desk()
  const far = '9223372036854775806'
  const mistaken = /^ERR to move 'order' from 0 to 9223372036854775806 gives up .* repeat it with FORCE$/
  assert.match(await desk.error('SET', 'order', far), mistaken)
  assert.match(await desk.error('SETNX', 'order', far), mistaken)
  assert.equal(await desk.catalogue.exists('order'), false)
  assert.equal(await desk.ask('SET', 'order', far, 'NX', 'FORCE'), 'OK')
  assert.equal(await desk.ask('SET ticket 5'), 'OK')
  assert.equal(await desk.ask('SET ticket 9 force XX'), 'OK')
  assert.equal(desk.catalogue.find('ticket')!.forced, true)
  assert.equal(await desk.ask('SET ticket 10'), 'OK')
  assert.equal(desk.catalogue.find('ticket')!.forced, false)
})

test('what cannot be set gets its exact error, and nothing is created or moved', async () => {
  const desk = new Desk({
    order: { kind: 'sequence', start: 100n },
    user: { kind: 'segment' },
    txn: { kind: 'timestamp' },
    event: { kind: 'snowflake' },
  })
  await desk.ask('INCR order')
  const notInteger = 'ERR value is not an integer or out of range'
  const noExpiry = (word: string) => `ERR syntax error: SET takes no ${word} here, generators do not expire`
  const clock = 'its ids follow the clock and are above every earlier one already'
  await desk.refuses([
    ['SET order 99', 'ERR ids above it may have been issued'],
    ['SET new abc', notInteger],
    ['SET new 1e3', notInteger],
    ['SET new 9223372036854775808', notInteger],
    ['SET new -1', 'ERR value must be 0 to 9223372036854775807: ids are not negative'],
    ['SET new 9223372036854775807', 'ERR increment or decrement would overflow'],
    ['SETNX new x', notInteger],
    ['SET new 1 EX 10', noExpiry('EX')],
    ['SET new 1 NX px 10', noExpiry('PX')],
    ['SET new 1 KEEPTTL', noExpiry('KEEPTTL')],
    [
      'SET new 1 GET',
      'ERR syntax error: SET takes no GET here, ask with GET first, a generator moves forward only',
    ],
    ['SET new 1 NX XX', 'ERR syntax error'],
    ['SET new 1 later', 'ERR syntax error'],
    ['SET new 1 FORCE FORCE', 'ERR syntax error'],
    ['SET new', "ERR wrong number of arguments for 'set' command"],
    [
      'SET user 500',
      "WRONGTYPE 'user' is a segment: each node issues from its own range; use ID.ALTER user FLOOR 501",
    ],
    ['SET txn 500', `WRONGTYPE 'txn' is a timestamp: ${clock}`],
    ['SET event 500', `WRONGTYPE 'event' is a snowflake: ${clock}`],
  ])
  assert.equal(await desk.catalogue.exists('new'), false)
  assert.equal(await desk.ask('INCR order'), 101n)
})
