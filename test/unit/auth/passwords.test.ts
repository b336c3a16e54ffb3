import assert from 'node:assert/strict'
import { scryptSync } from 'node:crypto'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { HashQueue } from '../../../src/auth/hash-queue.ts'
import { digestOf, Passwords, passwordBytesMax } from '../../../src/auth/passwords.ts'
import { phcText, readPhc } from '../../../src/auth/phc.ts'
import { networkOf } from '../../../src/base/address.ts'
import { FahaoError } from '../../../src/base/errors.ts'
import { settled } from '../fake-clock.ts'

const cheap = { ln: 2, r: 1, p: 1 }

/** A check of a wrong password by this address, and what became of it. */
function check(
  passwords: Passwords,
  address: string,
  entered: string[],
  isFavoured = false,
): Promise<string> {
  const asker = { address, isFavoured }
  const begin = () => {
    entered.push(address)
    return true
  }
  return passwords.find([], digestOf('wrong'), asker, begin).then(
    () => 'checked',
    (error) => (error instanceof FahaoError ? error.code : String(error)),
  )
}

describe('a stored password', () => {
  test('is a PHC string of scrypt over the SHA-256 in hexadecimal, at the stated cost', async () => {
    const text = await new Passwords().hashPassword('sécret')
    assert.match(text, /^\$scrypt\$ln=15,r=8,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
    const [, , , salt, hash] = text.split('$')
    const derived = scryptSync(digestOf('sécret'), Buffer.from(salt!, 'base64'), 32, {
      N: 2 ** 15,
      r: 8,
      p: 1,
      maxmem: 2 ** 26,
    })
    assert.equal(hash, derived.toString('base64').replaceAll('=', ''))
    assert.equal(digestOf('sécret'), digestOf(Buffer.from('sécret')))
  })

  test('fits itself alone, whatever bytes it has', async () => {
    const passwords = new Passwords(cheap)
    const bytes = fc.uint8Array({ minLength: 1, maxLength: passwordBytesMax })
    await fc.assert(
      fc.asyncProperty(bytes, bytes, async (password, other) => {
        const hash = await passwords.hashPassword(password)
        assert.equal(await passwords.find([hash], digestOf(password)), hash)
        const found = await passwords.find([hash], digestOf(other))
        assert.equal(found === hash, Buffer.from(password).equals(other))
      }),
    )
  })

  test('may be given by its SHA-256, in either case', async () => {
    const passwords = new Passwords(cheap)
    const hash = await passwords.hashDigest(digestOf('secret').toUpperCase())
    assert.equal(await passwords.find([hash], digestOf('secret')), hash)
    for (const wrong of ['', 'ab', `${'0'.repeat(63)}g`, `${'0'.repeat(64)}\n`]) {
      await assert.rejects(passwords.hashDigest(wrong), { code: 'ERR' })
    }
  })

  test('has 1 to 512 bytes', async () => {
    const passwords = new Passwords(cheap)
    for (const wrong of ['', 'x'.repeat(513), 'é'.repeat(257)]) {
      await assert.rejects(passwords.hashPassword(wrong), { code: 'ERR' })
    }
    for (const right of ['\0', 'é'.repeat(256)]) {
      const hash = await passwords.hashPassword(right)
      assert.equal(await passwords.find([hash], digestOf(right)), hash)
    }
  })

  test('takes the salt of those beside it, and a new one otherwise', async () => {
    const passwords = new Passwords(cheap)
    const one = await passwords.hashPassword('one')
    const salt = (text: string) => text.split('$')[3]
    assert.equal(salt(await new Passwords().hashPassword('two', [one])), salt(one))
    assert.notEqual(salt(await passwords.hashPassword('one')), salt(one))
    assert.equal(await passwords.hashPassword('one', ['broken', one]), one)
  })

  test('is found among several, also if a foreign writer gave them salts of their own', async () => {
    const passwords = new Passwords(cheap)
    const hashes = [await passwords.hashPassword('one')]
    hashes.push(await passwords.hashPassword('two', hashes), await passwords.hashPassword('three'))
    for (const [index, password] of ['one', 'two', 'three'].entries()) {
      assert.equal(await passwords.find(hashes, digestOf(password)), hashes[index])
    }
    assert.equal(await passwords.find(hashes, digestOf('four')), undefined)
  })
})

describe('a PHC string', () => {
  test('is read as it was written', () => {
    const bytes = (minLength: number, maxLength: number) => fc.uint8Array({ minLength, maxLength })
    const numbers = {
      ln: fc.integer({ min: 1, max: 10 }),
      r: fc.integer({ min: 1, max: 8 }),
      p: fc.integer({ min: 1, max: 8 }),
    }
    fc.assert(
      fc.property(fc.record({ ...numbers, salt: bytes(9, 64), hash: bytes(32, 32) }), (phc) => {
        const read = readPhc(phcText(phc))!
        assert.deepEqual(
          { ...read, salt: new Uint8Array(read.salt), hash: new Uint8Array(read.hash) },
          { ...phc },
        )
      }),
    )
  })

  const salt = 'A'.repeat(22)
  const hash = 'A'.repeat(43)
  const malformed = [
    '',
    'secret',
    '$2b$10$abcdefghijklmnopqrstuv',
    `$scrypt$ln=15,r=8$${salt}$${hash}`,
    `$scrypt$r=8,ln=15,p=1$${salt}$${hash}`,
    `$scrypt$ln=15,r=8,p=1$${salt}`,
    `$scrypt$ln=15,r=8,p=1$$${hash}`,
    `$scrypt$ln=15,r=8,p=1$${salt}$${hash}A`,
    `$scrypt$ln=15,r=8,p=1$${salt}$${hash}=`,
    `$scrypt$ln=15,r=8,p=1$${salt}$${hash}\n`,
    `$scrypt$ln=015,r=8,p=1$${salt}$${hash}`,
    `$scrypt$ln=-1,r=8,p=1$${salt}$${hash}`,
    `$scrypt$ln=0,r=8,p=1$${salt}$${hash}`,
    `$scrypt$ln=1e1,r=8,p=1$${salt}$${hash}`,
    // Well formed, and dearer than any derivation may be: up to 2^99 blocks.
    `$scrypt$ln=30,r=8,p=1$${salt}$${hash}`,
    `$scrypt$ln=99,r=9999,p=9999$${salt}$${hash}`,
    `$scrypt$ln=15,r=8,p=5$${salt}$${hash}`,
    `$scrypt$ln=1,r=9999,p=9999$${salt}$${hash}`,
    `$scrypt$ln=15,r=8,p=1$${'A'.repeat(100_000)}$${hash}`,
  ]

  test('that is malformed or too dear fits nothing, and costs no derivation of its own', async () => {
    const passwords = new Passwords(cheap)
    for (const text of malformed) {
      assert.equal(readPhc(text), undefined, text)
      assert.equal(await passwords.find([text], digestOf('secret')), undefined)
    }
    const good = await passwords.hashPassword('secret')
    assert.equal(await passwords.find([...malformed, good], digestOf('secret')), good)
  })

  test("may have any of OWASP's costs", () => {
    for (const cost of ['ln=17,r=8,p=1', 'ln=16,r=8,p=2', 'ln=15,r=8,p=3', 'ln=14,r=8,p=5']) {
      assert.notEqual(readPhc(`$scrypt$${cost}$${salt}$${hash}`), undefined, cost)
    }
  })
})

describe('the queue before scrypt', () => {
  test('runs two derivations at once', async () => {
    const passwords = new Passwords(cheap)
    const seen: number[] = []
    const begin = () => {
      seen.push(passwords.load.running)
      return true
    }
    const asker = (n: number) => ({ address: `${n % 5}`, isFavoured: n % 2 === 0 })
    await Promise.all(
      Array.from({ length: 60 }, (_, n) => passwords.find([], digestOf('x'), asker(n), begin)),
    )
    assert.equal(Math.max(...seen), 2)
    assert.deepEqual(passwords.load, { running: 0, waiting: 0 })
  })

  test('refuses with BUSY beyond 128 that wait', async () => {
    const passwords = new Passwords(cheap)
    const checks = Array.from({ length: 200 }, () => check(passwords, 'a', []))
    assert.deepEqual(passwords.load, { running: 2, waiting: 128 })
    const outcomes = await Promise.all(checks)
    assert.equal(outcomes.filter((outcome) => outcome === 'BUSY').length, 70)
    assert.equal(await check(passwords, 'a', []), 'checked')
  })

  test('lets addresses take turns, and favoured ones go first', async () => {
    const passwords = new Passwords(cheap)
    const entered: string[] = []
    const checks = ['a', 'a', 'a', 'a', 'a', 'b', 'b', 'c'].map((address) =>
      check(passwords, address, entered),
    )
    checks.push(check(passwords, 'known', entered, true))
    await Promise.all(checks)
    assert.deepEqual(entered, ['a', 'a', 'known', 'a', 'b', 'c', 'a', 'b', 'a'])
  })

  test('makes room for another address, and for favoured ones, when one address has filled it', async () => {
    const passwords = new Passwords(cheap)
    const attack = Array.from({ length: 130 }, () => check(passwords, 'attacker', []))
    const others = [check(passwords, 'b', []), check(passwords, 'c', []), check(passwords, 'd', [], true)]
    assert.deepEqual(await Promise.all(others), ['checked', 'checked', 'checked'])
    assert.equal((await Promise.all(attack)).filter((outcome) => outcome === 'BUSY').length, 3)
  })

  test('makes room for a favoured address when as many others wait as may', async () => {
    const passwords = new Passwords(cheap)
    const attack = Array.from({ length: 130 }, (_, n) => check(passwords, `attacker ${n}`, []))
    assert.equal(await check(passwords, 'known', [], true), 'checked')
    assert.equal((await Promise.all(attack)).filter((outcome) => outcome === 'BUSY').length, 1)
  })

  test('makes room for another network when the addresses of one have filled it', async () => {
    for (const [attacker, other] of [
      [(n: number) => `2001:db8:7:${n.toString(16)}::1`, '2001:db8:8:1::1'],
      [(n: number) => `10.9.${n >> 4}.${n & 15}`, '10.8.0.1'],
    ] as const) {
      const passwords = new Passwords(cheap)
      const entered: string[] = []
      const from = (address: string) => check(passwords, networkOf(address), entered)
      const attack = Array.from({ length: 130 }, (_, n) => from(attacker(256 + n)))
      assert.equal(await from(other), 'checked')
      // Two ran already, and one more had its turn at most.
      assert.ok(entered.indexOf(networkOf(other)) <= 3)
      await Promise.all(attack)
    }
  })

  test('gives addresses of as many networks as wait the same chance, the newest too', async () => {
    let seed = 1
    const random = () => {
      seed = (seed * 16_807) % 2_147_483_647
      return seed / 2_147_483_647
    }
    const queue = new HashQueue(random)
    const gate = Promise.withResolvers<void>()
    const outcomes = Array.from({ length: 1282 }, (_, n) =>
      queue
        .run({ address: `${n % 250}.${n % 200}.${n}.1`, isFavoured: false }, () => gate.promise)
        .then(
          () => true,
          () => false,
        ),
    )
    assert.equal(queue.waiting, 128)
    gate.resolve()
    const served = (await Promise.all(outcomes)).slice(2)
    const [early, late] = [served.slice(0, 640), served.slice(640)].map((half) => half.filter(Boolean).length)
    assert.equal(early! + late!, 128)
    assert.ok(late! > 40, `${late} of the later half were served`)
  })

  test('refuses what waits and what comes once it is stopped', async () => {
    const passwords = new Passwords(cheap)
    const checks = Array.from({ length: 100 }, (_, n) => check(passwords, `${n}`, [], n % 2 === 0))
    passwords.stop()
    assert.equal(passwords.load.waiting, 0)
    checks.push(check(passwords, 'late', []))
    const outcomes = await Promise.all(checks)
    assert.deepEqual(
      [
        outcomes.filter((each) => each === 'checked').length,
        outcomes.filter((each) => each === 'SHUTDOWN').length,
      ],
      [2, 99],
    )
  })

  test('goes on after a check that was withdrawn or failed', async () => {
    const passwords = new Passwords(cheap)
    const asker = { address: 'a', isFavoured: false }
    const failing = () => {
      throw new Error('broken')
    }
    const ran: string[] = []
    const failed = Array.from({ length: 4 }, () => passwords.find([], digestOf('x'), asker, failing))
    const withdrawn = passwords.find([], digestOf('x'), asker, () => false)
    const last = check(passwords, 'a', ran)
    for (const each of failed) await assert.rejects(each, /broken/)
    assert.equal(await withdrawn, undefined)
    assert.equal(await last, 'checked')
    await settled()
    assert.deepEqual(passwords.load, { running: 0, waiting: 0 })
  })
})
