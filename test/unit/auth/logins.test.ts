import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { Logins, type Outcome } from '../../../src/auth/logins.ts'
import { Passwords } from '../../../src/auth/passwords.ts'
import { FakeClock } from '../fake-clock.ts'

/** Real scrypt at its least cost, and a count of the derivations that were begun. */
class CountingPasswords extends Passwords {
  derivations = 0

  override find(...[hashes, digest, asker, begin = () => true]: Parameters<Passwords['find']>) {
    return super.find(hashes, digest, asker, () => {
      const begins = begin()
      if (begins) this.derivations++
      return begins
    })
  }
}

let clock: FakeClock
let passwords: CountingPasswords
let logins: Logins
let users: Map<string, readonly string[]>

beforeEach(async () => {
  clock = new FakeClock()
  passwords = new CountingPasswords({ ln: 2, r: 1, p: 1 })
  logins = new Logins(passwords, clock)
  const one = await passwords.hashPassword('secret')
  const many = [await passwords.hashPassword('first')]
  many.push(await passwords.hashPassword('second', many))
  users = new Map([
    ['alice', [one]],
    ['bob', many],
  ])
})

function login(user: string, password: string, address = '192.0.2.1'): Promise<Outcome> {
  return logins.login({ user, password, address, hashes: () => users.get(user) })
}

async function outcome(...attempt: Parameters<typeof login>): Promise<string> {
  return (await login(...attempt)).outcome
}

/** Outcomes of guesses in turn, each another one. */
async function guess(
  user: string,
  count: number,
  addressOf = (_: number) => '203.0.113.9',
): Promise<string[]> {
  const outcomes: string[] = []
  for (let n = 0; n < count; n++) outcomes.push(await outcome(user, `guess ${n}`, addressOf(n)))
  return outcomes
}

function counted(outcomes: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const each of outcomes) counts[each] = (counts[each] ?? 0) + 1
  return counts
}

describe('a login', () => {
  test('is right with each password of the user, and with no other', async () => {
    assert.equal(await outcome('alice', 'secret'), 'ok')
    assert.equal(await outcome('bob', 'first'), 'ok')
    assert.equal(await outcome('bob', 'second'), 'ok')
    for (const [user, password] of [
      ['alice', 'first'],
      ['alice', ''],
      ['alice', 'x'.repeat(1000)],
      ['nosuch', 'secret'],
      ['', ''],
    ] as const) {
      assert.equal(await outcome(user, password), 'wrong', user)
    }
  })

  test('costs one derivation for an unknown user, and for one with one or two passwords', async () => {
    for (const user of ['nosuch', 'alice', 'bob']) {
      passwords.derivations = 0
      assert.equal(await outcome(user, 'wrong'), 'wrong')
      assert.equal(passwords.derivations, 1, user)
    }
  })

  test('that was right before costs no derivation, from any address', async () => {
    await login('alice', 'secret')
    passwords.derivations = 0
    for (let n = 0; n < 100; n++) assert.equal(await outcome('alice', 'secret', `192.0.2.${n}`), 'ok')
    assert.equal(passwords.derivations, 0)
  })

  test('is remembered for each of two users with the same password', async () => {
    users.set('carol', [await passwords.hashPassword('secret')])
    for (const user of ['alice', 'carol']) await login(user, 'secret')
    passwords.derivations = 0
    for (const user of ['alice', 'carol', 'alice']) assert.equal(await outcome(user, 'secret'), 'ok')
    assert.equal(passwords.derivations, 0)
  })

  test('is not refused because an equal one at the same moment comes from an address that is limited', async () => {
    const attack = Array.from({ length: 12 }, (_, n) => outcome('nosuch', `guess ${n}`, '203.0.113.9'))
    const equal = outcome('alice', 'secret', '203.0.113.9')
    const own = outcome('alice', 'secret', '192.0.2.1')
    assert.deepEqual(counted(await Promise.all(attack)), { wrong: 10, limited: 2 })
    assert.deepEqual(await Promise.all([equal, own]), ['limited', 'ok'])
  })

  test('that was wrong costs a derivation each time', async () => {
    await login('alice', 'wrong')
    passwords.derivations = 0
    for (let n = 0; n < 5; n++) await login('alice', 'wrong')
    assert.equal(passwords.derivations, 5)
  })

  test('shares the derivation of equal ones at the same moment, right or wrong', async () => {
    const storm = await Promise.all(
      Array.from({ length: 1000 }, (_, n) => outcome('alice', 'secret', `10.0.0.${n % 250}`)),
    )
    assert.deepEqual(counted(storm), { ok: 1000 })
    assert.equal(passwords.derivations, 1)
    const wrong = await Promise.all(Array.from({ length: 1000 }, () => outcome('alice', 'wrong')))
    assert.deepEqual(counted(wrong), { wrong: 1000 })
    assert.equal(passwords.derivations, 2)
    assert.equal(logins.sizes.pending, 0)
  })

  test('of fifty users behind one address at one moment is right for all', async () => {
    for (let n = 0; n < 50; n++) users.set(`user ${n}`, [await passwords.hashPassword(`password ${n}`)])
    const all = await Promise.all(Array.from({ length: 50 }, (_, n) => outcome(`user ${n}`, `password ${n}`)))
    assert.deepEqual(counted(all), { ok: 50 })
    assert.deepEqual(logins.sizes.limitedAddresses, 0)
  })
})

