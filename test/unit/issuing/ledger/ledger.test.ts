import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { FahaoError } from '../../../../src/base/errors.ts'
import {
  entriesFrom,
  exported,
  hashAfter,
  headOf,
  noHash,
} from '../../../../src/issuing/ledger/ledger-reading.ts'
import { ledgerPrefix } from '../../../../src/issuing/ledger/ledger-records.ts'
import { settled } from '../../fake-clock.ts'
import { openLedger } from './open-ledger.ts'

const stopped = new FahaoError('STALE', 'this leader has ended')

describe('a ledger', () => {
  test('reserves numbers in order, and confirms them once', async () => {
    const { ledger, reserve, states } = openLedger()
    const [one, two] = [await reserve(), await reserve()]
    assert.deepEqual([one.number, two.number], [1n, 2n])
    await ledger.confirm(two, 'shop')
    await ledger.confirm(two, 'shop')
    assert.deepEqual(await states(), ['1 held', '2 confirmed'])
  })

  test('reserves numbers that lapsed or were cancelled first, the lowest first, under another secret', async () => {
    const { ledger, reserve, clock, states } = openLedger()
    const [one, two, three] = [await reserve(), await reserve(), await reserve({ holdMs: 60_000 })]
    await ledger.cancel(two, 'shop')
    await ledger.cancel(two, 'shop')
    await clock.pass(30_000)
    assert.deepEqual(await states(), ['1 free', '2 free', '3 held'])
    await assert.rejects(ledger.confirm(one, 'shop'), { code: 'LAPSED' })
    await assert.rejects(ledger.confirm(two, 'shop'), { code: 'LAPSED' })
    const again = await reserve()
    assert.equal(again.number, 1n)
    assert.notEqual(again.secret, one.secret)
    await assert.rejects(ledger.confirm(one, 'shop'), { code: 'LAPSED' })
    await assert.rejects(ledger.void(1n, one.secret, 'late', 'shop'), { code: 'LAPSED' })
    await ledger.cancel(one, 'shop')
    await ledger.confirm(again, 'shop')
    assert.deepEqual([(await reserve()).number, (await reserve()).number], [2n, 4n])
    await ledger.confirm(three, 'shop')
  })

  test('shares one commit between all requests of a turn, and those that wait for it', async () => {
    const { engine, reserve, ledger } = openLedger()
    await reserve()
    const before = engine.count('commit')
    const all = await Promise.all(Array.from({ length: 200 }, () => reserve()))
    assert.deepEqual(new Set(all.map(({ number }) => number)).size, 200)
    assert.equal(engine.count('commit') - before, 1)
    await Promise.all(all.map((each) => ledger.confirm(each, 'shop')))
    assert.equal(engine.count('commit') - before, 2)
  })

  test('voids numbers whatever they are, but for closed ones, and never reserves them again', async () => {
    const { ledger, reserve, states } = openLedger()
    const [held, confirmed, free] = [await reserve(), await reserve(), await reserve()]
    await ledger.confirm(confirmed, 'shop')
    await ledger.cancel(free, 'shop')
    await ledger.void(held.number, held.secret, 'rolled back', 'shop')
    await ledger.void(2n, undefined, 'the commit failed', 'books')
    await ledger.void(3n, undefined, 'no use', 'books')
    await ledger.void(3n, undefined, 'no use', 'books')
    await assert.rejects(ledger.confirm(held, 'shop'), { code: 'LAPSED' })
    assert.equal((await reserve()).number, 4n)
    assert.deepEqual(await states(), ['1 void', '2 void', '3 void', '4 held'])
    await assert.rejects(ledger.void(5n, undefined, 'beyond', 'books'), { code: 'ERR' })
  })

  test('answers a key with its reservation as long as that holds', async () => {
    const { ledger, reserve, clock } = openLedger()
    const one = await reserve({ key: 'k' })
    assert.deepEqual(await reserve({ key: 'k' }), one)
    await assert.rejects(ledger.reserve({ count: 2, by: 'shop', key: 'k' }), { code: 'ERR' })
    await ledger.confirm(one, 'shop')
    await clock.pass(3_600_000)
    assert.deepEqual(await reserve({ key: 'k' }), one)
    const other = await reserve({ key: 'l' })
    await ledger.cancel(other, 'shop')
    assert.notDeepEqual(await reserve({ key: 'l' }), other)
    assert.deepEqual(await reserve({ key: 'l' }), await reserve({ key: 'l' }))
  })

  test('ends at the maximum, after everything that is free', async () => {
    const { ledger, reserve } = openLedger({ max: 2n })
    const one = await reserve()
    await reserve()
    await assert.rejects(reserve(), { code: 'EXHAUSTED' })
    await ledger.cancel(one, 'shop')
    assert.equal((await reserve()).number, 1n)
  })

  test('holds 10,000 numbers at most', async () => {
    const { ledger, clock, reserve } = openLedger()
    for (let part = 0; part < 100; part++) await ledger.reserve({ count: 100, by: 'shop' })
    await assert.rejects(reserve(), { code: 'LIMIT' })
    await ledger.cancel(
      (await ledger.read(5n, 1)).entries.map(({ from, secret }) => ({ number: from, secret: secret! }))[0]!,
      'shop',
    )
    assert.equal((await reserve()).number, 5n)
    await assert.rejects(reserve(), { code: 'LIMIT' })
    await clock.pass(30_000)
    assert.equal((await reserve()).number, 1n)
  })

  test('has the numbers void that a move forward skips', async () => {
    const { ledger, reserve, states } = openLedger()
    await reserve()
    await ledger.moveTo(99n)
    assert.equal((await reserve()).number, 100n)
    assert.deepEqual(await states(), ['1 held', '2–99 void', '100 held'])
    await assert.rejects(ledger.void(50n, undefined, 'no', 'books'), { code: 'ERR' })
  })
})

