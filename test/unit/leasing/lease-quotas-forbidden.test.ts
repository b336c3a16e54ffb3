import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startQuotas } from './quota-servers.ts'

const by = { holder: 'a test', user: 'alice' }

describe('worker leases in a namespace that counts ids', () => {
  for (const limit of [{ idsPerSecond: 10 }, { idsPerDay: 10 }, { leases: 0 }, { leases: 0, idsPerDay: 10 }])
    test(`are refused with ${Object.keys(limit)}, new ones and renewals`, async () => {
      const { one, namespaces } = await startQuotas()
      const held = await one.workers.lease('shop:event', by)
      const outside = await one.workers.lease('mail', by)
      await namespaces.set('shop', { match: 'shop:*', owner: 'team-a', ...limit })
      const refused = {
        code: 'WRONGTYPE',
        message:
          "a namespace has no LEASES for 'shop:event', so no worker id is leased for it; ask for each id: ID.NEXT shop:event",
      }
      const event = await one.node.catalogue.open('shop:event')
      assert.equal(one.workers.mayLease(event, 'alice'), false)
      await assert.rejects(one.workers.lease('shop:event', by), refused)
      await assert.rejects(one.workers.renew('shop:event', held.lease, { ...held, ttlMs: 900_000 }), refused)
      await assert.rejects(one.workers.renew('shop:event', outside.lease, outside), refused)
      await one.workers.renew('mail', outside.lease, outside)
      assert.equal(await one.workers.giveBack(held.lease, held), true, 'nothing was changed')
    })

  test('are permitted by its LEASES, and counted', async () => {
    const { one, namespaces } = await startQuotas()
    await namespaces.set('shop', { match: 'shop:*', idsPerSecond: 10, idsPerDay: 10, leases: 1 })
    assert.equal(one.workers.mayLease(await one.node.catalogue.open('shop:event'), 'alice'), true)
    const { lease, untilUs } = await one.workers.lease('shop:event', by)
    await one.workers.renew('shop:event', lease, { untilUs, ttlMs: 900_000 })
    await assert.rejects(one.workers.lease('shop:event', by), { code: 'QUOTA' })
  })

  test('are refused to the users whose ids it counts', async () => {
    const { one, namespaces } = await startQuotas()
    await namespaces.set('bob', { match: '*', user: 'bob', idsPerSecond: 10 })
    await one.workers.lease('mail', by)
    await assert.rejects(one.workers.lease('mail', { ...by, user: 'bob' }), { code: 'WRONGTYPE' })
  })

  test('are as before in one with other limits', async () => {
    const { one, namespaces } = await startQuotas()
    await namespaces.set('shop', { match: 'shop:*', generators: 5, waiting: 5 })
    await one.workers.lease('shop:event', by)
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
