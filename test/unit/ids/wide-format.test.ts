import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decodeTime, isValid } from 'ulid'
import { parse as bytesOf, validate, version } from 'uuid'
import { compileFormat } from '../../../src/ids/format.ts'
import { encode } from '../../../src/ids/id-parts.ts'
import { defineLayout, type FieldSpec, type Layout, ones } from '../../../src/ids/layout.ts'
import { parseLayout } from '../../../src/ids/layout-text.ts'
import { formKeyOf } from '../../../src/ids/permutation.ts'
import { Run } from '../../../src/ids/run.ts'
import { isWide, WideFormat, wideMomentMs, wideSpecOf } from '../../../src/ids/wide-format.ts'

const timed = ['uuidv7', 'ulid', 'typeid:order', 'typeid:', 'objectid'] as const
const all = [...timed, 'uuidv8'] as const
const twitter = parseLayout('twitter')
const key = '0123456789abcdef'
const units = ['us', '250us', 'ms', '7ms', '10ms', 's', '1500ms']

function wide(form: string, layout: Layout | undefined, withKey: string | undefined = key): WideFormat {
  return new WideFormat(form, wideSpecOf(form)!, layout, withKey)
}

/** Layouts of any order of fields whose present time is inside the time field. */
const layouts = fc
  .record({
    unit: fc.constantFrom(...units),
    node: fc.integer({ min: 0, max: 10 }),
    sequence: fc.integer({ min: 0, max: 12 }),
    fixed: fc.integer({ min: 0, max: 3 }),
    nodeFirst: fc.boolean(),
    epochMs: fc.integer({ min: Date.UTC(2015), max: Date.UTC(2025) }),
  })
  .map(({ unit, node, sequence, fixed, nodeFirst, epochMs }) => {
    const timeBits = unit.endsWith('us') ? Math.min(54, 63 - node - sequence - fixed) : 38
    const time: FieldSpec = { field: 'time', bits: Math.max(38, timeBits) }
    const others: FieldSpec[] = [
      ...(node > 0 ? [{ field: 'node', bits: node } as const] : []),
      ...(fixed > 0 ? [{ field: 'fixed', bits: fixed, value: 1 } as const] : []),
    ]
    const rest: FieldSpec[] = sequence > 0 ? [{ field: 'sequence', bits: sequence }] : []
    return {
      fields: nodeFirst ? [...others, time, ...rest] : [time, ...rest, ...others],
      unit,
      epoch: epochMs,
    }
  })
  .filter(({ fields }) => fields.reduce((sum, { bits }) => sum + bits, 0) <= 63)
  .map((spec) => defineLayout(spec))

/** An id of the layout, of a time from its epoch to about 2055. */
function idOf(layout: Layout, [time, node, sequence]: readonly [number, number, number]): bigint {
  const spanUs = Math.min(30 * 365 * 86_400e6, layout.unitUs * (2 ** Math.min(layout.timeBits, 52) - 1))
  return encode(layout, {
    time: Math.floor((time * spanUs) / layout.unitUs),
    node: Math.floor(node * (2 ** layout.nodeBits - 1)),
    sequence: Math.floor(sequence * (2 ** layout.sequenceBits - 1)),
  })
}

const share = fc.double({ min: 0, max: 1, noNaN: true })
const parts = fc.tuple(share, share, share)

function fits(form: string, layout: Layout): boolean {
  try {
    wide(form, layout)
    return true
  } catch {
    return false
  }
}

