import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { Timeline } from '../../../src/base/timeline.ts'
import { ClockBuffer } from '../../../src/buffers/clock-buffer.ts'
import { clockBuffer } from '../../../src/buffers/scattered-clock-buffer.ts'
import { decode } from '../../../src/ids/id-parts.ts'
import type { Layout } from '../../../src/ids/layout.ts'
import { parseLayout } from '../../../src/ids/layout-text.ts'
import { mergedRuns, Run } from '../../../src/ids/run.ts'
import { FakeClock } from '../fake-clock.ts'

const ms = 1000
const layout = parseLayout('scatter:5,time:41,node:8,sequence:4,gene:5;epoch=2025-01-01T00:00:00Z')
const forever = 2 ** 41

function open(of: Layout = layout, borrowMaxUs = 10 * ms) {
  const clock = new FakeClock()
  const timeline = new Timeline(clock)
  const options = { layout: of, timeline, random: () => 0.3, borrowMaxUs, sequenceStart: 'random' } as const
  return { clock, buffer: clockBuffer(options), plain: new ClockBuffer(options) }
}

function take(buffer: ClockBuffer, count: number): bigint[] {
  const ids: bigint[] = []
  const run = new Run()
  while (ids.length < count && buffer.take(count - ids.length, run) > 0) {
    for (let index = 0; index < run.count; index++) ids.push(run.at(index))
  }
  buffer.assertInvariants()
  return ids
}

/** Without its scatter. */
function rest(id: bigint): bigint {
  return BigInt.asUintN(layout.scatterShift, id)
}

describe('a scattered clock buffer', () => {
  test('is made of a layout that scatters alone, and a row of the table of no other', () => {
    const { clock } = open()
    const timeline = new Timeline(clock)
    const options = { timeline, random: () => 0, borrowMaxUs: 0, sequenceStart: 'zero' } as const
    const noRow = () => assert.fail('it asked for a row')
    assert.equal(clockBuffer({ ...options, layout }, noRow).fastRun.row, 0)
    assert.throws(() => clockBuffer({ ...options, layout: parseLayout('twitter') }, noRow))
  })

  test('issues the ids of a clock buffer, each with its scatter', () => {
    const { clock, buffer, plain } = open()
    for (const each of [buffer, plain]) each.grant(200, 0, forever)
    for (const [count, us] of [
      [1, 0],
      [7, 0],
      [40, 4 * ms],
      [16, 9 * ms],
      [1, 60_000 * ms],
    ] as const) {
      clock.mono += us
      const ids = take(buffer, count)
      assert.deepEqual(ids.map(rest), take(plain, count))
      for (const id of ids) assert.equal(decode(layout, id).node, 200)
      assert.equal(buffer.lastIssued(), ids.at(-1))
      assert.equal(buffer.issued, plain.issued)
    }
  })

  test('gives a batch in no order, and no two ids as one run', () => {
    const { buffer, plain } = open()
    for (const each of [buffer, plain]) each.grant(1, 0, forever)
    const runs = buffer.collect(100)!
    assert.equal(
      runs.reduce((sum, { count }) => sum + count, 0),
      100,
    )
    const ids = runs.flatMap((run) => Array.from({ length: run.count }, (_, index) => run.at(index)))
    const plainIds = plain
      .collect(100)!
      .flatMap((run) => Array.from({ length: run.count }, (_, i) => run.at(i)))
    assert.deepEqual(ids.map(rest), plainIds)
    for (const id of ids) decode(layout, id)
    assert.notDeepEqual(
      ids,
      ids.toSorted((a, b) => (a < b ? -1 : 1)),
    )
    assert.deepEqual(
      mergedRuns(runs).flatMap(({ first, count }) => Array<bigint>(count).fill(first)),
      ids,
    )
    assert.equal(buffer.collect(1_000_000), undefined)
    assert.equal(buffer.lastIssued(), ids.at(-1))
  })

  test('knows that ids below 2^53 are safe only where all of them are', () => {
    assert.equal(open().buffer.areSafe(1), false)
    const narrow = parseLayout('scatter:3,time:36,node:8,sequence:6;unit=10ms;epoch=2025-01-01T00:00:00Z')
    assert.equal(open(narrow).buffer.areSafe(1), true)
    const { buffer } = open(narrow)
    buffer.grant(255, 0, 2 ** 36)
    for (const id of take(buffer, 100)) assert.ok(id < 2n ** 53n)
  })

  test('goes on above what it issued under a smaller node, whatever their scatter is', () => {
    const { buffer } = open()
    const ids: bigint[] = []
    for (let node = 255; node > 200; node--) {
      buffer.grant(node, 1, forever)
      ids.push(...take(buffer, 3))
    }
    const rests = ids.map(rest)
    assert.deepEqual(
      rests,
      rests.toSorted((a, b) => (a < b ? -1 : 1)),
    )
    assert.equal(new Set(ids).size, ids.length)
  })

  test('repeats no id whatever the clock does, and whichever node is granted', () => {
    const action = fc.oneof(
      fc.record({ take: fc.integer({ min: 1, max: 300 }) }),
      fc.record({ batch: fc.integer({ min: 1, max: 100 }) }),
      fc.record({ passUs: fc.integer({ min: 0, max: 3 * ms }) }),
      fc.record({ wallUs: fc.integer({ min: -3_600_000 * ms, max: 3_600_000 * ms }) }),
      fc.record({ node: fc.integer({ min: 0, max: 255 }) }),
    )
    fc.assert(
      fc.property(fc.array(action, { maxLength: 30 }), (actions) => {
        const { clock, buffer } = open()
        buffer.grant(7, 0, forever)
        const seen = new Set<bigint>()
        let count = 0
        const see = (id: bigint) => {
          decode(layout, id)
          seen.add(id)
          count++
        }
        for (const act of actions) {
          if ('wallUs' in act) clock.wall += act.wallUs
          if ('passUs' in act) clock.mono += act.passUs
          if ('node' in act) buffer.grant(act.node, 0, forever)
          if ('take' in act) for (const id of take(buffer, act.take)) see(id)
          if ('batch' in act)
            for (const run of buffer.collect(act.batch) ?? [])
              for (let i = 0; i < run.count; i++) see(run.at(i))
        }
        assert.equal(seen.size, count)
      }),
      { numRuns: 100 },
    )
  })

  test('issues a million ids, none twice, as many into each of 32 ranges', () => {
    const { clock, buffer } = open(
      parseLayout('scatter:5,time:41,node:8,sequence:9;epoch=2025-01-01T00:00:00Z'),
    )
    buffer.grant(9, 0, forever)
    const seen = new Set<bigint>()
    const ranges = new Array<number>(32).fill(0)
    const run = new Run()
    for (let issued = 0; issued < 1_000_000; issued++) {
      while (buffer.take(1, run) === 0) clock.mono += 400
      seen.add(run.first)
      ranges[Number(run.first >> 58n)]!++
    }
    assert.equal(seen.size, 1_000_000)
    // 31,250 of each are expected: 6 standard deviations of a fair dice.
    assert.ok(Math.min(...ranges) > 30_200 && Math.max(...ranges) < 32_300, String(ranges))
  })
})
