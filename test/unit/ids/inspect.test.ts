import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encode } from '../../../src/ids/id-parts.ts'
import { describeId, describeText } from '../../../src/ids/inspect.ts'
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

test('of a text whose generator is not named only the time is known', () => {
  const date = '2025-02-10T13:34:39.256Z'
  const unixMs = String(Date.parse(date))
  const texts = {
    uuidv7: '0194f011-b298-7142-968d-fe9b61bcdb60',
    ulid: '01JKR13CMR2GJT1VFYKDGVSPV0',
    typeid: 'order_01jkr13cmre519d3fykdgvspv0',
  }
  for (const [layout, id] of Object.entries(texts))
    assert.deepEqual(describeText(parseLayout('twitter'), id), { id, layout, date, unixMs })
  assert.equal(describeText(parseLayout('twitter'), '67aa006f4005096861bcdb60').date, '2025-02-10T13:34:39Z')
  assert.equal(describeText(parseLayout('twitter'), '1888944671579078978').node, '360')
  assert.throws(
    () => describeText(parseLayout('twitter'), '346dc257-6bad-8028-94ed-fe9b61bcdb60'),
    /name its generator/,
  )
})
