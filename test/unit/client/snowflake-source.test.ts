/** Snowflakes of a client, with clocks of the service that go wrong. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { decode } from '../../../src/ids/id-parts.ts'
import { parseLayout } from '../../../src/ids/layout-text.ts'
import { settled } from '../fake-clock.ts'
import { wideLayout as old, open } from './lease-service.ts'

/** The time of the fake clock is 2026-06-01T00:00:00Z: 2^31 ms, after which ids are above 2^53, are 24.8 days. */
const layoutSince = (epoch: string) => `time:41,node:10,sequence:12;epoch=${epoch}`
/** Bursts borrow 10 s. */
const fourInEachMs = 'time:41,node:10,sequence:2;epoch=2025-01-01T00:00:00Z'
const young = layoutSince('2026-05-20T00:00:00Z')

describe('numbers of a snowflake', () => {
  test('are UNSAFE above 2^53−1, and no id is used to find out', async (t) => {
    const { generator } = await open(t, old)
    await assert.rejects(generator.nextNumber(), { code: 'UNSAFE' })
    assert.equal(generator.tryNextNumber(), undefined)
    assert.equal(generator.stats().issued, 0)
    assert.equal((await generator.next()) & 0xfffn, 0n)
  })

  test('come as long as the time permits them, and end at 2^53 without the use of an id', async (t) => {
    const { clock, generator } = await open(t, young)
    assert.ok(generator.tryNextNumber()! < 2 ** 53)
    assert.ok((await generator.nextNumber()) < 2 ** 53)
    const aboveUs = Date.UTC(2026, 4, 20) * 1000 + 2 ** 31 * 1000
    clock.mono += aboveUs - clock.wall
    clock.wall = aboveUs
    await generator.next()
    const { issued } = generator.stats()
    assert.equal(generator.tryNextNumber(), undefined)
    await assert.rejects(generator.nextNumber(), { code: 'UNSAFE' })
    assert.equal(generator.stats().issued, issued)
  })
})

describe('ids of a snowflake increase', () => {
  /** Checks that each id is above the one before. */
  function increasing() {
    let last = 0n
    return (id: bigint | undefined) => {
      assert.ok(id !== undefined && id > last, `${id} after ${last}`)
      last = id
    }
  }

  test('from one lease to the next within one ms, whose worker id is smaller', async (t) => {
    const { service, clock, generator } = await open(t, old, { horizonMs: 1000 })
    const check = increasing()
    const workers = new Set<bigint>()
    const take = async () => {
      const id = await generator.next()
      check(id)
      workers.add((id >> 12n) & 1023n)
    }
    for (let round = 0; round < 5; round++) {
      await take()
      await clock.pass(1000)
      service.forget()
      // The first of these ids shows that a renewal is due; its answer is another lease.
      for (let count = 0; count < 3; count++) await take()
      await settled()
      for (let count = 0; count < 3; count++) await take()
    }
    assert.equal(workers.size, 6)
  })

  for (const seconds of [1, 59, 61, 100]) {
    test(`when the service's clock falls back by ${seconds} s, under the same lease and the next one`, async (t) => {
      const { service, clock, generator } = await open(t, old)
      const check = increasing()
      check(await generator.next())
      service.aheadUs -= seconds * 1_000_000
      for (let minute = 0; minute < 6; minute++) {
        for (let count = 0; count < 10; count++) check(await generator.next())
        if (minute === 2) service.forget()
        await clock.pass(60_000)
      }
      for (let count = 0; count < 10; count++) check(await generator.next())
    })
  }

  test('in what is left of a span, however far the clock falls back under the same lease', async (t) => {
    const events: string[] = []
    const twoInEachMs = old.replace('sequence:12', 'sequence:1')
    const { service, clock, generator } = await open(t, twoInEachMs, {
      onEvent: ({ type }) => void events.push(type),
    })
    const check = increasing()
    check(await generator.next())
    service.aheadUs -= 600_000_000
    await clock.pass(61_000)
    for (let count = 0; count < 10; count++) check(await generator.next())
    await clock.pass(40_000)
    // Enough that the span is nearly used up, and renewed.
    const before = service.requests.length
    for (const id of await generator.nextBatch(90_000)) check(id)
    await settled()
    assert.equal(service.requests.length, before + 1)
    check(await generator.next())
    assert.deepEqual(events, ['generator-changed'])
  })

  test('when an alteration comes while the clock is behind', async (t) => {
    const { service, clock, generator } = await open(t, old)
    const check = increasing()
    check(await generator.next())
    service.aheadUs -= 100_000_000
    service.forget()
    service.layout = old.replace('node:10,sequence:12', 'node:11,sequence:11')
    for (let minute = 0; minute < 4; minute++) {
      check(await generator.next())
      await clock.pass(60_000)
    }
  })

  test('after a wait with one clear error, when the clock falls back further than a span reaches', async (t) => {
    const errors: string[] = []
    const { service, clock, generator } = await open(t, old, {
      onEvent: (event) => void (event.type === 'refill-failed' && errors.push(event.error.code)),
    })
    const check = increasing()
    check(await generator.next())
    service.aheadUs -= 600_000_000
    service.forget()
    await clock.pass(61_000)
    // The span of the first lease is used to its end.
    while (generator.tryNext() !== undefined) await clock.pass(1000)
    const waiting = generator.next()
    const message =
      /no id of 'event' is left here.*CLOCK the ids of 'event' .* are \d+ s ahead of the service's clock; set the clocks/
    const rejected = assert.rejects(waiting, { code: 'UNAVAILABLE', message })
    const before = service.requests.length
    await clock.pass(10_000)
    await rejected
    assert.ok(service.requests.length - before <= 25, `${service.requests.length - before} requests`)
    assert.ok(errors.every((code) => code === 'CLOCK'))
    await clock.pass(600_000)
    assert.equal(generator.tryNext(), undefined)
    await settled()
    for (let count = 0; count < 10; count++) check(await generator.next())
  })
})

