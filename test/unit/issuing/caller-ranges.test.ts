import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import { max63 } from '../../../src/ids/limits.ts'
import type { Range } from '../../../src/ids/run.ts'
import {
  type CallerRange,
  CallerRanges,
  type CallerRangesOptions,
  type GivenBack,
} from '../../../src/issuing/caller-ranges.ts'
import type { Incarnation } from '../../../src/issuing/incarnation.ts'
import { FaultyEngine } from '../../conformance/faulty-engine.ts'
import { FakeClock } from '../fake-clock.ts'

const counter = 'generators/order'

type Started = { readonly engine: FaultyEngine; readonly ranges: CallerRanges }

/** A process with a connection of its own to the store. */
function started(
  store: MemoryStore,
  options: Partial<CallerRangesOptions> = {},
  incarnation: Partial<Incarnation> = {},
): Started {
  const engine = new FaultyEngine(new MemoryEngine(store))
  const own = {
    name: 'order',
    counter,
    incarnation: 1n,
    floor: 1n,
    advances: engine.advances,
    ...incarnation,
  }
  const all = { engine, clock: new FakeClock(), max: max63, increment: 1, offset: 0n, ...options }
  return { engine, ranges: new CallerRanges(0n, own, all) }
}

function ends({ start, end, ids }: CallerRange): [bigint, bigint, number] {
  return [start, end, ids]
}

function stated({ ids }: CallerRanges) {
  const { leased, returned, gap } = ids.stats()
  return { leased, returned, gap }
}

function back(ids: number): GivenBack {
  return { ids, isBack: true }
}

