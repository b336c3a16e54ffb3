import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { FahaoError } from '../../../src/base/errors.ts'
import { Timeline } from '../../../src/base/timeline.ts'
import { ClockBuffer } from '../../../src/buffers/clock-buffer.ts'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import { decode } from '../../../src/ids/id-parts.ts'
import { parseLayout } from '../../../src/ids/layout-text.ts'
import { Run } from '../../../src/ids/run.ts'
import { Limiter } from '../../../src/issuing/engine-permits.ts'
import { Observer } from '../../../src/issuing/observer.ts'
import { Reservoir } from '../../../src/issuing/reservoir.ts'
import { SnowflakeSource } from '../../../src/issuing/snowflake-source.ts'
import { TimestampSource } from '../../../src/issuing/timestamp-source.ts'
import { WorkerId } from '../../../src/issuing/worker-id.ts'
import { FaultyEngine } from '../../conformance/faulty-engine.ts'
import { FakeClock, settled } from '../fake-clock.ts'
import { idsOf } from './counter-process.ts'

const twitter = 'time:41,node:10,sequence:12;epoch=2025-01-01T00:00:00Z'
const horizonMs = 600_000

type Options = {
  store?: MemoryStore
  clock?: FakeClock
  layout?: string
  floorUnit?: number
  horizonMs?: number
  fixedId?: number
  confirm?: () => Promise<void>
  /** Of a process that has had the generator in another incarnation. */
  worker?: WorkerId
}

/** A process with one generator made of the clock. */
function open(kind: 'timestamp' | 'snowflake', options: Options, bound = 0n) {
  const { store = new MemoryStore(), clock = new FakeClock(), floorUnit = 0 } = options
  const layout = parseLayout(options.layout ?? twitter)
  const engine = new FaultyEngine(new MemoryEngine(store))
  const timeline = new Timeline(clock)
  const horizonUs = (options.horizonMs ?? horizonMs) * 1000
  const worker =
    options.worker ??
    new WorkerId({
      engine,
      timeline,
      fixedId: options.fixedId,
      leadUs: horizonUs,
      owner: `${Math.random()}`,
      holder: 'host:1',
      onEvent: () => {},
    })
  const buffer = new ClockBuffer({
    layout,
    timeline,
    random: () => 0,
    borrowMaxUs: 10_000_000,
    sequenceStart: 'zero',
  })
  const incarnation = {
    name: 't',
    counter: 'generators/t',
    incarnation: 1n,
    floor: BigInt(floorUnit),
    advances: 0,
  }
  const timestamp = new TimestampSource(buffer, bound, incarnation, {
    engine,
    layout,
    node: 0,
    horizonUs,
    mayReserve: () => Promise.resolve(),
  })
  const snowflake = new SnowflakeSource(buffer, incarnation, {
    worker,
    layout,
    confirm: options.confirm ?? (() => Promise.resolve()),
  })
  const source = kind === 'timestamp' ? timestamp : snowflake
  const reservoir = new Reservoir(source, {
    clock,
    random: () => 0.5,
    issueTimeoutMs: 2000,
    waitersMax: 100,
    limiter: new Limiter(),
    observer: new Observer(clock),
  })
  const unit = () => Math.floor((clock.wall - layout.epochUs) / layout.unitUs)
  const timeOf = (id: bigint) =>
    Number((id >> BigInt(layout.timeShift)) & (2n ** BigInt(layout.timeBits) - 1n))
  /** Moves it so that it goes on with this unit of time. */
  const moveTo = (unit: number) => reservoir.moveTo((BigInt(unit) << BigInt(layout.timeShift)) - 1n)
  const draw = async (count = 1) => idsOf(await reservoir.draw(count))
  const take = (count = 1) => {
    const run = new Run()
    const taken = reservoir.take(count, run)
    return Array.from({ length: taken }, (_, index) => run.at(index))
  }
  const close = async () => {
    await reservoir.close(new FahaoError('SHUTDOWN', 'closing'))
    await worker.release()
  }
  return {
    store,
    clock,
    engine,
    parsed: layout,
    worker,
    timestamp,
    reservoir,
    unit,
    timeOf,
    moveTo,
    draw,
    take,
    close,
  }
}

type Process = ReturnType<typeof open>

async function openTimestamp(options: Options = {}): Promise<Process> {
  const { bound = 0n } = options.store?.counters.get('generators/t') ?? {}
  return open('timestamp', options, bound)
}

const openSnowflake = (options: Options = {}) => open('snowflake', options)

