import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Timeline } from '../../../src/base/timeline.ts'
import { ClockBuffer } from '../../../src/buffers/clock-buffer.ts'
import { emptyRow, FastRun, FastRuns, openGate } from '../../../src/buffers/fast-runs.ts'
import { RangeBuffer } from '../../../src/buffers/range-buffer.ts'
import { parseLayout } from '../../../src/ids/layout-text.ts'
import { Run, safeHi, two32 } from '../../../src/ids/run.ts'
import { FakeClock, settled } from '../fake-clock.ts'

const run = new Run()

test('a fast run gives its ids in order, all that are asked for or none', () => {
  const fastRun = new FastRun()
  assert.equal(fastRun.take(1, run), 0)
  fastRun.fill(1, 10, 5, 3)
  assert.equal(fastRun.take(2, run), 2)
  assert.deepEqual([run.first, run.count, run.stride], [2n ** 32n + 10n, 2, 3])
  assert.equal(fastRun.take(4, run), 0)
  assert.equal(fastRun.taken, 2)
  assert.equal(fastRun.take(3, run), 3)
  assert.equal(run.first, 2n ** 32n + 16n)
  assert.equal(fastRun.recall(), 5)
  assert.equal(fastRun.recall(), 0)
  assert.equal(fastRun.take(1, run), 0)
})

describe('the fast run of a range buffer', () => {
  test('leaves out the ids below the low mark, and stops where the low half would overflow', () => {
    const buffer = new RangeBuffer(1, 0n)
    buffer.add({ start: 2n ** 32n - 10n, end: 2n ** 32n + 10n })
    buffer.lowMark = 15
    buffer.take(1, run)
    assert.equal(buffer.fastRun.count, 4)
    buffer.lowMark = 0
    buffer.take(1, run)
    assert.equal(buffer.fastRun.count, 7)
    assert.equal(buffer.fastRun.take(7, run), 7)
    assert.equal(run.at(6), 2n ** 32n - 2n)
    for (const id of [2n ** 32n - 1n, 2n ** 32n]) {
      assert.equal(buffer.take(1, run), 1)
      assert.equal(run.first, id)
    }
    assert.deepEqual([buffer.issued, buffer.available(), buffer.low], [11, 9, false])
  })

  test('holds the ids below the low mark too once a refill is due', () => {
    const buffer = new RangeBuffer(1, 0n)
    buffer.add({ start: 0n, end: 10n })
    buffer.lowMark = 10
    buffer.take(1, run)
    assert.deepEqual([buffer.low, buffer.fastRun.count], [true, 9])
  })

  const readers: [name: string, read: (buffer: RangeBuffer) => unknown, left: number][] = [
    ['available', (buffer) => buffer.available(), 7],
    ['take', (buffer) => buffer.take(1, run), 6],
    ['collect', (buffer) => buffer.collect(8, true), 7],
    ['untouchedUpTo', (buffer) => assert.equal(buffer.untouchedUpTo(10n), 3n), 7],
    ['dropBelow', (buffer) => buffer.dropBelow(5n), 5],
    ['clear', (buffer) => buffer.clear(), 0],
    ['add', (buffer) => buffer.add({ start: 10n, end: 12n }), 9],
  ]
  for (const [name, read, left] of readers) {
    test(`is taken back before ${name}, less the ids that are taken`, () => {
      const buffer = new RangeBuffer(1, 0n)
      buffer.add({ start: 0n, end: 10n })
      buffer.take(1, run)
      buffer.fastRun.take(2, run)
      read(buffer)
      assert.equal(buffer.fastRun.count, name === 'take' ? 6 : 0)
      assert.equal(buffer.available(), left)
      assert.ok(buffer.issued === 3 || name === 'take')
    })
  }

  test('stays for newest and nextIsSafe, which count the ids that are taken, up to the end of its range', () => {
    const buffer = new RangeBuffer(1, 0n)
    buffer.add({ start: 0n, end: 4n })
    buffer.add({ start: 2n ** 53n, end: 2n ** 53n + 4n })
    buffer.take(1, run)
    const seen = () => [buffer.newest(0n, 0n), buffer.nextIsSafe(0n), buffer.fastRun.count]
    assert.deepEqual(seen(), [0n, true, 3])
    buffer.fastRun.take(2, run)
    assert.deepEqual(seen(), [2n, true, 1])
    buffer.fastRun.take(1, run)
    assert.deepEqual(seen(), [2n ** 53n - 1n, false, 0])
    buffer.ready()
    assert.deepEqual([buffer.fastRun.count, buffer.issued, buffer.available()], [4, 4, 4])
  })
})

