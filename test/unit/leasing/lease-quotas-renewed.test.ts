import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startQuotas } from './quota-servers.ts'

const by = { holder: 'a test', user: 'alice' }
const full = { code: 'QUOTA', message: /^a namespace has its \d leased worker ids already; return one/ }

describe('a namespace that limits leases, when they are renewed', () => {
  test('refuses a span that has ended while others have its place, and gives it time again once a place is free', async () => {
    const { one, other, namespaces, clock } = await startQuotas()
    await namespaces.set('shop', { match: 'shop:*', leases: 2 })
    const ended = await one.workers.lease('shop:event', { ...by, ttlMs: 1000 })
    await clock.pass(5000)
    const { lease, untilUs } = await one.workers.lease('shop:event', by)
    const returned = await one.workers.lease('shop:event', by)
    for (const { workers } of [one, other])
      await assert.rejects(workers.renew('shop:event', ended.lease, ended), full)
    await one.workers.renew('shop:event', lease, { untilUs })
    assert.equal(await one.workers.giveBack(returned.lease, returned), true)
    const revived = await other.workers.renew('shop:event', ended.lease, ended)
    assert.equal(revived.worker, ended.worker)
    await assert.rejects(one.workers.lease('shop:event', by), full)
  })

  test('refuses a lease for a generator outside that is confirmed for one inside, and counts those that it permits', async () => {
    const { one, other, namespaces, clock } = await startQuotas()
    await namespaces.set('shop', { match: 'shop:*', leases: 2 })
    const outside = []
    for (let held = 0; held < 4; held++) outside.push(await one.workers.lease('mail', by))
    const [a, b, c, d] = outside
    await one.workers.renew('shop:event', a!.lease, { ...a!, ttlMs: 1000 })
    await clock.pass(3000)
    await one.workers.renew('shop:event', b!.lease, b!)
    await assert.rejects(one.workers.renew('shop:event', c!.lease, c!), full)
    await assert.rejects(other.workers.renew('shop:event', d!.lease, d!), full)
    await assert.rejects(other.workers.lease('shop:event', by), full)
    const later = await one.workers.renew('mail', c!.lease, c!)
    await one.workers.renew('shop:order', a!.lease, a!)
    assert.ok(later.untilUs > c!.untilUs, 'it goes on outside')
  })

  test('counts a lease no longer where it was used before its span ended', async () => {
    const { one, namespaces, clock } = await startQuotas()
    await namespaces.set('shop', { match: 'shop:*', leases: 1 })
    const lease = await one.workers.lease('mail', by)
    const inside = await one.workers.renew('shop:event', lease.lease, lease)
    await clock.pass(120_000)
    const revived = await one.workers.renew('mail', lease.lease, inside)
    await one.workers.lease('shop:event', by)
    await assert.rejects(one.workers.renew('shop:event', lease.lease, revived), full)
  })

  test('refuses no renewal in time when it has become lower than what is held', async () => {
    const { one, namespaces, clock } = await startQuotas()
    await namespaces.set('shop', { match: 'shop:*', leases: 3 })
    const leases = [await one.workers.lease('shop:event', by), await one.workers.lease('shop:event', by)]
    const plain = await one.pools.claim('shop:pool', 'alice', { owner: 'a' })
    await namespaces.set('shop', { match: 'shop:*', leases: 1 })
    await clock.pass(50_000)
    for (const { lease, untilUs } of leases) await one.workers.renew('shop:order', lease, { untilUs })
    await one.pools.renew('shop:pool', plain.lease)
    await assert.rejects(one.workers.lease('shop:event', by), full)
  })

  test('with a user counts a lease for the user that has leased it', async () => {
    const { one, namespaces } = await startQuotas()
    await namespaces.set('shop', { match: 'shop:*', user: 'bob', leases: 1 })
    for (const user of ['alice', 'bob', 'alice']) {
      const { lease, untilUs } = await one.workers.lease('mail', { ...by, user })
      await one.workers.renew('shop:event', lease, { untilUs })
    }
    const { lease, untilUs } = await one.workers.lease('mail', { ...by, user: 'bob' })
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
