import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { FahaoError } from '../../../src/base/errors.ts'
import { decode, encode } from '../../../src/ids/id-parts.ts'
import { defineLayout, type FieldSpec, type Layout } from '../../../src/ids/layout.ts'
import { formatLayout, parseLayout } from '../../../src/ids/layout-text.ts'
import { layouts } from '../../../src/ids/presets.ts'

const epoch = '2020-01-01T00:00:00Z'
const nowUs = Date.UTC(2026, 10, 21) * 1000

function refusal(make: () => unknown): string {
  try {
    make()
  } catch (error) {
    assert(error instanceof FahaoError, String(error))
    return `${error.code} ${error.message}`
  }
  return assert.fail('it was accepted')
}

/** Any layout: fields in any order and width, with fixed bits in between. */
const anyLayout = fc
  .record({
    time: fc.integer({ min: 1, max: 63 }),
    node: fc.integer({ min: 0, max: 20 }),
    sequence: fc.integer({ min: 0, max: 20 }),
    gene: fc.integer({ min: 0, max: 16 }),
    scatter: fc.integer({ min: 0, max: 8 }),
    fixed: fc.array(
      fc.record({
        bits: fc.integer({ min: 1, max: 6 }),
        name: fc.option(fc.stringMatching(/^f[a-z0-9_-]{0,14}$/), { nil: undefined }),
      }),
      { maxLength: 4 },
    ),
    order: fc.array(fc.nat(), { minLength: 7, maxLength: 7 }),
    value: fc.nat(),
    unit: fc.constantFrom('us', '7us', 'ms', '10ms', 's', '60s', '1h'),
    epochMs: fc.integer({ min: 0, max: Date.UTC(2100, 0, 1) }),
  })
  .filter(
    (it) =>
      it.time +
        it.node +
        it.sequence +
        it.gene +
        it.scatter +
        it.fixed.reduce((sum, { bits }) => sum + bits, 0) <=
      63,
  )
  .map((it) => {
    const fields: FieldSpec[] = [{ field: 'time', bits: it.time }]
    if (it.node > 0) fields.push({ field: 'node', bits: it.node })
    if (it.sequence > 0) fields.push({ field: 'sequence', bits: it.sequence })
    for (const [index, { bits, name }] of it.fixed.entries())
      fields.push({ field: 'fixed', name: name && `${name}${index}`, bits, value: it.value % 2 ** bits })
    const ranks = new Map(fields.map((field, index) => [field, it.order[index]!]))
    fields.sort((a, b) => ranks.get(a)! - ranks.get(b)!)
    if (it.gene > 0) fields.push({ field: 'gene', bits: it.gene })
    if (it.scatter > 0) fields.unshift({ field: 'scatter', bits: it.scatter })
    return defineLayout({ fields, unit: it.unit, epoch: it.epochMs })
  })

function anyParts(layout: Layout) {
  return fc.record({
    time: fc.bigInt({ min: 0n, max: (1n << BigInt(layout.timeBits)) - 1n }),
    node: fc.nat({ max: 2 ** layout.nodeBits - 1 }),
    sequence: fc.nat({ max: 2 ** layout.sequenceBits - 1 }),
    gene: fc.nat({ max: 2 ** layout.geneBits - 1 }),
  })
}

const layoutAndParts = anyLayout.chain((layout) => fc.tuple(fc.constant(layout), anyParts(layout)))

test('what a layout puts together, it takes apart again', () => {
  fc.assert(
    fc.property(layoutAndParts, ([layout, parts]) => {
      const id = encode(layout, parts)
      assert(id >= 0n && id < 1n << BigInt(layout.totalBits))
      const { time, node, sequence, gene, unixUs, fields } = decode(layout, id)
      assert.deepEqual({ time, node, sequence, gene }, { ...parts })
      for (const { field, name, bits, shift } of layout.fields) {
        if (field !== 'fixed' || name === undefined) continue
        assert.equal(fields[name], Number((id >> BigInt(shift)) & ((1n << BigInt(bits)) - 1n)))
      }
      assert.equal(unixUs, BigInt(layout.epochUs) + parts.time * BigInt(layout.unitUs))
    }),
  )
})

