import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { FahaoError } from '../../../src/base/errors.ts'
import { compileFormat, type FormatValues } from '../../../src/ids/format.ts'

const max63 = 2n ** 63n - 1n
const unixUs = Date.UTC(2026, 10, 21, 17, 30, 5, 42) * 1000

function refusal(make: () => unknown): string {
  try {
    make()
  } catch (error) {
    assert(error instanceof FahaoError, String(error))
    assert.doesNotMatch(error.message, /\n/)
    return `${error.code} ${error.message}`
  }
  return assert.fail('it was accepted')
}

test('a format writes what its template says', () => {
  const cases: [template: string, id: bigint, text: string][] = [
    ['{id}', 0n, '0'],
    ['{id}', max63, '9223372036854775807'],
    ['sms_{id}', 42n, 'sms_42'],
    ['9{id}1', 42n, '9421'],
    ['coupon_{id:8}', 42n, 'coupon_00000042'],
    ['{id:4:base16}', 48879n, 'beef'],
    ['{id::base36}', 1295n, 'zz'],
    ['{id::base62}', 3843n, 'zz'],
    ['{id::base62}', 61n * 62n + 35n, 'zZ'],
    ['{id::base62}', 2n ** 53n, 'fFgnDxSe8'],
    ['{id::base62}', 100n * 62n ** 8n + 5n, '1c00000005'],
    ['{id::base62}', max63, 'AzL8n0Y58m7'],
    ['{id:12:base62}', max63, '0AzL8n0Y58m7'],
    ['{id::crockford}', 31n, 'Z'],
    ['{id::crockford}', max63, '7ZZZZZZZZZZZZ'],
    ['{id:8:crockford}', 1_000_000n, '0000YGJ0'],
    ['{{{id}}}', 7n, '{7}'],
    ['{{id}} {id}', 7n, '{id} 7'],
    ['单号{id}号', 7n, '单号7号'],
    ['{node}-{id}', 7n, '05-7'],
    ['{node:3}{id}', 7n, '0057'],
    ['{date:yyyyMMdd}{id:6}', 7n, '20261121000007'],
    ['{date:yy/MM/dd_HH.mm.ss-SSS}-{id}', 7n, '26/11/21_17.30.05-042-7'],
    ['{date:SSSss}{id}', 7n, '042057'],
    ['{date:yyyyMMddHH:Asia/Shanghai}-{id}', 7n, '2026112201-7'],
    ['{date:HH:America/New_York}-{id}', 7n, '12-7'],
    ['{date:yyyyMMddHHmm:+08:00}-{id}', 7n, '202611220130-7'],
    ['{date:yyyyMMddHHmm:-03:30}-{id}', 7n, '202611211400-7'],
    ['{date:HH:UTC}/{date:HH:GMT}-{id}', 7n, '17/17-7'],
    ['{date:yyyy}.{id}.{date:mm}', 7n, '2026.7.30'],
    ['{id}{check:luhn}', 7992739871n, '79927398713'],
    ['{id}{check:damm}', 572n, '5724'],
    ['{id:8}{check:damm}', 572n, '000005724'],
    ['a7b9{id}c{check:luhn}d', 92739871n, 'a7b992739871c3d'],
    ['{node}{id}{check:damm}', 72n, '05724'],
  ]
  for (const [template, id, text] of cases) {
    const format = compileFormat(template, { nodeWidth: 2 })
    assert.equal(format.format(id, { node: 5, unixUs }), text, template)
    assert.equal(format.parse(text), id, template)
  }
})

const literal = fc.string({
  unit: fc.oneof(fc.constantFrom('{', '}', '0', '9', '_', 'Z'), fc.string({ minLength: 1, maxLength: 1 })),
  maxLength: 6,
})
const escaped = literal
  .filter((text) => !/\p{Cc}/u.test(text))
  .map((text) => text.replaceAll('{', '{{').replaceAll('}', '}}'))
