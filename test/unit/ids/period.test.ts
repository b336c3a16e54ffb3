import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasCode } from '../../../src/base/errors.ts'
import { type PeriodOptions, Periods, type PeriodUnit, periodUnits } from '../../../src/ids/period.ts'
import { localTimeIn } from '../../../src/ids/zone.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs

function periods(unit: PeriodUnit, zone = 'UTC', more: Partial<PeriodOptions> = {}): Periods {
  return new Periods({ unit, zone, yearStart: '01-01', width: 4, ...more })
}

const us = (iso: string) => Date.parse(iso) * 1000
const iso = (unixUs: number) => new Date(unixUs / 1000).toISOString().replace('.000Z', 'Z')
const labelAt = (each: Periods, moment: string) => Number(each.label(each.ordinalAt(us(moment))))

/** What a calendar on the wall shows, found by the longest way. */
function shown(unit: PeriodUnit, zone: string, yearStart: string): (unixMs: number) => number {
  const offset = /^([+-])(\d\d):(\d\d)$/.exec(zone)
  const wall = new Intl.DateTimeFormat('sv-SE', {
    timeZone: offset === null ? zone : 'UTC',
    dateStyle: 'short',
    timeStyle: 'medium',
  })
  const shift =
    offset === null ? 0 : (offset[1] === '-' ? -1 : 1) * (Number(offset[2]) * 60 + Number(offset[3]))
  return (unixMs) => {
    const [year, month, day, hour] = wall
      .format(unixMs + shift * 60_000)
      .split(/\D/)
      .map(Number) as [number, number, number, number]
    if (unit === 'hour') return ((year * 100 + month) * 100 + day) * 100 + hour
    if (unit === 'day') return (year * 100 + month) * 100 + day
    if (unit === 'month') return year * 100 + month
    if (unit === 'quarter') return year * 10 + Math.ceil(month / 3)
    const [startMonth, startDay] = yearStart.split('-').map(Number) as [number, number]
    if (unit === 'year') return month * 100 + day < startMonth * 100 + startDay ? year - 1 : year
    const date = new Date(Date.UTC(year, month - 1, day))
    date.setUTCDate(date.getUTCDate() + 4 - (date.getUTCDay() || 7))
    const weekYear = date.getUTCFullYear()
    return weekYear * 100 + Math.ceil(((date.getTime() - Date.UTC(weekYear, 0, 1)) / dayMs + 1) / 7)
  }
}

/** The moments at which clocks of a zone are changed, in ms. */
function changes(zone: string, fromYear: number, toYear: number): number[] {
  const local = localTimeIn(zone)
  const found: number[] = []
  for (let ms = Date.UTC(fromYear, 0); ms < Date.UTC(toYear, 0); ms += dayMs) {
    if (local(ms) - ms === local(ms + dayMs) - (ms + dayMs)) continue
    let [low, high] = [ms, ms + dayMs]
    while (high - low > 1000) {
      const middle = low + Math.floor((high - low) / 2000) * 1000
      if (local(middle) - middle === local(ms) - ms) low = middle
      else high = middle
    }
    found.push(high)
  }
  return found
}

const zones: [zone: string, fromYear: number, toYear: number][] = [
  ['UTC', 2026, 2027],
  ['+08:00', 2026, 2027],
  ['-09:30', 2026, 2027],
  ['Europe/Berlin', 2024, 2028],
  ['Europe/London', 1970, 1973],
  ['America/Sao_Paulo', 1985, 2020],
  ['America/Havana', 2005, 2027],
  ['America/St_Johns', 1986, 2012],
  ['America/Nuuk', 2020, 2026],
  ['Asia/Kathmandu', 1984, 1988],
  ['Asia/Gaza', 2010, 2026],
  ['Asia/Beirut', 2020, 2024],
  ['Africa/Casablanca', 2018, 2027],
  ['Africa/Monrovia', 1971, 1974],
  ['Australia/Lord_Howe', 1985, 2027],
  ['Antarctica/Troll', 2005, 2008],
  ['Pacific/Apia', 2010, 2013],
  ['Pacific/Kiritimati', 1993, 1996],
  ['Pacific/Kwajalein', 1993, 1994],
]