test('fields and fixed bits share no bit and fill the whole width', () => {
  fc.assert(
    fc.property(anyLayout, (layout) => {
      const masks = [
        layout.fixedMask,
        (1n << BigInt(layout.geneBits)) - 1n,
        ((1n << BigInt(layout.scatterBits)) - 1n) << BigInt(layout.scatterShift),
        ((1n << BigInt(layout.timeBits)) - 1n) << BigInt(layout.timeShift),
        ((1n << BigInt(layout.nodeBits)) - 1n) << BigInt(layout.nodeShift),
        ((1n << BigInt(layout.sequenceBits)) - 1n) << BigInt(layout.sequenceShift),
      ]
      assert.equal(
        masks.reduce((sum, mask) => sum + mask),
        (1n << BigInt(layout.totalBits)) - 1n,
      )
      assert.equal(layout.fixed & ~layout.fixedMask, 0n)
    }),
  )
})

test('the canonical text of a layout reads back as the same layout, with the same text', () => {
  fc.assert(
    fc.property(anyLayout, (layout) => {
      const again = parseLayout(formatLayout(layout))
      assert.deepEqual(again, layout)
      assert.equal(formatLayout(again), formatLayout(layout))
      assert.ok(formatLayout(layout).length <= 400, 'a generator takes it as an option')
    }),
  )
})

test('layouts that make the same ids have the same text however they are written', () => {
  const text = 'time:41,node:10,sequence:12;unit=ms;epoch=2020-01-01T00:00:00Z'
  const same = [
    text,
    ' time : 41, node:10 ,sequence:12 ; epoch = 2020-01-01T08:00:00.000+08:00',
    'time:41,node:10,sequence:12;epoch=1577836800000;unit=1000us',
    'twitter;epoch=2020-01-01T00:00Z',
    'twitter;epoch=2019-12-31T18:30:00-05:30',
    'leaf;epoch=1577836800000',
    { layout: 'discord', epoch },
    { layout: 'time:41,node:10,sequence:12;unit=ms', epoch },
    { layout: `twitter;epoch=${epoch}` },
    { fields: 'time:41,node:10,sequence:12', epoch: 1577836800000n },
    { fields: ['time:41', { field: 'node', bits: 10 }, { field: 'sequence', bits: 12n }], unit: 'ms', epoch },
  ]
  for (const input of same) assert.equal(formatLayout(parseLayout(input)), text)
  assert.equal(
    formatLayout(parseLayout('fixed:5=0,time:41;epoch=0')),
    formatLayout(parseLayout('time:41;epoch=0')),
  )
  const fixed = 'fixed:3=5,time:40,fixed:4=2,node:9;unit=10ms;epoch=2020-01-01T00:00:00Z'
  assert.equal(
    formatLayout(
      parseLayout(
        'fixed:2=0,fixed:3=2,fixed:1=1,time:40,fixed:2=0,fixed:2=2,node:9;unit=10ms;epoch=1577836800000',
      ),
    ),
    fixed,
  )
})

test('fixed fields with a name keep it, whatever stands beside and above them', () => {
  const text = 'zone:2=0,region:4=9,fixed:3=6,time:41,node:5;unit=ms;epoch=2020-01-01T00:00:00Z'
  const same = [
    text,
    'zone : 2 = 0,region:4=09,fixed:1=1,fixed:2=2,time:41,node:5;epoch=2020-01-01T00:00:00Z',
    {
      fields: [
        { field: 'fixed', name: 'zone', bits: 2, value: 0 },
        { field: 'fixed', name: 'region', bits: 4, value: 9n },
        { field: 'fixed', bits: 3, value: 6 },
        'time:41',
        'node:5',
      ],
      epoch,
    },
  ]
  for (const input of same) assert.equal(formatLayout(parseLayout(input)), text)
  const layout = parseLayout(text)
  assert.deepEqual(decode(layout, encode(layout, { time: 1 })).fields, { zone: 0, region: 9 })
  assert.equal(
    formatLayout(parseLayout('fixed:5=0,zone:2=0,time:41;epoch=0')),
    formatLayout(parseLayout('zone:2=0,time:41;epoch=0')),
  )
})

