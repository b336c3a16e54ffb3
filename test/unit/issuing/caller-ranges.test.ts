import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Range } from '../../../src/engine/engine.ts'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import { max63 } from '../../../src/ids/limits.ts'
import {
  type CallerRange,
  CallerRanges,
  type CallerRangesOptions,
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

describe('ranges for callers', () => {
  it('begin at the floor, and follow each other', async () => {
    const { ranges } = started(new MemoryStore())
    assert.deepEqual(ends(await ranges.reserve(100)), [1n, 101n, 100])
    assert.deepEqual(ends(await ranges.reserve(10)), [101n, 111n, 10])
  })

  it('span the increment times as many raw values as ids', async () => {
    const { ranges } = started(new MemoryStore(), { increment: 16, offset: 3n })
    const range = await ranges.reserve(100)
    assert.deepEqual(ends(range), [1n, 1601n, 100])
    assert.equal(await range.release(1n + 16n * 60n), 40, 'ids, and not raw values')
    assert.equal(ranges.ids.stats().leased, 100)
    assert.equal(ranges.ids.stats().returned, 40)
  })

  it('end with the space, and then there is none', async () => {
    const { ranges } = started(new MemoryStore(), { max: 25n, increment: 10, offset: 5n })
    assert.deepEqual(ends(await ranges.reserve(1)), [1n, 11n, 1])
    assert.deepEqual(ends(await ranges.reserve(1000)), [11n, 26n, 2])
    await assert.rejects(ranges.reserve(1), { code: 'EXHAUSTED' })
  })

  it('are none if no id is among the raw values that are left', async () => {
    const { ranges } = started(new MemoryStore(), { max: 25n, increment: 10, offset: 5n }, { floor: 17n })
    assert.deepEqual(ends(await ranges.reserve(1000)), [17n, 26n, 1])
    const past = started(new MemoryStore(), { max: 24n, increment: 10, offset: 5n }, { floor: 17n })
    await assert.rejects(past.ranges.reserve(1), { code: 'EXHAUSTED' })
  })

  it('are the rest of the space also if other processes take from it meanwhile', async () => {
    const store = new MemoryStore()
    const one = started(store, { max: 100n })
    const other = started(store, { max: 100n })
    await one.ranges.reserve(10)
    await other.ranges.reserve(60)
    assert.deepEqual(ends(await one.ranges.reserve(90)), [71n, 101n, 30])
  })

  it('go back if they are on top of the bound, and are given out again', async () => {
    const { ranges } = started(new MemoryStore())
    const range = await ranges.reserve(100)
    assert.equal(await range.release(41n), 60)
    assert.deepEqual(ends(await ranges.reserve(10)), [41n, 51n, 10])
  })

  it('do not go back once another range has been reserved, even if that one has gone back', async () => {
    const { ranges } = started(new MemoryStore())
    const older = await ranges.reserve(100)
    const newer = await ranges.reserve(100)
    assert.equal(await newer.release(newer.start), 100)
    assert.equal(await older.release(41n), 0)
    assert.deepEqual(ends(await ranges.reserve(10)), [101n, 111n, 10])
  })

  it('are a gap if the reply to the reserve is lost', async () => {
    const { engine, ranges } = started(new MemoryStore())
    engine.next('reserve', 'lose-reply')
    await assert.rejects(ranges.reserve(100), { code: 'UNKNOWN' })
    assert.deepEqual(ends(await ranges.reserve(10)), [101n, 111n, 10])
    assert.equal(ranges.ids.stats().leased, 10)
  })

  it('are a gap if the reply to the release is lost, and a late release takes nothing back', async () => {
    for (const fault of ['lose-reply', 'lose-request', 'late'] as const) {
      const { engine, ranges } = started(new MemoryStore())
      const range = await ranges.reserve(100)
      engine.next('release', fault)
      assert.equal(await range.release(41n), 0)
      const following = await ranges.reserve(10)
      assert.equal(following.start, 101n, fault)
      await engine.deliver()
      assert.equal((await ranges.reserve(1)).start, following.end, fault)
      assert.equal(engine.count('release'), 1, 'it is sent once')
    }
  })

  it('are refused to an earlier incarnation, and after the store has been advanced', async () => {
    const store = new MemoryStore()
    const { ranges } = started(store)
    const range = await ranges.reserve(10)
    await started(store, {}, { incarnation: 2n, floor: 11n }).ranges.reserve(1)
    await assert.rejects(ranges.reserve(1), { code: 'STALE' })
    assert.equal(await range.release(1n), 0)
    const outdated = started(store, {}, { incarnation: 2n, advances: -1 })
    await assert.rejects(outdated.ranges.reserve(1), { code: 'STALE' })
  })

  it('are gaps if the generator was closed while they were reserved', async () => {
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

  it('are gaps if a copy of the memory was noticed while they were reserved', async () => {
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

  it('are none after the generator was closed, with the reason', async () => {
    const { ranges } = started(new MemoryStore())
    const range = await ranges.reserve(10)
    ranges.close(new Error('over'))
    await assert.rejects(ranges.reserve(1), /over/)
    assert.equal(await range.release(4n), 7, 'what a caller holds may go back')
  })
})

/** What one of two processes does. */
type Step = { readonly by: number } & (
  | { readonly act: 'lease'; readonly ids: number; readonly fault: 'none' | 'lose-reply' | 'lose-request' }
  | {
      readonly act: 'return'
      readonly which: number
      readonly used: number
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

describe('ranges for callers, beside the buffers of two processes', () => {
  it('share no raw value, with each other or with a buffer, in any order of steps', async () => {
    await fc.assert(
      fc.asyncProperty(steps, fc.constantFrom(1, 3), (sequence, increment) =>
        sharesNothing(sequence, increment),
      ),
      { numRuns: 400 },
    )
  })
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
      await give(range, step.used)
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
  }
  for (const { held, buffered } of processes)
    used.push(...held, ...(buffered === undefined ? [] : [buffered]))
  const inOrder = used.filter(({ start, end }) => start < end).sort((a, b) => (a.start < b.start ? -1 : 1))
  inOrder.reduce(
    (before, range) => {
      assert.ok(
        before.end <= range.start,
        `[${before.start}, ${before.end}) and [${range.start}, ${range.end})`,
      )
      return range
    },
    { start: 0n, end: 0n },
  )

  async function give(range: CallerRange, count: number): Promise<void> {
    const from = range.start + BigInt(count)
    const unused = from < range.end ? from : range.end
    used.push({ start: range.start, end: unused })
    await range.release(unused)
  }
}
