import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Timeline } from '../../../src/base/timeline.ts'
import { ClockBuffer } from '../../../src/ids/clock-buffer.ts'
import { FastRun } from '../../../src/ids/fast-run.ts'
import { parseLayout } from '../../../src/ids/layout-text.ts'
import { Run, safeHi, two32 } from '../../../src/ids/run.ts'
import { OrderedBuffer } from '../../../src/issuing/ordered-buffer.ts'
import { FakeClock, settled } from '../fake-clock.ts'

const run = new Run()

describe('ids that are ready', () => {
  it('are taken in order, all that are asked for or none', () => {
    const ready = new FastRun()
    assert.equal(ready.take(1, run), 0)
    ready.make(1, 10, 5, 3)
    assert.equal(ready.take(2, run), 2)
    assert.deepEqual([run.first, run.count, run.stride], [2n ** 32n + 10n, 2, 3])
    assert.equal(ready.take(4, run), 0)
    assert.equal(ready.taken, 2)
    assert.equal(ready.take(3, run), 3)
    assert.equal(run.first, 2n ** 32n + 16n)
    assert.equal(ready.recall(), 5)
    assert.equal(ready.recall(), 0)
    assert.equal(ready.take(1, run), 0)
  })
})

describe('an ordered hand with ids ready', () => {
  it('leaves what is to be kept, and stops where the low half would overflow', () => {
    const hand = new OrderedBuffer(1, 0n)
    hand.add({ start: 2n ** 32n - 10n, end: 2n ** 32n + 10n })
    hand.prepare(15)
    assert.equal(hand.ready.count, 5)
    hand.prepare(0)
    assert.equal(hand.ready.count, 10)
    assert.equal(hand.ready.take(10, run), 10)
    assert.equal(run.at(9), 2n ** 32n - 1n)
    assert.equal(hand.take(1, run), 1)
    assert.equal(run.first, 2n ** 32n)
    assert.deepEqual([hand.issued, hand.left], [11, 9])
    hand.prepare(9)
    assert.equal(hand.ready.count, 0)
  })

  const lookers: [name: string, look: (hand: OrderedBuffer) => unknown, left: number][] = [
    ['left', (hand) => hand.left, 7],
    ['take', (hand) => hand.take(1, run), 6],
    ['align', (hand) => hand.align(8), 7],
    ['newest', (hand) => assert.equal(hand.newest(10n, 0n), 2n), 7],
    ['untouchedUpTo', (hand) => assert.equal(hand.untouchedUpTo(10n), 3n), 7],
    ['dropBelow', (hand) => hand.dropBelow(5n), 5],
    ['clear', (hand) => hand.clear(), 0],
    ['add', (hand) => hand.add({ start: 10n, end: 12n }), 9],
    ['nextIsSafe', (hand) => hand.nextIsSafe(0n), 7],
  ]
  for (const [name, look, left] of lookers) {
    it(`takes them back before ${name}, less those that are out`, () => {
      const hand = new OrderedBuffer(1, 0n)
      hand.add({ start: 0n, end: 10n })
      hand.prepare(0)
      hand.ready.take(3, run)
      look(hand)
      assert.equal(hand.ready.count, 0)
      assert.equal(hand.left, left)
      assert.ok(hand.issued === 3 || name === 'take')
    })
  }
})

describe('a clock hand with ids ready', () => {
  const open = (text: string) => {
    const clock = new FakeClock()
    const layout = parseLayout(text)
    const hand = new ClockBuffer({
      layout,
      timeline: new Timeline(clock),
      random: () => 0,
      borrowMaxUs: 0,
      sequenceStart: 'zero',
    })
    hand.grant(1, 0, 2 ** layout.timeBits)
    return { clock, hand }
  }

  it('issues 64 by one reading of the clock', () => {
    const { clock, hand } = open('time:41,node:10,sequence:12;epoch=2026-01-01T00:00:00Z')
    hand.take(1, run)
    const [first, ready] = [run.first, hand.ready.count]
    assert.equal(ready, 63)
    clock.mono += 5000
    hand.ready.take(63, run)
    assert.equal(run.at(62), first + 63n)
    hand.take(1, run)
    assert.ok(run.first > first + 4096n)
    assert.equal(hand.issued, 65)
  })

  it('keeps none past the end of the callback, nor past the unit of time', async () => {
    const { clock, hand } = open('time:41,node:10,sequence:2;epoch=2026-01-01T00:00:00Z')
    hand.take(1, run)
    assert.equal(hand.ready.count, 3)
    hand.ready.take(1, run)
    const last = run.first
    await settled()
    assert.equal(hand.ready.count, 0)
    assert.equal(hand.lastIssued(), last)
    clock.mono += 1000
    hand.take(4, run)
    assert.equal(hand.ready.count, 0)
  })

  it('keeps none where ids lie too far apart, and stops where the low half would overflow', () => {
    const far = open('time:31,sequence:8,node:24;unit=s;epoch=2026-01-01T00:00:00Z')
    far.hand.take(1, run)
    assert.equal(far.hand.ready.count, 0)
    const { hand } = open('time:25,sequence:18,node:20;unit=1m;epoch=2026-01-01T00:00:00Z')
    const seen = new Set<bigint>()
    for (let id = 0; id < 10_000; id++) {
      if (hand.ready.take(1, run) === 0) hand.take(1, run)
      seen.add(run.first)
      assert.equal(run.first & 0xfffffn, 1n)
      assert.equal((run.first >> 20n) & 0x3ffffn, BigInt(id))
    }
    assert.equal(seen.size, 10_000)
  })

  for (const look of [
    'untouched',
    'lastIssued',
    'available',
    'clear',
    'recall',
    'position',
    'grant',
  ] as const) {
    it(`takes them back before ${look}`, () => {
      const { hand } = open('time:41,node:10,sequence:12;epoch=2026-01-01T00:00:00Z')
      hand.take(1, run)
      hand.ready.take(5, run)
      const { first } = run
      if (look === 'grant') hand.grant(2, 0, 2 ** 41)
      else if (look === 'untouched' || look === 'position') void hand[look]
      else hand[look]()
      assert.equal(hand.ready.count, 0)
      assert.equal(hand.issued, 6)
      assert.equal(hand.lastIssued(), first + 4n)
    })
  }
})

describe('one ready id as a number', () => {
  it('is the one that a run would have held, up to 2^53−1', () => {
    const ready = new FastRun()
    ready.make(safeHi - 1, two32 - 2, 2, 1)
    assert.equal(ready.takeNumber(), Number.MAX_SAFE_INTEGER - 1)
    assert.equal(ready.takeNumber(), Number.MAX_SAFE_INTEGER)
    assert.equal(ready.takeNumber(), -1)
  })

  it('is refused past 2^53−1, and nothing is taken', () => {
    const ready = new FastRun()
    ready.make(safeHi, 0, 3, 1)
    assert.equal(ready.takeNumber(), -1)
    assert.equal(ready.count, 3)
  })
})