describe('a take-over', () => {
  test('lets each hold begin anew in full', async () => {
    const first = openLedger()
    const { store, clock } = first
    const one = await first.reserve()
    await clock.pass(29_000)
    const second = openLedger({ store, clock, fence: 2n })
    await second.states()
    await clock.pass(29_000)
    await second.ledger.confirm(one, 'shop')
    assert.deepEqual(await second.states(), ['1 confirmed'])
  })

  test('has a former leader change nothing, and answer nothing that is not so', async () => {
    const first = openLedger()
    const { store, clock } = first
    const [one, two] = [await first.reserve(), await first.reserve()]
    const second = openLedger({ store, clock, fence: 2n })
    await second.ledger.cancel(one, 'shop')
    await assert.rejects(first.ledger.confirm(one, 'shop'), { code: 'STALE' })
    await assert.rejects(first.reserve(), { code: 'STALE' })
    assert.equal((await second.reserve()).number, 1n)
    await second.ledger.confirm(two, 'shop')
    assert.deepEqual(await second.states(), ['1 held', '2 confirmed'])
  })

  test('reads what the commit under way at that time has changed, or has it change nothing', async () => {
    for (const isFirst of [true, false]) {
      const first = openLedger()
      const { store, clock } = first
      const one = await first.reserve()
      const held = first.engine.hold('commit')
      const confirming = first.ledger.confirm(one, 'shop')
      await held.arrived
      if (isFirst) {
        held.letGo()
        await confirming
      }
      const second = openLedger({ store, clock, fence: 2n })
      assert.deepEqual(await second.states(), [isFirst ? '1 confirmed' : '1 held'])
      if (isFirst) continue
      held.letGo()
      await assert.rejects(confirming, { code: 'STALE' })
      assert.deepEqual(await second.states(), ['1 held'])
    }
  })

  test('answers what a commit under way has made although the leadership ends meanwhile', async () => {
    const { engine, gate, ledger, reserve } = openLedger()
    const one = await reserve()
    const held = engine.hold('commit')
    const confirming = ledger.confirm(one, 'shop')
    await held.arrived
    const waiting = reserve()
    gate.end(stopped)
    await assert.rejects(waiting, { code: 'STALE' })
    held.letGo()
    await confirming
  })

  test('loads only pages with lines that are not final', async () => {
    const first = openLedger()
    const { store, clock } = first
    for (let part = 0; part < 100; part++) {
      const all = await Promise.all(Array.from({ length: 100 }, () => first.reserve()))
      await Promise.all(all.map((each) => first.ledger.confirm(each, 'shop')))
    }
    const second = openLedger({ store, clock, fence: 2n })
    assert.equal((await second.reserve()).number, 10_001n)
    const lists = second.engine.calls.filter(({ method }) => method === 'list')
    assert.equal(lists.length, 1)
    assert.equal((await second.states()).length, 10_000)
    await second.ledger.void(5n, undefined, 'long ago', 'books')
    assert.equal((await second.states())[4], '5 void')
    const before = second.engine.count('read')
    const held = second.engine.hold('read')
    const voids = [100n, 200n, 300n].map((each) => second.ledger.void(each, undefined, 'old', 'books'))
    await held.arrived
    assert.equal(second.engine.count('read') - before, 3)
    held.letGo()
    await Promise.all(voids)
  })
})

