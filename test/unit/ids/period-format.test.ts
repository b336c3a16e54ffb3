/** Texts of ids of periods. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { compileFormat } from '../../../src/ids/format.ts'
import { nearTexts } from '../../../src/ids/near-texts.ts'
import { type PeriodDefinition, Periods, type PeriodUnit, periodsOf } from '../../../src/ids/period.ts'
import { Run } from '../../../src/ids/run.ts'

function compiled(template: string, definition: PeriodDefinition) {
  const periods = periodsOf(definition)!
  return { periods, format: compileFormat(template, { nodeWidth: 1, periods }) }
}

/** The text of a number in the period of a day. */
function text(template: string, definition: PeriodDefinition, day: string, number = 42n): string {
  const { periods, format } = compiled(template, definition)
  const id = periods.firstId(periods.ordinalOfDay(day)) + number
  const written = format.format(id)
  assert.equal(format.parse(written), id)
  return written
}

const day = { period: 'day', width: 4 } as const
const fiscal = { period: 'year', width: 4, yearStart: '04-01' } as const

/** Templates that tell their periods, by unit. */
const telling: Readonly<Record<PeriodUnit, readonly string[]>> = {
  hour: ['{date:yyyyMMddHH}{id:4}', '{date:yyMMdd-HH}/{id}', '{end:yyyy}{date:MMdd}{end:HH}{id:4}'],
  day: [
    '{date:yyyyMMdd}-{id:4}',
    'A{id:4+}/{date:dd.MM.yy}',
    '{end:yyyyMMdd}{id:4:base36}',
    '{id:4}{date:yyMMdd}{check:luhn}',
  ],
  week: ['{date:YYYY}-W{date:ww}-{id:4}', '{date:yyyyMMdd}{id:4}', '{end:yyMMdd}{id:4}', '{date:YYYYww}{id}'],
  month: ['{date:yyyy/MM}/{id:4}', '{date:yyMM}{id:4}', '{end:yyyyMMdd}{id:4}'],
  quarter: ['{date:yyyy}Q{date:Q}-{id:4}', '{end:yyyyMM}{id:4}', '{date:yyMM}{id:4}'],
  year: [
    '{date:yyyy}-{id:4}',
    '{date:yyyy}/{end:yy}-{id:4}',
    '{end:yyyy}{id:4}',
    '{date:yy}{id:4}{check:mod97}',
  ],
}

/** Templates that give two periods one text. */
const silent: Readonly<Record<PeriodUnit, readonly string[]>> = {
  hour: ['{date:yyyyMMdd}{id:4}', '{date:MMddHH}{id:4}', '{date:yyyyddHH}{id:4}', '{id:4}'],
  day: ['{date:yyyyMM}{id:4}', '{date:MMdd}{id:4}', '{date:yyyydd}{id:4}', '{date:YYYYww}{id:4}', 'A{id}'],
  week: ['{date:yyyyww}{id:4}', '{date:ww}{id:4}', '{date:yyyyMM}{id:4}', '{date:yyyy}{id:4}'],
  month: ['{date:yyyy}{id:4}', '{date:MM}{id:4}', '{date:yyyyQ}{id:4}', '{date:yyyy}{date:dd}{id:4}'],
  quarter: ['{date:yyyy}{id:4}', '{date:Q}{id:4}'],
  year: ['{date:MMdd}{id:4}', '{id:4}'],
}

