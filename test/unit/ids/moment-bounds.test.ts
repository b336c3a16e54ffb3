import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { compileFormat } from '../../../src/ids/format.ts'
import { decode, encode, unitsOf } from '../../../src/ids/id-parts.ts'
import { defineLayout, type FieldSpec, type Layout, timeEndUs } from '../../../src/ids/layout.ts'
import { parseLayout } from '../../../src/ids/layout-text.ts'
import { bounds, condition } from '../../../src/ids/moment-bounds.ts'
import { layouts } from '../../../src/ids/presets.ts'

const day = '2019-05-04T00:00:00Z'
const nextDay = '2019-05-05T00:00:00Z'

/** Layouts with time anywhere, and fixed bits anywhere. */
const anyLayout = fc
  .tuple(
    fc.shuffledSubarray(['node', 'sequence'] as const),
    fc.integer({ min: 1, max: 41 }),
    fc.integer({ min: 1, max: 5 }),
    fc.nat(4),
    fc.nat(7),
    fc.constantFrom('ms', '10ms', 's', '1m'),
    fc.nat(1_700_000_000_000),
  )
  .map(([others, time, bits, place, value, unit, epoch]): Layout => {
    const fields: FieldSpec[] = others.map((field) => ({ field, bits }))
    fields.push({ field: 'fixed', bits: 3, value })
    fields.splice(Math.min(place, fields.length), 0, { field: 'time', bits: time })
    return defineLayout({ fields, unit, epoch })
  })

