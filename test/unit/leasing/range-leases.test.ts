import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Generator } from '../../../src/catalogue/catalogue.ts'
import { RangeLeases } from '../../../src/leasing/range-leases.ts'
import { type Node, startNode } from '../catalogue/node.ts'

let made = 0
const secret = (length: number) => new Uint8Array(length).fill(++made)

async function started(): Promise<{ node: Node; order: Generator; leases: RangeLeases }> {
  const node = await startNode()
  const order = await node.catalogue.create('order', { kind: 'segment', increment: 2 })
  return { node, order, leases: new RangeLeases(secret) }
}

describe('the ranges that a node has leased', () => {
  test('go back for their token, once', async () => {
    const { node, order, leases } = await started()
    const { lease, start, end } = await leases.lease(order, { ids: 10 })
    assert.equal((await leases.giveBack('order', lease, start + 8n)).isBack, true)
    assert.equal((await leases.giveBack('order', lease, start + 8n)).isBack, false)
    const next = await leases.lease(order, { ids: 10 })
    assert.equal(next.start, start + 8n)
    assert.notEqual(next.lease, lease)
    assert.ok(end < next.end)
    assert.deepEqual(leases.figures(), { ranges: 2, ids: 20, returned: 1, returnedIds: 6, refused: 0 })
    leases.assertInvariants()
    await node.stop()
  })

  test('go back for no other token, and for no other generator', async () => {
    const { node, order, leases } = await started()
    const { lease, start } = await leases.lease(order, { ids: 10 })
    for (const wrong of ['', `${lease}x`, `${lease.slice(1)}A`])
      assert.equal((await leases.giveBack('order', wrong, start)).isBack, false)
    assert.equal((await leases.giveBack('refund', lease, start)).isBack, false)
    assert.equal((await leases.giveBack('order', lease, start)).isBack, true)
    await node.stop()
  })

  test('go back from one of their own values only', async () => {
    const { node, order, leases } = await started()
    const { lease, start, end } = await leases.lease(order, { ids: 10 })
    await assert.rejects(leases.giveBack('order', lease, start - 1n), { code: 'ERR' })
    await assert.rejects(leases.giveBack('order', lease, end + 1n), { code: 'ERR' })
    assert.equal((await leases.giveBack('order', lease, end)).isBack, false, 'nothing is left of it')
    await node.stop()
  })

  test('are gaps if a newer one was leased, or the reply of the release was lost', async () => {
    const { node, order, leases } = await started()
    const first = await leases.lease(order, { ids: 10 })
    const second = await leases.lease(order, { ids: 10 })
    assert.equal((await leases.giveBack('order', first.lease, first.start)).isBack, false)
    node.engine.next('release', 'lose-reply')
    assert.equal((await leases.giveBack('order', second.lease, second.start)).isBack, false)
    assert.equal((await leases.lease(order, { ids: 1 })).start, second.end, 'above all that was leased')
    await node.stop()
  })

  test('go back the newest first, and in parts', async () => {
    const { node, order, leases } = await started()
    const [older, newer] = [await leases.lease(order, { ids: 10 }), await leases.lease(order, { ids: 10 })]
    for (const [{ lease }, from] of [
      [newer, newer.start + 6n],
      [newer, newer.start],
      [older, older.start + 8n],
    ] as const)
      assert.equal((await leases.giveBack('order', lease, from)).isBack, true)
    assert.equal((await leases.giveBack('order', newer.lease, newer.start)).isBack, false)
    assert.equal((await leases.lease(order, { ids: 1 })).start, older.start + 8n)
    const { leased, returned, gap } = order.stats()
    assert.deepEqual([leased, returned, gap], [21, 16, 0])
    await node.stop()
  })

  test('are told of by their token where they are unknown, each value once', async () => {
    const { node, order, leases } = await started()
    const { lease, incarnation, start, end } = await leases.lease(order, { ids: 10 })
    const other = new RangeLeases(secret)
    const unknown = (from: bigint) => other.giveBack('order', lease, from).then(({ unknown }) => unknown)
    assert.deepEqual(await unknown(start + 8n), { incarnation, start: start + 8n, end })
    assert.equal(await unknown(start + 8n), undefined)
    assert.deepEqual(await unknown(start), { incarnation, start, end: start + 8n })
    assert.equal(await unknown(end), undefined)
    assert.deepEqual(await other.giveBack('order', 'x', start), { isBack: false })
    assert.equal(other.figures().refused, 5)
    other.assertInvariants()
    await node.stop()
  })

  test('are remembered whatever the order of the replies is', async () => {
    const { node, order, leases } = await started()
    const early = leases.lease(
      { name: 'order', leaseRange: () => order.leaseRange(5).finally(() => later) } as unknown as Generator,
      { ids: 5 },
    )
    const later = leases.lease(order, { ids: 10 })
    const [older, newer] = await Promise.all([early, later])
    assert.ok(older.end <= newer.start)
    assert.equal((await leases.giveBack('order', newer.lease, newer.start)).isBack, true)
    await node.stop()
  })

  test('are forgotten beyond a number, those first that were leased first', async () => {
    const { node, order } = await started()
    const leases = new RangeLeases(secret, 3)
    const refund = await node.catalogue.create('refund', { kind: 'segment' })
    const ticket = await node.catalogue.create('ticket', { kind: 'segment' })
    const forgotten = await leases.lease(refund, { ids: 1 })
    await leases.lease(order, { ids: 1 })
    await leases.lease(order, { ids: 1 })
    const newest = await leases.lease(ticket, { ids: 1 })
    assert.equal((await leases.giveBack('refund', forgotten.lease, forgotten.start)).isBack, false)
    assert.equal((await leases.giveBack('ticket', newest.lease, newest.start)).isBack, true)
    await node.stop()
  })
})
