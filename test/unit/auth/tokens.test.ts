/** Tokens: what they permit, when they end, and what a store that went back brings of them. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { Access } from '../../../src/auth/access.ts'
import type { AccessControl } from '../../../src/auth/access-control.ts'
import { readTokenScope } from '../../../src/auth/token.ts'
import { TokenBounds } from '../../../src/auth/token-bounds.ts'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import { FakeClock } from '../fake-clock.ts'
import { openAccess, setUser, subjects } from './open-access.ts'

const lifeMs = 60_000
const dayUs = 86_400_000_000

/** An administrator, and alice, who may issue ids of `order*`. */
async function withAlice(store = new MemoryStore(), clock = new FakeClock(), events: string[] = []) {
  const access = await openAccess(new MemoryEngine(store), { clock, events })
  if (!access.users.areStored) {
    await setUser(access, 'admin', 'on', 'nopass', '~*', '+@all')
    await setUser(access, 'alice', 'on', '~order*', '+@issue')
  }
  return access
}

async function create(access: AccessControl, rules: string[] = [], lifetimeMs: number | 'never' = lifeMs) {
  const scope = await readTokenScope(rules, subjects, access.passwords)
  const request = { user: 'alice', label: 'build', by: 'admin', ...scope }
  return access.tokens.create({ ...request, lifetimeMs: lifetimeMs === 'never' ? undefined : lifetimeMs })
}

const refused = /the token is unknown, expired or revoked/