describe('bounds', () => {
  test('begin at the smallest id of the first moment, and end before that of the last', () => {
    const { ranges, notes } = bounds(layouts.twitter, day, nextDay)
    assert.deepEqual(ranges, [{ start: 1_124_463_648_568_246_272n, end: 1_124_826_036_433_846_272n }])
    assert.deepEqual(notes, [])
    assert.equal(decode(layouts.twitter, ranges[0]!.start).date, day)
  })

  test('hold exactly the ids whose units lie in the span, of any layout', () => {
    fc.assert(
      fc.property(
        anyLayout,
        fc.array(fc.nat(2 ** 20), { minLength: 3, maxLength: 3 }),
        fc.nat(31),
        (layout, at, low) => {
          const [time, from, to] = at
            .map((each) => each % 2 ** Math.min(layout.timeBits, 20))
            .toSorted((a, b) => a - b)
          const unixMs = (units: number) => (layout.epochUs + units * layout.unitUs) / 1000
          const parts = {
            node: low % 2 ** layout.nodeBits,
            sequence: low % 2 ** layout.sequenceBits,
          }
          for (const [first, last] of [
            [time!, from!],
            [from!, to!],
          ] as const) {
            const { ranges } = bounds(layout, unixMs(first), unixMs(last))
            for (const units of [time!, from!, to!]) {
              const id = encode(layout, { time: units, ...parts })
              const within = ranges.filter(
                ({ start, end }) => id >= start && (end === undefined || id < end),
              ).length
              assert.equal(within, units >= first && units < last ? 1 : 0)
            }
          }
        },
      ),
    )
  })

  test('of spans that follow one another follow one another, also where moments lie within units', () => {
    const layout = parseLayout('time:30,node:5,sequence:7;unit=s;epoch=2019-01-01T00:00:00Z')
    const [first, second] = [
      bounds(layout, '2019-05-04T12:00:00.200Z', '2019-05-04T12:00:01.700Z'),
      bounds(layout, '2019-05-04T12:00:01.700Z'),
    ]
    assert.equal(first.ranges[0]!.end, second.ranges[0]!.start)
    assert.equal(first.ranges[0]!.start, encode(layout, { time: new Date('2019-05-04T12:00:00.200Z') }))
  })

  test('are open where the end is no id, and end with the time field where it is one', () => {
    assert.deepEqual(bounds(layouts.twitter, day).ranges, [
      { start: 1_124_463_648_568_246_272n, end: undefined },
    ])
    assert.equal(bounds(layouts.js53, '2026-01-01T00:00:00Z').ranges[0]!.end, 2n ** 53n)
  })

  test('take moments before the epoch for the epoch, and say so; past the end there is nothing', () => {
    const early = bounds(layouts.twitter, 0, day)
    assert.equal(early.ranges[0]!.start, 0n)
    assert.match(early.notes.join(), /no id is of a moment before the layout’s epoch, 2010-11-04/)
    const late = bounds(layouts.twitter, '2090-01-01T00:00:00Z', '2091-01-01T00:00:00Z')
    assert.deepEqual(late.ranges, [])
    assert.equal(condition(late.ranges, 'id'), '1 = 0')
    assert.match(late.notes.join(), /after the end of the time field, 2080-07-10/)
  })

  test('are one range for each value of the fields above time, and refused where these are too many', () => {
    const layout = parseLayout('node:2,time:40,sequence:10;epoch=2019-01-01T00:00:00Z')
    const { ranges, notes } = bounds(layout, day, nextDay)
    assert.deepEqual(
      ranges.map(({ start }) => decode(layout, start).node),
      [0, 1, 2, 3],
    )
    assert.match(notes.join(), /4 ranges/)
    assert.match(condition(ranges, 't.id'), /^\(t\.id >= \d+ AND t\.id < \d+\) OR \(/)
    const wide = parseLayout('node:11,time:40,sequence:10;epoch=2019-01-01T00:00:00Z')
    assert.throws(() => bounds(wide, day), /2048 ranges.*use a layout with time above/)
  })

  test('refuse a span that ends before it begins, and what is no moment', () => {
    assert.throws(() => bounds(layouts.twitter, nextDay, day), /exchange them/)
    assert.throws(() => bounds(layouts.twitter, 'yesterday'), /is no date-time/)
    assert.throws(() => bounds(layouts.twitter, new Date(Number.NaN)), /is no moment/)
  })
})

describe('encode', () => {
  test('takes a Date for the unit that holds it', () => {
    const date = new Date('2026-01-01T00:00:00Z')
    assert.equal(
      decode(layouts.sonyflake, encode(layouts.sonyflake, { time: date })).date,
      '2026-01-01T00:00:00Z',
    )
    assert.equal(
      encode(layouts.twitter, { time: date, node: 3 }),
      ((1_767_225_600_000n - 1_288_834_974_657n) << 22n) | (3n << 12n),
    )
  })

  test('refuses a moment before the epoch, and one past the end, with sentences', () => {
    assert.throws(
      () => unitsOf(layouts.js53, '2024-12-31T23:59:59.999Z'),
      /before the layout’s epoch, 2025-01-01T00:00:00Z/,
    )
    const end = new Date(Number(timeEndUs(layouts.twitter) / 1000n) + 1)
    assert.throws(() => encode(layouts.twitter, { time: end }), /past the end of the time field/)
  })
})

describe('the smallest text of an id', () => {
  test('is at most that of every larger id, by bytes', () => {
    const values = { node: 7, unixUs: 1_500_000_000_000_000 }
    for (const template of [
      '{id:19}',
      'ev_{id:11:base62}',
      'a{id:16:base16}-{node:2}',
      '{id:13:crockford}{date:ddMMyy}',
    ]) {
      const format = compileFormat(template)
      fc.assert(
        fc.property(fc.bigInt(0n, 2n ** 62n), fc.bigInt(0n, 2n ** 62n), (a, b) => {
          const [low, high] = a < b ? [a, b] : [b, a]
          assert.ok(format.smallest(low)! <= format.format(high, values))
          if (low < high) assert.ok(format.smallest(high)! > format.format(low, values))
        }),
      )
    }
  })

  test('does not exist where texts are not in the order of ids', () => {
    for (const template of ['{id}', 'ev_{id}', '{date:yyyyMMdd}{id:19}', '{node:2}{id:19}'])
      assert.equal(compileFormat(template).smallest(5n), undefined, template)
    assert.equal(
      compileFormat('a{id:3}{check:damm}').smallest(5n),
      compileFormat('a{id:3}{check:damm}').format(5n),
    )
  })
})
