import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { define } from '../../../src/catalogue/definition.ts'
import { parseOptions } from '../../../src/catalogue/generator-options.ts'
import { decode, encode } from '../../../src/ids/id-parts.ts'
import type { Layout } from '../../../src/ids/layout.ts'
import { formatLayout } from '../../../src/ids/layout-text.ts'
import { lifetime } from '../../../src/ids/lifetime.ts'
import { max53 } from '../../../src/ids/limits.ts'
import { unitText } from '../../../src/ids/moment.ts'
import { layouts } from '../../../src/ids/presets.ts'

const nowUs = Date.UTC(2026, 10, 28) * 1000

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
    yitter: 'time:51,node:6,sequence:6;unit=ms;epoch=2020-02-19T18:20:02Z',
    camellia: 'time:41,node:10,sequence:12;unit=ms;epoch=2021-09-09T16:00:00Z',
    mastodon: 'time:47,sequence:16;unit=ms;epoch=1970-01-01T00:00:00Z',
    pgedge: 'time:41,sequence:12,node:10;unit=ms;epoch=2023-01-01T00:00:00Z',
    seata: 'node:10,time:41,sequence:12;unit=ms;epoch=2020-05-02T16:00:00Z',
    'uid-starter': 'time:30,node:16,sequence:7;unit=s;epoch=2019-02-19T16:00:00Z',
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

const parts = (layout: Layout, id: bigint) => {
  const { date, node, sequence } = decode(layout, id)
  return [date, node, sequence]
}

test('ids that the documents and trackers of other systems show come apart as these say', () => {
  // The README of yitter's IdGenerator, "after a year by default".
  assert.deepEqual(parts(layouts.yitter, 129053495681099n), ['2021-02-18T10:20:03.094Z', 1, 11])
  // camellia's manual of its id generator, where decodeTs answers 1632727639837.
  const camellia = decode(layouts.camellia, 6393964107649080n)
  assert.equal(camellia.unixUs, 1632727639837_000n)
  // The Status entity of Mastodon's API, created at 2019-12-08T03:48:33.901Z.
  assert.deepEqual(parts(layouts.mastodon, 103270115826048975n).slice(0, 2), ['2019-12-08T03:48:33.849Z', 0])
  // pgEdge's manual, where get_epoch answers 1704996539.845.
  assert.deepEqual(parts(layouts.pgedge, 136169504773242881n), ['2024-01-11T18:08:59.845Z', 1, 0])
  // The transaction id of Seata's issue 4898: of a server that runs since March 2022.
  assert.deepEqual(parts(layouts.seata, 5674781293195218178n), ['2022-03-28T02:51:01.228Z', 630, 3330])
  // What uid-generator's BitsAllocator puts together: (seconds << 23) | (worker << 7) | sequence.
  const uid = (190_000_000n << 23n) | (12n << 7n) | 5n
  assert.deepEqual(parts(layouts['uid-starter'], uid), ['2025-02-26T17:46:40Z', 12, 5])
})

test('a snowflake of a layout without a node field is refused with the way out, and a timestamp has it', () => {
  const kinds = (kind: 'snowflake' | 'timestamp') => () =>
    define(parseOptions({ kind, layout: 'mastodon' }), nowUs)
  assert.throws(kinds('snowflake'), /no node bits to tell nodes apart by; add some, or use kind timestamp/)
  assert.equal(kinds('timestamp')().layout, formatLayout(layouts.mastodon))
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
