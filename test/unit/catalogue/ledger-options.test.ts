/** The options of generators that keep a ledger. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Definition, define } from '../../../src/catalogue/definition.ts'
import { type GeneratorInput, parseOptions } from '../../../src/catalogue/generator-options.ts'
import { redefine } from '../../../src/catalogue/redefinition.ts'
import { firstStored } from '../../../src/catalogue/stored-generator.ts'

function made(input: Partial<GeneratorInput>): Definition {
  return define(parseOptions({ kind: 'sequence', ledger: true, ...input }), 0)
}

describe('a definition with a ledger', () => {
  test('has gaps none, and holds numbers for 30 s', () => {
    const { gaps, hold } = made({ format: '2026-{id:6}' })
    assert.deepEqual({ gaps, hold }, { gaps: 'none', hold: 30_000 })
  })

  test('refuses a format that writes a number differently on another day or node', () => {
    const why = { code: 'ERR', message: /^a number of a ledger has one text for ever; leave dates and/ }
    for (const format of ['{date:yyyy}-{id:6}', '{node}-{id:6}']) {
      assert.throws(() => made({ format }), why)
      assert.throws(() => redefine(firstStored(made({}), false, undefined), { format }, 0), why)
    }
  })

  test('refuses what does not count one by one', () => {
    const why = /^a ledger accounts for each number, one by one; leave (.+) out$/
    for (const input of [{ increment: 2 }, { period: 'day' as const }])
      assert.throws(() => made(input), { code: 'ERR', message: why })
    assert.throws(() => made({ hold: 86_400_001 }), { code: 'ERR', message: 'hold must be 1ms to 24h' })
  })

  test('keeps its hold until the ledger ends, and gaps none after it', () => {
    const before = firstStored(made({ hold: 60_000 }), false, undefined)
    assert.equal(redefine(before, { ledger: 'on' }, 0).hold, 60_000)
    const after = redefine(before, { ledger: 'off' }, 0)
    assert.deepEqual([after.ledger, after.hold, after.gaps], [undefined, undefined, 'none'])
    assert.throws(() => redefine(before, { ledger: 'off', hold: 1 }, 0), { message: /is for a ledger/ })
  })
})