describe('the fast run of a clock buffer', () => {
  const open = (text: string) => {
    const clock = new FakeClock()
    const layout = parseLayout(text)
    const buffer = new ClockBuffer({
      layout,
      timeline: new Timeline(clock),
      random: () => 0,
      borrowMaxUs: 0,
      sequenceStart: 'zero',
    })
    buffer.grant(1, 0, 2 ** layout.timeBits)
    return { clock, buffer }
  }

  test('holds 255 ids after one reading of the clock, and 256 are issued by it', () => {
    const { clock, buffer } = open('time:41,node:10,sequence:12;epoch=2026-01-01T00:00:00Z')
    buffer.take(1, run)
    const { first } = run
    assert.equal(buffer.fastRun.count, 255)
    clock.mono += 5000
    buffer.fastRun.take(255, run)
    assert.equal(run.at(254), first + 255n)
    buffer.take(1, run)
    assert.ok(run.first > first + 4096n)
    assert.equal(buffer.issued, 257)
  })

  test('is empty after the end of the callback, and after the unit of time', async () => {
    const { clock, buffer } = open('time:41,node:10,sequence:2;epoch=2026-01-01T00:00:00Z')
    buffer.take(1, run)
    assert.equal(buffer.fastRun.count, 3)
    buffer.fastRun.take(1, run)
    const last = run.first
    await settled()
    assert.equal(buffer.fastRun.count, 0)
    assert.equal(buffer.lastIssued(), last)
    clock.mono += 1000
    buffer.take(4, run)
    assert.equal(buffer.fastRun.count, 0)
  })

  test('is empty where ids lie too far apart, and stops where the low half would overflow', () => {
    const far = open('time:31,sequence:8,node:24;unit=s;epoch=2026-01-01T00:00:00Z')
    far.buffer.take(1, run)
    assert.equal(far.buffer.fastRun.count, 0)
    const { buffer } = open('time:25,sequence:18,node:20;unit=1m;epoch=2026-01-01T00:00:00Z')
    const seen = new Set<bigint>()
    for (let id = 0; id < 10_000; id++) {
      if (buffer.fastRun.take(1, run) === 0) buffer.take(1, run)
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
    test(`is taken back before ${look}`, () => {
      const { buffer } = open('time:41,node:10,sequence:12;epoch=2026-01-01T00:00:00Z')
      buffer.take(1, run)
      buffer.fastRun.take(5, run)
      const { first } = run
      if (look === 'grant') buffer.grant(2, 0, 2 ** 41)
      else if (look === 'untouched' || look === 'position') void buffer[look]
      else buffer[look]()
      assert.equal(buffer.fastRun.count, 0)
      assert.equal(buffer.issued, 6)
      assert.equal(buffer.lastIssued(), first + 4n)
    })
  }
})

describe('one id of a fast run as a number', () => {
  test('is the one that a run would have held, up to 2^53−1', () => {
    const fastRun = new FastRun()
    fastRun.fill(safeHi - 1, two32 - 3, 3, 1)
    assert.equal(fastRun.takeNumber(), Number.MAX_SAFE_INTEGER - 2)
    assert.equal(fastRun.takeNumber(), Number.MAX_SAFE_INTEGER - 1)
    assert.equal(fastRun.takeNumber(), -1)
  })

  test('is refused past 2^53−1, and none is taken', () => {
    const fastRun = new FastRun()
    fastRun.fill(safeHi, 0, 3, 1)
    assert.equal(fastRun.takeNumber(), -1)
    assert.equal(fastRun.count, 3)
  })
})

describe('a table of fast runs', () => {
  test('keeps the ids of its rows as it grows', () => {
    const table = new FastRuns(2)
    const runs = Array.from({ length: 1000 }, (_, index) => {
      const added = table.add()
      added.fill(0, index * 10, 2, 1)
      return added
    })
    assert.equal(new Set(runs.map(({ row }) => row)).size, 1000)
    for (const [index, each] of runs.entries()) assert.equal(each.takeNumber(), index * 10)
  })

  test('takes nothing from the rows of a closed gate, and all that was left after it has opened again', () => {
    const table = new FastRuns()
    const gate = table.addGate()
    const [gated, free] = [table.add(gate), table.add(openGate)]
    for (const each of [gated, free]) each.fill(0, 1, 3, 1)
    assert.equal(gated.takeNumber(), 1)
    table.setGate(gate, false)
    table.setGate(gate, false)
    assert.deepEqual([gated.takeNumber(), gated.take(1, run), free.takeNumber()], [-1, 0, 1])
    table.setGate(gate, true)
    assert.deepEqual([gated.takeNumber(), gated.takeNumber(), table.closedGates], [2, 3, 0])
  })

  test('gives the number of an ended gate away only once no row has it', () => {
    const table = new FastRuns()
    const gate = table.addGate()
    const row = table.add(gate)
    row.fill(0, 1, 3, 1)
    table.endGate(gate)
    assert.notEqual(table.addGate(), gate)
    assert.deepEqual([row.takeNumber(), row.take(1, run), table.closedGates], [-1, 0, 1])
    row.free()
    assert.deepEqual([table.addGate(), table.closedGates], [gate, 0])
    table.endGate(gate)
    assert.equal(table.addGate(), gate)
  })

  test('gives a row that was freed to another run, with another generation', () => {
    const table = new FastRuns()
    const before = table.add()
    const { row } = before
    const generation = table.generation(row)
    before.fill(0, 1, 3, 1)
    before.free()
    before.free()
    const after = table.add()
    assert.equal(after.row, row)
    assert.notEqual(table.generation(after.row), generation)
    assert.equal(after.count, 0)
    after.fill(0, 1, 3, 1)
    assert.deepEqual(
      [before.row, before.takeNumber(), before.take(1, run), before.recall()],
      [emptyRow, -1, 0, 0],
    )
    assert.throws(() => before.fill(0, 1, 1, 1), /a run that was freed gets no ids/)
  })
})
