/** The rows of open generators in the table of what can be issued at once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyRow, FastRuns } from '../../../src/buffers/fast-runs.ts'
import { kinds } from '../../../src/issuing/issuer.ts'
import { draw, startNode, tryNext } from './node.ts'

for (const kind of kinds) {
  test(`a ${kind} has a row of its own while it is open, and a late take finds no id in the row's next owner`, async (t) => {
    const node = await startNode()
    t.after(() => node.stop())
    const { catalogue } = node
    const before = await catalogue.create('before', { kind })
    const other = await catalogue.create('other', { kind })
    await draw(before)
    const { row } = before
    assert.notEqual(row, emptyRow)
    assert.notEqual(row, other.row)
    const generation = catalogue.runs.generation(row)
    assert.equal(await catalogue.drop('before'), true)
    assert.equal(before.row, emptyRow)
    assert.notEqual(catalogue.runs.generation(row), generation)
    const after = await catalogue.create('after', { kind })
    assert.equal(after.row, row)
    await draw(after)
    assert.notEqual(tryNext(after), undefined)
    assert.equal(tryNext(before), undefined)
  })
}

test('ids that are permuted, and those of other nodes, have no row', async (t) => {
  const node = await startNode()
  t.after(() => node.stop())
  const scrambled = await node.catalogue.create('scrambled', { kind: 'segment', scramble: true })
  const shuffled = await node.catalogue.create('shuffled', { kind: 'segment', within: 'shuffled' })
  await Promise.all([draw(scrambled), draw(shuffled)])
  assert.deepEqual([scrambled.row, shuffled.row], [emptyRow, emptyRow])
})

test('a row is free again however often its generator is opened', async (t) => {
  const node = await startNode()
  t.after(() => node.stop())
  const { catalogue } = node
  for (let step = 1; step <= 200; step++) {
    const generator = await catalogue.create('g', { kind: 'sequence' })
    await draw(generator)
    await catalogue.alter('g', { step })
  }
  assert.equal(catalogue.runs.words.length, new FastRuns().words.length)
})
