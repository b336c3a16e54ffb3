import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encode } from '../../../src/ids/id-parts.ts'
import { describeId } from '../../../src/ids/inspect.ts'
import { parseLayout } from '../../../src/ids/layout-text.ts'
import { layouts } from '../../../src/ids/presets.ts'

const tweet = 1541815603606036480n

test('an id is described in text, and the layout by its name or its text', () => {
  assert.deepEqual(describeId(layouts.twitter, tweet), {
    id: '1541815603606036480',
    layout: 'twitter',
    date: '2022-06-28T16:07:40.105Z',
    unixMs: '1656432460105',
    time: '367597485448',
    node: '378',
    sequence: '0',
  })
  const unnamed = 'time:41,node:10,sequence:12;unit=ms;epoch=2020-01-01T00:00:00Z'
  assert.equal(describeId(parseLayout(unnamed), 1n).layout, unnamed)
})

test('a gene and named fields are described where the layout has them', () => {
  const layout = parseLayout('time:41,region:2=1,node:5,sequence:5,gene:4;epoch=2020-01-01T00:00:00Z')
  const id = encode(layout, { time: 1, node: 2, sequence: 3, gene: 11 })
  const { node, sequence, gene, fields } = describeId(layout, id)
  assert.deepEqual([node, sequence, gene, fields], ['2', '3', '11', { region: '1' }])
})
