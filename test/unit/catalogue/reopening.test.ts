/** Many generators that are closed because what was read or reserved before must not be used any more. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { nextTurn } from '../../../src/engine/next-turn.ts'
import type { Kind } from '../../../src/issuing/issuer.ts'
import { draw, startNode, tryNext } from './node.ts'

const many = 1000

/** A node with generators in use, each of which has buffered ids. */
async function nodeWith(t: TestContext, kind: Kind) {
  const node = await startNode()
  t.after(() => node.stop())
  const { catalogue } = node
  const generators = []
  for (let index = 0; index < many; index++) {
    const generator = await catalogue.create(`${kind}${index}`, { kind })
    await draw(generator)
    generators.push(generator)
  }
  return { catalogue, generators }
}

const isIssuing = (generator: Parameters<typeof tryNext>[0]) => tryNext(generator) !== undefined

test('all generators are closed in parts, between which others run', async (t) => {
  const { catalogue, generators } = await nodeWith(t, 'sequence')
  const left = () => [...catalogue.inUse()].length
  assert.equal(left(), many)
  const closed = catalogue.reopenAll()
  let most = 0
  for (let before = left(); before > 0; before = left()) {
    await nextTurn()
    most = Math.max(most, before - left())
  }
  await closed
  assert.ok(most <= many / 4, `${most} at once`)
  assert.ok(!generators.some(isIssuing))
})

test('generators that issue time of the worker id are stopped before the first part ends', async (t) => {
  const { catalogue, generators } = await nodeWith(t, 'snowflake')
  assert.ok(generators.every(isIssuing))
  const closed = catalogue.reopenAll()
  assert.ok(!generators.some(isIssuing))
  await closed
})

test('all generators are stopped at once when another process may have a copy of their ids', async (t) => {
  const { catalogue, generators } = await nodeWith(t, 'sequence')
  assert.ok(generators.every(isIssuing))
  catalogue.abandonAll()
  assert.ok(!generators.some(isIssuing))
  for (let left = many; left > 0; left = [...catalogue.inUse()].length) await nextTurn()
})
