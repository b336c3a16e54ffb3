import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { decode, encode } from '../../../src/ids/id-parts.ts'
import { formatLayout } from '../../../src/ids/layout-text.ts'
import { lifetime } from '../../../src/ids/lifetime.ts'
import { max53 } from '../../../src/ids/limits.ts'
import { unitText } from '../../../src/ids/moment.ts'
import { layouts } from '../../../src/ids/presets.ts'

test('presets are what their makers wrote down, for ever', () => {
  const texts = Object.fromEntries(
    Object.entries(layouts).map(([name, layout]) => [name, formatLayout(layout)]),
  )
  assert.deepEqual(texts, {
    twitter: 'time:41,node:10,sequence:12;unit=ms;epoch=2010-11-04T01:42:54.657Z',
    leaf: 'time:41,node:10,sequence:12;unit=ms;epoch=2010-11-04T01:42:54.657Z',
    'sharding-jdbc': 'time:41,node:10,sequence:12;unit=ms;epoch=2016-10-31T16:00:00Z',
    instagram: 'time:40,node:13,sequence:10;unit=ms;epoch=2011-08-24T21:07:01.721Z',
    discord: 'time:41,node:10,sequence:12;unit=ms;epoch=2015-01-01T00:00:00Z',
    sonyflake: 'time:39,sequence:8,node:16;unit=10ms;epoch=2014-09-01T00:00:00Z',
    baidu: 'time:28,node:22,sequence:13;unit=s;epoch=2016-05-19T16:00:00Z',
    js53: 'time:41,node:5,sequence:7;unit=ms;epoch=2025-01-01T00:00:00Z',
  })
})

test('ids seen in the wild come apart as their makers say', () => {
  const discord = decode(layouts.discord, 175928847299117063n)
  assert.deepEqual(
    [discord.time, discord.date, discord.node, discord.sequence],
    [41944705796n, '2016-04-30T11:18:25.796Z', 1 << 5, 7],
  )
  assert.match(decode(layouts.instagram, 2384288897814875714n).date, /^2020-08-26T13:43:27/)
  const tweet = decode(layouts.twitter, 1541815603606036480n)
  assert.deepEqual([tweet.date, tweet.node, tweet.sequence], ['2022-06-28T16:07:40.105Z', 378, 0])
  const leaf = encode(layouts.leaf, {
    time: 1567733700834 - 1288834974657,
    node: 39,
    sequence: 3448,
  })
  assert.deepEqual(decode(layouts.leaf, leaf).date, '2019-09-06T01:35:00.834Z')
})

test('all presets but the one that ran out may issue', () => {
  const decodeOnly = Object.values(layouts).filter(({ issues }) => !issues)
  assert.deepEqual(decodeOnly, [layouts.baidu])
})

test('every js53 id is a safe integer', () => {
  const largest = encode(layouts.js53, { time: 2 ** 41 - 1, node: 31, sequence: 127 })
  assert.equal(largest, max53)
})

test('the table of presets in the reference is that of the code', () => {
  const page = readFileSync(new URL('../../../docs/reference/layouts.md', import.meta.url), 'utf8')
  const rows = page.split('\n').filter((line) => /^\| `[a-z0-9-]+` \| \d/.test(line))
  const expected = Object.entries(layouts).map(([name, layout]) => {
    const { ends, nodes, idsPerSecondPerNode } = lifetime(layout)
    const bits = layout.fields.map((field) => `${field.bits} ${field.field}`).join(', ')
    const epoch = formatLayout(layout).replace(/.*epoch=/, '')
    const figures = [nodes, idsPerSecondPerNode].map((figure) => figure.toLocaleString('en-US'))
    return `| \`${name}\` | ${bits} | ${unitText(layout.unitUs)} | ${epoch} | ${ends} | ${figures.join(' | ')} |`
  })
  assert.deepEqual(rows, expected)
})
