/** Users: what rules make of them, and which changes are refused. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { AccessControl } from '../../../src/auth/access-control.ts'
import { openDefault, readRules, rulesOf, writeStored } from '../../../src/auth/user.ts'
import { FahaoError } from '../../../src/base/errors.ts'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import { FakeClock } from '../fake-clock.ts'
import { openAccess } from './open-access.ts'

async function set(access: AccessControl, name: string, ...rules: string[]): Promise<string> {
  const { users, subjects, passwords } = access
  return rulesOf(await users.set(name, readRules(rules, subjects, passwords))).join(' ')
}

const admin = ['on', '>secret', '~*', '+@all']
const yearUs = 366 * 86_400_000_000
const settled = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)))

describe('Users', () => {
  test('are none at first: a connection may do everything as default', async () => {
    const access = await openAccess()
    assert.equal(access.users.areStored, false)
    assert.equal(access.initial.unrestricted, true)
    assert.deepEqual(
      access.users.all().map(({ name }) => name),
      ['default'],
    )
  })

  test('end the open default with the first of them', async () => {
    const access = await openAccess()
    await set(access, 'admin', ...admin)
    assert.equal(access.initial.user, '')
    assert.equal(access.users.access('default'), undefined)
    await set(access, 'default', 'on', 'nopass', '~open*', '+@issue')
    assert.equal(access.initial.user, 'default')
    assert.equal(access.initial.reaches('open:1'), true)
    assert.equal(access.initial.reaches('order'), false)
  })

  test('log in with their passwords, and with no others', async () => {
    const access = await openAccess()
    await set(access, 'admin', ...admin)
    assert.equal((await access.login('admin', 'secret', '127.0.0.1')).user, 'admin')
    const refused = /invalid username-password pair or user is disabled/
    await assert.rejects(access.login('admin', 'Secret', '127.0.0.1'), refused)
    await assert.rejects(access.login('unknown', 'secret', '127.0.0.1'), refused)
    await set(access, 'alice', 'off', '>pw')
    await assert.rejects(access.login('alice', 'pw', '127.0.0.1'), refused)
  })

  test('cannot be changed so that none of them could change users', async () => {
    const access = await openAccess()
    const locked = /no user could change users/
    await assert.rejects(set(access, 'alice', 'on', '>pw', '~*', '+@issue'), locked)
    await set(access, 'admin', ...admin)
    await set(access, 'alice', 'on', '>pw', '~*', '+@issue')
    for (const rules of [['off'], ['-@admin'], ['-acl|setuser'], ['resetpass'], ['reset']]) {
      await assert.rejects(set(access, 'admin', ...rules), locked)
    }
    await assert.rejects(access.users.remove('admin'), locked)
    await set(access, 'alice', '+acl')
    assert.equal(await access.users.remove('admin'), true)
    assert.equal(await access.users.remove('admin'), false)
  })

  test('keep an administrator when two nodes remove the last two at once', async () => {
    const store = new MemoryStore()
    const nodes = [
      await openAccess(new MemoryEngine(store)),
      await openAccess(new MemoryEngine(store)),
    ] as const
    const [one, other] = nodes
    await set(one, 'admin', ...admin)
    await set(one, 'boss', ...admin)
    await settled()
    const outcomes = await Promise.allSettled([one.users.remove('admin'), other.users.remove('boss')])
    await settled()
    assert.match(
      String(outcomes.map((outcome) => 'reason' in outcome && outcome.reason)),
      /could change users/,
    )
    for (const { users } of nodes) {
      const remaining = users.all().map(({ name }) => name)
      assert.ok(remaining.includes('admin') || remaining.includes('boss'), String(remaining))
    }
  })

  test('open nothing to default when all of them are removed', async () => {
    const store = new MemoryStore()
    const before = await openAccess(new MemoryEngine(store))
    await set(before, 'admin', ...admin)
    const { value, ...record } = store.records.get('users/admin')!
    store.records.set('users/admin', { ...record, value: value.replace('{', '{"removed":true,') })
    const access = await openAccess(new MemoryEngine(store))
    assert.deepEqual(access.users.all(), [])
    assert.equal(access.initial.user, '')
    assert.equal(access.users.access('default'), undefined)
    await set(access, 'admin', ...admin)
    assert.equal((await access.login('admin', 'secret', '127.0.0.1')).user, 'admin')
  })

  test('are the same on another node of the store, and end there', async () => {
    const store = new MemoryStore()
    const [one, other] = [
      await openAccess(new MemoryEngine(store)),
      await openAccess(new MemoryEngine(store)),
    ]
    await set(one, 'admin', ...admin)
    await set(one, 'alice', 'on', '>pw', '~a*', '+@issue')
    await settled()
    const alice = await other.login('alice', 'pw', '10.0.0.1')
    assert.equal(alice.reaches('a1'), true)
    await set(one, 'alice', 'resetkeys')
    await settled()
    assert.equal(other.present(alice)?.reaches('a1'), false)
    await one.users.remove('alice')
    await settled()
    assert.equal(other.present(alice), undefined)
    const third = await openAccess(new MemoryEngine(store))
    assert.equal(third.users.get('alice'), undefined)
  })

  test('that were removed do not come back with a store that went back', async () => {
    const store = new MemoryStore()
    const events: string[] = []
    const access = await openAccess(new MemoryEngine(store), { events })
    await set(access, 'admin', ...admin)
    await set(access, 'alice', 'on', '>pw', '~*', '+@issue')
    const before = new Map(store.records)
    await access.users.remove('alice')
    await set(access, 'bob', 'on', '>pw', '~*', '+@issue')
    for (const [key, record] of before) store.records.set(key, record)
    store.records.delete('users/bob')
    await access.users.reconcile()
    assert.equal(access.users.access('alice'), undefined)
    const later = await openAccess(new MemoryEngine(store))
    assert.equal(later.users.access('alice'), undefined)
    assert.equal(later.users.access('bob')?.user, 'bob')
    assert.match(events.join(), /written again as this node knew them: alice \(removed\), bob/)
  })

  test('that were removed free their places, and their records go after a year', async () => {
    const store = new MemoryStore()
    const clock = new FakeClock()
    const [one, other] = [
      await openAccess(new MemoryEngine(store), { clock }),
      await openAccess(new MemoryEngine(store), { clock }),
    ]
    await set(one, 'admin', ...admin)
    for (let month = 0; month < 240; month++) {
      const name = `user${month % 30}`
      await set(one, name, 'on', '>pw', '~*', '+@issue')
      const since = one.users.createdAt(name)!
      await one.users.remove(name)
      await set(one, name, 'on')
      assert.ok(one.users.createdAt(name)! > since)
      await one.users.remove(name)
      clock.wall += (yearUs * 30) / 366
      await settled()
    }
    assert.equal(store.records.size, 1 + 13)
    // What the other node, which has changed nothing, has in memory.
    store.records.clear()
    await other.users.reconcile()
    assert.equal(store.records.size, 1 + 13)
  })

  test('that were removed do not count, and the latest ten thousand are on record', async () => {
    const store = new MemoryStore()
    const removed = {
      passwords: [],
      patterns: [],
      commands: [],
      nopass: false,
      enabled: false,
      removed: true,
    }
    for (let n = 1; n <= 10_000; n++) {
      const value = JSON.stringify({
        ...removed,
        revision: n,
        change: `${n}`,
        removedMs: Date.now() - 20_000 + n,
      })
      store.records.set(`users/u${n}`, { key: `users/u${n}`, value, version: 1n })
    }
    const access = await openAccess(new MemoryEngine(store))
    await set(access, 'admin', ...admin)
    await set(access, 'alice', 'on')
    assert.equal(access.users.createdAt('alice'), 10_002)
    await access.users.remove('alice')
    assert.deepEqual([store.records.has('users/u1'), store.records.size], [false, 10_001])
  })

  test('that were removed are forgotten with a record that had to go, and with no other that is gone', async () => {
    const store = new MemoryStore()
    const { user, ...rest } = { user: openDefault, revision: 0, since: 0, change: '', removedMs: Date.now() }
    for (let revision = 1; revision <= 10_001; revision++) {
      const key = `users/u${revision}`
      const value = writeStored({ ...rest, user, revision, since: revision })
      store.records.set(key, { key, value, version: 1n })
    }
    const { users } = await openAccess(new MemoryEngine(store))
    const other = new MemoryEngine(store)
    const known = ['u10001', 'u1', 'u2'].map(async (name) => {
      await other.remove(`users/${name}`, 1n)
      await settled()
      return users.revisionOf(name)
    })
    assert.deepEqual(await Promise.all(known), [10_001, 0, 2])
  })

  test('have patterns of 8192 bytes together', async () => {
    const access = await openAccess(new MemoryEngine(new MemoryStore()))
    await set(access, 'admin', ...admin)
    const patterns = Array.from(
      { length: 17 },
      (_, index) => `~${String.fromCharCode(97 + index).repeat(500)}`,
    )
    await set(access, 'alice', 'on', ...patterns.slice(1))
    await assert.rejects(
      set(access, 'alice', patterns[0]!),
      /patterns of a user have at most 8192 bytes together/,
    )
    await set(access, 'alice', 'resetkeys', patterns[0]!)
  })

  test('are at most ten thousand', async () => {
    const store = new MemoryStore()
    const user = { passwords: [], patterns: [], commands: [], nopass: true, enabled: true }
    for (let n = 1; n <= 10_000; n++) {
      const value = JSON.stringify({ ...user, commands: n > 1 ? [] : ['+@all'], revision: n, change: `${n}` })
      store.records.set(`users/u${n}`, { key: `users/u${n}`, value, version: 1n })
    }
    const access = await openAccess(new MemoryEngine(store))
    await assert.rejects(set(access, 'alice', 'on'), /there are 10000 users already; remove one first/)
    await access.users.remove('u7')
    await set(access, 'alice', 'on')
  })

  test('leave the record with the highest revision, however old it is', async () => {
    const store = new MemoryStore()
    const clock = new FakeClock()
    const access = await openAccess(new MemoryEngine(store), { clock })
    await set(access, 'admin', ...admin)
    await set(access, 'alice', 'on')
    const since = access.users.createdAt('alice')!
    await access.users.remove('alice')
    clock.wall += 2 * yearUs
    await set(access, 'admin', '>other')
    assert.equal(store.records.has('users/alice'), true)
    const later = await openAccess(new MemoryEngine(store), { clock })
    await set(later, 'alice', 'on')
    assert.ok(later.users.createdAt('alice')! > since + 1)
  })

  test('stay as this node knows them where a store that went back has another change of the same revision', async () => {
    const store = new MemoryStore()
    const events: string[] = []
    const access = await openAccess(new MemoryEngine(store), { events })
    await set(access, 'admin', ...admin)
    await set(access, 'alice', 'on', '>pw', '~*', '+@issue')
    const before = store.records.get('users/alice')!
    await access.users.remove('alice')
    // A node that has started since the store went back changes the user.
    const older = new MemoryStore()
    for (const [key, record] of [...store.records, ['users/alice', before] as const])
      older.records.set(key, record)
    await set(await openAccess(new MemoryEngine(older)), 'alice', '+@read')
    const engine = new MemoryEngine(store)
    await engine.write(
      'users/alice',
      older.records.get('users/alice')!.value,
      store.records.get('users/alice')!.version,
    )
    await settled()
    assert.equal(access.users.access('alice'), undefined)
    assert.match(events.join(), /lost a change of user 'alice'/)
    const later = await openAccess(new MemoryEngine(store))
    assert.equal(later.users.access('alice'), undefined)
  })

  test('have rules of Redis', async () => {
    const access = await openAccess()
    await set(access, 'admin', ...admin)
    assert.equal(
      await set(access, 'a', '~order*', '~user:*', '+@issue', '-@admin'),
      'off ~order* ~user:* -@all +@connection +@issue -@admin',
    )
    assert.equal(await set(access, 'a', 'allkeys', 'allcommands', 'nopass', 'on'), 'on nopass ~* +@all')
    assert.equal(
      await set(access, 'a', 'reset', '%RW~x', '&*', 'allchannels', '+INCR', '-incr', '+client|list'),
      'off ~x -@all +@connection -incr +client|list',
    )
    const hash = 'a'.repeat(64)
    assert.match(await set(access, 'a', `#${hash}`, `#${hash}`), /^off #\$scrypt\S+ ~x/)
    assert.doesNotMatch(await set(access, 'a', `!${hash}`), /#/)
  })

  test('refuse wrong rules in Redis’s words, and change nothing', async () => {
    const access = await openAccess()
    await set(access, 'admin', ...admin)
    const cases: [string, RegExp][] = [
      ['+nosuch', /modifier '\+nosuch': Unknown command or category name in ACL/],
      ['+@nosuch', /Unknown command or category name in ACL/],
      ['what', /modifier 'what': Syntax error/],
      ['(+@issue)', /selectors are not supported/],
      ['%R~x', /@read and @issue/],
      ['~y', /Adding a pattern after the \* pattern/],
      ['#zz', /must be exactly 64 characters/],
      ['<other', /does not exist/],
      ['>', /1 to 512 bytes/],
    ]
    for (const [rule, error] of cases) {
      await assert.rejects(set(access, 'b', 'on', '~*', rule), (thrown) => {
        assert.ok(thrown instanceof FahaoError)
        assert.match(thrown.message, error)
        return true
      })
    }
    assert.equal(access.users.get('b'), undefined)
    await assert.rejects(set(access, 'a b'), /user name/)
    await assert.rejects(set(access, 'a/b'), /user name/)
    // `a:b` and a password would be the user `a` in Basic credentials, which nodes present to each other too.
    await assert.rejects(set(access, 'a:b'), /user name/)
  })

  for (const name of ['ad\u200bmin', 'admin\u202e', 'jose\u0301']) {
    test(`get no new name ${JSON.stringify(name)}, which looks like another, and keep one that exists`, async () => {
      const store = new MemoryStore()
      const before = await openAccess(new MemoryEngine(store))
      await set(before, 'admin', ...admin)
      await set(before, 'old', ...admin)
      await assert.rejects(set(before, name, ...admin), /the name of a new user (cannot|must)/)
      const record = store.records.get('users/old')!
      store.records.set(`users/${name}`, { ...record, key: `users/${name}` })
      const after = await openAccess(new MemoryEngine(store))
      assert.equal((await after.login(name, 'secret', '::1')).user, name)
      assert.match(await set(after, name, 'off'), /^off /)
      assert.equal(await after.users.remove(name), true)
      await assert.rejects(set(after, name, ...admin), /the name of a new user/)
    })
  }

  test('log in while the engine is away, for the stated time, and cannot be changed then', async () => {
    const engine = new MemoryEngine(new MemoryStore())
    const clock = new FakeClock()
    const access = await openAccess(engine, { clock })
    await set(access, 'admin', ...admin)
    await clock.pass(600_000)
    engine.status = () => ({ state: 'down', reason: 'gone' })
    const away = async () => {
      throw new FahaoError('UNAVAILABLE', 'gone')
    }
    Object.assign(engine, { read: away, write: away, list: away })
    await clock.pass(55_000)
    assert.equal((await access.login('admin', 'secret', '127.0.0.1')).user, 'admin')
    await assert.rejects(set(access, 'bob', 'on', '>pw'), /gone/)
    assert.equal(access.users.get('bob'), undefined)
    await clock.pass(10_000)
    await assert.rejects(access.login('admin', 'secret', '127.0.0.1'), /users-grace/)
    assert.deepEqual([access.initialOf('admin').user, access.withoutPassword('admin')], ['', undefined])
    engine.status = () => ({ state: 'up' })
    assert.equal(access.initialOf('admin').user, 'admin')
    assert.equal((await access.login('admin', 'secret', '127.0.0.1')).user, 'admin')
  })

  test('whose records cannot be read are off, and open nothing to default', async () => {
    const store = new MemoryStore()
    store.records.set('users/admin', { key: 'users/admin', value: '{"of":"a later version"}', version: 1n })
    const access = await openAccess(new MemoryEngine(store))
    assert.equal(access.initial.user, '')
    assert.equal(access.users.access('admin'), undefined)
    await access.users.reconcile()
    assert.equal(store.records.get('users/admin')?.value, '{"of":"a later version"}')
  })
})