describe('a timestamp', () => {
  test('issues the time that it has reserved, and nothing above the bound', async () => {
    const process = await openTimestamp()
    const [first] = await process.draw()
    assert.equal(process.timeOf(first!), process.unit())
    const { bound } = await process.engine.counter('generators/t')
    const reserved = Number(bound / 4096n) - process.unit()
    assert.ok(reserved >= horizonMs && reserved <= 1.3 * horizonMs)
    assert.equal(process.reservoir.lastIssued(), first)
  })

  test('reserves a few times in an hour, before the horizon is reached', async () => {
    const process = await openTimestamp()
    await process.draw()
    for (let second = 0; second < 3600; second++) {
      await process.clock.pass(1000)
      assert.equal(process.take().length, 1)
      assert.ok(process.reservoir.stats().inHandSeconds >= 599)
    }
    assert.ok(process.engine.count('reserve') < 30)
  })

  test('issues for the horizon without the engine, then rejects with the reason', async () => {
    const process = await openTimestamp()
    await process.draw()
    process.engine.always('any', 'unavailable')
    for (let second = 1; second < 600; second++) {
      await process.clock.pass(1000)
      assert.equal(process.take().length, 1)
    }
    await process.clock.pass(200_000)
    const waiting = assert.rejects(process.draw(), /no reserved time and the engine said: UNAVAILABLE/)
    await process.clock.pass(2000)
    await waiting
  })

  test('starts above the bound after a crash, and skips a second each time', async () => {
    const { store, clock, ...first } = await openTimestamp()
    let [last] = await first.draw()
    const start = first.timeOf(last!)
    for (let crash = 1; crash <= 20; crash++) {
      const process = await openTimestamp({ store, clock })
      const [id] = await process.draw()
      assert.ok(id! > last!)
      last = id
    }
    assert.ok(first.timeOf(last!) - start < 1.25 * horizonMs + 20 * 2100)
  })

  test('releases the rest, and the next process starts within a unit of time', async () => {
    const process = await openTimestamp()
    const [last] = await process.draw(5)
    await process.close()
    assert.ok(process.timestamp.counter.released > 0)
    const next = await openTimestamp(process)
    const [id] = await next.draw()
    assert.ok(id! > last! && next.timeOf(id!) <= next.unit() + 1)
  })

  test('is not affected by a clock that is set back, and only briefly by a clock far ahead', async () => {
    const process = await openTimestamp()
    let [last] = await process.draw()
    const check = async (ms: number) => {
      await process.clock.pass(ms)
      const [id] = await process.draw()
      assert.ok(id! > last!)
      last = id
    }
    process.clock.wall -= 3600_000_000
    await check(10)
    process.clock.wall += 365 * 86_400_000_000
    await check(500)
    process.clock.wall -= 364 * 86_400_000_000
    await check(10)
    assert.ok(process.timeOf(last!) < process.unit())
    await check(6000)
    await check(1)
    assert.equal(process.timeOf(last!), process.unit())
  })

  test('skips to the unit of a move, releases the rest, and stays there', async () => {
    const process = await openTimestamp()
    await process.draw()
    const floor = process.unit() + 5000
    await process.moveTo(floor)
    const [id] = await process.draw()
    assert.equal(process.timeOf(id!), floor)
    await process.close()
    assert.ok(process.timestamp.counter.released > 0)
    const next = await openTimestamp(process)
    assert.equal(next.timeOf((await next.draw())[0]!), floor + 1)
    const far = next.unit() + 2 * horizonMs
    await next.moveTo(far)
    assert.equal(next.timeOf((await next.draw())[0]!), far)
    assert.equal(next.timeOf((await next.draw())[0]!), far)
  })

  test('releases no time twice after a move in the same unit of time', async () => {
    const process = await openTimestamp()
    const [last] = await process.draw(3)
    await process.moveTo(process.unit())
    await process.close()
    const next = await openTimestamp(process)
    assert.ok((await next.draw())[0]! > last!)
  })

  test('releases no time below a move to the very end of the buffered time', async () => {
    const process = await openTimestamp()
    await process.draw()
    const { bound } = await process.engine.counter('generators/t')
    await process.moveTo(Number(bound / 4096n))
    await process.close()
    assert.equal((await process.engine.counter('generators/t')).bound, bound)
  })

  test('continues above a floor that another process has raised into its buffer, and releases no time below', async () => {
    const process = await openTimestamp()
    await process.draw()
    const { bound } = await process.engine.counter('generators/t')
    const floor = Number(bound / 4096n)
    await (await openTimestamp(process)).moveTo(floor)
    await process.clock.pass(horizonMs / 2)
    const [last] = await process.draw()
    assert.ok(process.timeOf(last!) < floor)
    await settled()
    assert.ok((await process.engine.counter('generators/t')).bound > bound)
    const [id] = await process.draw()
    assert.equal(process.timeOf(id!), floor)
    await process.close()
    assert.ok((await process.engine.counter('generators/t')).bound > bound)
    assert.ok(process.timestamp.counter.released > 0)
  })

  test('continues when another process has reserved part of a unit', async () => {
    const process = await openTimestamp({
      horizonMs: 0,
      layout: 'time:32,sequence:21;unit=s;epoch=2025-01-01T00:00:00Z',
    })
    let [last] = await process.draw()
    for (let round = 0; round < 5; round++) {
      await process.engine.reserve('generators/t', { size: 12_345n, incarnation: 1n })
      await process.clock.pass(5000)
      const [id] = await process.draw()
      assert.ok(id! > last!)
      last = id
    }
  })

  test('issues large counts at once, and rejects with CLOCK when borrowMax does not allow them', async () => {
    const process = await openTimestamp({ layout: 'time:41,sequence:2;epoch=2025-01-01T00:00:00Z' })
    const ids = await process.draw(40_000)
    assert.equal(new Set(ids).size, 40_000)
    const tooMany = assert.rejects(process.draw(50_000), { code: 'CLOCK' })
    await process.clock.pass(2000)
    await tooMany
    const waiting = process.draw(100)
    await process.clock.pass(100)
    assert.equal((await waiting).length, 100)
    assert.ok(process.engine.count('reserve') < 10)
  })

  test('returns the largest id of the layout as the newest, if an advance has raised the bound beyond the time field', () => {
    const { reservoir } = open('timestamp', {}, 2n ** 53n + 5000n)
    assert.equal(reservoir.lastIssued(), (((2n ** 41n - 1n) << 10n) << 12n) | 4095n)
  })

  test('returns the newest id, of a predecessor too', async () => {
    const process = await openTimestamp()
    assert.equal(process.reservoir.lastIssued(), undefined)
    const [id] = await process.draw()
    await process.close()
    const next = await openTimestamp(process)
    assert.ok(next.reservoir.lastIssued()! >= id!)
    assert.equal(next.reservoir.nextIsSafe(), false)
  })
})

