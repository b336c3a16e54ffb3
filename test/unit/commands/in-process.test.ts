import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Access } from '../../../src/auth/access.ts'
import { CallerSession } from '../../../src/commands/caller-session.ts'
import { type Caller, InProcess } from '../../../src/commands/in-process.ts'
import { Run } from '../../../src/ids/run.ts'
import { Desk } from './desk.ts'

/** A desk, and a caller at it over a transport of its own. */
function callerAt(desk: Desk, access = new Access('alice', undefined, ['*'])): Caller {
  const { catalogue, server, table } = desk
  const inProcess = new InProcess({
    table,
    catalogue,
    server,
    decode: () => assert.fail('no other node has replied'),
  })
  const facts = { id: 9, address: '10.0.0.7:5000', localAddress: '10.0.0.1:5432', door: 'postgres', access }
  return inProcess.caller(new CallerSession(facts, { unreadBytes: () => 0, close() {} }))
}

test('replies are plain data', async () => {
  const caller = callerAt(new Desk())
  assert.equal(await caller.run('ID.CREATE', 'order', 'KIND', 'sequence'), 'OK')
  assert.equal(await caller.run('INCR', 'order'), 1n)
  assert.equal(await caller.run('ID.NEXT', 'order'), '2')
  assert.deepEqual(await caller.run('ID.NEXT', 'order', 'COUNT', '3'), ['3', '4', '5'])
  assert.deepEqual(await caller.run('ID.RUNS', 'order', '2'), [['6', '1', 2n]])
  assert.deepEqual(await caller.run('ID.LIST'), [['order', 'sequence']])
  assert.equal(await caller.run('GET', 'missing'), null)
  const info = (await caller.run('ID.INFO', 'order')) as ReadonlyMap<string, unknown>
  assert.deepEqual([info.get('kind'), info.get('increment')], ['sequence', '1'])
  assert.equal(await caller.run('ID.CREATE', 'sms', 'KIND', 'sequence', 'FORMAT', 'sms_{id}'), 'OK')
  assert.deepEqual(await caller.run('ID.NEXT', 'sms', 'COUNT', '2'), ['sms_1', 'sms_2'])
})

test('ids that are issued together take little memory, and are read in any order', async () => {
  const caller = callerAt(new Desk())
  await caller.run('ID.CREATE', 'order', 'KIND', 'sequence')
  assert.equal((await caller.issue('order', 1)).at(0), '1')
  const ids = await caller.issue('order', 100)
  assert.equal(ids.count, 100)
  assert.ok(ids.heldBytes < 1000)
  assert.deepEqual([0, 99, 1, 50].map(ids.at), ['2', '101', '3', '52'])
  await assert.rejects(caller.issue('missing', 2), { code: 'NOGENERATOR' })
})

test('errors are those that a Redis client receives', async () => {
  const caller = callerAt(new Desk())
  await assert.rejects(caller.run('NOTHING'), { code: 'ERR', message: /^unknown command 'nothing'/i })
  await assert.rejects(caller.run('INCR'), { code: 'ERR', message: /wrong number of arguments/ })
  await assert.rejects(caller.run('ID.NEXT', 'missing'), { code: 'NOGENERATOR' })
})

test('a change is in the audit trail, with the transport and the address of the caller', async () => {
  const desk = new Desk()
  await callerAt(desk).run('ID.CREATE', 'order', 'KIND', 'sequence')
  const [entry] = await desk.trail.stored()
  const { event, user, address, door, object } = entry!
  assert.deepEqual([event, user, address, door, object], ['create', 'alice', '10.0.0.7', 'postgres', 'order'])
})

test('what the caller may not do draws no id, and is in the audit trail', async () => {
  const desk = new Desk()
  const owner = callerAt(desk)
  await owner.run('ID.CREATE', 'order', 'KIND', 'sequence')
  await owner.run('ID.CREATE', 'other', 'KIND', 'sequence')
  const caller = callerAt(desk, new Access('bob', new Set(['id.next']), ['order']))
  await assert.rejects(caller.run('ID.NEXT', 'other'), { code: 'NOPERM' })
  await assert.rejects(caller.run('INCR', 'order'), { code: 'NOPERM' })
  await assert.rejects(caller.open('other'), { code: 'NOPERM' })
  assert.equal(desk.catalogue.drawn, 0)
  const denied = (await desk.trail.stored()).filter(({ event }) => event === 'denied')
  assert.ok(denied.every(({ door }) => door === 'postgres'))
  assert.deepEqual(denied.map(({ object, detail }) => [object, detail]).sort(), [
    ['id.next', 'other'],
    ['incr', undefined],
  ])
  assert.equal(await caller.run('ID.NEXT', 'order'), '1')
})

test('one id of a generator in use is taken at once, unless the caller may not have it', async () => {
  const desk = new Desk()
  const caller = callerAt(desk)
  const run = new Run()
  assert.equal(caller.takeOne('order', run), false)
  await caller.run('ID.CREATE', 'order', 'KIND', 'sequence')
  assert.equal(caller.takeOne('order', run), true)
  assert.equal(run.first, 1n)
  for (const access of [
    new Access('bob', new Set(['incr']), ['*']),
    new Access('bob', new Set(['id.next']), ['other']),
    new Access('', new Set(), []),
  ])
    assert.equal(callerAt(desk, access).takeOne('order', run), false)
  assert.equal(callerAt(desk, new Access('bob', new Set(['id.next']), ['ord*'])).takeOne('order', run), true)
  assert.equal(run.first, 2n)
  desk.catalogue.find('order')!.empty = true
  assert.equal(caller.takeOne('order', run), false)
})

test('what a caller waits for is aborted when it is cancelled or gone, and only then', () => {
  const { session } = callerAt(new Desk())
  const own = session as CallerSession
  const first = own.signal
  own.cancel()
  assert.equal(first.aborted, true)
  assert.equal(own.signal.aborted, false)
  own.end()
  assert.equal(own.signal.aborted, true)
})
