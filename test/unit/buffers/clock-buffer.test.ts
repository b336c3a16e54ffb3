import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { Timeline } from '../../../src/base/timeline.ts'
import { batchMax, ClockBuffer, type ClockBufferOptions } from '../../../src/buffers/clock-buffer.ts'
import { UsedTime } from '../../../src/buffers/used-time.ts'
import { decode } from '../../../src/ids/id-parts.ts'
import type { Layout } from '../../../src/ids/layout.ts'
import { parseLayout } from '../../../src/ids/layout-text.ts'
import { mergedRuns, Run } from '../../../src/ids/run.ts'
import { FakeClock, settled } from '../fake-clock.ts'

const ms = 1000
/** Four ids per ms. */
const small = parseLayout('time:41,node:10,sequence:2;epoch=2025-01-01T00:00:00Z')
const forever = 2 ** 41

function open(layout: Layout = small, options: Partial<ClockBufferOptions> = {}) {
  const clock = new FakeClock()
  const timeline = new Timeline(clock)
  const buffer = new ClockBuffer({
    layout,
    timeline,
    random: () => 0.5,
    borrowMaxUs: 10 * ms,
    sequenceStart: 'zero',
    ...options,
  })
  const unit = () => buffer.unitsAt(clock.wall)
  return { clock, buffer, unit }
}

/** Takes up to `count` ids, in as many runs as it takes. */
function take(buffer: ClockBuffer, count: number): bigint[] {
  const ids: bigint[] = []
  const run = new Run()
  while (ids.length < count && buffer.take(count - ids.length, run) > 0) {
    for (let index = 0; index < run.count; index++) ids.push(run.at(index))
  }
  buffer.assertInvariants()
  return ids
}

/** Lets time pass, and the event loop turn. */
async function pass(clock: FakeClock, us: number): Promise<void> {
  clock.mono += us
  clock.wall += us
  await settled()
}