const anyTemplate = fc
  .record({
    id: fc.constantFrom(
      '{id}',
      '{id:5}',
      '{id:19}',
      '{id:11:base62}',
      '{id::base62}',
      '{id::base36}',
      '{id:3:base16}',
      '{id::crockford}',
      '{id:13:crockford}',
    ),
    literals: fc.array(escaped, { minLength: 5, maxLength: 5 }),
    before: fc.subarray(['{node}', '{date:yyyyMMddHHmmssSSS}']),
    after: fc.subarray(['{date:yy:Asia/Shanghai}', '{check:luhn}', '{check:damm}']),
  })
  .filter(
    ({ id, after }) =>
      after.filter((it) => it.includes('check')).length <= (/base|crockford/.test(id) ? 0 : 1),
  )
  .map(({ id, literals, before, after }) =>
    [...before, id, ...after].reduce((text, field, at) => text + field + (literals[at] ?? ''), ''),
  )

test('every accepted template reads back the id that it wrote', () => {
  const anyId = fc.oneof(fc.bigInt({ min: 0n, max: max63 }), fc.bigInt({ min: 0n, max: 5000n }))
  const values = fc.record({
    node: fc.nat({ max: 999 }),
    unixUs: fc.nat({ max: Date.UTC(2200, 0, 1) * 1000 }),
  })
  fc.assert(
    fc.property(anyTemplate, anyId, values, (template, id, { node, unixUs }) => {
      const format = compileFormat(template, { nodeWidth: 3 })
      const fitting = id % (format.maxId + 1n)
      assert.equal(format.parse(format.format(fitting, { node, unixUs })), fitting)
    }),
    { numRuns: 1000 },
  )
})

/** A text in which characters that a reader takes for one another are the same. */
function alike(text: string): string {
  return text.toUpperCase().replace(/[OILZSBU]/g, (char) => '01215V8'['OIZLSUB'.indexOf(char)] ?? char)
}

test('no two texts that differ are read as one id, whatever is typed', () => {
  const templates = ['{id}', 'a{id:3}', '{id:4:base16}', '{id::base62}x', '{id}{check:luhn}']
  const text = fc.string({ unit: fc.constantFrom(...'0123aAzZx{ -+.'), maxLength: 8 })
  fc.assert(
    fc.property(fc.constantFrom(...templates), text, (template, typed) => {
      const format = compileFormat(template)
      let id: bigint
      try {
        id = format.parse(typed)
      } catch (error) {
        assert(error instanceof FahaoError && error.code === 'ERR', String(error))
        return
      }
      assert.equal(alike(format.format(id)), alike(typed))
    }),
    { numRuns: 2000 },
  )
})

/** What a reader may make of a text in Crockford's base 32. */
const spellings = fc.func(fc.constantFrom(0, 1, 2))
const likeness: Readonly<Record<string, readonly string[]>> = { 0: ['0', 'O', 'o'], 1: ['1', 'I', 'l'] }

test('an id of base 32 is read in small letters, with look-alikes and with hyphens', () => {
  for (const [template, typed, id] of [
    ['{id:8:crockford}', '0000YGJ0', 1_000_000n],
    ['{id:8:crockford}', 'oooo-ygjo', 1_000_000n],
    ['{id:8:crockford}', '0O-0o-YG-J0', 1_000_000n],
    ['c-{id::crockford}-x', 'c-il-1-x', 32n * 32n + 32n + 1n],
  ] as const)
    assert.equal(compileFormat(template).parse(typed), id, typed)
  for (const typed of [
    '0000YGJ',
    '0000YGJ00',
    '-0000YGJ0',
    '0000YGJ0-',
    '0000--YGJ0',
    '0000YGJ?',
    '0000_YGJ0',
    '',
  ])
    assert.match(
      refusal(() => compileFormat('{id:8:crockford}').parse(typed)),
      /^ERR the text was not written by this format/,
    )
  fc.assert(
    fc.property(fc.bigInt(0n, max63), spellings, fc.constantFrom('', '13'), (id, pick, width) => {
      const format = compileFormat(`a{id:${width}:crockford}`)
      const text = format.format(id)
      const typed = [...text.slice(1)].map((char, at) => {
        const like = likeness[char] ?? [char, char.toLowerCase(), char]
        return `${at > 0 && pick(at, 'hyphen') === 0 ? '-' : ''}${like[pick(at, char)]}`
      })
      assert.equal(format.parse(`a${typed.join('')}`), id)
      assert.match(text.slice(1), /^[0-9A-HJKMNP-TV-Z]+$/)
    }),
  )
})

