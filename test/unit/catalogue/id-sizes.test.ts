/** What ID.INFO says about the size of ids. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { GeneratorInput } from '../../../src/catalogue/generator-options.ts'
import { draw, startNode } from './node.ts'

const int = 'an INT column (2^31−1)'
const digits = 'the 15 digits that a spreadsheet keeps'

async function notesOf(options: GeneratorInput, count = 1): Promise<string[]> {
  const node = await startNode({ generators: { g: options } })
  const generator = await node.catalogue.open('g')
  for (let each = 0; each < count; each++) {
    await draw(generator)
    await node.clock.pass(1000)
  }
  const { notes } = await node.catalogue.info('g')
  await node.stop()
  return notes.filter((note) => /^its ids (are too large|outgrow)/.test(note))
}

test('a counter says when it outgrows an INT at its rate, and what it has outgrown', async () => {
  const near = await notesOf({ kind: 'sequence', start: 2 ** 31 - 1_000_000, step: 1 }, 20)
  assert.match(near.join(), /^its ids outgrow an INT column \(2\^31−1\) on 2026-06-\d\d$/)
  assert.deepEqual(await notesOf({ kind: 'sequence', start: 2 ** 31 }), [`its ids are too large for ${int}`])
  const huge = await notesOf({ kind: 'segment', start: 10n ** 15n })
  assert.deepEqual(huge, [`its ids are too large for ${int}, and ${digits}`])
})

test('a counter that ends below a limit, or has no rate, says nothing of it', async () => {
  assert.deepEqual(
    await notesOf({ kind: 'segment', max: 2 ** 31 - 1, start: 2 ** 31 - 1_000_000, step: 1 }, 20),
    [],
  )
  assert.deepEqual(await notesOf({ kind: 'sequence' }), [])
})

test('a scrambled generator has the largest ids from the first on', async () => {
  const scrambled = await notesOf({ kind: 'segment', scramble: true, max: 2n ** 40n })
  assert.deepEqual(scrambled, [`its ids are too large for ${int}`])
})

test('a format makes texts of ids, for which these limits are none', async () => {
  assert.deepEqual(await notesOf({ kind: 'sequence', start: 2 ** 31, format: 'o{id}' }), [])
})
