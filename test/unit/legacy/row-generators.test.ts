/** Generators that count by rows of another system's table, on a store in memory that shows such rows. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ReserveRequest } from '../../../src/engine/engine.ts'
import { LegacyRows } from '../../../src/legacy/row-generators.ts'
import { draw, type Node, startNode } from '../catalogue/node.ts'

async function startOnRow(options: object): Promise<Node> {
  const node = await startNode({
    rows: (engine, timeline) => new LegacyRows(engine, timeline, 'leaf_alloc'),
  })
  const row = { kind: 'segment', start: '0', ...options }
  await node.engine.write('legacy/order', JSON.stringify(row), undefined)
  return node
}

/** Draws 340,000 ids in 2.5 s; the sizes of the refills, in order. */
async function burst({ catalogue, clock, engine }: Node): Promise<number[]> {
  const generator = await catalogue.open('order')
  for (let tick = 0; tick < 25; tick++) {
    await draw(generator, 13_600)
    await clock.pass(100)
  }
  const reserves = engine.calls.filter(({ method }) => method === 'reserve')
  return reserves.map(({ args }) => Number((args[1] as ReserveRequest).size))
}

describe('a generator on a row', () => {
  test('takes at most a million ids in a refill, however quickly they are issued', async () => {
    const sizes = await burst(await startOnRow({ step: 1000 }))
    assert.equal(Math.max(...sizes), 1_000_000)
  })

  test('takes its step in a refill where that is more than a million', async () => {
    const sizes = await burst(await startOnRow({ step: 5_000_000 }))
    assert.deepEqual([...new Set(sizes)], [5_000_000])
  })

  test('begins no periods, and has no ids without gaps', async () => {
    const { catalogue } = await startOnRow({ step: 1000, kind: 'sequence' })
    await assert.rejects(
      catalogue.alter('order', { period: 'day' }),
      /is a row of leaf_alloc, and .* leave period out/,
    )
    await assert.rejects(
      catalogue.alter('order', { gaps: 'none' }),
      /cannot go back there; leave gaps and ledger out/,
    )
    await assert.rejects(catalogue.alter('order', { ledger: true }), /leave gaps and ledger out/)
    const [id] = await draw(await catalogue.open('order'))
    assert.equal(id, 0n)
  })
})
