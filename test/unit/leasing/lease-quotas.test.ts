import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startQuotas } from './quota-servers.ts'

const by = (user: string) => ({ holder: 'a test', user })
const alice = by('alice')

describe('a namespace that limits leases', () => {
  test('lets callers hold as many worker ids as it says, of generators and pools together', async () => {
    const { one, namespaces } = await startQuotas()
    await namespaces.set('shop', { match: 'shop:*', owner: 'team-a', leases: 2 })
    await one.workers.lease('shop:event', alice)
    const plain = await one.pools.claim('shop:pool', 'bob', { owner: 'a' })
    const refused = {
      code: 'QUOTA',
      message:
        'a namespace has its 2 leased worker ids already; return one, wait until one has ended, or have its LEASES raised with ID.NAMESPACE SET',
    }
    await assert.rejects(one.workers.lease('shop:event', alice), refused)
    await assert.rejects(one.pools.claim('shop:pool', 'bob', { owner: 'b' }), refused)
    assert.equal(one.quotas.all()[0]!.refused, 2)
    await one.workers.lease('mail', alice)
    const again = await one.pools.claim('shop:pool', 'bob', { owner: 'a' })
    assert.equal(again.worker, plain.worker, 'an owner gets its id again')
    assert.equal(await one.pools.giveBack('shop:pool', again.lease), true)
    await one.pools.claim('shop:pool', 'bob', { owner: 'b' })
  })

  test('counts what was leased on other nodes, and no longer what was returned or has ended', async () => {
    const { one, other, namespaces, clock } = await startQuotas()
    await namespaces.set('shop', { match: 'shop:*', leases: 2 })
    const returned = await one.workers.lease('shop:event', alice)
    await other.workers.lease('shop:event', alice)
    await clock.pass(1000)
    await assert.rejects(one.workers.lease('shop:event', alice), { code: 'QUOTA' })
    assert.equal(await other.workers.giveBack(returned.lease, returned), true)
    await one.workers.lease('shop:event', alice)
    await assert.rejects(other.workers.lease('shop:event', alice), { code: 'QUOTA' })
    await clock.pass(61_000)
    await other.workers.lease('shop:event', alice)
  })

  test('holds for requests that come at once', async () => {
    const { one, namespaces } = await startQuotas()
    await namespaces.set('shop', { match: 'shop:*', leases: 3 })
    const outcomes = await Promise.allSettled(
      Array.from({ length: 10 }, () => one.workers.lease('shop:event', alice)),
    )
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 3)
    assert.ok(one.node.engine.count('list') < 20, 'they share reads')
  })

  test('with a user counts the leases of this user only', async () => {
    const { one, namespaces } = await startQuotas()
    await namespaces.set('alice', { match: '*', user: 'alice', leases: 1 })
    await one.workers.lease('shop:event', by('bob'))
    await one.workers.lease('shop:event', alice)
    await one.workers.lease('shop:event', by('bob'))
    await assert.rejects(one.workers.lease('mail', alice), { code: 'QUOTA' })
  })

  test('counts no claim that failed', async () => {
    const { one, namespaces } = await startQuotas()
    await namespaces.set('shop', { match: 'shop:*', leases: 1 })
    one.node.engine.next('write', 'unavailable')
    await assert.rejects(one.workers.lease('shop:event', alice), { code: 'UNAVAILABLE' })
    await one.workers.lease('shop:event', alice)
  })

  test('refuses while the records cannot be read, and reads nothing where no namespace limits', async () => {
    const { one, namespaces } = await startQuotas()
    await namespaces.set('mail', { match: 'mail', leases: 1 })
    one.node.engine.next('list', 'unavailable')
    await assert.rejects(one.workers.lease('mail', alice), { code: 'UNAVAILABLE' })
    const lists = one.node.engine.count('list')
    await one.pools.claim('shop:pool', 'bob', { owner: 'a' })
    assert.equal(one.node.engine.count('list'), lists + 1, 'the list of the claim itself')
  })
})

