import assert from 'node:assert/strict'
import { test } from 'node:test'
import { trailParts } from '../../../src/audit/audit-entry.ts'
import { readEntries } from '../../../src/audit/audit-ring.ts'
import { Access } from '../../../src/auth/access.ts'
import type { Command } from '../../../src/commands/command.ts'
import { demandRecorded } from '../../../src/commands/recording.ts'
import { Desk } from './desk.ts'

test('a command that changes generators is in the audit trail, with the user and the address of its connection', async () => {
  const desk = new Desk()
  desk.session.access = new Access('alice', undefined, ['*'])
  await desk.ask('id.create order kind segment')
  await desk.ask('id.alter order step 5000')
  await desk.ask('set counter 100')
  await desk.ask('del order counter missing')
  assert.deepEqual(await desk.trail.texts(), [
    'create order by alice',
    'alter order by alice',
    'set counter by alice',
    'drop order by alice',
    'drop counter by alice',
    'drop missing by alice',
  ])
  const [newest] = await desk.trail.stored()
  const { address, door, detail } = newest!
  assert.deepEqual([address, door, detail], ['127.0.0.1', 'resp', '2 of 3 existed'])
})

test('a draw with FORCE needs the permission of SET, and is recorded like it', async () => {
  const desk = new Desk({ order: { kind: 'sequence' } })
  desk.session.access = new Access('bob', new Set(['id.next']), ['*'])
  assert.equal(await desk.ask('id.next order above 41'), '1')
  await desk.refuses([
    [
      'id.next order above 41 force',
      "NOPERM User bob has no permissions to run the 'set' command; an administrator can permit it to bob by the rule +set",
    ],
  ])
  desk.session.access = new Access('alice', new Set(['id.next', 'set']), ['*'])
  assert.equal(await desk.ask('id.next order above 41 force'), '2')
  const entries = (await desk.trail.stored()).toReversed()
  assert.deepEqual(
    entries.map(({ event, user, object, detail }) => [event, user, object, detail]),
    [
      ['denied', 'bob', 'set', undefined],
      ['set', 'alice', 'order', 'ABOVE with FORCE'],
    ],
  )
})

test('a change of a user that may not change users is in the part of such users', async () => {
  const desk = new Desk()
  const partsOf = async (access: Access, name: string) => {
    desk.session.access = access
    await desk.ask('set', name, '100')
    await desk.trail.stored()
    const parts = await Promise.all(trailParts.map((part) => readEntries(desk.trail.engine, [part])))
    return trailParts.filter((_, index) => parts[index]?.some(({ object }) => object === name))
  }
  const forwardable = new Set(['set'])
  const [admin, user] = [new Access('a', undefined, ['*']), new Access('u', new Set(['set']), ['*'])]
  assert.deepEqual(await partsOf(admin, 'one'), ['changes'])
  assert.deepEqual(await partsOf(admin.forwarded(forwardable, []), 'two'), ['changes'])
  assert.deepEqual(await partsOf(user, 'three'), ['user-changes'])
  assert.deepEqual(await partsOf(user.forwarded(forwardable, []), 'four'), ['user-changes'])
})

test('the address of a forwarded change is that of the client, and that of no client that claims to be a node', async () => {
  const desk = new Desk()
  const forwarded = new Access('alice', undefined, ['*']).forwarded(new Set(['set']), [])
  const addressOf = async (access: Access, version: string) => {
    Object.assign(desk.session, { access, libraryVersion: version })
    await desk.ask('set', `counter${version}`, '100')
    return (await desk.trail.stored())[0]!.address
  }
  assert.equal(await addressOf(forwarded, '10.0.0.7'), '10.0.0.7')
  assert.equal(await addressOf(forwarded, 'fd00::7'), 'fd00::7')
  assert.equal(await addressOf(forwarded, '5.1.0'), '127.0.0.1')
  assert.equal(await addressOf(new Access('alice', undefined, ['*']), '10.0.0.8'), '127.0.0.1')
})

test('a forwarded request that is refused has the address of the client only if nodes send it', async () => {
  const desk = new Desk()
  const access = new Access('alice', new Set(), ['*']).forwarded(new Set(), [])
  Object.assign(desk.session, { access, libraryVersion: '10.0.0.7' })
  const addressOfRefused = async (...words: readonly string[]) => {
    const request = desk.table.resolve(words.map((word) => Buffer.from(word)))
    assert.throws(() => demandRecorded(access, desk.context, request), { code: 'NOPERM' })
    return (await desk.trail.stored())[0]!.address
  }
  assert.equal(await addressOfRefused('set', 'order', '5'), '10.0.0.7')
  assert.equal(await addressOfRefused('incr', 'order'), '127.0.0.1')
})

test('a command that fails, or changes nothing, is not in the audit trail', async () => {
  const desk = new Desk()
  await desk.error('id.alter missing step 5000')
  await desk.error('id.create order kind nothing')
  assert.equal(await desk.ask('id.drop missing'), 0)
  assert.equal(await desk.ask('set missing 5 xx'), null)
  await desk.ask('setnx order 5')
  assert.equal(await desk.ask('setnx order 9'), 0)
  await desk.ask('incr order')
  await desk.ask('get order')
  assert.deepEqual(await desk.trail.texts(), ['set order by default'])
})

test('a command with very many names takes a bounded number of entries', async () => {
  const desk = new Desk()
  await desk.ask('setnx name0 1')
  await desk.ask('del', ...Array.from({ length: 1000 }, (_, index) => `name${index}`))
  const [newest, ...others] = await desk.trail.stored()
  assert.deepEqual([newest!.detail, others.length], ['and 936 others', 65])
})

test('every command for managers and administrators is recorded, or only reads', () => {
  const leaves = (command: Command): readonly Command[] => command.subcommands?.flatMap(leaves) ?? [command]
  const reading = ['list', 'get', 'users', 'getuser', 'dryrun', 'log']
  const unrecorded = new Desk().table
    .all()
    .flatMap(leaves)
    .filter(({ permission, change }) => ['manage', 'admin'].includes(permission) && change === undefined)
    .filter(({ name, flags }) => !flags.includes('readonly') && !reading.includes(name))
  assert.deepEqual(
    unrecorded.map(({ name }) => name),
    [],
  )
})

test('a command that fails in the middle is in the audit trail with what it has changed', async () => {
  const desk = new Desk()
  await desk.ask('acl setuser admin on >pw ~* +@all')
  await desk.ask('acl setuser mallory on >pw')
  await desk.error('acl deluser missing mallory default')
  await desk.error('acl deluser default admin')
  assert.deepEqual((await desk.trail.texts()).slice(2), [
    'user-deleted missing by default',
    'user-deleted mallory by default',
  ])
  const [newest] = await desk.trail.stored()
  assert.equal(newest!.detail, 'then an error')
  // The users of all desks are the same.
  await desk.ask('acl setuser default on nopass ~* &* +@all')
})