describe('a change of a user', () => {
  test('makes a remembered password wrong at once, and leaves the others as they are', async () => {
    await login('bob', 'first')
    await login('bob', 'second')
    users.set('bob', [users.get('bob')![1]!])
    assert.equal(await outcome('bob', 'first'), 'wrong')
    passwords.derivations = 0
    assert.equal(await outcome('bob', 'second'), 'ok')
    assert.equal(passwords.derivations, 0)
    users.delete('bob')
    assert.equal(await outcome('bob', 'second'), 'wrong')
    assert.equal(logins.sizes.remembered, 0)
  })

  test('does not carry a remembered password over to a new user of the name', async () => {
    await login('alice', 'secret')
    users.set('alice', [await passwords.hashPassword('other')])
    assert.equal(await outcome('alice', 'secret'), 'wrong')
    assert.equal(await outcome('alice', 'other'), 'ok')
  })

  test('during the derivation decides', async () => {
    const revoked = login('alice', 'secret')
    users.delete('alice')
    assert.deepEqual(await revoked, { outcome: 'wrong' })
    assert.equal(await outcome('alice', 'secret'), 'wrong')
    const hash = await passwords.hashPassword('new')
    const early = login('carol', 'new')
    users.set('carol', [hash])
    const late = login('carol', 'new')
    assert.deepEqual(await Promise.all([early, late]), [{ outcome: 'wrong' }, { outcome: 'ok', hash }])
  })
})

