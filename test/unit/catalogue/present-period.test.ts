/** What is said of the present period of a generator, and of its end. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { define } from '../../../src/catalogue/definition.ts'
import { parseOptions } from '../../../src/catalogue/generator-options.ts'
import { exhaustionUs, leftIds } from '../../../src/catalogue/info.ts'
import { presentPeriod } from '../../../src/catalogue/present-period.ts'
import { FakeClock } from '../fake-clock.ts'
import { draw, startNode } from './node.ts'

const noonUs = Date.UTC(2026, 10, 26, 12) * 1000
const hourUs = 3_600_000_000

test('the present period has a label, an end, and numbers that are left', async () => {
  const { catalogue, clock, stop } = await startNode({ clock: new FakeClock(noonUs) })
  const format = '{date:yyyyMMdd}-{id:4}'
  const invoice = await catalogue.create('invoice', {
    kind: 'sequence',
    period: 'day',
    zone: 'Europe/Berlin',
    format,
    step: 10,
  })
  const { present: fresh } = await catalogue.info('invoice')
  assert.deepEqual([fresh!.label, fresh!.ends, fresh!.left], ['20261126', '2026-11-26T23:00:00Z', 9999n])
  await draw(invoice, 3)
  const { bound, lastIssued, present, exhaustedAt, notes } = await catalogue.info('invoice')
  assert.deepEqual(
    [bound, lastIssued, present!.left, exhaustedAt],
    [202611260011n, 202611260003n, 9989n, undefined],
  )
  assert.ok(notes.some((note) => note.startsWith('its texts fit char(13), and sort like ids')))
  await clock.pass(12 * 3_600_000)
  const { present: next } = await catalogue.info('invoice')
  assert.deepEqual([next!.label, next!.ends, next!.left], ['20261127', '2026-11-27T23:00:00Z', 9999n])
  await stop()
})

test('another generator has no present period', async () => {
  const { catalogue, stop } = await startNode()
  await catalogue.create('order', { kind: 'sequence' })
  assert.equal((await catalogue.info('order')).present, undefined)
  await stop()
})

test('a period whose numbers run out before it ends is forecast, and one that lasts is not', () => {
  const definition = define(parseOptions({ kind: 'sequence', period: 'day', width: 4 }), 0)
  const at = (used: bigint, nowUs: number, perSecond = 0, buffered: number | undefined = 0) =>
    exhaustionUs(definition, 202611260001n + used, { perSecond, buffered }, nowUs)
  // 9,999 numbers, and half a day has passed.
  assert.equal(at(4_999n, noonUs), undefined)
  assert.equal(at(6_000n, noonUs), noonUs + 3999 * ((12 * hourUs) / 6000))
  assert.equal(at(6_000n, noonUs, 0, 2_000), undefined, 'two thousand of these are buffered')
  assert.equal(at(6_000n, noonUs, 100), at(6_000n, noonUs), 'a burst')
  assert.equal(
    at(9_000n, noonUs, 1),
    noonUs + 999_000_000,
    'with less than a quarter left the present rate counts',
  )
  assert.equal(at(9_000n, noonUs), noonUs + 999 * ((12 * hourUs) / 9000))
  const midnightUs = noonUs - 12 * hourUs
  assert.equal(at(10n, midnightUs + 1_000_000, 10), undefined, 'a burst at midnight')
  assert.equal(at(1_200n, midnightUs + hourUs / 3), midnightUs + hourUs / 3 + 8799 * ((2.4 * hourUs) / 1200))
  assert.equal(at(9_999n, noonUs), noonUs)
  assert.equal(
    exhaustionUs(definition, 202611270000n, { perSecond: 0, buffered: undefined }, noonUs),
    undefined,
    'its leader may have some',
  )
  assert.equal(leftIds(definition, 202611260001n), undefined)
})

test('a period that is full, or that is ahead of the clock, is the present one', () => {
  const definition = define(parseOptions({ kind: 'sequence', period: 'month', width: 2 }), 0)
  const full = presentPeriod(definition, 20261200n, noonUs)!
  assert.deepEqual([full.label, full.left, full.lastId], ['202611', 0n, 20261199n])
  const ahead = presentPeriod(definition, 20261206n, noonUs)!
  assert.deepEqual([ahead.label, ahead.left, ahead.ends], ['202612', 94n, '2027-01-01T00:00:00Z'])
})

test('numbers that run out are told in a note, and ids that outgrow JavaScript in another', async () => {
  const { catalogue, clock, stop } = await startNode({ clock: new FakeClock(noonUs) })
  const few = await catalogue.create('few', { kind: 'sequence', period: 'day', width: 1, gaps: 'none' })
  await draw(few, 9)
  const { exhaustedAt, notes } = await catalogue.info('few')
  assert.equal(exhaustedAt, new Date(clock.wall / 1000).toISOString())
  assert.match(
    notes.join(),
    /the numbers of period 20261126 have run out, before it ends on 2026-11-27T00:00:00Z: alter it to a larger width/,
  )
  assert.doesNotMatch(notes.join(), /plan for a successor/)
  await catalogue.create('wide', { kind: 'sequence', period: 'day', width: 10 })
  assert.match((await catalogue.info('wide')).notes.join(), /too large for an INT column.*JavaScript/)
  await catalogue.create('exact', { kind: 'sequence', period: 'day' })
  assert.doesNotMatch((await catalogue.info('exact')).notes.join(), /JavaScript/)
  await stop()
})