test('every id of every layout and form is read back, in either case, and with and without hyphens', () => {
  fc.assert(
    fc.property(fc.constantFrom(...all), layouts, parts, (form, layout, where) => {
      fc.pre(fits(form, layout))
      const format = wide(form, layout)
      const id = idOf(layout, where)
      const text = format.format(id)
      assert.equal(format.parse(text), id)
      if (form.startsWith('typeid:')) assert.equal(text, text.toLowerCase())
      else for (const typed of [text.toUpperCase(), text.toLowerCase()]) assert.equal(format.parse(typed), id)
      if (form.startsWith('uuid')) assert.equal(format.parse(text.replaceAll('-', '')), id)
      const bytes = new Uint8Array(20).fill(7)
      const run = new Run()
      run.setOne(id)
      format.writeBytes(run.hi, run.lo, bytes, 2)
      assert.deepEqual([bytes[1], bytes[2 + format.size]], [7, 7])
      if (form.startsWith('uuid')) assert.deepEqual(bytes.slice(2, 18), bytesOf(text))
    }),
    { numRuns: 2000 },
  )
})

test('texts are in the order of time, and then of the sequence, on one node', () => {
  fc.assert(
    fc.property(fc.constantFrom(...timed), layouts, parts, parts, (form, layout, one, other) => {
      fc.pre(fits(form, layout))
      const format = wide(form, layout)
      const [a, b] = [idOf(layout, one), idOf(layout, [other[0], one[1], other[2]])]
      const [first, second] = [format.format(a), format.format(b)]
      assert.equal(Math.sign(Number(a - b)), first < second ? -1 : first > second ? 1 : 0)
      assert.equal(first >= format.smallest(a)!, true)
    }),
    { numRuns: 2000 },
  )
})

test('the texts of a counter are in the order of its ids, over all of 63 bits', () => {
  const id = fc.bigInt({ min: 0n, max: ones(63) })
  fc.assert(
    fc.property(id, id, (a, b) => {
      const format = wide('uuidv8', undefined)
      assert.equal(format.parse(format.format(a)), a)
      assert.equal(a < b, format.format(a) < format.format(b))
    }),
  )
})

test('UUIDs have the version and the variant of RFC 9562, and their time', () => {
  fc.assert(
    fc.property(layouts, parts, (layout, where) => {
      const id = idOf(layout, where)
      const v8 = wide('uuidv8', undefined).format(id)
      assert.ok(validate(v8) && version(v8) === 8 && /^.{19}[89ab]/.test(v8))
      fc.pre(fits('uuidv7', layout))
      const v7 = wide('uuidv7', layout).format(id)
      assert.ok(validate(v7) && version(v7) === 7 && /^.{19}[89ab]/.test(v7))
      const unixUs =
        BigInt(layout.epochUs) +
        ((id >> BigInt(layout.timeShift)) & ones(layout.timeBits)) * BigInt(layout.unitUs)
      assert.equal(BigInt(parseInt(v7.slice(0, 8) + v7.slice(9, 13), 16)), unixUs / 1000n)
      const ulid = wide('ulid', layout).format(id)
      assert.ok(isValid(ulid))
      assert.equal(BigInt(decodeTime(ulid)), unixUs / 1000n)
      assert.deepEqual(wideMomentMs(v7), { form: 'uuidv7', unixMs: Number(unixUs / 1000n) })
      assert.equal(wideMomentMs(v8), undefined)
    }),
  )
})

test('known answers: no version may change them', () => {
  const id = 1888944671579078978n
  const texts = all.map((form) => wide(form, twitter).format(id))
  assert.deepEqual(texts, [
    '0194f011-b298-7142-968d-fe9b61bcdb60',
    '01JKR13CMR2GJT1VFYKDGVSPV0',
    'order_01jkr13cmre519d3fykdgvspv0',
    '01jkr13cmre519d3fykdgvspv0',
    '67aa006f4005096861bcdb60',
    '346dc257-6bad-8028-94ed-fe9b61bcdb60',
  ])
})

test('another key makes another text of the same id, and its texts are refused', () => {
  const id = 1888944671579078978n
  for (const form of all) {
    const [one, other] = [wide(form, twitter), wide(form, twitter, '0123456789abcdee')]
    assert.notEqual(one.format(id), other.format(id))
    assert.throws(() => other.parse(one.format(id)), /is mistyped, or of another generator/)
  }
})