describe('guessing', () => {
  test('is limited to ten failures of an address, then one a second, without a derivation', async () => {
    assert.deepEqual(counted(await guess('alice', 30)), { wrong: 10, limited: 20 })
    assert.equal(passwords.derivations, 10)
    assert.deepEqual(await login('nosuch', 'x', '203.0.113.9'), { outcome: 'limited', retryAfterMs: 1000 })
    await clock.pass(600)
    assert.deepEqual(await login('alice', 'secret', '203.0.113.9'), { outcome: 'limited', retryAfterMs: 400 })
    await clock.pass(2400)
    assert.deepEqual(counted(await guess('alice', 30)), { wrong: 3, limited: 27 })
    await clock.pass(60_000)
    assert.deepEqual(counted(await guess('nosuch', 30)), { wrong: 10, limited: 20 })
  })

  test('is limited alike at one moment and in turn', async () => {
    const attempts = Array.from({ length: 100 }, (_, n) => outcome('alice', `guess ${n}`))
    assert.deepEqual(counted(await Promise.all(attempts)), { wrong: 10, limited: 90 })
    assert.equal(passwords.derivations, 10)
  })

  test('is limited for all addresses of one IPv6 network together', async () => {
    const within = await guess('alice', 30, (n) => `2001:db8:1:2::${n}`)
    assert.deepEqual(counted(within), { wrong: 10, limited: 20 })
    assert.equal(await outcome('alice', 'x', '2001:db8:1:3::1'), 'wrong')
  })

  test('is not restored by logins of the guesser', async () => {
    await login('bob', 'first', '203.0.113.9')
    const outcomes: string[] = []
    for (let n = 0; n < 30; n++) {
      outcomes.push(await outcome('alice', `guess ${n}`, '203.0.113.9'))
      assert.equal(await outcome('bob', 'first', '203.0.113.9'), 'ok')
      assert.match(await outcome('bob', 'second', '203.0.113.9'), /ok/)
    }
    assert.deepEqual(counted(outcomes), { wrong: 10, limited: 20 })
  })

  test('from many addresses is limited to a hundred failures of a user, then one a second, alike for no user', async () => {
    const addressOf = (n: number) => `198.${n & 15}.${n >> 8}.${n & 255}`
    for (const user of ['alice', 'nosuch']) {
      assert.deepEqual(counted(await guess(user, 300, addressOf)), { wrong: 100, limited: 200 }, user)
      await clock.pass(5000)
      assert.deepEqual(
        counted(await guess(user, 300, (n) => addressOf(1000 + n))),
        { wrong: 5, limited: 295 },
        user,
      )
    }
  })

  test('does not lock out a user: a known address and a remembered password are accepted throughout', async () => {
    await login('alice', 'secret', '192.0.2.1')
    const attack = (round: number) => guess('alice', 200, (n) => `198.${n & 15}.${round}.${n}`)
    await attack(0)
    const second = await passwords.hashPassword('second', users.get('alice'))
    users.set('alice', [second])
    for (let round = 1; round < 5; round++) {
      await clock.pass(1000)
      assert.deepEqual(counted(await attack(round)), { wrong: 1, limited: 199 })
      assert.equal(await outcome('alice', 'secret', '192.0.2.1'), 'wrong')
    }
    // A derivation, from an address that has succeeded before; then a remembered password, from anywhere.
    assert.equal(await outcome('alice', 'second', '192.0.2.2'), 'limited')
    assert.equal(await outcome('alice', 'second', '192.0.2.1'), 'ok')
    assert.equal(await outcome('alice', 'second', '192.0.2.2'), 'ok')
  })

  test('from behind the address of a user does not lock the user out there', async () => {
    await login('alice', 'secret', '192.0.2.1')
    assert.deepEqual(counted(await guess('nosuch', 30, () => '192.0.2.1')), { wrong: 10, limited: 20 })
    users.set('alice', [await passwords.hashPassword('second')])
    assert.equal(await outcome('alice', 'second', '192.0.2.1'), 'ok')
    assert.equal(await outcome('bob', 'first', '192.0.2.1'), 'limited')
  })

  test('from one address, however long, leaves the user open to new addresses', async () => {
    for (let second = 0; second < 200; second++) {
      await guess('alice', 15)
      await clock.pass(1000)
    }
    assert.equal(await outcome('alice', 'secret', '192.0.2.77'), 'ok')
  })

  for (const [network, addressOf, elsewhere] of [
    ['a /48 of IPv6', (n: number) => `2001:db8:1:${n.toString(16)}::1`, '2001:db8:2::1'],
    ['a /16 of IPv4', (n: number) => `198.51.${n >> 8}.${n & 255}`, '198.52.0.1'],
  ] as const)
    test(`from all addresses of ${network}, however long, leaves the user open to addresses elsewhere`, async () => {
      assert.deepEqual(counted(await guess('alice', 300, addressOf)), { wrong: 50, limited: 250 })
      for (let second = 0; second < 200; second++) {
        await clock.pass(1000)
        const found = await guess('alice', 3, (n) => addressOf(300 + 3 * second + n))
        assert.deepEqual(counted(found), { wrong: 1, limited: 2 })
      }
      assert.equal(await outcome('alice', 'secret', elsewhere), 'ok')
    })

  test('cannot be made free by other addresses, and leaves nothing in memory once it has ended', async () => {
    await guess('alice', 10)
    await guess('nosuch', 1000, (n) => `2001:db8:0:${n.toString(16)}::1`)
    for (let n = 0; n < 500; n++) await login(`user ${n}`, 'x', `2001:db8:1:${n.toString(16)}::1`)
    assert.equal(await outcome('alice', 'secret', '203.0.113.9'), 'limited')
    assert.ok(logins.sizes.limitedAddresses < 700)
    assert.deepEqual([logins.sizes.remembered, logins.sizes.places], [0, 0])
  })
})

test('memory keeps the newest sixteen addresses of a user, and none of an attacker', async () => {
  for (let n = 0; n < 1000; n++) await login('alice', 'secret', `10.0.${n >> 8}.${n & 255}`)
  await login('bob', 'first', '192.0.2.1')
  assert.equal(logins.sizes.places, 17)
  assert.equal(logins.sizes.remembered, 2)
})
