import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import type { Occurrence } from '../../../../src/audit/audit-entry.ts'
import { TokenGuesses } from '../../../../src/http/compat/tinyid-guesses.ts'
import { FakeClock } from '../../fake-clock.ts'
import { serve } from './serve.ts'

describe('guesses of tokens', () => {
  let clock: FakeClock
  let guesses: TokenGuesses

  beforeEach(() => {
    clock = new FakeClock()
    guesses = new TokenGuesses(clock)
  })

  /** How many wrong tokens are looked at, of `count` from these addresses. */
  function looks(count: number, addressOf: (at: number) => string = () => '10.0.0.1'): number {
    let looked = 0
    for (let at = 0; at < count; at++) {
      try {
        guesses.admit(addressOf(at), `guess-${at}`)
      } catch (error) {
        assert.equal((error as { code: string }).code, 'QUOTA')
        continue
      }
      looked++
      guesses.failed(addressOf(at), `guess-${at}`)
    }
    return looked
  }

  test('from one network are ten at once, and one a second after that', async () => {
    assert.equal(looks(1000), 10)
    clock.mono += 5_000_000
    assert.equal(looks(1000), 5)
  })

  test('from many networks are a hundred at once, and one a second after that', () => {
    const many = (at: number) => `10.${1 + (at & 7)}.${at >> 8}.${at & 255}`
    assert.equal(looks(1000, many), 100)
    clock.mono += 7_000_000
    assert.equal(looks(1000, many), 7)
  })

  for (const [network, addressOf, elsewhere] of [
    ['a /48 of IPv6', (at: number) => `2001:db8:1:${at.toString(16)}::1`, '2001:db8:2::1'],
    ['a /16 of IPv4', (at: number) => `10.1.${at >> 8}.${at & 255}`, '10.2.0.1'],
  ] as const)
    test(`from all addresses of ${network}, however long, keep out no token from elsewhere`, () => {
      assert.equal(looks(1000, addressOf), 50)
      for (let second = 0; second < 200; second++) {
        clock.mono += 1_000_000
        assert.equal(
          looks(10, (at) => addressOf(1000 + 10 * second + at)),
          1,
        )
      }
      guesses.admit(elsewhere, 'right')
    })

  test('do not keep out a token that was right from the same network before', () => {
    guesses.admit('10.0.0.1', 'right')
    guesses.succeeded('10.0.0.1', 'right')
    looks(1000)
    guesses.admit('10.0.0.1', 'right')
    assert.throws(() => guesses.admit('10.0.0.1', 'another'), { code: 'QUOTA' })
    assert.throws(() => guesses.admit('10.0.0.1', 'right '), { code: 'QUOTA' })
  })

  test('from elsewhere do not keep out a network from which a right token has come', () => {
    guesses.admit('10.0.0.1', 'right')
    guesses.succeeded('10.0.0.1', 'right')
    looks(1000, (at) => `10.${1 + (at & 7)}.${at >> 8}.${at & 255}`)
    guesses.admit('10.0.0.1', 'another')
    assert.throws(() => guesses.admit('10.0.0.2', 'another'), { code: 'QUOTA' })
  })

  test('that were right for another generator count as none', () => {
    guesses.admit('10.0.0.1', 'right')
    guesses.succeeded('10.0.0.1', 'right')
    for (let at = 0; at < 100; at++) {
      guesses.admit('10.0.0.1', 'right')
      guesses.failed('10.0.0.1', 'right')
    }
    assert.equal(looks(1000), 10)
  })
})

describe('a wrong token of tinyid', () => {
  const right = '0123456789abcdef'
  const flags = { 'tinyid-tokens': `${right}=order*` }
  const generators = { order: { kind: 'segment' }, other: { kind: 'segment' } } as const
  const path = (bizType: string, token: string) => `/tinyid/id/nextId?bizType=${bizType}&token=${token}`

  test('is looked at ten times from one address; the right one then waits too, and no id goes', async (t) => {
    const { ask, node } = await serve(t, generators, { flags })
    for (let at = 0; at < 10; at++)
      assert.equal(JSON.parse((await ask(path('order', `guess-${at}`)))[2]).code, 5)
    for (const token of ['guess', right]) {
      const [status, , body] = await ask(path('order', token))
      assert.equal(status, 200)
      assert.match(body, /"code":6,"message":"QUOTA too many wrong tokens; wait 1 s before the next"/)
    }
    assert.deepEqual((await ask(path('order', 'guess').replace('nextId', 'nextIdSimple')))[2], '')
    assert.equal(node.catalogue.find('order')!.stats().issued, 0)
  })

  test('keeps out no token that was right before', async (t) => {
    const { ask } = await serve(t, generators, { flags })
    assert.match((await ask(path('order', right)))[2], /"data":\[1\]/)
    for (let at = 0; at < 20; at++) await ask(path('order', `guess-${at}`))
    assert.match((await ask(path('order', right)))[2], /"data":\[2\]/)
  })

  test('is in the audit trail, as are limited ones and right ones for other generators', async (t) => {
    const { ask, node } = await serve(t, generators, { flags })
    const told: string[] = []
    t.mock.method(node.server.audit, 'record', (occurrence: Occurrence) => {
      const { event, user, address, door, object, detail } = occurrence
      told.push([event, user ?? 'none', address, door, object, detail].join(' '))
    })
    await ask(path('order', right))
    await ask(path('other', right))
    for (let at = 0; at < 12; at++) await ask(path('order', `guess-${at}`))
    assert.deepEqual(told, [
      'denied default 127.0.0.1 http id.next other',
      ...Array<string>(10).fill('login-failed none 127.0.0.1 http  tinyid token'),
      ...Array<string>(2).fill('login-failed none 127.0.0.1 http  limited'),
    ])
  })
})