test('the longest text of a layout is one that a generator takes as an option', () => {
  const layout = parseLayout({
    fields: [
      ...['a', 'b', 'c', 'd'].flatMap((name) => [`${name.repeat(16)}:2=3`, 'fixed:2=3']),
      ...['time:20', 'fixed:1=1', 'node:10', 'fixed:1=1', 'sequence:4', 'fixed:1=1', 'gene:10'],
    ],
    unit: '86399999999us',
    epoch: '2025-11-21T00:00:00.001Z',
  })
  assert.ok(formatLayout(layout).length <= 400)
  assert.deepEqual(parseLayout(formatLayout(layout)), layout)
})

test('a preset keeps its name, and with another epoch all else', () => {
  assert.equal(parseLayout('twitter'), layouts.twitter)
  const moved = parseLayout(`baidu;epoch=${epoch}`)
  assert.equal(moved.name, 'baidu')
  assert.equal(moved.issues, true)
  assert.equal(formatLayout(moved), 'time:28,node:22,sequence:13;unit=s;epoch=2020-01-01T00:00:00Z')
})

test('impossible layouts are refused with the reason', () => {
  const cases: [unknown, RegExp][] = [
    ['time:41,node:10,sequence:13;epoch=0', /its fields have 64 bits; make them at most 63/],
    ['fixed:1=0,time:41,node:10,sequence:12;epoch=0', /the sign bit is not written/],
    ['node:10,sequence:12;epoch=0', /it has no time field/],
    ['time:0,node:10;epoch=0', /time has 0 bits/],
    ['time:64;epoch=0', /time has 64 bits; give 1 to 63/],
    ['time:41,time:3;epoch=0', /it has 2 time fields; keep one/],
    ['time:41,node:3,node:3;epoch=0', /it has 2 node fields/],
    ['time:41,sequence:3,sequence:3;epoch=0', /it has 2 sequence fields/],
    ['time:5,sequence:54;epoch=0', /sequence has 54 bits; give at most 53/],
    ['time:41,fixed:2=4;epoch=0', /fixed value 4 does not fit 2 bits; give 0 to 3/],
    ['time:41,fixed:2;epoch=0', /'fixed:2' is not like/],
    ['time:41=1;epoch=0', /'time:41=1' is not like/],
    ['time:41,shard:2;epoch=0', /unknown field 'shard'; use time, .*, or a name with a value/],
    ['time:41,gene:17;epoch=0', /gene has 17 bits; give at most 16/],
    ['time:41,gene:0;epoch=0', /gene has 0 bits/],
    ['time:41,gene:4,node:4;epoch=0', /its gene is not the lowest field; put gene last/],
    ['time:41,gene:4,gene:4;epoch=0', /it has 2 gene fields/],
    ['time:41,gene:4=1;epoch=0', /'gene:4=1' is not like/],
    ['scatter:9,time:41;epoch=0', /scatter has 9 bits; give at most 8/],
    ['time:41,scatter:4;epoch=0', /its scatter is not the highest field; put scatter first/],
    ['fixed:2=1,scatter:4,time:41;epoch=0', /its scatter is not the highest field/],
    ['region:2=0,scatter:4,time:41;epoch=0', /its scatter is not the highest field/],
    ['scatter:4,scatter:4,time:41;epoch=0', /it has 2 scatter fields/],
    ['time:41,unit:4=1;epoch=0', /'unit' cannot name a field; give up to 16/],
    ['time:41,date:4=1;epoch=0', /'date' cannot name a field/],
    ['time:41,a2345678901234567:4=1;epoch=0', /'a2345678901234567' cannot name a field/],
    ['time:41,Region:4=1;epoch=0', /'Region:4=1' is not like/],
    ['time:41,region:2=4;epoch=0', /fixed value 4 does not fit 2 bits/],
    ['time:3,region:54=4;epoch=0', /region has 54 bits; give at most 53/],
    ['time:41,region:2=1,region:2=1;epoch=0', /two of its fields are named region/],
    ['a:1=1,b:1=1,c:1=1,d:1=1,e:1=1,time:41;epoch=0', /5 of its fixed fields have names; name at most 4/],
    [{ fields: [{ field: 'fixed', name: '__proto__', bits: 1, value: 1 }], epoch }, /cannot name a field/],
    [{ fields: [{ field: 'fixed', name: 5, bits: 1, value: 1 }], epoch }, /is not like/],
    [{ fields: [{ field: 'time', name: 'x', bits: 1 }], epoch }, /is not like/],
    ['time:41,node:10', /it has no epoch; add one/],
    ['time:41;epoch=2020-01-01', /has no time and zone, so it would mean another moment/],
    ['time:41;epoch=2020-01-01T00:00:00', /has no time and zone/],
    ['time:41;epoch=2021-02-29T00:00:00Z', /does not exist/],
    ['time:41;epoch=2020-01-01T24:00:00Z', /does not exist/],
    ['time:41;epoch=2020-01-01T00:00:00+15:00', /does not exist/],
    ['time:41;epoch=yesterday', /is no date-time/],
    ['time:41;epoch=1969-12-31T23:59:59Z', /is no moment from 1970/],
    ['time:41;epoch=2200-01-01T00:00:00Z', /is no moment from 1970 to 2199/],
    ['time:41;epoch=99999999999999999999', /is no moment from 1970/],
    ['time:41;epoch=2026-11-21T00:00:00.001Z', /its epoch 2026-11-21T00:00:00.001Z is in the future/],
    ['time:41;unit=0ms;epoch=0', /unit '0ms' is no span/],
    ['time:41;unit=10;epoch=0', /unit '10' is no span/],
    ['time:41;unit=25h;epoch=0', /unit '25h' is no span/],
    ['time:41;epoch=0;epoch=0', /'epoch=0' is out of place/],
    ['time:41;epoch=0;tz=UTC', /'tz=UTC' is out of place/],
    ['time:41;epoch=0=1', /is no date-time/],
    ['snowflake', /there is no preset 'snowflake'; use twitter, leaf,/],
    ['toString', /there is no preset/],
    ['', /there is no preset ''/],
    ['twitter;unit=s', /no other unit/],
    [`${'time:41,'.repeat(100)};epoch=0`, /longer than 512/],
    [null, /null is neither/],
    [41, /number is neither/],
    [[], /neither text nor an object/],
    [{ layout: 'twitter', unit: 's' }, /either layout or fields/],
    [{ layout: 5 }, /layout 5 is no text/],
    [{ layout: 'twitter;epoch=0', epoch }, /it has two epochs; keep one/],
    [{ fields: 'time:41', epoch, bits: 3 }, /unknown key 'bits'/],
    [{ fields: 'time:41', epoch, unit: 10 }, /unit 10 does not say of what/],
    [{ fields: 'time:41', epoch: {} }, /neither an ISO date-time/],
    [{ epoch }, /it has no fields/],
    [{ fields: [{ field: 'time', bits: '41' }], epoch }, /is not like \{field: time/],
    [{ fields: [{ field: 'time', bits: 41, value: 1 }], epoch }, /is not like/],
    [{ fields: [{ field: 'time', bits: 41, width: 1 }], epoch }, /is not like/],
    [{ fields: [null], epoch }, /is not like/],
    [{ fields: [{ field: 'time', bits: 40.5 }], epoch }, /time has 40.5 bits/],
  ]
  for (const [input, reason] of cases) {
    const message = refusal(() => parseLayout(input, { nowUs }))
    assert.match(message, reason)
    assert.match(message, /^ERR the layout|^ERR (epoch|unit) /)
  }
})

test('any text and any JSON is a layout or a clear error', () => {
  const text = fc.string({ unit: fc.constantFrom(...'time:4node,fixed=;sequence1 epochZ0-T'), maxLength: 60 })
  fc.assert(
    fc.property(fc.oneof(text, fc.string(), fc.jsonValue()), (input) => {
      try {
        parseLayout(input)
      } catch (error) {
        assert(error instanceof FahaoError, String(error))
        assert.doesNotMatch(error.message, /\n/)
      }
    }),
  )
})

test('only layouts whose time stands above sequence and has not run out may issue', () => {
  const below = parseLayout('sequence:12,time:41,node:10;epoch=0')
  assert.deepEqual([below.ordered, below.issues], [false, false])
  assert.match(below.decodeOnlyReason!, /put time first/)
  assert.equal(parseLayout('node:10,time:41;epoch=0').ordered, true)
  assert.match(layouts.baidu.decodeOnlyReason!, /ended at 2024-11-20T13:24:16Z; give another epoch/)
  assert.equal(parseLayout('time:31;unit=s;epoch=0').issues, true)
  assert.equal(parseLayout('time:31;unit=s;epoch=0', { nowUs: 2 ** 31 * 1_000_000 }).issues, false)
  assert.equal(parseLayout('time:31;unit=s;epoch=0', { nowUs: 2 ** 31 * 1_000_000 - 1 }).issues, true)
})

test('values outside their fields are refused, never cut off', () => {
  const layout = parseLayout('time:4,node:3,sequence:2;unit=s;epoch=0')
  assert.equal(encode(layout, { time: 15, node: 7, sequence: 3 }), 0b1111_111_11n)
  assert.match(
    refusal(() => encode(layout, { time: 16 })),
    /^EXHAUSTED .*1970-01-01T00:00:16Z/,
  )
  assert.match(
    refusal(() => encode(layout, { time: 16n })),
    /^EXHAUSTED/,
  )
  assert.match(
    refusal(() => encode(layout, { time: -1 })),
    /^ERR time -1 does not fit/,
  )
  assert.match(
    refusal(() => encode(layout, { time: 1, node: 8 })),
    /^ERR node 8 .* give 0 to 7/,
  )
  assert.match(
    refusal(() => encode(layout, { time: 1, sequence: 4 })),
    /^ERR sequence 4/,
  )
  assert.match(
    refusal(() => encode(layout, { time: 1.5 })),
    /^ERR time 1.5/,
  )
  assert.match(
    refusal(() => encode(layout, { time: Number.NaN })),
    /^ERR time NaN/,
  )
  assert.match(
    refusal(() => encode(parseLayout('time:9;epoch=0'), { time: 1, node: 1 })),
    /leave it out/,
  )
  assert.match(
    refusal(() => encode(parseLayout('time:9,gene:2;epoch=0'), { time: 1, gene: 4 })),
    /^ERR gene 4 does not fit the layout's 2 bits; give 0 to 3/,
  )
})

test('ids that a layout cannot have made are not taken apart', () => {
  const layout = parseLayout('fixed:2=2,time:4,fixed:1=1;unit=s;epoch=0')
  assert.equal(decode(layout, 0b10_0011_1n).date, '1970-01-01T00:00:03Z')
  assert.match(
    refusal(() => decode(layout, 0b10_0011_0n)),
    /its fixed bits are not the layout's/,
  )
  assert.match(
    refusal(() => decode(layout, 0b11_0011_1n)),
    /its fixed bits/,
  )
  assert.match(
    refusal(() => decode(layout, 128n)),
    /makes ids from 0 to 127/,
  )
  assert.match(
    refusal(() => decode(layout, -1n)),
    /from 0 to 127/,
  )
})

test('an id whose scatter is not that of its other bits is not taken apart', () => {
  const layout = parseLayout('scatter:5,time:41,node:4,sequence:3,gene:10;epoch=2020-01-01T00:00:00Z')
  const id = encode(layout, { time: 123_456_789, node: 3, sequence: 2, gene: 1000 })
  assert.equal(decode(layout, id).gene, 1000)
  for (let bit = 0n; bit < 63n; bit++) {
    const other = id ^ (1n << bit)
    if (bit >= 58n)
      assert.match(
        refusal(() => decode(layout, other)),
        /its scatter bits are not those of its other bits/,
      )
    // A gene is the caller's, and is given after the scatter is there.
    else if (bit < 10n) assert.equal(decode(layout, other).sequence, 2)
  }
})

test('a layout is frozen', () => {
  assert(Object.isFrozen(layouts.twitter) && Object.isFrozen(layouts.twitter.fields))
  assert(layouts.twitter.fields.every((field) => Object.isFrozen(field)) && Object.isFrozen(layouts))
})