describe('ranges for callers', () => {
  test('span the increment times as many raw values as ids', async () => {
    const { ranges } = started(new MemoryStore(), { increment: 16, offset: 3n })
    const range = await ranges.reserve(100)
    assert.deepEqual(ends(range), [1n, 1601n, 100])
    assert.deepEqual(await range.release(1n + 16n * 60n), back(40), 'ids, and not raw values')
    assert.equal(ranges.ids.stats().leased, 100)
    assert.equal(ranges.ids.stats().returned, 40)
  })

  test('end with the space, and then there is none', async () => {
    const { ranges } = started(new MemoryStore(), { max: 25n, increment: 10, offset: 5n })
    assert.deepEqual(ends(await ranges.reserve(1)), [1n, 11n, 1])
    assert.deepEqual(ends(await ranges.reserve(1000)), [11n, 26n, 2])
    await assert.rejects(ranges.reserve(1), { code: 'EXHAUSTED' })
  })

  test('are none if no id is among the raw values that are left', async () => {
    const { ranges } = started(new MemoryStore(), { max: 25n, increment: 10, offset: 5n }, { floor: 17n })
    assert.deepEqual(ends(await ranges.reserve(1000)), [17n, 26n, 1])
    const past = started(new MemoryStore(), { max: 24n, increment: 10, offset: 5n }, { floor: 17n })
    await assert.rejects(past.ranges.reserve(1), { code: 'EXHAUSTED' })
  })

  test('are the rest of the space also if other processes take from it meanwhile', async () => {
    const store = new MemoryStore()
    const one = started(store, { max: 100n })
    const other = started(store, { max: 100n })
    await one.ranges.reserve(10)
    await other.ranges.reserve(60)
    assert.deepEqual(ends(await one.ranges.reserve(90)), [71n, 101n, 30])
  })

  test('go back one after the other, the newest first, also if their first value is no id', async () => {
    const { ranges } = started(new MemoryStore(), { increment: 10, offset: 5n })
    const [first, second, third] = [await ranges.reserve(9), await ranges.reserve(9), await ranges.reserve(9)]
    assert.deepEqual(await third.release(third.start + 4n), back(9))
    assert.deepEqual(await second.release(second.start), back(9))
    assert.deepEqual(await first.release(25n), back(7))
    ranges.assertInvariants()
    assert.deepEqual(ends(await ranges.reserve(2)), [25n, 45n, 2])
    assert.deepEqual(stated(ranges), { leased: 29, returned: 25, gap: 0 })
  })

  test('go back in parts, each below the one before, and a repetition gives nothing back', async () => {
    const { ranges } = started(new MemoryStore())
    const older = await ranges.reserve(100)
    const newer = await ranges.reserve(100)
    assert.deepEqual(await newer.release(151n), back(50))
    assert.deepEqual(await newer.release(151n), { ids: 0, isBack: false })
    assert.deepEqual(await newer.release(101n), back(50))
    assert.deepEqual(await newer.release(110n), { ids: 0, isBack: false })
    assert.deepEqual(await older.release(91n), back(10))
    const following = await ranges.reserve(10)
    assert.deepEqual(ends(following), [91n, 101n, 10])
    assert.deepEqual(await following.release(91n), back(10))
    assert.deepEqual(await older.release(41n), back(50))
    ranges.assertInvariants()
  })

  test('are gaps below a range of which a part was used, and count as given back', async () => {
    const { ranges } = started(new MemoryStore())
    const older = await ranges.reserve(100)
    const newer = await ranges.reserve(100)
    assert.deepEqual(await older.release(41n), { ids: 60, isBack: false })
    assert.deepEqual(await newer.release(102n), back(99))
    assert.deepEqual(ends(await ranges.reserve(10)), [102n, 112n, 10])
    assert.deepEqual(stated(ranges), { leased: 210, returned: 159, gap: 60 })
  })

  test('are gaps below a range whose release got no reply, whether it was carried out or not', async () => {
    for (const fault of ['lose-reply', 'lose-request', 'late'] as const) {
      const { engine, ranges } = started(new MemoryStore())
      const older = await ranges.reserve(100)
      const newer = await ranges.reserve(100)
      engine.next('release', fault)
      assert.deepEqual(await newer.release(101n), { ids: 100, isBack: false })
      assert.deepEqual(await older.release(41n), { ids: 60, isBack: false })
      const following = await ranges.reserve(10)
      await engine.deliver()
      const next = await ranges.reserve(10)
      assert.ok(following.start >= 101n && next.start >= following.end, `${following.start}, ${fault}`)
      assert.equal(engine.count('release'), 1, 'nothing is sent twice, or of an older range')
      assert.deepEqual(stated(ranges), { leased: 220, returned: 160, gap: 160 })
    }
  })

  test('are gaps if another process raised the floor between them or above', async () => {
    for (const at of [1, 2]) {
      const store = new MemoryStore()
      const [own, other] = [started(store), started(store)]
      const raise = () => other.engine.reserve(counter, { size: 0n, floor: 1n, incarnation: 1n })
      const older = await own.ranges.reserve(100)
      if (at === 1) await raise()
      const newer = await own.ranges.reserve(100)
      if (at === 2) await raise()
      await newer.release(newer.start)
      assert.equal((await older.release(41n)).isBack, false, `at ${at}`)
    }
  })

  test('are gaps below a range whose release was under way while another one was reserved', async () => {
    for (const isFirst of [true, false]) {
      const { engine, ranges } = started(new MemoryStore())
      const older = await ranges.reserve(100)
      const newer = await ranges.reserve(100)
      const held = engine.hold(isFirst ? 'release' : 'reserve')
      const [releasing, reserving] = [newer.release(101n), ranges.reserve(10)]
      await held.arrived
      if (isFirst) await reserving
      else await releasing
      held.letGo()
      const [, following] = await Promise.all([releasing, reserving])
      await older.release(41n)
      ranges.assertInvariants()
      assert.ok((await ranges.reserve(1)).start >= following.end, 'above what was reserved meanwhile')
    }
  })

  test('go back as far as the newest sixteen', async () => {
    const { ranges } = started(new MemoryStore())
    const all: CallerRange[] = []
    for (let each = 0; each < 20; each++) all.push(await ranges.reserve(10))
    const gone = []
    for (const range of all.toReversed()) gone.push((await range.release(range.start)).isBack)
    assert.deepEqual(gone.indexOf(false), 16)
    assert.deepEqual(stated(ranges), { leased: 200, returned: 200, gap: 40 })
  })

  test('are a gap if the reply to the reserve is lost', async () => {
    const { engine, ranges } = started(new MemoryStore())
    engine.next('reserve', 'lose-reply')
    await assert.rejects(ranges.reserve(100), { code: 'UNKNOWN' })
    assert.deepEqual(ends(await ranges.reserve(10)), [101n, 111n, 10])
    assert.equal(ranges.ids.stats().leased, 10)
  })

  test('are refused to an earlier incarnation, and after the store has been advanced', async () => {
    const store = new MemoryStore()
    const { ranges } = started(store)
    const range = await ranges.reserve(10)
    await started(store, {}, { incarnation: 2n, floor: 11n }).ranges.reserve(1)
    await assert.rejects(ranges.reserve(1), { code: 'STALE' })
    assert.equal((await range.release(1n)).isBack, false)
    const outdated = started(store, {}, { incarnation: 2n, advances: -1 })
    await assert.rejects(outdated.ranges.reserve(1), { code: 'STALE' })
  })

  test('are gaps if the generator was closed while they were reserved', async () => {
    const store = new MemoryStore()
    const { engine, ranges } = started(store)
    const held = engine.hold('reserve')
    const reserving = ranges.reserve(10)
    await held.arrived
    ranges.close(new Error('over'))
    held.letGo()
    await assert.rejects(reserving, /over/)
    assert.equal((await started(store).ranges.reserve(1)).start, 11n)
  })

  test('are gaps if a copy of the memory was noticed while they were reserved', async () => {
    const ranges: CallerRanges[] = []
    let isCopied = false
    const copies = {
      count: 0,
      check() {
        if (isCopied) ranges[0]!.close(new Error('copied'))
        return isCopied
      },
    }
    const { engine, ranges: own } = started(new MemoryStore(), { copies })
    ranges.push(own)
    const held = engine.hold('reserve')
    const reserving = own.reserve(10)
    await held.arrived
    isCopied = true
    held.letGo()
    await assert.rejects(reserving, /copied/)
  })

  test('are none after the generator was closed, with the reason', async () => {
    const { ranges } = started(new MemoryStore())
    const range = await ranges.reserve(10)
    ranges.close(new Error('over'))
    await assert.rejects(ranges.reserve(1), /over/)
    assert.deepEqual(await range.release(4n), back(7), 'what a caller holds may go back')
  })
})