describe('a clock buffer', () => {
  test('issues no id before time is granted, nor after it is dropped', () => {
    const { buffer, unit } = open()
    assert.deepEqual(take(buffer, 1), [])
    buffer.grant(5, unit(), unit() + 1)
    assert.equal(take(buffer, 1).length, 1)
    buffer.clear()
    assert.deepEqual(take(buffer, 1), [])
  })

  test('takes back what it has made ready at the end of each callback, and so do all others', async () => {
    const opened = [open(), open()]
    for (const { buffer } of opened) buffer.grant(5, 0, forever)
    for (let time = 0; time < 2; time++) {
      for (const { buffer } of opened) {
        assert.equal(take(buffer, 1).length, 1)
        assert.ok(buffer.fastRun.count > 0)
      }
      for (const { clock } of opened) await pass(clock, ms)
      for (const { buffer } of opened) assert.equal(buffer.fastRun.count, 0)
    }
  })

  test('makes ids of the time, the node and a sequence', () => {
    const { clock, buffer } = open()
    buffer.grant(5, 0, forever)
    const ids = take(buffer, 2)
    for (const [index, id] of ids.entries()) {
      const { unixUs, node, sequence } = decode(small, id)
      assert.deepEqual([Number(unixUs), node, sequence], [clock.wall, 5, index])
    }
  })

  test('says beforehand whether the next ids are at most 2^53−1, to one unit of time', () => {
    const wide = parseLayout('time:41,node:14,sequence:2;epoch=2025-01-01T00:00:00Z')
    /** The first unit of time whose ids are above 2^53−1. */
    const above = 2 ** 37
    const before = fc.integer({ min: 0, max: 12 })
    fc.assert(
      fc.property(
        before,
        fc.integer({ min: 0, max: 9 }),
        fc.integer({ min: 1, max: 30 }),
        (units, used, count) => {
          const { buffer } = open(wide)
          buffer.grant(5, above - units, forever)
          take(buffer, used)
          const isSafe = buffer.areSafe(count)
          const ids = take(buffer, count)
          assert.equal(ids.length, count)
          if (isSafe) assert.ok(ids.every((id) => id <= 2n ** 53n - 1n))
          else assert.ok(ids.at(-1)! + 2n ** 16n > 2n ** 53n - 1n)
        },
      ),
    )
  })

  test('carries a full sequence into time, up to borrowMax, and waits then', async () => {
    const { clock, buffer } = open()
    buffer.grant(0, 0, forever)
    const burst = take(buffer, 1000)
    assert.equal(burst.length, 4 * 11)
    assert.ok(burst.every((id, index) => index === 0 || id > burst[index - 1]!))
    assert.equal(Number(decode(small, burst.at(-1)!).unixUs), clock.wall + 10 * ms)
    assert.equal(buffer.waitMs(), 1)
    await pass(clock, ms)
    assert.equal(take(buffer, 1000).length, 4)
  })

  test('issues only inside of the granted time', async () => {
    const { clock, buffer, unit } = open()
    buffer.grant(0, unit(), unit() + 2)
    assert.equal(take(buffer, 1000).length, 8)
    assert.equal(buffer.waitMs(), undefined)
    await pass(clock, 5 * ms)
    assert.deepEqual(take(buffer, 1), [])
  })

  test('starts at a grant in the future, and borrows from there', async () => {
    const { clock, buffer, unit } = open()
    const start = unit() + 500
    buffer.grant(0, start, forever)
    const ids = take(buffer, 1000)
    assert.equal(ids.length, 4 * 11)
    assert.equal(ids[0]! >> BigInt(small.timeShift), BigInt(start))
    await pass(clock, 3 * ms)
    assert.equal(take(buffer, 1000).length, 12)
    await pass(clock, 1000 * ms)
    assert.equal(take(buffer, 1)[0]! >> BigInt(small.timeShift), BigInt(unit()))
  })

  test('goes on where it was when a grant in the future is extended', async () => {
    const { clock, buffer, unit } = open()
    const start = unit() + 60_000
    buffer.grant(5, start, start + 100)
    await pass(clock, 50 * ms)
    assert.equal(take(buffer, 4 * 55).length, 4 * 55)
    buffer.grant(5, start, start + 200)
    assert.equal(take(buffer, 4 * 55).length, 4 * 6)
  })

  test('continues above its newest id under another node', () => {
    const { buffer, unit } = open()
    buffer.grant(1, 0, forever)
    const [first] = take(buffer, 1)
    buffer.grant(2, unit() - 5, forever)
    const [second] = take(buffer, 1)
    assert.deepEqual([decode(small, second!).node, decode(small, second!).sequence], [2, 1])
    assert.ok(second! > first!)
  })

  test('continues above its newest id under a smaller node, in the next unit of time only where it has to', () => {
    const { buffer } = open()
    const sequenceFirst = open(parseLayout('time:41,sequence:2,node:10;epoch=2025-01-01T00:00:00Z')).buffer
    const units = [buffer, sequenceFirst].map((each) => {
      each.grant(9, 0, forever)
      const ids = take(each, 2)
      const before = each.position
      for (const node of [7, 7, 3]) {
        each.grant(node, node, forever)
        ids.push(...take(each, 1))
      }
      assert.deepEqual(
        ids,
        ids.toSorted((a, b) => (a < b ? -1 : 1)),
      )
      return each.position - before
    })
    assert.deepEqual(units, [2, 1])
  })

  test('never issues with a stale time after an idle moment', async () => {
    const { clock, buffer } = open()
    buffer.grant(0, 0, forever)
    take(buffer, 1)
    await pass(clock, 60_000 * ms)
    assert.equal(Number(decode(small, take(buffer, 1)[0]!).unixUs), clock.wall)
  })

  test('at the full rate of its layout borrows one unit of time at most, wherever the sequence starts', async () => {
    for (const start of [0, 0.5, 0.99]) {
      const { clock, buffer, unit } = open(small, { sequenceStart: 'random', random: () => start })
      buffer.grant(0, 0, forever)
      const ids: bigint[] = []
      for (let each = 0; each < 100; each++) {
        ids.push(...take(buffer, 4))
        assert.ok(Number(ids.at(-1)! >> BigInt(small.timeShift)) <= unit() + 1)
        await pass(clock, ms)
      }
      assert.equal(new Set(ids).size, 400)
    }
  })

  test('returns the newest id when time has moved on', async () => {
    const { clock, buffer } = open(small, { sequenceStart: 'random' })
    buffer.grant(0, 0, forever)
    assert.equal(buffer.lastIssued(), undefined)
    const [id] = take(buffer, 1)
    assert.equal(decode(small, id!).sequence, 2)
    assert.equal(buffer.lastIssued(), id)
    await pass(clock, 5 * ms)
    assert.ok(buffer.position > 0)
    assert.equal(buffer.lastIssued(), id)
  })

  test('returns the first unit of which no id has been issued', () => {
    const { buffer, unit } = open()
    buffer.grant(0, 0, forever)
    assert.equal(buffer.position, unit())
    assert.equal(buffer.untouched, unit())
    take(buffer, 4)
    assert.equal(buffer.untouched, unit() + 1)
    take(buffer, 1)
    assert.equal(buffer.untouched, unit() + 2)
    buffer.grant(0, 1, forever)
    assert.equal(buffer.untouched, unit() + 2)
  })

  test('collects all or nothing', () => {
    const { buffer, unit } = open()
    buffer.grant(0, unit(), unit() + 3)
    take(buffer, 1)
    assert.equal(buffer.available(), 11)
    assert.equal(buffer.collect(12), undefined)
    assert.equal(buffer.available(), 11)
    const runs = buffer.collect(11)
    assert.equal(
      runs?.reduce((sum, run) => sum + run.count, 0),
      11,
    )
    assert.equal(buffer.available(), 0)
  })

  const layouts = [
    'twitter',
    'time:41,node:10,sequence:12;epoch=2020-01-01T00:00:00Z',
    'time:32,sequence:21,node:10;unit=s;epoch=2020-01-01T00:00:00Z',
    'time:45,sequence:18;unit=100us;epoch=2025-01-01T00:00:00Z',
    'time:20,fixed:3=5,sequence:25,node:15;unit=1h;epoch=2020-01-01T00:00:00Z',
    'fixed:2=2,time:41,node:5;epoch=2020-01-01T00:00:00Z',
    'time:41,node:4,sequence:8,gene:10;epoch=2020-01-01T00:00:00Z',
    'region:2=1,time:41,sequence:4,gene:16;epoch=2020-01-01T00:00:00Z',
  ]
  const action = fc.oneof(
    fc.record({ take: fc.integer({ min: 1, max: 5000 }) }),
    fc.record({ passUs: fc.integer({ min: 0, max: 3 * ms }) }),
    fc.record({ wallUs: fc.integer({ min: -3_600_000 * ms, max: 3_600_000 * ms }) }),
  )
  for (const text of layouts) {
    test(`issues increasing ids of '${text}', in bounds, whatever the clock does`, () => {
      const layout = parseLayout(text)
      const node = layout.nodeBits > 0 ? 2 ** layout.nodeBits - 1 : 0
      fc.assert(
        fc.property(
          fc.array(action, { maxLength: 30 }),
          fc.constantFrom('zero' as const, 'random' as const),
          (actions, sequenceStart) => {
            const { clock, buffer } = open(layout, { sequenceStart, random: () => 0.9 })
            buffer.grant(node, 0, 2 ** layout.timeBits)
            let last = -1n
            for (const act of actions) {
              if ('wallUs' in act) clock.wall += act.wallUs
              if ('passUs' in act) clock.mono += act.passUs
              if (!('take' in act)) continue
              const run = new Run()
              for (let left = act.take; left > 0 && buffer.take(left, run) > 0; left -= run.count) {
                assert.ok(run.first > last)
                last = run.at(run.count - 1)
                const parts = decode(layout, last)
                assert.equal(parts.node ?? 0, node)
                assert.equal(parts.gene, 0)
                assert.equal(last & layout.fixedMask, layout.fixed)
              }
              if (last >= 0n) assert.equal(buffer.lastIssued(), last)
            }
          },
        ),
        { numRuns: 50 },
      )
    })
  }
})