describe('worker leases in a namespace that counts ids', () => {
  for (const limit of [{ idsPerSecond: 10 }, { idsPerDay: 10 }, { leases: 0 }, { leases: 0, idsPerDay: 10 }])
    test(`are refused with ${Object.keys(limit)}, new ones and renewals`, async () => {
      const { one, namespaces } = await startQuotas()
      const held = await one.workers.lease('shop:event', alice)
      const outside = await one.workers.lease('mail', alice)
      await namespaces.set('shop', { match: 'shop:*', owner: 'team-a', ...limit })
      const refused = {
        code: 'WRONGTYPE',
        message:
          "a namespace has no LEASES for 'shop:event', so no worker id is leased for it; ask for each id: ID.NEXT shop:event",
      }
      const event = await one.node.catalogue.open('shop:event')
      assert.equal(one.workers.mayLease(event, 'alice'), false)
      await assert.rejects(one.workers.lease('shop:event', alice), refused)
      await assert.rejects(one.workers.renew('shop:event', held.lease, { ...held, ttlMs: 900_000 }), refused)
      await assert.rejects(one.workers.renew('shop:event', outside.lease, outside), refused)
      await one.workers.renew('mail', outside.lease, outside)
      assert.equal(await one.workers.giveBack(held.lease, held), true, 'nothing was changed')
    })

  test('are permitted by its LEASES, and counted', async () => {
    const { one, namespaces } = await startQuotas()
    await namespaces.set('shop', { match: 'shop:*', idsPerSecond: 10, idsPerDay: 10, leases: 1 })
    assert.equal(one.workers.mayLease(await one.node.catalogue.open('shop:event'), 'alice'), true)
    const { lease, untilUs } = await one.workers.lease('shop:event', alice)
    await one.workers.renew('shop:event', lease, { untilUs, ttlMs: 900_000 })
    await assert.rejects(one.workers.lease('shop:event', alice), { code: 'QUOTA' })
  })

  test('are refused to the users whose ids it counts', async () => {
    const { one, namespaces } = await startQuotas()
    await namespaces.set('bob', { match: '*', user: 'bob', idsPerSecond: 10 })
    await one.workers.lease('mail', alice)
    await assert.rejects(one.workers.lease('mail', { ...alice, user: 'bob' }), { code: 'WRONGTYPE' })
  })

  test('are as before in one with other limits', async () => {
    const { one, namespaces } = await startQuotas()
    await namespaces.set('shop', { match: 'shop:*', generators: 5, waiting: 5 })
    await one.workers.lease('shop:event', alice)
  })
})

describe('plain worker ids in a namespace', () => {
  test('with RATE and DAILY alone are leased as before', async () => {
    const { one, namespaces } = await startQuotas()
    await namespaces.set('shop', { match: 'shop:*', idsPerSecond: 1, idsPerDay: 1 })
    for (const owner of ['a', 'b']) await one.pools.claim('shop:pool', 'alice', { owner })
  })

  test('with LEASES 0 are leased no more, and holders go on until their leases end', async () => {
    const { one, namespaces, clock } = await startQuotas()
    const { lease } = await one.pools.claim('shop:pool', 'alice', { owner: 'a' })
    await namespaces.set('shop', { match: 'shop:*', leases: 0 })
    const refused = {
      code: 'LIMIT',
      message:
        'a namespace permits no leased worker ids (LEASES 0); ask for ids of a generator, or have its LEASES raised with ID.NAMESPACE SET',
    }
    for (const owner of ['a', 'b'])
      await assert.rejects(one.pools.claim('shop:pool', 'alice', { owner }), refused)
    assert.equal(one.quotas.all()[0]!.refused, 2)
    await clock.pass(50_000)
    await one.pools.renew('shop:pool', lease)
    await clock.pass(70_000)
    await assert.rejects(one.pools.renew('shop:pool', lease), refused)
  })
})

const full = { code: 'QUOTA', message: /^a namespace has its \d leased worker ids already; return one/ }