test('periods are what the calendar on the wall shows, and never go back, around each change of the clocks', () => {
  for (const [zone, fromYear, toYear] of zones) {
    const moments = [...changes(zone, fromYear, toYear), Date.UTC(fromYear, 11, 31), Date.UTC(fromYear, 3)]
    for (const unit of periodUnits) {
      const yearStart = unit === 'year' ? '04-01' : '01-01'
      const each = periods(unit, zone, { yearStart })
      const naive = shown(unit, zone, yearStart)
      for (const moment of unit === 'hour' || unit === 'day' ? moments.slice(-20) : moments.slice(-4)) {
        let most = 0
        const around = [...Array(100).keys()].map((step) => moment + (step - 50) * (hourMs / 2))
        for (const ms of [...around, moment - 1, moment, moment + 1].sort((a, b) => a - b)) {
          most = Math.max(most, naive(ms))
          const ordinal = each.ordinalAt(ms * 1000)
          assert.equal(Number(each.label(ordinal)), most, `${unit} of ${zone} at ${iso(ms * 1000)}`)
          assert.equal(each.ordinalOf(BigInt(most)), ordinal)
          assert.equal(each.ordinalOfMoment(ms * 1000), ordinal, 'without what was remembered')
        }
      }
    }
  }
})

test('a period begins at the first moment at which the calendar shows it or a later one', () => {
  for (const [zone, fromYear, toYear] of zones) {
    for (const unit of ['hour', 'day', 'week'] as const) {
      const each = periods(unit, zone)
      const naive = shown(unit, zone, '01-01')
      for (const change of [...changes(zone, fromYear, toYear), Date.UTC(fromYear, 3, 1, 13)].slice(-6)) {
        const first = each.ordinalAt((change - dayMs) * 1000)
        const last = each.ordinalAt((change + dayMs) * 1000)
        for (let ordinal = first + 1; ordinal <= last; ordinal++) {
          const startMs = each.startUs(ordinal) / 1000
          const label = Number(each.label(ordinal))
          assert.ok(
            naive(startMs) >= label,
            `${unit} ${label} of ${zone} begins too early, ${iso(startMs * 1000)}`,
          )
          assert.ok(naive(startMs - 1) < label, `${unit} ${label} of ${zone} begins too late`)
          assert.equal(each.endUs(ordinal - 1), startMs * 1000)
        }
      }
    }
  }
})

test('a moment lies in its period, which a cache does not change', () => {
  let seed = 7
  const random = () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return seed / 2_147_483_648
  }
  for (const unit of periodUnits) {
    for (const zone of ['UTC', 'Europe/Berlin', 'America/St_Johns', 'Asia/Kathmandu']) {
      const each = periods(unit, zone, unit === 'year' ? { yearStart: '07-15' } : {})
      for (let round = 0; round < 60; round++) {
        const near = round % 2 === 0 ? 2_000_000_000 : Date.UTC(2100, 0)
        const unixUs = Math.floor(random() * near) * 1000 + Math.floor(random() * 1000)
        const ordinal = each.ordinalAt(unixUs)
        assert.equal(each.ordinalOfMoment(unixUs), ordinal)
        assert.ok(each.startUs(ordinal) <= unixUs && unixUs < each.endUs(ordinal))
        const [start, end] = [each.startUs(ordinal), each.endUs(ordinal)]
        const around = [start - 1, start, end - 1, end].map((at) => each.ordinalAt(at) - ordinal)
        assert.deepEqual(around, [-1, 0, 0, 1], `${unit} of ${zone} at ${iso(unixUs)}`)
      }
    }
  }
})