describe('a snowflake', () => {
  test('carries its worker id, and a time below the worker’s bound', async () => {
    const process = openSnowflake({ fixedId: 9 })
    const [id] = await process.draw()
    assert.equal(decode(process.parsed, id!).node, 9)
    assert.equal(process.timeOf(id!), process.unit())
    assert.ok(process.worker.boundUs > Number(decode(process.parsed, id!).unixUs))
  })

  test('makes a write in two minutes while idle, so that an outage meets a whole lead, and few in use', async () => {
    const process = openSnowflake()
    await process.draw()
    const begun = process.engine.count('write')
    await process.clock.pass(3600_000)
    const idle = process.engine.count('write') - begun
    assert.ok(idle >= 20 && idle <= 40, `${idle} writes`)
    for (let second = 0; second < 3600; second++) {
      await process.clock.pass(1000)
      await process.draw()
    }
    assert.ok(process.engine.count('write') - begun - idle < 40)
    // Whenever it comes.
    for (let minute = 0; minute < 3; minute++) {
      await process.clock.pass(3600_000 + minute * 59_000)
      process.engine.always('any', 'unavailable')
      await process.clock.pass(599_000)
      assert.equal(process.take().length, 1)
      process.engine.heal()
      await process.clock.pass(10_000)
    }
  })

  test('makes no writes while it has issued nothing', async () => {
    const process = openSnowflake()
    await process.clock.pass(1000)
    const begun = process.engine.count('write')
    await process.clock.pass(3600_000)
    assert.equal(process.engine.count('write'), begun)
  })

  test('issues for the lead without the engine, then rejects with the reason', async () => {
    const process = openSnowflake()
    await process.draw()
    process.engine.always('any', 'unavailable')
    await process.clock.pass(599_000)
    assert.equal(process.take().length, 1)
    await process.clock.pass(300_000)
    const waiting = assert.rejects(process.draw(), /no reserved time and the engine said: UNAVAILABLE/)
    await process.clock.pass(2000)
    await waiting
    process.engine.heal()
    await process.clock.pass(2000)
    assert.equal((await process.draw()).length, 1)
  })

  test('starts a generator’s next incarnation above the time that the previous one used', async () => {
    const first = openSnowflake()
    const ids = await first.draw(10)
    await first.reservoir.close(new Error('altered'))
    const [id] = await openSnowflake(first).draw()
    assert.ok(id! > ids.at(-1)!)
    const third = openSnowflake({ ...first, floorUnit: first.unit() + 100 })
    assert.equal(first.timeOf((await third.draw())[0]!), first.unit() + 100)
  })

  test('skips little time of a fixed worker id after repeated crashes', async () => {
    const store = new MemoryStore()
    const clock = new FakeClock()
    let last = 0n
    for (let crash = 0; crash < 20; crash++) {
      const process = openSnowflake({ store, clock, fixedId: 1, horizonMs: 10_000 })
      const [id] = await process.draw()
      assert.ok(id! > last)
      last = id!
      await process.engine.close()
      if (crash === 19) assert.ok(process.timeOf(id!) < process.unit() + 12_500 + 20 * 2100)
    }
  })

  test('claims another worker id when its own is lost, and continues in order', async () => {
    const process = openSnowflake()
    const [before] = await process.draw()
    const thief = openSnowflake({
      store: process.store,
      clock: new FakeClock(process.clock.wall + 3600_000_000),
    })
    await thief.draw()
    await process.clock.pass(400_000)
    process.take()
    await process.clock.pass(100)
    const [after] = await process.draw()
    assert.deepEqual([decode(process.parsed, before!).node, decode(process.parsed, after!).node], [0, 1])
    assert.ok(after! > before!)
  })

  test('uses reserved time only if its incarnation is confirmed after the reserve', async () => {
    let current = true
    let calls = 0
    const process = openSnowflake({
      confirm: () => {
        calls++
        return current ? Promise.resolve() : Promise.reject(new FahaoError('STALE', 'altered'))
      },
    })
    await process.draw()
    assert.equal(calls, 1)
    const bound = process.worker.boundUs
    current = false
    await process.clock.pass(700_000)
    process.take()
    await settled()
    assert.ok(process.worker.boundUs > bound)
    await process.clock.pass(60_000)
    await assert.rejects(process.draw(), { code: 'STALE' })
  })

  test('rejects a worker id that does not fit, and one that another process holds', async () => {
    const narrow = openSnowflake({
      fixedId: 40,
      layout: 'time:41,node:5,sequence:12;epoch=2025-01-01T00:00:00Z',
    })
    const waiting = assert.rejects(narrow.draw(), /worker id 40 does not fit the 5 node bits/)
    await narrow.clock.pass(2000)
    await waiting
    const holder = openSnowflake({ fixedId: 1 })
    await holder.draw()
    const other = openSnowflake({ store: holder.store, clock: holder.clock, fixedId: 1 })
    const second = assert.rejects(other.draw(), { code: 'WORKERID' })
    await other.clock.pass(2000)
    await second
  })

  test('keeps up with a saturated generator, with few writes', async () => {
    const process = openSnowflake({
      layout: 'time:41,node:10,sequence:1;epoch=2025-01-01T00:00:00Z',
      horizonMs: 1000,
    })
    let last = 0n
    await process.draw()
    for (let round = 0; round < 200; round++) {
      await process.clock.pass(50)
      for (const id of await process.draw(100)) {
        assert.ok(id > last)
        last = id
      }
    }
    assert.ok(process.engine.count('write') < 100)
  })

  test('works in units of a day', async () => {
    const process = openSnowflake({
      layout: 'time:20,node:10,sequence:20;unit=24h;epoch=2020-01-01T00:00:00Z',
    })
    await process.draw()
    for (let hour = 0; hour < 60; hour++) {
      await process.clock.pass(3600_000)
      assert.equal(process.timeOf((await process.draw())[0]!), process.unit())
    }
    // Of the lead: one in two minutes.
    assert.ok(process.engine.count('write') < (60 * 60) / 2 + 10)
  })
})