describe('a namespace that limits leases, when they are renewed', () => {
  test('refuses a span that has ended while others have its place, and gives it time again once a place is free', async () => {
    const { one, other, namespaces, clock } = await startQuotas()
    await namespaces.set('shop', { match: 'shop:*', leases: 2 })
    const ended = await one.workers.lease('shop:event', { ...alice, ttlMs: 1000 })
    await clock.pass(5000)
    const { lease, untilUs } = await one.workers.lease('shop:event', alice)
    const returned = await one.workers.lease('shop:event', alice)
    for (const { workers } of [one, other])
      await assert.rejects(workers.renew('shop:event', ended.lease, ended), full)
    await one.workers.renew('shop:event', lease, { untilUs })
    assert.equal(await one.workers.giveBack(returned.lease, returned), true)
    const revived = await other.workers.renew('shop:event', ended.lease, ended)
    assert.equal(revived.worker, ended.worker)
    await assert.rejects(one.workers.lease('shop:event', alice), full)
  })

  test('refuses a lease for a generator outside that is confirmed for one inside, and counts those that it permits', async () => {
    const { one, other, namespaces, clock } = await startQuotas()
    await namespaces.set('shop', { match: 'shop:*', leases: 2 })
    const outside = []
    for (let held = 0; held < 4; held++) outside.push(await one.workers.lease('mail', alice))
    const [a, b, c, d] = outside
    await one.workers.renew('shop:event', a!.lease, { ...a!, ttlMs: 1000 })
    await clock.pass(3000)
    await one.workers.renew('shop:event', b!.lease, b!)
    await assert.rejects(one.workers.renew('shop:event', c!.lease, c!), full)
    await assert.rejects(other.workers.renew('shop:event', d!.lease, d!), full)
    await assert.rejects(other.workers.lease('shop:event', alice), full)
    const later = await one.workers.renew('mail', c!.lease, c!)
    await one.workers.renew('shop:order', a!.lease, a!)
    assert.ok(later.untilUs > c!.untilUs, 'it goes on outside')
  })

  test('counts a lease no longer where it was used before its span ended', async () => {
    const { one, namespaces, clock } = await startQuotas()
    await namespaces.set('shop', { match: 'shop:*', leases: 1 })
    const lease = await one.workers.lease('mail', alice)
    const inside = await one.workers.renew('shop:event', lease.lease, lease)
    await clock.pass(120_000)
    const revived = await one.workers.renew('mail', lease.lease, inside)
    await one.workers.lease('shop:event', alice)
    await assert.rejects(one.workers.renew('shop:event', lease.lease, revived), full)
  })

  test('refuses no renewal in time when it has become lower than what is held', async () => {
    const { one, namespaces, clock } = await startQuotas()
    await namespaces.set('shop', { match: 'shop:*', leases: 3 })
    const leases = [
      await one.workers.lease('shop:event', alice),
      await one.workers.lease('shop:event', alice),
    ]
    const plain = await one.pools.claim('shop:pool', 'alice', { owner: 'a' })
    await namespaces.set('shop', { match: 'shop:*', leases: 1 })
    await clock.pass(50_000)
    for (const { lease, untilUs } of leases) await one.workers.renew('shop:order', lease, { untilUs })
    await one.pools.renew('shop:pool', plain.lease)
    await assert.rejects(one.workers.lease('shop:event', alice), full)
  })

  test('with a user counts a lease for the user that has leased it', async () => {
    const { one, namespaces } = await startQuotas()
    await namespaces.set('shop', { match: 'shop:*', user: 'bob', leases: 1 })
    for (const user of ['alice', 'bob', 'alice']) {
      const { lease, untilUs } = await one.workers.lease('mail', { ...alice, user })
      await one.workers.renew('shop:event', lease, { untilUs })
    }
    const { lease, untilUs } = await one.workers.lease('mail', { ...alice, user: 'bob' })
    await assert.rejects(one.workers.renew('shop:event', lease, { untilUs }), full)
  })
})

describe('a namespace that limits leases, in pools', () => {
  test('refuses the renewal of a lease that has ended while others have its place', async () => {
    const { one, namespaces, clock } = await startQuotas()
    await namespaces.set('shop', { match: 'shop:*', leases: 1 })
    const ended = await one.pools.claim('shop:pool', 'alice', { owner: 'a', ttlMs: 1000, restMs: 60_000 })
    await clock.pass(5000)
    const { lease } = await one.pools.claim('shop:pool', 'alice', { owner: 'b' })
    await assert.rejects(one.pools.renew('shop:pool', ended.lease), full)
    assert.equal(await one.pools.giveBack('shop:pool', lease), true)
    assert.equal((await one.pools.renew('shop:pool', ended.lease)).worker, ended.worker)
    await assert.rejects(one.pools.claim('shop:pool', 'alice', { owner: 'b' }), full)
  })

  test('counts an id that is kept for its owner until the owner claims it without STABLE', async () => {
    const { one, namespaces, clock } = await startQuotas()
    await namespaces.set('shop', { match: 'shop:*', leases: 2 })
    const keep = { owner: 'a', ttlMs: 1000, restMs: 0, stable: true }
    const ended = await one.pools.claim('shop:pool', 'alice', keep)
    const returned = await one.pools.claim('shop:pool', 'alice', { ...keep, owner: 'b' })
    assert.equal(await one.pools.giveBack('shop:pool', returned.lease), true)
    await clock.pass(86_400_000)
    await assert.rejects(one.pools.claim('shop:pool', 'alice', { owner: 'c' }), full)
    await one.pools.renew('shop:pool', ended.lease)
    const given = await one.pools.claim('shop:pool', 'alice', { ...keep, owner: 'b', stable: false })
    assert.equal(await one.pools.giveBack('shop:pool', given.lease), true)
    await one.pools.claim('shop:pool', 'alice', { owner: 'c' })
  })

  test('counts a further id that an owner claims below a smaller size', async () => {
    const { one, namespaces } = await startQuotas()
    const first = await one.pools.claim('shop:pool', 'alice', { owner: 'a' })
    assert.equal((await one.pools.claim('shop:pool', 'alice', { owner: 'b' })).worker, 1)
    assert.equal(await one.pools.giveBack('shop:pool', first.lease), true)
    await namespaces.set('shop', { match: 'shop:*', leases: 1 })
    await one.pools.claim('shop:pool', 'alice', { owner: 'b' })
    await assert.rejects(one.pools.claim('shop:pool', 'alice', { owner: 'b', size: 1 }), full)
  })
})