test('the texts of a format differ where case is ignored, or it says that they do not', () => {
  const formats = ['{id}', '{id:9:base16}', '{id::base36}', '{id::crockford}', '{id::base62}']
  for (const format of formats.map((template) => compileFormat(template))) {
    const texts = Array.from({ length: 400 }, (_, id) => format.format(BigInt(id)).toLowerCase())
    assert.equal(new Set(texts).size < 400, format.mixesCases, format.template)
  }
})

test('texts of one width sort by bytes like their ids, in every radix', () => {
  fc.assert(
    fc.property(
      fc.constantFrom('base10', 'base16', 'base36', 'base62', 'crockford'),
      fc.bigInt(0n, max63),
      fc.bigInt(0n, max63),
      (radix, a, b) => {
        const format = compileFormat(`{id:19:${radix}}`)
        const [x, y] = [format.format(a), format.format(b)]
        assert.equal(x < y, a < b)
      },
    ),
  )
})

test('texts that the format did not write are refused with the reason', () => {
  const cases: [template: string, text: string, reason: RegExp][] = [
    ['sms_{id}', 'sms_', /'' is no id of base10/],
    ['sms_{id}', 'smt_1', /'smt_' stands where 'sms_' belongs/],
    ['sms_{id}', 'sms_01', /has zeros in front/],
    ['sms_{id}', 'sms_-1', /'-1' is no id/],
    ['sms_{id}', 'sms_9223372036854775808', /is no id/],
    ['sms_{id}', `sms_${'9'.repeat(100_000)}`, /is no id/],
    ['sms_{id}', 'sm', /'sm' has 2 characters/],
    ['{id:8}', '123456789', /has 9 characters/],
    ['{id:8}', '1234567', /has 7 characters/],
    ['{id::base16}', 'BEEG', /is no id of base16/],
    ['{id::base36}', 'Ä', /is no id of base36/],
    ['{id}{check:luhn}', '79927398710', /the check digit '0' is wrong/],
    ['{id:3}{check:damm}', '5274', /the check digit '4' is wrong/],
    ['{node:2}{id}', 'x17', /'x1' is no node/],
    ['{date:yyyyMMdd}{id}', '202613017', /'20261301' is no such date/],
    ['{date:yyyy-MM}{id}', '2026x017', /is no such date/],
    ['{date:MM}{id}', '007', /is no such date/],
    ['{date:HH}{id}', '247', /is no such date/],
    ['x{id}', '\u{1f600}\n\u0007', /'\?' stands where|'.*' stands where/],
  ]
  for (const [template, text, reason] of cases) {
    const message = refusal(() => compileFormat(template).parse(text))
    assert.match(message, /^ERR the text was not written by this format: /)
    assert.match(message, reason)
    assert(message.length < 300)
  }
})

test('luhn and damm catch every wrong digit, damm every swap of neighbours', () => {
  for (const check of ['luhn', 'damm'] as const) {
    const format = compileFormat(`{id:6}{check:${check}}`)
    for (let id = 0n; id < 1_000_000n; id += 7919n) {
      const text = format.format(id)
      for (let at = 0; at < text.length; at++) {
        const wrong = text.slice(0, at) + ((Number(text[at]) + 3) % 10) + text.slice(at + 1)
        assert.throws(() => format.parse(wrong), { code: 'ERR' })
        const swapped = text.slice(0, at) + (text[at + 1] ?? '') + text[at] + text.slice(at + 2)
        if (check === 'damm' && swapped !== text) assert.throws(() => format.parse(swapped), { code: 'ERR' })
      }
    }
  }
})