for (const kind of ['timestamp', 'snowflake'] as const) {
  describe(`the end of time of a ${kind}`, () => {
    // 2^12 s, of which ten are left.
    const near = (options: Options = {}) => {
      const clock = new FakeClock(Date.parse('2026-06-01T01:08:06Z') * 1000)
      return open(kind, {
        clock,
        layout: 'time:12,node:4,sequence:2;unit=s;epoch=2026-06-01T00:00:00Z',
        horizonMs: 2000,
        ...options,
      })
    }

    test('is used up to the last id, then rejects with EXHAUSTED', async () => {
      const process = near()
      const ids: bigint[] = []
      for (let second = 0; second < 10; second++) {
        ids.push(...(await process.draw(4)))
        await process.clock.pass(1000)
      }
      assert.equal(new Set(ids).size, 40)
      assert.equal(process.timeOf(ids.at(-1)!), 4095)
      await assert.rejects(process.draw(), { code: 'EXHAUSTED' })
      assert.deepEqual(process.take(), [])
    })

    test('causes no busy loop when a caller asks for more ids than are left', async () => {
      const process = near()
      await process.clock.pass(8000)
      const small = process.draw(1)
      const large = assert.rejects(process.draw(100), { code: 'EXHAUSTED' })
      await process.clock.pass(1000)
      await large
      assert.equal((await small).length, 1)
    })
  })
}
