/** Old nodes and Fahao's nodes on one table at once: every id is kept, and none may be there twice. */
import assert from 'node:assert/strict'
import { openFahao } from '../../src/index.ts'
import type { DatabaseServer } from '../launch/database.ts'
import { atEnd, type Lifetime } from '../launch/lifetime.ts'
import { legacyBench } from './bench.ts'
import { IssuedIds } from './ids.ts'
import { issue, startOldNode } from './old-nodes.ts'
import type { Schema } from './tables.ts'

/** How many of each, and how many ids by each. */
export type Mix = { readonly oldNodes: number; readonly fahaoNodes: number; readonly idsEach: number }

const batch = 100
const reservesMin = 50

/** Runs it, and resolves to how many ids were issued; rejects when one was issued twice, or outside of the row. */
export async function mix(
  lifetime: Lifetime,
  server: DatabaseServer,
  schema: Schema,
  { oldNodes, fahaoNodes, idsEach }: Mix,
): Promise<number> {
  const bench = await legacyBench(lifetime, server, schema)
  const step = Math.max(200, Math.ceil(idsEach / 500))
  await bench.add({ key: '7', bound: 1000n, step, increment: 2, offset: 1, prefix: 'x' })
  // As many reserves as an old node makes: left to itself, Fahao would take the whole run's ids at once.
  const first = await openFahao({ engine: bench.url, nodeIndex: 1 })
  await first.alter('7', { stepMax: step, issueTimeout: '30s' })
  await first.close()
  const issued = new IssuedIds()
  const old = await Promise.all(Array.from({ length: oldNodes }, () => startOldNode(schema, bench.database)))
  const nodes = await Promise.all(
    Array.from({ length: fahaoNodes }, () => openFahao({ engine: bench.url, nodeIndex: 1 })),
  )
  for (const node of nodes) atEnd(lifetime, () => node.close())
  await Promise.all([
    ...old.map((node) => issue(node, '7', idsEach, issued)),
    ...nodes.map(async (node) => {
      const generator = await node.open('7')
      for (let count = 0; count < idsEach; count += batch) {
        for (const id of await generator.nextBatch(batch)) issued.add(id)
        if (count % 1000 === 0) await new Promise((turn) => setImmediate(turn))
      }
    }),
  ])
  for (const node of nodes) assert.ok((await node.open('7')).stats().refills >= reservesMin)
  const sorted = issued.sorted()
  assert.equal(issued.count, (oldNodes + fahaoNodes) * idsEach)
  assert.equal(issued.repeated(), undefined)
  assert.ok(sorted[0]! >= 1000 && sorted.at(-1)! < Number(await bench.bound('7')))
  if (schema === 'tinyid') assert.ok(sorted.every((id) => id % 2 === 1))
  return issued.count
}