describe('a batch of a clock buffer', () => {
  const wide = 'time:41,node:10,sequence:2'
  for (const [name, text, borrowMaxMs, max] of [
    ['four ids per ms', `${wide};epoch=2025-01-01T00:00:00Z`, 10, 40],
    ['at most 10,000 units of time', `${wide};epoch=2025-01-01T00:00:00Z`, 60_000, 40_000],
    ['one unit at least', `${wide};unit=10ms;epoch=2025-01-01T00:00:00Z`, 0, 4],
    [
      'a run for each id where they are far apart',
      'time:30,sequence:8,node:25;unit=s;epoch=2025-01-01T00:00:00Z',
      5000,
      5,
    ],
  ] as const) {
    test(`has ${max} ids at most: ${name}`, () => {
      const layout = parseLayout(text)
      const { buffer } = open(layout, { borrowMaxUs: borrowMaxMs * ms })
      assert.equal(batchMax(layout, borrowMaxMs * ms), max)
      buffer.grant(5, 0, forever)
      assert.ok(buffer.collect(max)!.length <= 10_001)
    })
  }

  test('is one run where full units of time continue one another', () => {
    const layout = parseLayout('node:10,time:41,sequence:2;epoch=2025-01-01T00:00:00Z')
    const { buffer } = open(layout)
    buffer.grant(5, 0, forever)
    assert.deepEqual(
      mergedRuns(buffer.collect(40)!).map(({ stride, count }) => [stride, count]),
      [[1, 40]],
    )
  })
})

describe('buffers of one right', () => {
  test('issue each id once, in order, although one follows another in the middle of a unit of time', () => {
    const { clock, buffer, unit } = open()
    const used = new UsedTime()
    const timeline = new Timeline(clock)
    const options = {
      layout: small,
      timeline,
      random: () => 0,
      borrowMaxUs: 10 * ms,
      sequenceStart: 'zero',
    } as const
    const following = new ClockBuffer(options)
    buffer.grant(5, unit(), forever, used)
    const ids = take(buffer, 6)
    following.grant(5, unit(), forever, used)
    assert.equal(buffer.available(), 0)
    assert.deepEqual(take(buffer, 1), [])
    ids.push(...take(following, 6))
    buffer.grant(5, unit(), forever, used)
    assert.equal(following.collect(1), undefined)
    ids.push(...take(buffer, 6))
    assert.equal(ids.length, 18)
    assert.deepEqual(ids, [...new Set(ids)].toSorted())
    for (const each of [buffer, following]) each.assertInvariants()
  })

  test('count a unit of time as used before its first id, and none that they have only reached', () => {
    const { buffer, unit } = open()
    const used = new UsedTime()
    buffer.grant(5, unit() + 3, forever, used)
    assert.ok(buffer.available() > 0)
    assert.equal(used.untilUs, 0)
    take(buffer, 1)
    assert.equal(used.untilUs, small.epochUs + (unit() + 4) * small.unitUs)
    buffer.clear()
    assert.equal(used.isInUse, false)
  })
})