test('labels and ordinals are one to one, and grow together', () => {
  for (const unit of periodUnits) {
    const each = periods(unit, 'UTC', unit === 'year' ? { yearStart: '04-01' } : {})
    const from = each.ordinalAt(us('2019-12-20T00:00:00Z'))
    let before = 0n
    for (let ordinal = from; ordinal < from + 3000; ordinal++) {
      const label = each.label(ordinal)
      assert.ok(label > before)
      assert.equal(each.ordinalOf(label), ordinal)
      before = label
    }
  }
})

test('no other number is a label', () => {
  const wrong: [PeriodUnit, bigint[]][] = [
    ['hour', [2026112624n, 2026113000n * 10n, 202611260n, 2026023001n]],
    ['day', [20260229n, 20261301n, 20260001n, 20260100n, 2026112n, 202611260n]],
    ['week', [202600n, 202654n, 202553n, 2026n]],
    ['month', [202600n, 202613n, 20261n]],
    ['quarter', [20260n, 20265n]],
    ['year', [0n, 26n, 20261n, 1000n]],
  ]
  for (const [unit, labels] of wrong)
    for (const label of labels) assert.equal(periods(unit).ordinalOf(label), undefined, `${unit} ${label}`)
  assert.notEqual(periods('week').ordinalOf(202653n), undefined)
})

test('weeks are those of ISO 8601, also where they belong to another year', () => {
  const week = periods('week')
  assert.equal(labelAt(week, '2027-01-03T23:59:59Z'), 202653)
  assert.equal(labelAt(week, '2027-01-04T00:00:00Z'), 202701)
  assert.equal(labelAt(week, '2024-12-30T00:00:00Z'), 202501)
  assert.equal(labelAt(week, '2023-01-01T12:00:00Z'), 202252)
})

test('an hour that comes again goes on, and one that is skipped has no moments', () => {
  const hour = periods('hour', 'Europe/Berlin')
  assert.equal(labelAt(hour, '2026-10-25T00:30:00Z'), 2026102502)
  assert.equal(labelAt(hour, '2026-10-25T01:30:00Z'), 2026102502)
  assert.equal(labelAt(hour, '2026-10-25T02:00:00Z'), 2026102503)
  const again = hour.ordinalOf(2026102502n)!
  assert.equal(hour.endUs(again) - hour.startUs(again), 2 * hourMs * 1000)
  const skipped = hour.ordinalOf(2026032902n)!
  assert.equal(hour.startUs(skipped), hour.endUs(skipped))
  assert.equal(labelAt(hour, '2026-03-29T01:00:00Z'), 2026032903)
})

test('a day that a zone skips has no moments, and can be asked for', () => {
  const day = periods('day', 'Pacific/Apia')
  const skipped = day.ordinalOfDay('2011-12-30')
  assert.equal(day.label(skipped), 20111230n)
  assert.equal(day.startUs(skipped), day.endUs(skipped))
  assert.equal(day.ordinalAt(day.startUs(skipped)), skipped + 1)
})

test('where clocks go back over midnight, the new day goes on', () => {
  const day = periods('day', 'America/St_Johns')
  // 2011-11-06 00:01 became 2011-11-05 23:01.
  assert.equal(labelAt(day, '2011-11-06T02:29:59Z'), 20111105)
  assert.equal(labelAt(day, '2011-11-06T02:30:30Z'), 20111106)
  assert.equal(labelAt(day, '2011-11-06T03:00:00Z'), 20111106)
})

test('years that begin on another day have the label of the year in which they begin', () => {
  const year = periods('year', 'Asia/Tokyo', { yearStart: '04-01' })
  assert.equal(labelAt(year, '2027-03-31T14:59:59Z'), 2026)
  assert.equal(labelAt(year, '2027-03-31T15:00:00Z'), 2027)
  assert.equal(iso(year.startUs(2026)), '2026-03-31T15:00:00Z')
})

