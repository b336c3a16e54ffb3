import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startQuotas } from './quota-servers.ts'

const by = (user: string) => ({ holder: 'a test', user })

describe('a namespace that limits leases', () => {
  test('lets callers hold as many worker ids as it says, of generators and pools together', async () => {
    const { one, namespaces } = await startQuotas()
    await namespaces.set('shop', { match: 'shop:*', owner: 'team-a', leases: 2 })
    await one.workers.lease('shop:event', by('alice'))
    const plain = await one.pools.claim('shop:pool', 'bob', { owner: 'a' })
    const refused = {
      code: 'QUOTA',
      message:
        'a namespace has its 2 leased worker ids already; return one, wait until one has ended, or have its LEASES raised with ID.NAMESPACE SET',
    }
    await assert.rejects(one.workers.lease('shop:event', by('alice')), refused)
    await assert.rejects(one.pools.claim('shop:pool', 'bob', { owner: 'b' }), refused)
    assert.equal(one.quotas.all()[0]!.refused, 2)
    await one.workers.lease('mail', by('alice'))
    const again = await one.pools.claim('shop:pool', 'bob', { owner: 'a' })
    assert.equal(again.worker, plain.worker, 'an owner gets its id again')
    assert.equal(await one.pools.giveBack('shop:pool', again.lease), true)
    await one.pools.claim('shop:pool', 'bob', { owner: 'b' })
  })

  test('counts what was leased on other nodes, and no longer what was returned or has ended', async () => {
    const { one, other, namespaces, clock } = await startQuotas()
    await namespaces.set('shop', { match: 'shop:*', leases: 2 })
    const returned = await one.workers.lease('shop:event', by('alice'))
    await other.workers.lease('shop:event', by('alice'))
    await clock.pass(1000)
    await assert.rejects(one.workers.lease('shop:event', by('alice')), { code: 'QUOTA' })
    assert.equal(await other.workers.giveBack(returned.lease, returned), true)
    await one.workers.lease('shop:event', by('alice'))
    await assert.rejects(other.workers.lease('shop:event', by('alice')), { code: 'QUOTA' })
    await clock.pass(61_000)
    await other.workers.lease('shop:event', by('alice'))
  })

  test('holds for requests that come at once', async () => {
    const { one, namespaces } = await startQuotas()
    await namespaces.set('shop', { match: 'shop:*', leases: 3 })
    const outcomes = await Promise.allSettled(
      Array.from({ length: 10 }, () => one.workers.lease('shop:event', by('alice'))),
    )
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 3)
    assert.ok(one.node.engine.count('list') < 20, 'they share reads')
  })

  test('with a user counts the leases of this user only', async () => {
    const { one, namespaces } = await startQuotas()
    await namespaces.set('alice', { match: '*', user: 'alice', leases: 1 })
    await one.workers.lease('shop:event', by('bob'))
    await one.workers.lease('shop:event', by('alice'))
    await one.workers.lease('shop:event', by('bob'))
    await assert.rejects(one.workers.lease('mail', by('alice')), { code: 'QUOTA' })
  })

  test('counts no claim that failed', async () => {
    const { one, namespaces } = await startQuotas()
    await namespaces.set('shop', { match: 'shop:*', leases: 1 })
    one.node.engine.next('write', 'unavailable')
    await assert.rejects(one.workers.lease('shop:event', by('alice')), { code: 'UNAVAILABLE' })
    await one.workers.lease('shop:event', by('alice'))
  })

  test('refuses while the records cannot be read, and reads nothing where no namespace limits', async () => {
    const { one, namespaces } = await startQuotas()
    await namespaces.set('mail', { match: 'mail', leases: 1 })
    one.node.engine.next('list', 'unavailable')
    await assert.rejects(one.workers.lease('mail', by('alice')), { code: 'UNAVAILABLE' })
    const lists = one.node.engine.count('list')
    await one.pools.claim('shop:pool', 'bob', { owner: 'a' })
    assert.equal(one.node.engine.count('list'), lists + 1, 'the list of the claim itself')
  })
})
