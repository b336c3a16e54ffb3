import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startNode } from './node.ts'

describe('generators with equal definitions', () => {
  test('share one frozen definition, whether created or found', async () => {
    const node = await startNode()
    const { definition } = await node.catalogue.create('a', { kind: 'segment', start: 1n })
    await node.catalogue.define('b', { kind: 'segment' })
    assert.equal((await node.catalogue.open('b')).definition, definition)
    assert.ok(Object.isFrozen(definition))
    const other = await node.catalogue.create('c', { kind: 'segment', start: 2n })
    assert.deepEqual([other.definition.start, definition.start], [2n, 1n])
  })

  test('keep what is theirs: name, ids, and the format’s node', async () => {
    const node = await startNode({ nodeIndex: { value: 7, width: 1 } })
    const input = { kind: 'segment', format: '{node}-{id}' } as const
    const [a, b] = [await node.catalogue.create('a', input), await node.catalogue.create('b', input)]
    await a.draw(3)
    await b.draw(1)
    assert.deepEqual([a.name, a.lastIssued(), a.text(3n)], ['a', 3n, '7-3'])
    assert.deepEqual([b.name, b.lastIssued(), b.text(1n)], ['b', 1n, '7-1'])
  })

  test('are cached up to a number of definitions', async () => {
    const node = await startNode()
    const first = await node.catalogue.create('first', { kind: 'segment', step: 10_000 })
    for (let step = 1; step <= 1000; step++)
      await node.catalogue.create(`g${step}`, { kind: 'segment', step })
    const late = await node.catalogue.create('late', { kind: 'segment', step: 10_000 })
    assert.notEqual(late.definition, first.definition)
    assert.deepEqual(late.definition, first.definition)
  })
})