test('templates that cannot work are refused with the reason', () => {
  const cases: [template: string, reason: RegExp][] = [
    ['', /it has 0 times \{id\}; write it once/],
    ['sms_', /it has 0 times/],
    ['{id}{id}', /it has 2 times/],
    ['{id}{node}', /\{node\} of free width is ambiguous/],
    ['{id}{node:0}', /'\{node:0\}' has a width of 0; give 1 to 15/],
    ['{id}{node:16}', /give 1 to 15/],
    ['{id}{node:2}{node:2}', /\{node\} twice/],
    ['{id:0}', /'\{id:0\}' has a width of 0; give 1 to 64/],
    ['{id:65}', /give 1 to 64/],
    ['{id:-1}', /give 1 to 64/],
    ['{id:}', /a width of nothing/],
    ['{id:8x}', /give 1 to 64/],
    ['{id:8:16}', /has no radix of base10, base16/],
    ['{id:8:base64}', /has no radix/],
    ['{id:8:base16:x}', /has more than a radix and a group/],
    ['{id:8:group=4:group=4}', /has more than a radix and a group/],
    ['{id:8:group=0}', /has a width of 0/],
    ['{id:8:alphabet=A}', /is not 2 to 62 letters/],
    ['{id:8:alphabet=ABA}', /each once/],
    ['{id:8:alphabet=AB.}', /is not 2 to 62/],
    ['{id:8:alphabet=AB-:group=4}', /groups by hyphens, and its alphabet has one/],
    ['{id::base62}{check:mod37-36}', /takes letters without case/],
    ['{id::alphabet=AB_}{check:mod97}', /neither - nor _/],
    ['{check:luhn}{id::base36}', /over decimal digits/],
    ['{check:luhn}{id}{check:luhn}', /two check digits/],
    ['{ID}', /'\{ID\}' is no field; use \{id:8\}/],
    ['{}{id}', /'\{\}' is no field/],
    ['{names}{id}', /is no field/],
    ['{__proto__}{id}', /is no field/],
    ['{id', /a '\{' stands alone; write \{\{/],
    ['id}', /a '\}' stands alone/],
    ['{id:{id}}', /stands alone/],
    ['{id}{check:luhn}{check:damm}', /two check digits/],
    ['{id::base62}{check:luhn}', /over decimal digits/],
    ['{id}{check:iban}', /is no field/],
    ['{id}{check}', /is no field/],
    ['{date}{id}', /is no field/],
    ['{date:}{id}', /is not made of/],
    ['{date:YYYY}{id}', /YYYY is the year of ISO weeks, .*; write yyyy/],
    ['{date:yyYYYY}{id}', /YYYY is the year of ISO weeks/],
    ['{date:DDMM}{id}', /'DDMM' is not made of yyyy/],
    ['{date:---}{id}', /is not made of/],
    ['{date:yyyyMMyyyy}{id}', /once each/],
    ['{date:yyyy:Mars/Olympus}{id}', /zone 'Mars\/Olympus' is unknown/],
    ['{date:yyyy:}{id}', /zone '' is unknown/],
    ...[
      'CST',
      'IST',
      'BST',
      'EST',
      'PRC',
      'Japan',
      'Etc/GMT+8',
      'GMT+8',
      '+0800',
      '+15:00',
      '+08:60',
      '+8',
    ].map((zone): [string, RegExp] => [
      `{date:yyyy:${zone}}{id}`,
      /zone '.*' is unknown, or means .*; write a place like Asia\/Shanghai, an offset like \+08:00, or UTC/,
    ]),
    [`${'x'.repeat(1021)}{id}`, /longer than 1024/],
    ['a\n{id}', /control characters/],
    ['\ud800{id}', /well-formed/],
  ]
  for (const [template, reason] of cases) {
    const message = refusal(() => compileFormat(template))
    assert.match(message, /^ERR /)
    assert.match(message, reason)
  }
})

test('any text is a template or a clear error', () => {
  const text = fc.string({
    unit: fc.constantFrom('{', '}', 'id', 'node', 'date', 'check', ':', '8', 'luhn', 'x'),
    maxLength: 30,
  })
  fc.assert(
    fc.property(fc.oneof(text, fc.string({ unit: 'binary' })), (template) => {
      try {
        compileFormat(template, { nodeWidth: 2 })
      } catch (error) {
        assert(error instanceof FahaoError, String(error))
      }
    }),
    { numRuns: 2000 },
  )
})

test('an id, a node or a time that does not fit is an error, never a longer text', () => {
  const three = compileFormat('{id:3}')
  assert.equal(three.maxId, 999n)
  assert.equal(three.format(999n), '999')
  assert.match(
    refusal(() => three.format(1000n)),
    /^EXHAUSTED id 1000 .* the largest is 999/,
  )
  assert.equal(compileFormat('{id:3:base62}').maxId, 62n ** 3n - 1n)
  assert.equal(compileFormat('{id:19}').maxId, max63)
  assert.match(
    refusal(() => compileFormat('{id}').format(-1n)),
    /^ERR id -1 is negative/,
  )
  assert.match(
    refusal(() => compileFormat('{id}').format(max63 + 1n)),
    /^EXHAUSTED/,
  )
  const values: [FormatValues, RegExp][] = [
    [{ node: 100, unixUs }, /^ERR node 100 does not fit 2 digits/],
    [{ node: -1, unixUs }, /^ERR node -1/],
    [{ node: 1.5, unixUs }, /^ERR node 1.5/],
    [{ unixUs }, /^ERR the format shows the node/],
    [{ node: 1 }, /^ERR the format shows the date, and undefined/],
    [{ node: 1, unixUs: -1 }, /^ERR the format shows the date/],
    [{ node: 1, unixUs: Number.NaN }, /^ERR the format shows the date/],
    [{ node: 1, unixUs: Date.UTC(10000, 0, 1) * 1000 }, /^ERR the format shows the date/],
  ]
  const both = compileFormat('{node:2}{date:yyyy}{id}')
  for (const [given, reason] of values)
    assert.match(
      refusal(() => both.format(1n, given)),
      reason,
    )
})

test('a format tells what it needs', () => {
  const needs = (template: string) => {
    const { needsNode, needsTime } = compileFormat(template)
    return [needsNode, needsTime]
  }
  assert.deepEqual(needs('x{id}'), [false, false])
  assert.deepEqual(needs('{node:2}{id}'), [true, false])
  assert.deepEqual(needs('{date:yyyy}{id}'), [false, true])
})

test('dates follow the clock of their zone in both directions, through summer time', () => {
  const format = compileFormat('{date:yyyyMMddHHmmss.SSS:Europe/Berlin} {id}')
  const reference = new Intl.DateTimeFormat('sv-SE', {
    timeZone: 'Europe/Berlin',
    dateStyle: 'short',
    timeStyle: 'medium',
  })
  fc.assert(
    fc.property(fc.nat({ max: Date.UTC(2100, 0, 1) }), (unixMs) => {
      const text = format.format(1n, { unixUs: unixMs * 1000 + 999 })
      const expected = `${reference.format(unixMs).replace(/\D/g, '')}.${String(unixMs % 1000).padStart(3, '0')} 1`
      assert.equal(text, expected)
    }),
    { numRuns: 300 },
  )
})

test('an ambiguous zone of a stored format is read as before, and named', () => {
  const stored = compileFormat('{date:HH:CST}-{id}', { anyZone: true })
  assert.deepEqual([stored.format(7n, { unixUs }), stored.ambiguousZone], ['11-7', 'CST'])
  assert.equal(compileFormat('{date:HH:Asia/Shanghai}-{id}', { anyZone: true }).ambiguousZone, undefined)
})

test('the fields in the reference write what it says', () => {
  const page = readFileSync(new URL('../../../docs/reference/formats.md', import.meta.url), 'utf8')
  const rows = [...page.matchAll(/^\| `(\{(?:id|node|date)[^`]*\})` \|.*\| `([^`]*)` \|$/gm)]
  assert.equal(rows.length, 12)
  for (const [, field = '', example] of rows) {
    const format = compileFormat(field.includes('{id') ? field : `${field}{id}`, { nodeWidth: 2 })
    const text = format.format(42n, { node: 7, unixUs })
    assert.equal(field.includes('{id') ? text : text.slice(0, -2), example, field)
  }
})
