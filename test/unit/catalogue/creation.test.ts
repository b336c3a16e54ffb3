import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { draw, startNode } from './node.ts'

const at = (start: bigint) => ({ kind: 'sequence', start }) as const

describe('a creation that finds a generator of its name', () => {
  test('leaves it as it is, whatever its definition, and says so', async () => {
    const node = await startNode()
    const { catalogue } = node
    assert.equal(await catalogue.createUnopened('a', at(50n), true), true)
    for (const start of [50n, 70n]) assert.equal(await catalogue.createUnopened('a', at(start), true), false)
    assert.equal(catalogue.find('a'), undefined)
    assert.deepEqual(await draw(await catalogue.open('a')), [50n])
    assert.equal(await catalogue.createUnopened('a', at(90n), true), false)
    assert.equal(await catalogue.createUnopened('b', { kind: 'segment' }), true)
    assert.equal(await catalogue.createUnopened('b', { kind: 'segment' }), false)
    await assert.rejects(catalogue.createUnopened('b', at(9n)), { code: 'EXISTS' })
    await catalogue.createUnopened('room:*', { kind: 'sequence', family: true })
    assert.equal(await catalogue.createUnopened('room:7', at(9n), true), false)
  })

  test('is one of many that come together: one of them has created it', async () => {
    const { catalogue } = await startNode()
    const created = await Promise.all(
      [1n, 2n, 3n].map((start) => catalogue.createUnopened('a', at(start), true)),
    )
    assert.deepEqual(created, [true, false, false])
    assert.deepEqual(await draw(await catalogue.open('a')), [1n])
  })

  test('takes no place among those that a limit counts', async () => {
    const { catalogue } = await startNode({ generatorsMax: 2 })
    await catalogue.createUnopened('a', at(1n), true)
    assert.equal(await catalogue.createUnopened('a', at(2n), true), false)
    assert.equal(await catalogue.createUnopened('b', at(1n), true), true)
    await assert.rejects(catalogue.createUnopened('c', at(1n), true), { code: 'LIMIT' })
    assert.equal(await catalogue.createUnopened('a', at(2n), true), false)
  })

  test('looks each new name up once', async () => {
    const { catalogue, engine } = await startNode()
    const names = Array.from({ length: 300 }, (_, index) => `n${index}`)
    const before = engine.count('read')
    await Promise.all(names.map((name) => catalogue.createUnopened(name, at(5n), true)))
    // And the record of families, once for all.
    assert.ok(engine.count('read') - before < names.length + 10)
  })
})