describe('an unknown outcome', () => {
  test('is read before anything is answered', async () => {
    for (const fault of ['lose-reply', 'lose-request', 'late', 'unavailable'] as const) {
      const { engine, clock, ledger, reserve, states } = openLedger()
      engine.next('commit', fault)
      const reserving = reserve()
      await clock.pass(100)
      const one = await reserving
      assert.equal(one.number, 1n, fault)
      engine.next('commit', fault)
      const confirming = ledger.confirm(one, 'shop')
      await clock.pass(100)
      await confirming
      await engine.deliver()
      assert.deepEqual(await states(), ['1 confirmed'], fault)
      engine.next('commit', fault)
      const voiding = ledger.void(1n, undefined, 'no commit', 'shop')
      await clock.pass(100)
      await voiding
      assert.deepEqual(await states(), ['1 void'], fault)
    }
  })

  test('is told to a caller if it cannot be read in time', async () => {
    const { engine, clock, ledger, reserve, states } = openLedger()
    const one = await reserve()
    engine.next('commit', 'lose-reply')
    engine.always('reserve', 'unavailable')
    const confirming = assert.rejects(ledger.confirm(one, 'shop'), { code: 'UNKNOWN' })
    await clock.pass(100)
    const reserving = assert.rejects(reserve(), { code: 'DRY' })
    await clock.pass(2000)
    await Promise.all([confirming, reserving])
    engine.heal()
    await clock.pass(1000)
    await ledger.confirm(one, 'shop')
    assert.deepEqual(await states(), ['1 confirmed'])
  })

  test('has no secret for two numbers, though a hold ends before the lines are read again', async () => {
    const { engine, clock, ledger, reserve, states } = openLedger()
    await reserve({ holdMs: 10 })
    const two = await reserve({ holdMs: 60_000 })
    engine.next('commit', 'lose-reply')
    const reserving = reserve({ holdMs: 10 })
    await clock.pass(100)
    const again = await reserving
    ledger.assertInvariants()
    const { entries } = await ledger.read(0n, 10)
    assert.equal(new Set(entries.map(({ secret }) => secret)).size, 3)
    await ledger.confirm(two, 'shop')
    await clock.pass(100)
    await assert.rejects(ledger.confirm(again, 'shop'), { code: 'LAPSED' })
    assert.deepEqual([(await reserve()).number, (await reserve()).number], [1n, 3n])
    ledger.assertInvariants()
    assert.deepEqual(await states(), ['1 held', '2 confirmed', '3 held'])
  })

  test('keeps holds as they are', async () => {
    const { engine, clock, reserve, ledger } = openLedger()
    const one = await reserve()
    await clock.pass(29_000)
    engine.next('commit', 'unavailable')
    const two = reserve()
    await clock.pass(1000)
    await two
    await assert.rejects(ledger.confirm(one, 'shop'), { code: 'LAPSED' })
  })
})

