import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Access } from '../../../src/auth/access.ts'
import { Run } from '../../../src/ids/run.ts'
import { InProcessCaller } from '../../../src/operations/caller.ts'
import { CallerSession } from '../../../src/operations/caller-session.ts'
import { blockOperation, nextOperation } from '../../../src/operations/drawing.ts'
import { alterOperation, createOperation, dropOperation } from '../../../src/operations/generators.ts'
import { moveOperation, newestOperation } from '../../../src/operations/newest.ts'
import { Desk } from '../commands/desk.ts'

/** A desk, and a caller at it over a transport of its own. */
function callerAt(desk: Desk, access = new Access('alice', undefined, ['*'])): InProcessCaller {
  const { catalogue, server } = desk
  const facts = { id: 9, address: '10.0.0.7:5000', localAddress: '10.0.0.1:5432', door: 'postgres', access }
  return new InProcessCaller(new CallerSession(facts, { unreadBytes: () => 0, close() {} }), {
    catalogue,
    server,
  })
}

const create = (caller: InProcessCaller, name: string, more = {}) =>
  caller.run(createOperation, { name, options: { kind: 'sequence', ...more } })

const next = async (caller: InProcessCaller, name: string, count = 1n) => {
  const ids = await caller.run(nextOperation, { name, count })
  return Array.from({ length: ids.count }, (_, index) => ids.at(index))
}

test('answers are typed', async () => {
  const caller = callerAt(new Desk())
  await create(caller, 'order')
  assert.deepEqual(await next(caller, 'order'), ['1'])
  assert.deepEqual(await next(caller, 'order', 3n), ['2', '3', '4'])
  assert.equal(await caller.run(blockOperation, { name: 'order', count: 2n }), 5n)
  assert.equal(await caller.run(newestOperation, { name: 'order' }), 6n)
  assert.equal(await caller.run(newestOperation, { name: 'missing' }), undefined)
  assert.equal(await caller.run(moveOperation, { name: 'missing', newest: 7n, condition: 'XX' }), false)
  assert.equal(await caller.run(moveOperation, { name: 'moved', newest: 7n }), true)
  await caller.run(alterOperation, { name: 'order', changes: { max: 1000n } })
  assert.equal((await caller.definition('order')).max, 1000n)
  await create(caller, 'sms', { format: 'sms_{id}' })
  assert.deepEqual(await next(caller, 'sms', 2n), ['sms_1', 'sms_2'])
  const { found } = await caller.list(undefined, 10)
  assert.deepEqual(
    found.map(({ name }) => name),
    ['moved', 'order', 'sms'],
  )
  assert.equal(await caller.run(dropOperation, { name: 'sms' }), true)
  assert.equal(await caller.run(dropOperation, { name: 'sms' }), false)
})

test('ids that are issued together take little memory, and are read in any order', async () => {
  const caller = callerAt(new Desk())
  await create(caller, 'order')
  const ids = await caller.run(nextOperation, { name: 'order', count: 100n })
  assert.equal(ids.count, 100)
  assert.ok(ids.heldBytes < 1000)
  assert.deepEqual(
    [0, 99, 1, 50].map((index) => ids.at(index)),
    ['1', '100', '2', '51'],
  )
  await assert.rejects(next(caller, 'missing', 2n), { code: 'NOGENERATOR' })
})

test('errors are those that a Redis client receives', async () => {
  const caller = callerAt(new Desk())
  await assert.rejects(next(caller, 'missing'), { code: 'NOGENERATOR' })
  await create(caller, 'order', { increment: 2 })
  await assert.rejects(next(caller, 'order', 101n), {
    code: 'LIMIT',
    message: /^COUNT 101 is above the limit/,
  })
  await assert.rejects(caller.run(blockOperation, { name: 'order', count: 2n }), {
    code: 'WRONGTYPE',
    message: "'order' issues no contiguous blocks; use ID.NEXT order COUNT 2",
  })
})

test('a change is in the audit trail, with the transport and the address of the caller', async () => {
  const desk = new Desk()
  const caller = callerAt(desk)
  await create(caller, 'order')
  // What changes nothing is not.
  await caller.run(dropOperation, { name: 'missing' })
  await caller.run(moveOperation, { name: 'missing', newest: 7n, condition: 'XX' })
  const [entry, ...more] = await desk.trail.stored()
  const { event, user, address, door, object } = entry!
  assert.deepEqual([event, user, address, door, object], ['create', 'alice', '10.0.0.7', 'postgres', 'order'])
  assert.deepEqual(more, [])
})

test('what the caller may not do draws no id, and is in the audit trail and in ACL LOG', async () => {
  const desk = new Desk()
  const owner = callerAt(desk)
  await create(owner, 'order')
  await create(owner, 'other')
  const caller = callerAt(desk, new Access('bob', new Set(['id.next']), ['order']))
  await assert.rejects(next(caller, 'other'), { code: 'NOPERM', message: 'No permissions to access a key' })
  await assert.rejects(caller.run(blockOperation, { name: 'order', count: 1n }), {
    code: 'NOPERM',
    message: "User bob has no permissions to run the 'incrby' command",
  })
  await assert.rejects(caller.open('other'), { code: 'NOPERM' })
  assert.equal(desk.catalogue.drawn, 0)
  const denied = (await desk.trail.stored()).filter(({ event }) => event === 'denied')
  assert.ok(denied.every(({ door }) => door === 'postgres'))
  assert.deepEqual(denied.map(({ object, detail }) => [object, detail]).sort(), [
    ['id.next', 'other'],
    ['incrby', undefined],
  ])
  const line = ((await desk.ask('ACL', 'LOG', '1')) as { 'client-info': string }[])[0]!['client-info']
  assert.match(
    line,
    /^id=9 addr=10\.0\.0\.7:5000 laddr=10\.0\.0\.1:5432 .* flags=N .* multi=-1 .* multi-mem=0 /,
  )
  assert.match(line, / cmd=id\.next user=bob redir=-1 resp=3 lib-name= lib-ver=$/)
  assert.deepEqual(await next(caller, 'order'), ['1'])
})

test('one id of a generator in use is taken at once, unless the caller may not have it', async () => {
  const desk = new Desk()
  const caller = callerAt(desk)
  const run = new Run()
  assert.equal(caller.takeOne('order', run), false)
  await create(caller, 'order')
  // Nothing of it is in memory until it is used.
  assert.equal(caller.takeOne('order', run), false)
  assert.deepEqual(await next(caller, 'order'), ['1'])
  assert.equal(caller.takeOne('order', run), true)
  assert.equal(run.first, 2n)
  for (const access of [
    new Access('bob', new Set(['incr']), ['*']),
    new Access('bob', new Set(['id.next']), ['other']),
    new Access('', new Set(), []),
  ])
    assert.equal(callerAt(desk, access).takeOne('order', run), false)
  assert.equal(callerAt(desk, new Access('bob', new Set(['id.next']), ['ord*'])).takeOne('order', run), true)
  assert.equal(run.first, 3n)
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