test('a text with one wrong character is refused', () => {
  for (const form of all) {
    const format = wide(form, twitter)
    const text = format.format(1888944671579078978n)
    const start = text.indexOf('_') + 1
    for (let at = start; at < text.length; at++) {
      const wrong = text.slice(0, at) + (text[at] === '3' ? '4' : '3') + text.slice(at + 1)
      if (text[at] !== '-') assert.throws(() => format.parse(wrong), /mistyped|another form/, wrong)
    }
  }
})

test('what people write for a digit of ULID and TypeID is read', () => {
  const format = wide('ulid', twitter)
  let id = 1888944671579078978n
  while (!/[01]/.test(format.format(id).slice(10))) id++
  const text = format.format(id)
  assert.equal(format.parse(text.replaceAll('1', 'l').replaceAll('0', 'o')), id)
  assert.equal(format.parse(`${text.slice(0, 10)}-${text.slice(10)}`), id)
})

test('what is no text of the form is refused', () => {
  for (const form of all)
    for (const text of [
      '',
      'x',
      '1',
      '8'.repeat(26),
      'z'.repeat(36),
      '0'.repeat(10_000),
      `order_${'z'.repeat(26)}`,
    ])
      assert.throws(
        () => wide(form, twitter).parse(text),
        /cannot be read|another form|mistyped/,
        `${form} ${text}`,
      )
})

test('a run of ids is written as its texts', () => {
  for (const form of all) {
    const format = wide(form, twitter)
    const run = new Run()
    run.set(1888944671579078978n, 300, 4096 * 3)
    const bytes = new Uint8Array(300 * (format.bytesMax + 6))
    const frame = { head: (length: number) => `<${length}>`, tail: ';' }
    const end = format.write(bytes, 0, run, 1, 299, frame)
    const texts = Array.from({ length: 299 }, (_, at) => format.text(run.at(at + 1)))
    const framed = texts.map((text) => `<${text.length}>${text};`).join('')
    assert.equal(new TextDecoder().decode(bytes.subarray(0, end)), framed)
  }
})

test('a layout that does not fit is refused with its sum', () => {
  const micro = parseLayout('time:41,node:10,sequence:12;unit=us;epoch=2025-01-01T00:00:00Z')
  assert.throws(
    () => wide('objectid', micro),
    /part of a second 20 \+ sequence 12 \+ node 10 = 42 bits, and there are 32/,
  )
  assert.throws(() => compileFormat('uuidv7'), /a counter has none; use uuidv8/)
  assert.throws(() => compileFormat('typeid:Order', { layout: twitter }), /no prefix of a TypeID/)
})

test('a template that begins as a TypeID does stays one', () => {
  for (const template of ['typeid:{id}', 'typeid:{id:19}', 'typeid:T-{id:19}{check:luhn}', 'typeid:{{{id}']) {
    const format = compileFormat(template, { layout: twitter })
    assert.equal(format.parse(format.format(1n)), 1n)
    assert.equal(isWide(template), false)
  }
  assert.equal(compileFormat('typeid:{id}').format(42n), 'typeid:42')
})

test('a time that the form cannot hold is the end of its ids', () => {
  const late = defineLayout({ fields: [{ field: 'time', bits: 50 }], epoch: '2025-01-01T00:00:00Z' })
  assert.throws(() => wide('objectid', late).format(encode(late, { time: 82 * 365 * 86_400_000 })), {
    code: 'EXHAUSTED',
  })
  assert.throws(() => wide('uuidv7', late).format(encode(late, { time: 2 ** 48 })), { code: 'EXHAUSTED' })
})

test('the key of a format follows from the key of its generator, and does not show it', () => {
  const keys = ['00', 'ff', '01'].map((byte) => formKeyOf(byte.repeat(16)))
  assert.equal(new Set(keys).size, 3)
  for (const each of keys) assert.match(each, /^[0-9a-f]{16}$/)
})