describe('an advance of the store', () => {
  test('makes unknown what may have been confirmed, and accounts for all that is skipped', async () => {
    const first = openLedger()
    const { store, clock } = first
    const [one, two, three] = [await first.reserve(), await first.reserve(), await first.reserve()]
    await first.ledger.confirm(one, 'shop')
    await first.ledger.cancel(two, 'shop')
    await first.engine.advance(1000n)
    const second = openLedger({ store, clock, fence: 2n })
    await assert.rejects(second.ledger.confirm(three, 'shop'), { code: 'LAPSED' })
    assert.equal((await second.reserve()).number, 1004n)
    assert.deepEqual(await second.states(), [
      '1 confirmed',
      '2 unknown',
      '3 unknown',
      '4–1003 unknown',
      '1004 held',
    ])
    await second.ledger.void(3n, undefined, 'looked for it', 'books')
  })

  test('accounts for the numbers of a ledger of which the store forgot everything', async () => {
    const { engine, ledger, reserve, states } = openLedger()
    await engine.reserve('generators/invoice', { size: 0n, floor: 1001n, incarnation: 1n })
    const one = await reserve()
    assert.equal(one.number, 1001n)
    assert.deepEqual(await states(), ['1–1000 unknown', '1001 held'])
    await assert.rejects(ledger.confirm({ number: 7n, secret: one.secret }, 'shop'), { code: 'LAPSED' })
  })

  test('goes on where it was interrupted', async () => {
    const first = openLedger()
    const { store, clock } = first
    for (let part = 0; part < 3; part++)
      await Promise.all(
        Array.from({ length: 900 }, (_, at) => first.reserve({ ref: `${at}`.padEnd(100, 'x') })),
      )
    await first.engine.advance(1000n)
    const second = openLedger({ store, clock, fence: 2n })
    second.engine.next('commit', 'unavailable')
    second.engine.next('commit', 'lose-reply')
    const reserving = second.reserve()
    await clock.pass(1500)
    await reserving
    const states = await second.states()
    assert.ok(states.slice(0, -1).every((state) => state.endsWith('unknown')))
  })
})

