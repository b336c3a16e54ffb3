import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Occurrence, TrailPart } from '../../../src/audit/audit-entry.ts'
import { readEntries } from '../../../src/audit/audit-ring.ts'
import { Trail } from './trail.ts'

const drop: Occurrence = { event: 'drop', user: 'alice', address: '10.0.0.1', door: 'resp', object: 'order' }
const failed: Occurrence = { ...drop, event: 'login-failed', object: 'AUTH' }

function start(max?: number) {
  const trail = new Trail(max)
  const stored = (part: TrailPart) => readEntries(trail.engine, [part])
  const counts = async (part: TrailPart) =>
    (await stored(part)).map(({ event, object, count }) => [event, object, count])
  const { engine, clock, events, audit } = trail
  return { engine, clock, events, audit, stored, counts }
}

describe('the audit trail of a node', () => {
  test('writes a change within a second, with its time, node, user, address and object', async () => {
    const { audit, clock, stored, events } = start()
    const timeUs = clock.wallUs()
    audit.record(drop)
    await clock.pass(1000)
    assert.deepEqual(await stored('changes'), [
      { id: 'f00-000000001', timeUs, node: 'host:1', ...drop, count: 1 },
    ])
    assert.equal(events[0]!.message, "audit: drop 'order' by 'alice' from 10.0.0.1 over resp")
    assert.deepEqual(events[0]!.fields, { timeUs, node: 'host:1', ...drop, count: 1 })
    assert.deepEqual(audit.figures, { written: 1, lost: 0, waiting: 0 })
  })

  test('writes a burst of changes in few writes, and the same change once with its count', async () => {
    const { audit, clock, engine, counts } = start()
    for (let each = 0; each < 100; each++) audit.record({ ...drop, object: `order${each % 20}` })
    await clock.pass(1000)
    assert.equal(engine.count('write'), 1)
    const expected = Array.from({ length: 20 }, (_, index) => ['drop', `order${index}`, 5])
    assert.deepEqual(await counts('changes'), expected)
  })

  test('writes one entry for the first of many failed logins, and one at the end of the minute', async () => {
    const { audit, clock, counts, events } = start()
    for (let each = 0; each < 10_000; each++) audit.record(failed)
    await clock.pass(1000)
    assert.deepEqual(await counts('refusals'), [['login-failed', 'AUTH', 1]])
    assert.equal(events[0]!.level, 'warn')
    await clock.pass(60_000)
    assert.deepEqual(await counts('refusals'), [
      ['login-failed', 'AUTH', 1],
      ['login-failed', 'AUTH', 9999],
    ])
    assert.equal(events.length, 2)
  })

  test('takes a bounded number of entries a minute from refusals of any users and addresses, and counts them all', async () => {
    const { audit, clock, stored } = start()
    for (let each = 0; each < 5000; each++)
      audit.record({ ...failed, user: `user${each}`, address: `${each}` })
    for (let each = 0; each < 5000; each++) audit.record({ ...failed, event: 'denied', object: `get${each}` })
    await clock.pass(61_000)
    const entries = await stored('refusals')
    assert.ok(entries.length <= 66, `${entries.length} entries`)
    assert.equal(
      entries.reduce((sum, { count }) => sum + count, 0),
      10_000,
    )
  })

  test('names the user and address of a failed login, however many denied requests come', async () => {
    const { audit, clock, stored, events } = start()
    for (let each = 0; each < 100; each++) audit.record({ ...drop, event: 'denied', detail: `order${each}` })
    audit.record({ ...failed, user: 'admin', address: '10.0.0.9' })
    await clock.pass(1000)
    const entry = (await stored('refusals')).find(({ event }) => event === 'login-failed')
    assert.deepEqual([entry?.user, entry?.address], ['admin', '10.0.0.9'])
    assert.match(events.at(-1)!.message, /login-failed .*'admin' from 10\.0\.0\.9/)
  })

  test('keeps every change, however many refusals and logins come', async () => {
    const { audit, clock, counts } = start(64)
    audit.record(drop)
    for (let minute = 0; minute < 30; minute++) {
      for (let each = 0; each < 50; each++) audit.record({ ...failed, address: `10.0.${minute}.${each}` })
      for (let each = 0; each < 50; each++)
        audit.record({ ...failed, event: 'login', address: `10.${minute}.0.${each}` })
      await clock.pass(60_000)
    }
    assert.deepEqual(await counts('changes'), [['drop', 'order', 1]])
    assert.ok((await counts('refusals')).length <= 64)
    assert.ok((await counts('logins')).length <= 64)
  })

  test('keeps the changes of administrators, and those of other users, however many changes one user makes', async () => {
    const { audit, clock, counts, stored, events } = start(64)
    const others: Occurrence = { ...drop, user: 'bob', object: 'theirs', isOrdinary: true }
    audit.record(drop)
    audit.record(others)
    for (let hour = 0; hour < 20; hour++) {
      for (let each = 0; each < 500; each++)
        audit.record({ ...others, event: 'token-created', user: 'eve', object: `${hour}.${each}` })
      await clock.pass(3_600_000)
    }
    await audit.close()
    assert.deepEqual(await counts('changes'), [['drop', 'order', 1]])
    const users = await stored('user-changes')
    assert.deepEqual(
      users.filter(({ user }) => user === 'bob').map(({ object }) => object),
      ['theirs'],
    )
    const eves = users.filter(({ user }) => user === 'eve')
    assert.equal(eves.filter(({ object }) => object !== '').length, 8)
    assert.equal(
      eves.reduce((sum, { count }) => sum + count, 0),
      10_000,
    )
    // The log names each.
    assert.equal(
      events.filter(({ fields = {} }) => fields.event === 'token-created' && fields.object !== '').length,
      10_000,
    )
  })

  test('gives a user a new share each day', async () => {
    const { audit, clock, stored } = start(64)
    for (let day = 0; day < 2; day++) {
      for (let each = 0; each < 9; each++)
        audit.record({ ...drop, object: `${day}.${each}`, isOrdinary: true })
      await clock.pass(86_400_000)
    }
    const named = (await stored('user-changes')).filter(({ object }) => object !== '')
    assert.deepEqual(
      named.map(({ object }) => object).sort(),
      ['0', '1'].flatMap((day) => Array.from({ length: 8 }, (_, each) => `${day}.${each}`)),
    )
  })

  test('loses no change of an administrator while changes of users find no room', async () => {
    const { audit, clock, engine, counts } = start()
    engine.always('any', 'unavailable')
    for (let user = 0; user < 100; user++)
      for (let each = 0; each < 100; each++)
        audit.record({ ...drop, user: `user${user}`, object: `${each}`, isOrdinary: true })
    for (let each = 0; each < 100; each++) audit.record({ ...drop, object: `order${each}` })
    await clock.pass(10_000)
    engine.heal()
    await clock.pass(120_000)
    assert.equal((await counts('changes')).length, 100)
    const lost = (await counts('user-changes')).filter(([event]) => event === 'lost')
    assert.deepEqual(
      lost.map(([, , count]) => count),
      [10_000 - 2048],
    )
  })

  test('gives each user a share of the failed logins and refusals that are named in a minute', async () => {
    const { audit, clock, stored } = start()
    for (let each = 0; each < 100; each++) audit.record({ ...failed, user: undefined, address: `${each}` })
    for (let each = 0; each < 100; each++) audit.record({ ...failed, user: 'eve', address: `${each}` })
    audit.record({ ...failed, user: 'admin', address: '10.0.0.9' })
    await clock.pass(61_000)
    const entries = await stored('refusals')
    assert.ok(entries.some(({ user, address }) => user === 'admin' && address === '10.0.0.9'))
    const sums = entries.filter(({ detail }) => detail?.includes('various'))
    assert.deepEqual(
      sums.map(({ user, count }) => [user, count]),
      [
        ['', 92],
        ['eve', 92],
      ],
    )
  })

  test('records the logins of a user from an address once an hour, with their number', async () => {
    const { audit, clock, counts } = start()
    const login: Occurrence = { ...drop, event: 'login', object: '' }
    for (let minute = 0; minute < 90; minute++) {
      audit.record(login)
      await clock.pass(60_000)
    }
    await audit.close()
    assert.deepEqual(
      (await counts('logins')).map(([, , count]) => count),
      [1, 60, 29],
    )
  })

  test('does not write a name that no user has: it may be a password', async () => {
    const { audit, clock, stored } = start()
    audit.record({ ...failed, user: undefined })
    await clock.pass(1000)
    const [{ user, detail } = { user: 'none', detail: '' }] = await stored('refusals')
    assert.deepEqual([user, detail], ['', 'unknown user'])
  })

  test('keeps changes while the engine is away, and writes each once afterwards', async () => {
    const { audit, clock, engine, counts, events } = start()
    engine.always('any', 'unavailable')
    for (let each = 0; each < 50; each++) {
      audit.record({ ...drop, object: `order${each}` })
      await clock.pass(1000)
    }
    assert.equal(audit.figures.waiting, 50)
    engine.heal()
    engine.next('write', 'lose-reply', 2)
    await clock.pass(120_000)
    const expected = Array.from({ length: 50 }, (_, index) => ['drop', `order${index}`, 1])
    assert.deepEqual(await counts('changes'), expected)
    const said = events.filter(({ message }) => /audit entries/.test(message)).map(({ level }) => level)
    assert.deepEqual(said, ['warn', 'info', 'warn', 'info'].slice(0, said.length))
  })

  test('holds a bounded number of entries while the engine is away, and then says how many are missing', async () => {
    const { audit, clock, engine, stored } = start(10_000)
    engine.always('any', 'unavailable')
    for (let each = 0; each < 5000; each++) audit.record({ ...drop, object: `order${each}` })
    assert.deepEqual(audit.figures, { written: 0, lost: 5000 - 2048, waiting: 2048 })
    await clock.pass(10_000)
    engine.heal()
    await clock.pass(60_000)
    const entries = await stored('changes')
    assert.equal(entries.length, 2049)
    assert.deepEqual(
      entries.filter(({ event }) => event === 'lost').map(({ count }) => count),
      [5000 - 2048],
    )
    assert.equal(audit.figures.waiting, 0)
  })

  test('writes what waits when the node stops, the counts of this minute too', async () => {
    const { audit, counts, clock } = start()
    audit.record(drop)
    audit.record(failed)
    audit.record(failed)
    await audit.close()
    assert.deepEqual(await counts('changes'), [['drop', 'order', 1]])
    assert.deepEqual(await counts('refusals'), [['login-failed', 'AUTH', 2]])
    audit.record(drop)
    assert.equal(clock.timers, 0)
  })

  test('says at the stop how many entries an engine that is away does not get', async () => {
    const { audit, engine, events } = start()
    engine.always('any', 'unavailable')
    audit.record(drop)
    await audit.close()
    assert.match(events.at(-1)!.message, /1 audit entries could not be written/)
    assert.equal(events.at(-1)!.level, 'error')
  })

  test('loses no change and writes none twice, whatever faults the engine has', async () => {
    for (let seed = 1; seed <= 25; seed++) {
      const { audit, clock, engine, stored } = start()
      let state = seed
      const random = (below: number) => {
        state = (state * 48_271) % 2_147_483_647
        return state % below
      }
      let recorded = 0
      for (let step = 0; step < 60; step++) {
        for (let each = random(6); each > 0; each--) audit.record({ ...drop, object: `order${recorded++}` })
        if (random(3) === 0) audit.record({ ...failed, address: `${random(5)}` })
        const faults = ['lose-reply', 'lose-request', 'late', 'unavailable'] as const
        if (random(2) === 0) engine.next(random(2) === 0 ? 'write' : 'any', faults[random(4)]!)
        await clock.pass(random(3000))
        if (random(3) === 0) await engine.deliver()
      }
      engine.heal()
      await clock.pass(120_000)
      await engine.deliver()
      const objects = (await stored('changes')).map(({ object }) => object)
      assert.deepEqual(
        objects.sort(),
        Array.from({ length: recorded }, (_, index) => `order${index}`).sort(),
        `seed ${seed}`,
      )
    }
  })
})