test('a burst that uses a span up waits for the next one without an error', async (t) => {
  const failed: string[] = []
  const { clock, generator } = await open(t, old.replace('sequence:12', 'sequence:1'), {
    horizonMs: 500,
    onEvent: ({ type }) => void failed.push(type),
  })
  await generator.nextBatch(generator.stats().buffered)
  assert.equal(generator.tryNext(), undefined)
  const waiting = generator.nextBatch(10)
  await clock.pass(200)
  assert.equal((await waiting).length, 10)
  assert.deepEqual(failed, [])
})

test('a batch of all that the clock can lend is issued, and a larger one is refused at once', async (t) => {
  const { service, client, generator: event } = await open(t, fourInEachMs, {})
  await assert.rejects(event.nextBatch(40_005), {
    code: 'LIMIT',
    message:
      /^40005 ids are above the limit of 40004 at once that the clock of 'event' allows; ask for fewer/,
  })
  assert.deepEqual([event.stats().issued, event.stats().waiting, service.requests.length], [0, 0, 1])
  assert.equal((await event.nextBatch(40_004)).length, 40_004)
  await client.close()
  await assert.rejects(event.nextBatch(40_005), { code: 'SHUTDOWN' })
})

test('a batch of more than a span is refused at once, and one of a whole span waits for the next span', async (t) => {
  const { clock, generator: event } = await open(t, fourInEachMs, { horizonMs: 1000 })
  await assert.rejects(event.nextBatch(8001), { code: 'LIMIT', message: /limit of 8000 at once/ })
  await clock.pass(1500)
  const waiting = event.nextBatch(8000)
  await clock.pass(200)
  assert.equal((await waiting).length, 8000)
})

describe('a scattered snowflake', () => {
  const layout = 'scatter:5,time:41,node:8,sequence:9;epoch=2025-01-01T00:00:00Z'

  for (const permitsLeases of [true, false])
    test(`has its scatter where ids come ${permitsLeases ? 'of leased time' : 'from the service'}`, async (t) => {
      const { service, clock, generator } = await open(t, layout)
      service.permitsLeases = permitsLeases
      const ids = new Set<bigint>()
      for (let round = 0; round < 40; round++) {
        const drawn = [generator.next(), generator.nextBatch(5)] as const
        await clock.pass(1)
        for (const id of [await drawn[0], ...(await drawn[1])]) {
          decode(parseLayout(layout), id)
          ids.add(id)
        }
      }
      assert.equal(ids.size, 240)
      assert.equal(new Set([...ids].map((id) => id >> 58n)).size, 32)
      assert.equal(generator.tryNextNumber(), undefined)
      await assert.rejects(generator.nextNumber(), { code: 'UNSAFE' })
    })
})