/** What one of two processes does. */
type Step = { readonly by: number } & (
  | { readonly act: 'lease'; readonly ids: number; readonly fault: 'none' | 'lose-reply' | 'lose-request' }
  | {
      readonly act: 'return'
      readonly which: number
      readonly used: number
      /** The ids that are kept at first, and given back in a second step. */
      readonly kept: number
      readonly fault: 'none' | 'lose-reply' | 'late'
    }
  | { readonly act: 'refill'; readonly ids: number }
  | { readonly act: 'release'; readonly used: number }
  | { readonly act: 'restart' }
  | { readonly act: 'deliver' }
)

const by = fc.nat(1)
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        by,
        act: fc.constant('lease' as const),
        ids: fc.integer({ min: 1, max: 9 }),
        fault: fc.constantFrom(
          'none' as const,
          'none' as const,
          'lose-reply' as const,
          'lose-request' as const,
        ),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        by,
        act: fc.constant('return' as const),
        which: fc.nat(5),
        used: fc.nat(9),
        kept: fc.nat(2),
        fault: fc.constantFrom('none' as const, 'none' as const, 'lose-reply' as const, 'late' as const),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ by, act: fc.constant('refill' as const), ids: fc.integer({ min: 1, max: 9 }) }),
    },
    { weight: 2, arbitrary: fc.record({ by, act: fc.constant('release' as const), used: fc.nat(9) }) },
    { weight: 1, arbitrary: fc.record({ by, act: fc.constantFrom('restart' as const, 'deliver' as const) }) },
  ),
  { maxLength: 25 },
)

test('ranges for callers, beside the buffers of two processes share no id, with each other or with a buffer, in any order of steps', async () => {
  await fc.assert(
    fc.asyncProperty(steps, fc.constantFrom(1, 3), (sequence, increment) =>
      sharesNothing(sequence, increment),
    ),
    { numRuns: 1000 },
  )
})

/** Everything that is used of a range is used by one holder. */
async function sharesNothing(sequence: readonly Step[], increment: number): Promise<void> {
  const store = new MemoryStore()
  const start = () => ({
    ...started(store, { increment }),
    /** The buffer of the process reserves by a `CallerRanges` too: any other holder of the same counter does. */
    buffer: started(store, { increment }).ranges,
    buffered: undefined as CallerRange | undefined,
    held: [] as CallerRange[],
  })
  const processes = [start(), start()]
  const used: Range[] = []
  for (const step of sequence) {
    const process = processes[step.by]!
    if (step.act === 'lease') {
      if (step.fault !== 'none') process.engine.next('reserve', step.fault)
      const range = await process.ranges.reserve(step.ids).catch(() => undefined)
      if (range !== undefined) process.held.push(range)
    } else if (step.act === 'return') {
      const [range] = process.held.splice(step.which % Math.max(1, process.held.length), 1)
      if (range === undefined) continue
      if (step.fault !== 'none') process.engine.next('release', step.fault)
      await give(range, step.used, step.kept)
    } else if (step.act === 'refill') {
      if (process.buffered !== undefined) used.push(process.buffered)
      process.buffered = await process.buffer.reserve(step.ids)
    } else if (step.act === 'release') {
      const range = process.buffered
      process.buffered = undefined
      if (range !== undefined) await give(range, step.used)
    } else if (step.act === 'restart') {
      // What callers hold of a process that was killed stays theirs.
      used.push(...process.held, ...(process.buffered === undefined ? [] : [process.buffered]))
      processes[step.by] = start()
    } else await process.engine.deliver()
    process.engine.heal()
    for (const { ranges, buffer } of processes) for (const each of [ranges, buffer]) each.assertInvariants()
  }
  for (const { held, buffered } of processes)
    used.push(...held, ...(buffered === undefined ? [] : [buffered]))
  const ids = new Set<bigint>()
  for (const { start, end } of used)
    for (let value = start; value < end; value++) {
      if (value % BigInt(increment) !== 0n) continue
      assert.ok(!ids.has(value), `${value} is used twice`)
      ids.add(value)
    }

  async function give(range: CallerRange, count: number, kept = 0): Promise<void> {
    const [until, from] = [count + kept, count]
      .map((values) => range.start + BigInt(values))
      .map((value) => (value < range.end ? value : range.end)) as [bigint, bigint]
    used.push({ start: range.start, end: from })
    if (kept > 0) await range.release(until)
    await range.release(from)
  }
}