test('ids are labels and numbers', () => {
  const day = periods('day', 'UTC', { width: 7 })
  const ordinal = day.ordinalOfDay('2026-11-26')
  assert.equal(day.firstId(ordinal), 202611260000000n)
  assert.equal(day.endId(ordinal), 202611270000000n)
  assert.deepEqual(day.split(202611260000042n), { ordinal, label: 20261126n, number: 42n })
  assert.equal(day.split(202613260000042n), undefined)
  assert.equal(day.split(42n), undefined)
})

test('a day belongs to its week, month, quarter and year, and a moment to its period', () => {
  const expected = { day: 20270101n, week: 202653n, month: 202701n, quarter: 20271n, year: 2027n }
  for (const [unit, label] of Object.entries(expected)) {
    const each = periods(unit as PeriodUnit, 'Asia/Shanghai')
    assert.equal(each.label(each.ordinalOfDay('2027-01-01')), label)
    assert.equal(each.label(each.ordinalOfDay('2026-12-31T16:00:00Z')), label)
  }
  const hour = periods('hour', 'Asia/Shanghai')
  assert.equal(hour.label(hour.ordinalOfDay('2026-12-31T16:00:00Z')), 2027010100n)
  const refused = (each: Periods, at: string) =>
    assert.throws(
      () => each.ordinalOfDay(at),
      (error) => hasCode(error, 'ERR'),
      at,
    )
  refused(hour, '2026-12-31')
  for (const at of ['2026-02-30', '1969-12-31', '2200-01-01', 'today', '2026-12-31T16:00:00'])
    refused(periods('day'), at)
})

test('zones that mean different times, days that not every year has, and too many digits are refused', () => {
  const refused = (options: Partial<PeriodOptions>, says: RegExp) =>
    assert.throws(() => periods('day', 'UTC', options), { code: 'ERR', message: says })
  for (const zone of ['CST', 'EST', 'Etc/GMT+8', 'Mars/Olympus', '+15:00'])
    refused({ zone }, /zone '.*' is unknown/)
  for (const yearStart of ['02-29', '13-01', '04-31', '4-1', ''])
    refused({ yearStart }, /no day of every year/)
  refused({ width: 11 }, /give a width from 1 to 10$/)
  refused({ width: 0 }, /give a width from 1 to 10$/)
})

test('the present period asks the zone nothing', () => {
  let calls = 0
  const localTime = (unixMs: number) => {
    calls++
    return unixMs
  }
  const day = periods('day', 'UTC', { localTime })
  const startUs = us('2026-11-26T00:00:00Z')
  const ordinal = day.ordinalAt(startUs)
  calls = 0
  for (let hour = 0; hour < 24; hour++) assert.equal(day.ordinalAt(startUs + hour * hourMs * 1000), ordinal)
  assert.equal(calls, 0)
  assert.equal(day.ordinalAt(startUs + dayMs * 1000), ordinal + 1)
  assert.equal(day.ordinalAt(startUs), ordinal)
  calls = 0
  for (let look = 0; look < 100; look++) assert.equal(day.startUs(ordinal), startUs)
  for (let look = 0; look < 100; look++) assert.equal(day.ordinalOfMoment(startUs + 1), ordinal)
  assert.equal(calls, 100, 'one for each moment, to see what the wall shows')
})

test('a zone table may name any moment of a change', () => {
  // Back by a quarter of an hour at 00:00:00.123, which is no full second.
  const changeMs = Date.UTC(2026, 10, 26) + 123
  const localTime = (unixMs: number) => (unixMs < changeMs ? unixMs : unixMs - 900_000)
  const day = periods('day', 'UTC', { localTime })
  assert.equal(labelAt(day, '2026-11-26T00:00:00.122Z'), 20261126)
  assert.equal(labelAt(day, '2026-11-26T00:00:00.123Z'), 20261126)
  const next = day.ordinalAt(changeMs * 1000)
  assert.equal(day.startUs(next), Date.UTC(2026, 10, 26) * 1000)
  assert.equal(day.endUs(next), (Date.UTC(2026, 10, 27) + 900_000) * 1000)
})
