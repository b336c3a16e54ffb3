/** The options of generators whose numbers begin again in each period. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Definition, define, definitionText, fixedOptions } from '../../../src/catalogue/definition.ts'
import { type GeneratorInput, parseOptions } from '../../../src/catalogue/generator-options.ts'
import { periodsOf } from '../../../src/catalogue/periods.ts'
import { redefine } from '../../../src/catalogue/redefinition.ts'
import { firstStored } from '../../../src/catalogue/stored-generator.ts'

function made(input: Partial<GeneratorInput> = {}): Definition {
  return define(parseOptions({ kind: 'sequence', period: 'day', ...input }), 0)
}

function altered(before: Definition, changes: Partial<GeneratorInput>): Definition {
  return redefine(firstStored(before, false, undefined), changes, 0)
}

describe('a definition with a period', () => {
  test('has a zone, a width by which ids are exact in JavaScript, and a largest id', () => {
    const digits = { hour: 5, day: 7, week: 9, month: 9, quarter: 10, year: 11 }
    for (const [period, width] of Object.entries(digits)) {
      const definition = made({ period: period as 'hour' })
      assert.deepEqual([definition.zone, definition.width, definition.keep], ['UTC', width, 0])
      assert.equal(definition.max, 999_999_999_999_999n)
      assert.equal(definition.yearStart, period === 'year' ? '01-01' : undefined)
    }
  })

  test('takes its width from the id of the format', () => {
    assert.equal(made({ format: '{date:yyyyMMdd}{id:4}' }).width, 4)
    assert.equal(made({ format: '{date:yyyyMMdd}{id:4:base36}' }).width, 6)
    assert.equal(made({ format: '{date:yyyyMMdd}-{id}' }).width, 7)
    assert.equal(made({ format: '{date:yyyyMMdd}{id:4}', width: 3 }).width, 3)
    assert.equal(made({ format: '{date:yyyyMMdd}{id:4}' }).max, 999_999_999_999n)
  })

  test('skips few numbers: its step is adaptive', () => {
    assert.equal(made().step, 0)
    assert.equal(made({ step: 10 }).step, 10)
  })

  test('keeps all of it for an incarnation', () => {
    for (const option of ['period', 'zone', 'yearStart', 'width', 'keep'] as const)
      assert.ok(fixedOptions.includes(option))
  })

  test('shares its periods with others that are like it', () => {
    assert.equal(periodsOf(made()), periodsOf(made({ kind: 'segment', start: 5 })))
    assert.notEqual(periodsOf(made()), periodsOf(made({ zone: 'Asia/Tokyo' })))
    assert.equal(periodsOf(made({ period: 'none' })), undefined)
  })

  test('is refused where numbers would not count by one, or an option means nothing', () => {
    const refused: [Partial<GeneratorInput>, RegExp][] = [
      [{ increment: 2 }, /count by one; leave increment out/],
      [{ increment: '1..9' }, /count by one; leave increment out/],
      [{ gene: 4 }, /count by one; leave gene out/],
      [{ kind: 'segment', within: 'shuffled' }, /leave within: shuffled out/],
      [{ kind: 'segment', scramble: true }, /leave scramble out/],
      [{ family: true }, /leave family out/],
      [{ avoid: 'bad' }, /leave avoid out/],
      [{ max: 5000 }, /leave max out/],
      [{ kind: 'snowflake' }, /option 'period' does not apply: a snowflake is made of the clock/],
      [{ kind: 'timestamp' }, /option 'period' does not apply/],
      [{ zone: 'CST' }, /zone 'CST' is unknown, or means different times/],
      [{ zone: 'Mars/Olympus' }, /zone 'Mars\/Olympus' is unknown/],
      [{ yearStart: '04-01' }, /yearStart belongs to period year/],
      [{ period: 'year', yearStart: '02-29' }, /no day of every year/],
      [{ width: 11 }, /give a width from 1 to 10/],
      [{ keep: 63 }, /must be at most 62/],
      [{ start: 1000, width: 3 }, /start 1000 is no number of 3 digits/],
      [{ format: 'A{id:4}' }, /it does not tell the day; show \{date:yyyyMMdd\}/],
      [{ format: '{date:yyyyMMdd}{id:4}', width: 5 }, /width 5 goes further; write \{id:5\+\}/],
      [{ period: 'none', format: '{end:yyyy}{id}' }, /is the end of a period/],
      [{ period: undefined, zone: 'UTC' }, /option 'zone' belongs to a period/],
      [{ period: 'none', keep: 3 }, /option 'keep' belongs to a period/],
      [{ period: 'decade' as 'day' }, /must be none, hour, day, week, month, quarter or year/],
    ]
    for (const [input, message] of refused) assert.throws(() => made(input), { code: 'ERR', message })
  })
})

describe('an alteration', () => {
  test('keeps the period, and what belongs to it', () => {
    const before = made({ zone: 'Asia/Tokyo', keep: 7 })
    assert.deepEqual(altered(before, { horizon: '1m' }), { ...before, horizon: 60_000 })
    assert.equal(altered(before, { kind: 'segment' }).keep, 7)
    assert.equal(altered(before, { width: 5 }).max, 9_999_999_999_999n)
    assert.equal(altered(before, { width: 5 }).keep, 7)
  })

  test('begins with other periods, or with none', () => {
    const before = made({ zone: 'Asia/Tokyo' })
    assert.deepEqual(altered(before, { period: 'year' }), made({ period: 'year' }))
    const none = altered(before, { period: 'none' })
    assert.equal(none.max, 2n ** 63n - 1n)
    assert.equal(none.zone, undefined)
    assert.equal(altered(none, { period: 'week', zone: 'Asia/Tokyo' }).zone, 'Asia/Tokyo')
  })

  test('cannot make ids of the clock while there are periods', () => {
    assert.throws(() => altered(made(), { kind: 'snowflake' }), {
      message: /a snowflake cannot keep period day; alter period to none first/,
    })
  })

  test('reads back what a definition shows', () => {
    const before = made({ period: 'year', zone: 'Asia/Tokyo', yearStart: '04-01', keep: 1 })
    const { max: _, ...text } = Object.fromEntries(definitionText(before))
    assert.deepEqual(define(parseOptions(text), 0), before)
  })
})