describe('A token', () => {
  test('permits what its user may do, over HTTP and as the password of its user', async () => {
    const access = await withAlice()
    const { token, text } = await create(access)
    const caller = access.loginWithToken(text, '10.0.0.1')
    assert.deepEqual([caller.user, caller.token], ['alice', token.id])
    assert.equal(caller.allows('incr') && caller.reaches('order:1'), true)
    assert.equal(caller.allows('acl|setuser') || caller.reaches('user'), false)
    assert.equal(await access.login('alice', text, '10.0.0.1'), caller)
    await assert.rejects(access.login('admin', text, '10.0.0.1'), /invalid username-password pair/)
  })

  test('has few patterns, and short ones: each name is compared with all of them', async () => {
    const access = await withAlice()
    const many = Array.from({ length: 33 }, (_, index) => `~order${index}`)
    await create(access, many.slice(1))
    await assert.rejects(create(access, many), { code: 'LIMIT' })
    const long = Array.from({ length: 5 }, (_, index) => `~${String(index).repeat(500)}`)
    await create(access, long.slice(1))
    await assert.rejects(
      create(access, long),
      /a token has at most 32 patterns of at most 2048 bytes together/,
    )
  })

  test('keeps the patterns of a record of an earlier version', async () => {
    const store = new MemoryStore()
    const { token, text } = await create(await withAlice(store), ['~order*'])
    const record = store.records.get(`tokens/${token.id}`)!
    const patterns = ['order*', ...Array.from({ length: 100 }, (_, index) => `${'*a'.repeat(200)}${index}`)]
    const value = JSON.stringify({ ...JSON.parse(record.value), patterns })
    store.records.set(record.key, { ...record, value })
    const caller = (await withAlice(store)).loginWithToken(text, '10.0.0.1')
    assert.equal(caller.reaches('order:1'), true)
  })

  test('is narrowed by its rules', async () => {
    const access = await withAlice()
    const { text } = await create(access, ['~*:1', '+incr'])
    const caller = access.loginWithToken(text, '10.0.0.1')
    assert.deepEqual(
      ['order:1', 'order:2', 'user:1'].map((name) => caller.reaches(name)),
      [true, false, false],
    )
    assert.deepEqual(
      [caller.allows('incr'), caller.allows('incrby'), caller.reachesAll],
      [true, false, false],
    )
    const withoutRules = [['>x'], ['on'], ['+nosuch'], ['~']]
    for (const rules of withoutRules) await assert.rejects(create(access, rules))
  })

  test('never permits more than its user', () => {
    const rule = fc.oneof(
      fc
        .constantFrom('+', '-')
        .chain((sign) =>
          fc
            .constantFrom(
              ...subjects.categories.map((each) => `@${each}`),
              '@all',
              'incr',
              'id.next',
              'acl|list',
            )
            .map((target) => sign + target),
        ),
    )
    const pattern = fc.constantFrom('*', 'a*', '*b', 'a?', '[ab]*', 'ab', 'c')
    const rights = fc.record({ commands: fc.array(rule), patterns: fc.array(pattern, { maxLength: 3 }) })
    const names = ['', 'a', 'b', 'ab', 'aab', 'bb', 'c']
    fc.assert(
      fc.property(rights, rights, (user, token) => {
        const base = new Access('alice', subjects.permitted(user.commands), user.patterns)
        const own = new Access('alice', subjects.permitted(token.commands), token.patterns)
        const narrowed = base.narrowedBy('id', subjects.permitted(token.commands), token.patterns)
        for (const { name } of subjects.all) {
          assert.equal(narrowed.allows(name), base.allows(name) && own.allows(name))
        }
        for (const name of names)
          assert.equal(narrowed.reaches(name), base.reaches(name) && own.reaches(name))
        assert.equal(narrowed.unrestricted, base.unrestricted && own.unrestricted)
        assert.equal(narrowed.reachesAll, base.reachesAll && own.reachesAll)
      }),
    )
  })

  test('is refused with a wrong secret, an unknown id, or another form', async () => {
    const access = await withAlice()
    const { token, text } = await create(access)
    const wrong = text.replace(/.$/, (last) => (last === 'A' ? 'E' : 'A'))
    const unknown = text.replace(token.id, '0123456789abcdef')
    for (const other of [wrong, unknown, `${text}x`, text.slice(1), '', 'fahao__']) {
      assert.throws(() => access.loginWithToken(other, '10.0.0.1'), refused)
    }
  })

  test('stores no secret, only its hash', async () => {
    const store = new MemoryStore()
    const access = await withAlice(store)
    const { token, text } = await create(access)
    const { value } = store.records.get(`tokens/${token.id}`)!
    assert.equal(value.includes(text.slice(-43)), false)
    assert.match(JSON.parse(value).hash, /^[0-9a-f]{64}$/)
  })

  test('follows its user: less, off, and removed for good', async () => {
    const access = await withAlice()
    const { text } = await create(access)
    const before = access.loginWithToken(text, '10.0.0.1')
    await setUser(access, 'alice', 'resetkeys', '~o*')
    const after = access.present(before)
    assert.equal(after?.reaches('o'), true)
    assert.equal(access.loginWithToken(text, '10.0.0.1'), after)
    await setUser(access, 'alice', 'off')
    assert.equal(access.present(before), undefined)
    await setUser(access, 'alice', 'on')
    assert.equal(access.loginWithToken(text, '10.0.0.1').user, 'alice')
    await access.users.remove('alice')
    assert.throws(() => access.loginWithToken(text, '10.0.0.1'), refused)
    await setUser(access, 'alice', 'on', '~*', '+@issue')
    assert.throws(() => access.loginWithToken(text, '10.0.0.1'), refused)
    assert.equal(access.present(before), undefined)
  })

  test('ends with its expiry, and reports that to the connections that it has opened', async () => {
    const clock = new FakeClock()
    const access = await withAlice(undefined, clock)
    const { text } = await create(access)
    const forever = await create(access, [], 'never')
    const caller = access.loginWithToken(text, '10.0.0.1')
    let reports = 0
    access.listen(() => reports++)
    await clock.pass(lifeMs - 1000)
    assert.deepEqual([access.present(caller), reports], [caller, 0])
    await clock.pass(1250)
    assert.deepEqual([access.present(caller), reports], [undefined, 1])
    assert.throws(() => access.loginWithToken(text, '10.0.0.1'), refused)
    clock.wall += 1000 * dayUs
    assert.equal(access.loginWithToken(forever.text, '10.0.0.1').user, 'alice')
  })

  test('is the same on another node, and revoked there', async () => {
    const store = new MemoryStore()
    const clock = new FakeClock()
    const [one, other] = [await withAlice(store, clock), await withAlice(store, clock)]
    const { token, text } = await create(one)
    await clock.pass(1)
    const caller = other.loginWithToken(text, '10.0.0.1')
    assert.equal(await one.tokens.revoke(token.id), true)
    await clock.pass(1)
    assert.equal(other.present(caller), undefined)
    assert.throws(() => other.loginWithToken(text, '10.0.0.1'), refused)
    assert.deepEqual(
      [other.tokens.all(), await other.tokens.revoke(token.id), await other.tokens.revoke('0')],
      [[], false, false],
    )
    const later = await withAlice(store, clock)
    assert.throws(() => later.loginWithToken(text, '10.0.0.1'), refused)
  })

  test('leaves no record a day after its expiry', async () => {
    const store = new MemoryStore()
    const clock = new FakeClock()
    const access = await withAlice(store, clock)
    const { token } = await create(access)
    await access.tokens.revoke((await create(access)).token.id)
    clock.wall += lifeMs * 1000
    assert.deepEqual(access.tokens.all(), [token])
    clock.wall += dayUs
    await create(access)
    assert.equal([...store.records.keys()].filter((key) => key.startsWith('tokens/')).length, 1)
  })

  test('leaves no record where a store that went back has an earlier version of it', async () => {
    const store = new MemoryStore()
    const clock = new FakeClock()
    const access = await withAlice(store, clock)
    const { token } = await create(access, [], 'never')
    const key = `tokens/${token.id}`
    const before = store.records.get(key)!
    await access.tokens.revoke(token.id)
    store.records.set(key, before)
    clock.wall += 400 * dayUs
    await create(access)
    assert.equal(access.tokens.get(token.id), undefined)
    await create(access)
    assert.equal(store.records.has(key), false)
  })

  test('is limited in number for each user; of revoked ones the latest are on record', async () => {
    const store = new MemoryStore()
    const clock = new FakeClock()
    const access = await withAlice(store, clock)
    const records = () => [...store.records.keys()].filter((key) => key.startsWith('tokens/')).length
    const first = await create(access, [], 'never')
    await access.tokens.revoke(first.token.id)
    for (let count = 0; count < 500; count++) {
      clock.wall += 1000
      await access.tokens.revoke((await create(access, [], 'never')).token.id)
    }
    await create(access)
    assert.deepEqual([store.records.has(`tokens/${first.token.id}`), records()], [false, 501])
    for (let count = 1; count < 500; count++) await create(access)
    await assert.rejects(
      create(access),
      /alice' has 500 tokens, and a user may have no more; revoke some first/,
    )
  })

  test('of a removed user leaves no record, whether or not the user is created again', async () => {
    const store = new MemoryStore()
    const clock = new FakeClock()
    const [access, other] = [await withAlice(store, clock), await withAlice(store, clock)]
    const records = () => [...store.records.keys()].filter((key) => key.startsWith('tokens/')).length
    for (let year = 0; year < 20; year++) {
      await create(access, [], 'never')
      await access.users.remove('alice')
      clock.wall += 400 * dayUs
      await setUser(access, 'bob', 'on')
      assert.equal(store.records.has('users/alice'), false)
      await access.users.remove('bob')
      await setUser(access, 'alice', 'on', '~order*', '+@issue')
      await create(access)
      assert.equal(records(), 1)
      await clock.pass(1)
      assert.equal(other.tokens.all().length, 1)
    }
  })

  test('that this node knows before its user is not taken for one of a removed user', async () => {
    const store = new MemoryStore()
    const access = await withAlice(store)
    const { token } = await create(access)
    const record = JSON.stringify({ ...token, id: undefined, user: 'carol', userSince: 1000 })
    await new MemoryEngine(store).write('tokens/0123456789abcdef', record, undefined)
    await new Promise((resolve) => setImmediate(resolve))
    await create(access)
    assert.equal(store.records.has('tokens/0123456789abcdef'), true)
  })

  test('of a few users leaves room for those of others', async () => {
    const store = new MemoryStore()
    const clock = new FakeClock()
    const users = { hasEnded: () => false }
    const bounds = new TokenBounds(users, () => clock.wallUs())
    const { token } = await create(await withAlice(store, clock))
    const fill = (user: string) => {
      for (let count = 0; ; ) {
        try {
          bounds.checkRoom(user)
        } catch {
          return count
        }
        for (const end = count + 50; count < end; count++)
          bounds.set({ ...token, user, id: `${user} ${count}` })
      }
    }
    const greedy = Array.from({ length: 40 }, (_, user) => fill(`user ${user}`))
    assert.deepEqual([greedy[0], greedy[19]], [500, 500])
    assert.throws(() => bounds.checkRoom('user 39'), /left of 20000; revoke some first/)
    assert.ok(fill('late') > 100)
  })

  test('is found by its user, whatever came and went', async () => {
    const clock = new FakeClock()
    const { token } = await create(await withAlice(new MemoryStore(), clock))
    const names = ['alice', 'bob', 'carol']
    const step = fc.record({ user: fc.constantFrom(...names), id: fc.nat(5), isRemoval: fc.boolean() })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const bounds = new TokenBounds({ hasEnded: () => false }, () => clock.wallUs())
        for (const { user, id, isRemoval } of steps) {
          bounds.delete(String(id))
          if (!isRemoval) bounds.set({ ...token, user, id: String(id) })
        }
        for (const name of names) {
          const own = bounds.all().filter((each) => each.user === name)
          assert.deepEqual(new Set(bounds.all(name)), new Set(own))
          assert.equal(bounds.count(name), own.length)
        }
      }),
    )
  })

  test('is not made for a user that is not stored or needs no password', async () => {
    const access = await openAccess()
    const request = { label: '', lifetimeMs: lifeMs, by: 'default' }
    await assert.rejects(access.tokens.create({ ...request, user: 'default' }), /no user 'default'/)
    await setUser(access, 'admin', 'on', 'nopass', '~*', '+@all')
    await assert.rejects(access.tokens.create({ ...request, user: 'admin' }), /needs no password/)
    await setUser(access, 'admin', '>pw')
    await assert.rejects(access.tokens.create({ ...request, user: 'admin', label: 'a\nb' }), /a label has/)
  })
})