describe('a close', () => {
  test('is refused while a number is held, and makes free numbers void', async () => {
    const { ledger, reserve, states, clock } = openLedger()
    const [one] = [await reserve(), await reserve()]
    await assert.rejects(ledger.closePeriod('books'), { code: 'CONFLICT' })
    await ledger.confirm(one, 'shop')
    await clock.pass(30_000)
    const close = await ledger.closePeriod('books')
    assert.deepEqual([close?.through, close?.numbers, close?.previous], [2n, 2n, noHash])
    assert.deepEqual(await states(), ['1 confirmed', '2 void'])
    assert.deepEqual(await ledger.closePeriod('books'), close)
    await assert.rejects(ledger.void(1n, undefined, 'late', 'books'), { code: 'ERR' })
    assert.equal((await reserve()).number, 3n)
  })

  test('has the hash of its lines, chained to the close before, also after lines were removed', async () => {
    const { ledger, reserve, engine, store, clock } = openLedger()
    const prefix = ledgerPrefix('invoice')
    let hash = noHash
    for (let part = 0; part < 3; part++) {
      const all = await Promise.all(Array.from({ length: 70 }, () => reserve()))
      for (const each of all) await ledger.confirm(each, 'shop')
      const close = (await ledger.closePeriod('books'))!
      assert.equal(close.previous, hash)
      const head = (await headOf(engine, prefix))!
      for await (const entries of entriesFrom(engine, prefix, head, BigInt(part * 70 + 1)))
        for (const entry of entries) hash = hashAfter(hash, exported(entry))
      assert.equal(close.hash, hash)
      await ledger.removeClosed('books')
    }
    const { entries, head } = await ledger.read(0n, 1000)
    assert.deepEqual([entries, head?.removed?.through], [[], 210n])
    assert.equal((await engine.list(`${prefix}p`)).length, 1)
    await assert.rejects(ledger.void(5n, undefined, 'gone', 'books'), { code: 'ERR' })
    const next = openLedger({ store, clock, fence: 2n })
    assert.equal((await next.reserve()).number, 211n)
    assert.deepEqual(await next.states(), ['211 held'])
  })

  test('has no line that is held, whatever fails while free numbers become void', async () => {
    for (const fault of ['unavailable', 'lose-request', 'lose-reply', 'late'] as const) {
      const { ledger, reserve, engine, clock, states } = openLedger()
      const one = await reserve()
      await clock.pass(30_000)
      engine.hold('commit').letGo()
      engine.next('commit', fault)
      const closing = ledger.closePeriod('books').catch((error) => error)
      await clock.pass(500)
      const outcome = await closing
      const [state] = await states()
      assert.ok(
        state === '1 void' || (outcome.code === 'CONFLICT' && state === '1 held'),
        `${fault}: ${state}`,
      )
      await engine.deliver()
      await clock.pass(30_000)
      assert.equal((await ledger.closePeriod('books'))?.through, 1n, fault)
      await assert.rejects(ledger.confirm(one, 'shop'), { code: 'LAPSED' })
      assert.equal((await reserve()).number, 2n, fault)
      assert.deepEqual(await states(), ['1 void', '2 held'], fault)
    }
  })

  test('is answered although the reply to its last write was lost', async () => {
    const { ledger, reserve, engine, clock } = openLedger()
    await ledger.confirm(await reserve(), 'shop')
    const held = engine.hold('list')
    const closing = ledger.closePeriod('books')
    await held.arrived
    engine.next('commit', 'lose-reply')
    held.letGo()
    await clock.pass(100)
    const other = reserve()
    await clock.pass(100)
    assert.equal((await other).number, 2n)
    assert.equal((await closing)?.through, 1n)
  })

  test('is refused while another one runs, which goes on', async () => {
    const { ledger, reserve, engine, clock } = openLedger()
    const [one, two] = [await reserve(), await reserve()]
    await ledger.confirm(one, 'shop')
    const held = engine.hold('commit')
    const confirming = ledger.confirm(two, 'shop')
    await held.arrived
    const closes = [ledger.closePeriod('books'), ledger.closePeriod('books')]
    await assert.rejects(closes[1]!, { code: 'CONFLICT' })
    held.letGo()
    await confirming
    await clock.pass(100)
    assert.equal((await closes[0])?.through, 2n)
  })

  test('is over with its time: numbers can be void and are reserved again', async () => {
    const { ledger, reserve, engine, clock, states } = openLedger()
    const [one, two] = [await reserve(), await reserve()]
    await ledger.confirm(one, 'shop')
    await ledger.cancel(two, 'shop')
    const list = engine.hold('list')
    const closing = assert.rejects(ledger.closePeriod('books'), { code: 'UNKNOWN' })
    await list.arrived
    const commit = engine.hold('commit')
    list.letGo()
    await commit.arrived
    await clock.pass(2000)
    await closing
    commit.letGo('unavailable')
    await clock.pass(2000)
    await ledger.void(1n, undefined, 'no document', 'books')
    assert.deepEqual(await states(), ['1 void', '2 void'])
  })

  test('removes lines in a step of its own, and those of what is closed alone', async () => {
    const { ledger, reserve, states } = openLedger()
    assert.equal(await ledger.removeClosed('books'), undefined)
    await ledger.confirm(await reserve(), 'shop')
    const close = await ledger.closePeriod('books')
    await ledger.confirm(await reserve(), 'shop')
    assert.deepEqual(await ledger.removeClosed('books'), close)
    assert.deepEqual(await states(), ['2 confirmed'])
  })

  test('changes no line while it computes, and reserves further', async () => {
    const { ledger, reserve, engine } = openLedger()
    const one = await reserve()
    await ledger.confirm(one, 'shop')
    const held = engine.hold('list')
    const closing = ledger.closePeriod('books')
    await held.arrived
    await assert.rejects(ledger.void(1n, undefined, 'now', 'books'), { code: 'CONFLICT' })
    await assert.rejects(ledger.closePeriod('books'), { code: 'CONFLICT' })
    assert.equal((await reserve()).number, 2n)
    held.letGo()
    assert.equal((await closing)?.through, 1n)
    await settled()
  })
})
