import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { GeneratorInput } from '../../../src/catalogue/generator-options.ts'
import { draw, startNode } from './node.ts'

const coarse = 'time:32,node:10,sequence:21;unit=s;epoch=2020-01-01T00:00:00Z'

async function changed(first: GeneratorInput, changes: Partial<GeneratorInput>) {
  const { catalogue } = await startNode({ generators: { g: first } })
  return catalogue.alter('g', changes)
}

describe('a generator that becomes another kind', () => {
  test('keeps every option that the other kind takes', async () => {
    const counter = {
      increment: 7,
      start: 500,
      max: 99_999,
      step: 30,
      stepMax: 60,
      horizon: '20s',
      issueTimeout: '1s',
      format: 'c{id:5}',
    }
    const sequence = await changed({ kind: 'segment', ...counter }, { kind: 'sequence' })
    const { definition } = await changed({ kind: 'sequence', ...counter }, {})
    assert.deepEqual({ ...sequence.definition }, { ...definition })
    assert.deepEqual(await draw(sequence, 2), [500n, 507n])
    const clock = { layout: coarse, sequenceStart: 'random', borrowMax: '3s', format: 't{id}' } as const
    const snowflake = await changed({ kind: 'timestamp', ...clock, node: 3 }, { kind: 'snowflake' })
    const alike = await changed({ kind: 'snowflake', ...clock }, {})
    assert.deepEqual({ ...snowflake.definition }, { ...alike.definition })
    const segment = await changed({ kind: 'snowflake', format: 's{id}' }, { kind: 'segment' })
    assert.equal(segment.definition.format, 's{id}')
  })

  test('is refused if the other kind cannot keep a property of its ids, and the error names what to alter first', async () => {
    const refused: [GeneratorInput, Partial<GeneratorInput>, RegExp][] = [
      [
        { kind: 'sequence', increment: 7 },
        { kind: 'timestamp' },
        /a timestamp cannot keep increment 7; alter increment to 1 first/,
      ],
      [
        { kind: 'segment', max: 5000 },
        { kind: 'snowflake' },
        /a snowflake cannot keep max 5000; alter max to 9223372036854775807 first/,
      ],
      [
        { kind: 'segment', within: 'shuffled' },
        { kind: 'snowflake' },
        /cannot keep within shuffled; alter within to ordered first/,
      ],
      [{ kind: 'segment', within: 'shuffled' }, { kind: 'sequence' }, /a sequence keeps strict order/],
      [
        { kind: 'segment', format: 'c{id:10}' },
        { kind: 'snowflake' },
        /format 'c\{id:10\}' is too narrow for ids of 63 bits; leave the width out/,
      ],
    ]
    for (const [first, changes, message] of refused)
      await assert.rejects(changed(first, changes), { code: 'ERR', message })
  })

  test('takes options that are given together with the kind', async () => {
    const ordered = await changed(
      { kind: 'segment', within: 'shuffled' },
      { kind: 'sequence', within: 'ordered' },
    )
    assert.equal(ordered.definition.within, 'ordered')
    const wide = await changed(
      { kind: 'segment', format: 'c{id:10}' },
      { kind: 'snowflake', format: 'c{id}', layout: coarse },
    )
    assert.deepEqual([wide.definition.format, wide.definition.layout], ['c{id}', coarse])
  })
})