describe('a format of a generator with periods', () => {
  test('shows the period of the id, and the number in it', () => {
    assert.equal(text('{date:yyyyMMdd}-{id:4}', day, '2026-11-26'), '20261126-0042')
    assert.equal(
      text('{date:YYYY}-W{date:ww}/{id}', { period: 'week', width: 9 }, '2027-01-01'),
      '2026-W53/42',
    )
    assert.equal(
      text('{date:yyyy}Q{date:Q}-{id:4}', { period: 'quarter', width: 4 }, '2026-11-26'),
      '2026Q4-0042',
    )
    assert.equal(text('INV-{date:yyyy}/{end:yy}-{id:4}', fiscal, '2027-03-31'), 'INV-2026/27-0042')
    assert.equal(
      text('{date:yyyyMMddHH}{id:4}', { period: 'hour', width: 4 }, '2026-11-26T13:45:00Z'),
      '20261126130042',
    )
    assert.equal(text('{date:yyMMdd}{end:HHmmss}{id:4}', day, '2026-11-26'), '2611262359590042')
  })

  test('shows the day of its zone, whatever the clock of the node says', () => {
    const tokyo = { ...day, zone: 'Asia/Tokyo' }
    assert.equal(text('{date:yyyyMMdd}{id:4}', tokyo, '2026-11-25T15:00:00Z'), '202611260042')
    assert.equal(text('{date:yyyyMMdd:Asia/Tokyo}{id:4}', tokyo, '2026-11-26'), '202611260042')
    const { format } = compiled('{date:yyyyMMdd}{id:4}', day)
    assert.equal(format.needsTime, false)
    assert.equal(format.format(202611260042n, { unixUs: 0 }), '202611260042')
  })

  test('reads back each period of each unit that it tells', () => {
    for (const [unit, templates] of Object.entries(telling)) {
      for (const template of templates) {
        for (const yearStart of unit === 'year' ? ['01-01', '04-01', '12-31'] : ['01-01']) {
          const definition = { period: unit as PeriodUnit, width: 4, yearStart }
          const { periods, format } = compiled(template, definition)
          const first = periods.ordinalOfDay('2019-11-20T00:00:00Z')
          const last = periods.ordinalOfDay('2037-11-20T00:00:00Z')
          const stride = Math.max(1, Math.floor((last - first) / 400))
          const texts = new Set<string>()
          for (let ordinal = first; ordinal <= last; ordinal += stride) {
            const id = periods.firstId(ordinal) + 9_876n
            const written = format.format(id)
            assert.equal(format.parse(written), id, template)
            assert.ok(!texts.has(written))
            texts.add(written)
          }
        }
      }
    }
  })

  test('is refused where two periods would have the same text', () => {
    for (const [unit, templates] of Object.entries(silent))
      for (const template of templates)
        assert.throws(
          () => compiled(template, { period: unit as PeriodUnit, width: 4 }),
          { code: 'ERR', message: /two periods would have the same text, since it does not tell the / },
          `${unit} ${template}`,
        )
  })

  test('is refused where it cannot show what its ids are', () => {
    const refused: [string, PeriodDefinition, RegExp][] = [
      ['{date:yyyyMMdd:Asia/Tokyo}{id:4}', day, /whose zone is UTC; leave the zone out/],
      ['{date:yyyyMMdd}{id:3}', day, /its numbers end at 999, and width 4 goes further; write \{id:4\+\}/],
      ['uuidv7', day, /do not show periods/],
      ['{date:yyyyMMdd}', day, /0 times \{id\}/],
    ]
    for (const [template, definition, message] of refused)
      assert.throws(() => compiled(template, definition), { code: 'ERR', message })
    assert.throws(() => compileFormat('{end:yyyy}{id}'), { message: /is the end of a period/ })
  })

  test('takes a year of two digits for one from 2000 to 2099, and refuses to write others', () => {
    const { format } = compiled('{date:yyMMdd}{id:4}', day)
    assert.equal(format.parse('9912310001'), 209912310001n)
    assert.throws(() => format.format(210001010001n), {
      code: 'EXHAUSTED',
      message: /yy stands for 2000 to 2099/,
    })
    assert.throws(() => format.format(197001010001n), { code: 'EXHAUSTED' })
  })

  test('refuses texts of days that there are not, and ids of no period', () => {
    const { format } = compiled('{date:yyyyMMdd}-{id:4+}', day)
    for (const wrong of [
      '20260230-0001',
      '20261301-0001',
      '20261126-001',
      '20261126-00001',
      '20261126-12345',
      'x',
    ])
      assert.throws(() => format.parse(wrong), { code: 'ERR' }, wrong)
    assert.throws(() => format.format(42n), { code: 'ERR', message: /id 42 is of no day/ })
    assert.throws(() =>
      compiled('{date:YYYYww}{id:4}', { period: 'week', width: 4 }).format.parse('2025530001'),
    )
  })

  test('widens the number where it is told to', () => {
    const wide = { period: 'day', width: 6 } as const
    assert.equal(text('{date:yyMMdd}-{id:4+}', wide, '2026-11-26', 7n), '261126-0007')
    assert.equal(text('{date:yyMMdd}-{id:4+}', wide, '2026-11-26', 123_456n), '261126-123456')
    assert.deepEqual(compiled('{date:yyMMdd}-{id:4+}', wide).format.column(0n), {
      charactersMin: 11,
      charactersMax: 13,
      isAscii: true,
      signs: '0123456789',
      caseMatters: false,
      sortsLikeIds: false,
    })
  })

  test('knows whether its texts are in the order of ids', () => {
    const sorts = (template: string, definition: PeriodDefinition = day) => {
      const { format, periods } = compiled(template, definition)
      const from = periods.firstId(periods.ordinalOfDay('2026-11-26'))
      assert.equal(format.smallest(from) !== undefined, format.column(0n).sortsLikeIds)
      return format.column(0n).sortsLikeIds
    }
    assert.equal(sorts('A{date:yyyyMMdd}-{id:4}'), true)
    assert.equal(sorts('{date:yyMMdd}{id:4}{check:luhn}'), true)
    assert.equal(sorts('{date:YYYYww}{id:4}', { period: 'week', width: 4 }), true)
    assert.equal(sorts('{date:yyyy}/{end:yy}-{id:4}', fiscal), true)
    for (const template of [
      '{date:ddMMyyyy}{id:4}',
      '{id:4}{date:yyyyMMdd}',
      '{date:yyyyMMdd}{id}',
      '{date:yyyyMMdd}{node}{id:4}',
    ])
      assert.equal(sorts(template), false, template)
    assert.equal(compiled('{date:yyMMdd}{id:4}{node}', day).format.smallest(202611260000n), '2611260000')
    assert.equal(compiled('{date:yyMMdd}{id:4}', day).format.smallest(202613260000n), undefined)
  })

  test('has check digits over its dates: no single error is another id', () => {
    const { format } = compiled('{date:yyMMdd}{id:4}{check:luhn}', day)
    const written = format.format(202611260042n)
    assert.equal(format.parse(written), 202611260042n)
    const found = [...nearTexts(written, '0123456789', [written.length, written.length])].filter((near) => {
      try {
        return format.parse(near) !== 202611260042n
      } catch {
        return false
      }
    })
    assert.deepEqual(found, [])
  })
})

