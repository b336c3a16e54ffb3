/** What a crash skips of many sequences, each used at a rate of its own, from once a minute to 1,000 times a second. */
import { Timeline } from '../../../src/base/timeline.ts'
import { FastRuns } from '../../../src/buffers/fast-runs.ts'
import type { Generator } from '../../../src/catalogue/catalogue.ts'
import { EngineCatalogue } from '../../../src/catalogue/engine-catalogue.ts'
import type { GeneratorInput } from '../../../src/catalogue/generator-options.ts'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import { Run } from '../../../src/ids/run.ts'
import { WorkerId } from '../../../src/issuing/worker-id.ts'
import { FakeClock, settled } from '../fake-clock.ts'

/** The horizon of a definition by default. */
export const horizonMs = 600_000
const tickMs = 1000
const everyMinMs = 1
/** The rate of every tenth sequence. */
export const everyMaxMs = 60_000

/** One sequence. */
export type Skipped = {
  /** The time from one id to the next. */
  readonly everyMs: number
  readonly issued: number
  /** The ids between the last one before the crash and the first one after it. */
  readonly skipped: number
}

/** What is to be tried: this many sequences, in use for `seconds`. */
export type Trial = {
  readonly sequences: number
  readonly seconds: number
  readonly options: GeneratorInput
}

/** Timers fire at whole ticks: ten thousand of them need no order among themselves. */
class TickClock extends FakeClock {
  readonly #due = new Map<number, Set<() => void>>()

  override timer(delayMs: number, callback: () => void) {
    const tick = Math.floor(this.mono / 1000 / tickMs) + Math.max(1, Math.ceil(delayMs / tickMs))
    const due = this.#due.get(tick) ?? new Set()
    this.#due.set(tick, due.add(callback))
    return { cancel: () => void due.delete(callback) }
  }

  async tick(): Promise<void> {
    this.mono += tickMs * 1000
    this.wall += tickMs * 1000
    const tick = Math.floor(this.mono / 1000 / tickMs)
    for (const callback of this.#due.get(tick) ?? []) callback()
    this.#due.delete(tick)
    await settled()
  }
}

/** Uses sequences for a time, ends their process without a stop, and starts another one on the same store. */
export async function skippedByCrash({ sequences, seconds, options }: Trial): Promise<Skipped[]> {
  const clock = new TickClock()
  const store = new MemoryStore()
  const process = await started(store, clock)
  const all = await Promise.all(
    Array.from({ length: sequences }, async (_, each) => {
      const share = each / Math.max(1, sequences - 1)
      const everyMs = each % 10 === 0 ? everyMaxMs : everyMinMs * (everyMaxMs / everyMinMs) ** share
      const generator = await process.catalogue.create(`s${each}`, options)
      return { generator, everyMs, phaseMs: ((each * 7919) % 1000) * (everyMs / 1000), issued: 0 }
    }),
  )
  for (let ms = 0; ms < seconds * 1000; ms += tickMs) {
    const waiting: Promise<void>[] = []
    for (const each of all) {
      const due = Math.floor((ms + each.phaseMs) / each.everyMs) + 1 - each.issued
      each.issued += due
      if (due > 0) waiting.push(issue(each.generator, due))
    }
    await Promise.all(waiting)
    await clock.tick()
  }
  await process.engine.close()
  const next = await started(store, clock)
  return await Promise.all(
    all.map(async ({ generator, everyMs, issued }) => {
      const [first] = await (await next.catalogue.open(generator.name)).draw(1)
      return { everyMs, issued, skipped: Number(first!.first) - 1 - issued }
    }),
  )
}

async function started(store: MemoryStore, clock: TickClock) {
  const engine = new MemoryEngine(store)
  const timeline = new Timeline(clock)
  const onEvent = () => {}
  const ids = { fixedId: undefined, leadUs: 600_000_000, owner: 'one', holder: 'one', onEvent }
  const catalogue = await EngineCatalogue.open({
    engine,
    clock,
    random: () => 0.5,
    timeline,
    worker: new WorkerId({ engine, timeline, ...ids }),
    runs: new FastRuns(),
    waitersMax: 1000,
    nodeIndex: undefined,
    autoCreate: [],
    namespaces: { all: [] },
    onEvent,
  })
  return { engine, catalogue }
}

const run = new Run()

async function issue(generator: Generator, ids: number): Promise<void> {
  let left = ids
  for (let taken = 1; left > 0 && taken > 0; left -= taken) taken = generator.take(left, run)
  if (left > 0) await generator.draw(left)
}
