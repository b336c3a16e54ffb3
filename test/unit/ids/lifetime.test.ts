import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { encode } from '../../../src/ids/id-parts.ts'
import { parseLayout } from '../../../src/ids/layout-text.ts'
import { counterLifetime, firstPastUs, lifetime, sizeNotes } from '../../../src/ids/lifetime.ts'
import { max53, max63 } from '../../../src/ids/limits.ts'
import { momentText } from '../../../src/ids/moment.ts'
import { layouts } from '../../../src/ids/presets.ts'

test('a time field ends one unit after its last value', () => {
  assert.equal(lifetime(layouts.twitter).ends, '2080-07-10T17:30:30.209Z')
  assert.equal(lifetime(layouts.baidu).ends, '2024-11-20T13:24:16Z')
  assert.equal(lifetime(parseLayout('time:1;unit=us;epoch=0')).ends, '1970-01-01T00:00:00.000002Z')
  assert.equal(lifetime(parseLayout('time:63;unit=24h;epoch=0')).ends, 'about the year 25252734927768524')
})

test('a layout says how many nodes it has room for, and how many ids a second on each', () => {
  const { nodes, idsPerSecondPerNode } = lifetime(layouts.sonyflake)
  assert.deepEqual([nodes, idsPerSecondPerNode], [65536, 25600])
  assert.equal(lifetime(parseLayout('time:40;unit=s;epoch=0')).idsPerSecondPerNode, 1)
})

test('the first moment past 2^53 is the first at which some node can make such an id', () => {
  const small = fc.integer({ min: 0, max: 12 })
  fc.assert(
    fc.property(fc.integer({ min: 30, max: 45 }), small, small, (time, node, sequence) => {
      const fields = [
        { field: 'time', bits: time } as const,
        ...(node > 0 && time + node + sequence <= 63 ? [{ field: 'node', bits: node } as const] : []),
        ...(sequence > 0 && time + sequence <= 51 ? [{ field: 'sequence', bits: sequence } as const] : []),
      ]
      const layout = parseLayout({ fields, epoch: 0 })
      const last = { node: 2 ** layout.nodeBits - 1, sequence: 2 ** layout.sequenceBits - 1 }
      const { passes53Us } = lifetime(layout)
      if (passes53Us === undefined) {
        assert(encode(layout, { time: 2 ** time - 1, ...last }) <= max53)
        return
      }
      const first = passes53Us / 1000n
      assert(encode(layout, { time: first, ...last }) > max53)
      assert(first === 0n || encode(layout, { time: first - 1n, ...last }) <= max53)
    }),
  )
})

test('a node above time passes 2^53 from the start, js53 never', () => {
  assert.equal(lifetime(parseLayout('node:20,time:41;epoch=0')).passes53, '1970-01-01T00:00:00Z')
  assert.equal(lifetime(parseLayout('fixed:1=1,time:53;epoch=0')).passes53, '1970-01-01T00:00:00Z')
  assert.equal(lifetime(layouts.js53).passes53, undefined)
  assert.equal(lifetime(layouts.twitter).passes53, '2010-11-28T22:14:18.305Z')
})

test('ids outgrow an INT, 15 digits and 2^53 in turn, as far as thirty years ahead', () => {
  const nowUs = Date.UTC(2026, 0, 1) * 1000
  const day = 86_400_000_000n
  const at = (days: bigint | undefined) => () => (days === undefined ? undefined : BigInt(nowUs) + days * day)
  const [int, digits, javascript] = [
    'an INT column (2^31−1)',
    'the 15 digits that a spreadsheet keeps',
    'the numbers of JavaScript (2^53−1)',
  ]
  assert.deepEqual(sizeNotes(at(undefined), nowUs), [])
  assert.deepEqual(sizeNotes(at(0n), nowUs), [
    `its ids are too large for ${int}, and ${digits}, and ${javascript}`,
  ])
  assert.deepEqual(
    sizeNotes((limit) => (limit < 2n ** 31n ? at(0n)() : limit < max53 ? at(1n)() : at(40_000n)()), nowUs),
    [`its ids are too large for ${int}`, `its ids outgrow ${digits} on 2026-01-02`],
  )
  const js53 = sizeNotes((limit) => firstPastUs(layouts.js53, limit), nowUs)
  assert.deepEqual(js53, [`its ids are too large for ${int}`, `its ids outgrow ${digits} on 2032-09-26`])
})

test('a counter lasts for what is left at its rate', () => {
  const nowUs = Date.UTC(2026, 0, 1) * 1000
  const day = counterLifetime({ bound: 1n, max: 8_640_000n, ratePerSecond: 100, nowUs })
  assert.deepEqual(day, {
    left: 8_640_000n,
    secondsLeft: 86_400,
    endsUs: BigInt(nowUs) + 86_400_000_000n,
    ends: '2026-01-02T00:00:00Z',
  })
  assert.equal(counterLifetime({ bound: 1n, max: 10n, ratePerSecond: 1, nowUs, increment: 4n }).left, 3n)
  assert.equal(counterLifetime({ bound: 10n, max: 10n, ratePerSecond: 1, nowUs }).left, 1n)
  assert.equal(
    counterLifetime({ bound: 11n, max: 10n, ratePerSecond: 0, nowUs }).ends,
    '2026-01-01T00:00:00Z',
  )
  assert.deepEqual(
    [counterLifetime({ bound: 0n, max: 9n, ratePerSecond: 0, nowUs })].map(({ secondsLeft, ends }) => [
      secondsLeft,
      ends,
    ]),
    [[Number.POSITIVE_INFINITY, 'never']],
  )
  assert.match(
    counterLifetime({ bound: 0n, max: max63, ratePerSecond: 1, nowUs }).ends,
    /^about the year 29\d{10}$/,
  )
  for (const ratePerSecond of [-1, Number.NaN, Number.POSITIVE_INFINITY]) {
    assert.throws(() => counterLifetime({ bound: 0n, max: max53, ratePerSecond, nowUs }), { code: 'ERR' })
  }
  assert.equal(counterLifetime({ bound: 0n, max: max63, ratePerSecond: 5e-324, nowUs }).ends, 'never')
})

test('moments are written as finely as they are, on either side of 1970', () => {
  assert.equal(momentText(1_000_000n), '1970-01-01T00:00:01Z')
  assert.equal(momentText(1_001_000n), '1970-01-01T00:00:01.001Z')
  assert.equal(momentText(1_000_001n), '1970-01-01T00:00:01.000001Z')
  assert.equal(momentText(-1n), '1969-12-31T23:59:59.999999Z')
  assert.equal(momentText(8_640_000_000_000_000_000n), '+275760-09-13T00:00:00Z')
  assert.equal(momentText(8_640_000_000_000_000_001n), 'about the year 275760')
})