describe('texts of runs', () => {
  const none = { head: () => '', tail: ';' }

  function written(
    template: string,
    definition: PeriodDefinition,
    first: bigint,
    count: number,
    stride = 1,
  ): string[] {
    const texts = compiled(template, definition).format.texts({ node: 7 })
    const bytes = new Uint8Array((texts.bytesMax + 1) * count)
    const run = new Run()
    run.set(first, count, stride)
    const end = texts.write(bytes, 0, run, 0, count, none)
    return new TextDecoder().decode(bytes.subarray(0, end)).split(';').slice(0, -1)
  }

  test('are those of each of its ids, in each period', () => {
    for (const [unit, templates] of Object.entries(telling)) {
      for (const template of [...templates, 'é{node}{date:yyyyMMddHH}-{id:2+:group=2}']) {
        const definition = { period: unit as PeriodUnit, width: 4 }
        const { periods, format } = compiled(template, definition)
        const first = periods.firstId(periods.ordinalOfDay('2026-11-26T13:00:00Z')) + 93n
        const expected = Array.from({ length: 120 }, (_, at) =>
          format.format(first + BigInt(at), { node: 7 }),
        )
        assert.deepEqual(written(template, definition, first, 120), expected)
        assert.equal(format.texts({ node: 7 }).text(first), expected[0])
      }
    }
  })

  test('go over from one period to the next', () => {
    assert.deepEqual(written('{date:MMdd}{date:yyyy}-{id}', { period: 'day', width: 2 }, 2026112698n, 4), [
      '11262026-98',
      '11262026-99',
      '11272026-0',
      '11272026-1',
    ])
  })

  test('stand in JSON as they are', () => {
    const { format } = compiled('"{date:yyyyMMdd}"{id:4}', day)
    assert.equal(JSON.parse(`"${format.texts().inJson().text(202611260042n)}"`), '"20261126"0042')
  })
})

test('an id with at least so many digits is padded, and read back', () => {
  const format = compileFormat('A{id:4+}')
  assert.deepEqual(
    [7n, 9999n, 10000n].map((id) => format.format(id)),
    ['A0007', 'A9999', 'A10000'],
  )
  assert.deepEqual(
    ['A0007', 'A10000'].map((each) => format.parse(each)),
    [7n, 10000n],
  )
  for (const wrong of ['A007', 'A00007']) assert.throws(() => format.parse(wrong), { code: 'ERR' })
  assert.equal(format.maxId, 2n ** 63n - 1n)
  assert.throws(() => compileFormat('{id:0+}'), { message: /has a width of 0/ })
})

test('dates show ISO weeks and quarters', () => {
  const at = (iso: string) => ({ unixUs: Date.parse(iso) * 1000 })
  const format = compileFormat('{date:YYYYww-Q:Asia/Shanghai}/{id}')
  assert.equal(format.format(1n, at('2026-12-31T16:00:00Z')), '202653-1/1')
  assert.equal(format.format(1n, at('2026-12-31T15:59:59Z')), '202653-4/1')
  assert.equal(format.format(1n, at('2024-12-30T00:00:00Z')), '202501-4/1')
  assert.equal(format.parse('202653-1/9'), 9n)
  assert.throws(() => format.parse('202654-1/9'), { code: 'ERR' })
})

test('periods of another zone table read the texts of the one before', () => {
  const shifted = new Periods({
    unit: 'day',
    zone: 'UTC',
    yearStart: '01-01',
    width: 4,
    localTime: (ms) => ms + 3_600_000,
  })
  const format = compileFormat('{date:yyyyMMdd}{id:4}', { periods: shifted })
  assert.equal(format.parse(format.format(202611260042n)), 202611260042n)
})
