/**
 * Several processes share one store; calls fail and lose their answers, clocks jump, processes stop and crash,
 * callers give up. Whatever the schedule: the promises hold.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { FahaoError } from '../../../src/base/errors.ts'
import type { Generator } from '../../../src/catalogue/catalogue.ts'
import type { GeneratorInput } from '../../../src/catalogue/generator-options.ts'
import { MemoryStore } from '../../../src/engine/memory/engine.ts'
import { decode } from '../../../src/ids/id-parts.ts'
import { parseLayout } from '../../../src/ids/layout-text.ts'
import { Run } from '../../../src/ids/run.ts'
import { callerStopped } from '../../../src/operations/caller-session.ts'
import { FakeClock, settled } from '../fake-clock.ts'
import { type Node, startNode } from './node.ts'

const layout = 'time:41,node:10,sequence:3;epoch=2026-01-01T00:00:00Z'
const hour = 3_600_000_000

type Step =
  | {
      readonly act: 'draw'
      readonly at: number
      readonly count: number
      readonly contiguous: boolean
      readonly abort: boolean
    }
  | { readonly act: 'take'; readonly at: number; readonly count: number }
  | {
      readonly act: 'fault'
      readonly at: number
      readonly method: 'reserve' | 'write' | 'release' | 'any'
      readonly fault: 'unavailable' | 'lose-reply' | 'lose-request' | 'late'
    }
  | { readonly act: 'deliver' | 'stop' | 'crash' | 'heal' | 'move' | 'outage'; readonly at: number }
  | { readonly act: 'pass'; readonly ms: number }
  | { readonly act: 'clock'; readonly at: number; readonly us: number }

const at = fc.nat(2)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      act: fc.constant('draw' as const),
      at,
      count: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 400 })),
      contiguous: fc.boolean(),
      abort: fc.boolean(),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ act: fc.constant('take' as const), at, count: fc.integer({ min: 1, max: 30 }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      act: fc.constant('fault' as const),
      at,
      method: fc.constantFrom('reserve' as const, 'write' as const, 'release' as const, 'any' as const),
      fault: fc.constantFrom(
        'unavailable' as const,
        'lose-reply' as const,
        'lose-request' as const,
        'late' as const,
      ),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      act: fc.constantFrom(
        'deliver' as const,
        'stop' as const,
        'crash' as const,
        'heal' as const,
        'move' as const,
        'outage' as const,
      ),
      at,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      act: fc.constant('pass' as const),
      ms: fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: 20_000 })),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      act: fc.constant('clock' as const),
      at,
      us: fc.oneof(fc.integer({ min: -hour, max: hour }), fc.constantFrom(365 * 24 * hour, -365 * 24 * hour)),
    }),
  },
)

/** A process with a clock of its own that may be started again. */
class Process {
  readonly clock = new FakeClock()
  readonly store: MemoryStore
  node: Node | undefined
  #last = -1n

  constructor(store: MemoryStore) {
    this.store = store
  }

  async generator(): Promise<Generator | undefined> {
    this.node ??= await startNode({ store: this.store, clock: this.clock, leadUs: 10_000_000 })
    return this.node.catalogue.find('g') ?? this.node.catalogue.open('g').catch(() => undefined)
  }

  /** A new process has no record of what the previous one issued. */
  gone(): void {
    this.node = undefined
    this.#last = -1n
  }

  increasing(run: Run): void {
    assert.ok(run.first > this.#last, `${run.first} came after ${this.#last}`)
    this.#last = run.at(run.count - 1)
  }
}

class World {
  readonly store = new MemoryStore()
  readonly processes = [0, 1, 2].map(() => new Process(this.store))
  readonly issued = new Set<bigint>()
  readonly waiting = new Set<Promise<void>>()
  readonly strict: boolean
  readonly ordered: boolean
  #newest = -1n

  constructor({ kind, within, scramble }: GeneratorInput) {
    this.strict = kind === 'sequence' || kind === 'timestamp'
    this.ordered = within !== 'shuffled' && !scramble
  }

  async run(step: Step): Promise<void> {
    if (step.act === 'pass') {
      for (const { clock } of this.processes) await clock.pass(step.ms)
      return
    }
    const process = this.processes[step.at]!
    switch (step.act) {
      case 'clock':
        process.clock.wall += step.us
        return
      case 'stop':
        await this.#finish(process, process.node?.stop())
        return
      case 'crash':
        await this.#finish(process, process.node?.crash())
        return
      case 'fault':
        return process.node?.engine.next(step.method, step.fault)
      case 'outage':
        return process.node?.engine.always('any', 'unavailable')
      case 'heal':
        return process.node?.engine.heal()
      case 'deliver':
        await process.node?.engine.deliver()
        return
      case 'move':
        await this.#move(process)
        return
      default:
        await this.#issue(process, step)
    }
  }

  async #finish(process: Process, ended: Promise<void> | undefined): Promise<void> {
    if (ended === undefined) return
    let done = false
    void ended.then(() => {
      done = true
    })
    for (let turn = 0; turn < 100 && !done; turn++) await process.clock.pass(100)
    assert.ok(done, 'a stop comes to an end')
    process.gone()
  }

  async #move(process: Process): Promise<void> {
    const generator = await process.generator()
    const last = generator?.lastIssued()
    if (!this.strict || last === undefined) return
    const moved = generator!.moveTo(last + 5n).then(
      () => true,
      () => false,
    )
    await settled()
    if (await Promise.race([moved, settled().then(() => false)])) this.#newest = last + 5n
  }

  async #issue(process: Process, step: Extract<Step, { act: 'draw' | 'take' }>): Promise<void> {
    const generator = await process.generator()
    if (generator === undefined) return
    if (step.act === 'take') {
      const taken = new Run()
      if (generator.take(step.count, taken) > 0) this.#check(process, [taken], taken.count)
      return
    }
    const aborter = new AbortController()
    const contiguous = step.contiguous && generator.contiguous
    const waiting: Promise<void> = generator.draw(step.count, { contiguous, signal: aborter.signal }).then(
      (runs) => {
        if (contiguous) assert.equal(runs.length, 1)
        this.#check(process, runs, step.count)
      },
      (error) => assert.ok(error instanceof FahaoError, String(error)),
    )
    this.waiting.add(waiting)
    void waiting.finally(() => this.waiting.delete(waiting))
    await settled()
    if (step.abort) aborter.abort(callerStopped)
  }

  #check(process: Process, runs: readonly Run[], count: number): void {
    assert.equal(
      runs.reduce((sum, run) => sum + run.count, 0),
      count,
      'all or nothing',
    )
    for (const run of runs) {
      if (this.ordered) process.increasing(run)
      if (this.strict) assert.ok(run.first > this.#newest, `${run.first} is not above ${this.#newest}`)
      for (let index = 0; index < run.count; index++) this.#checkId(run.at(index))
      if (this.strict) this.#newest = run.at(run.count - 1)
    }
  }

  #checkId(id: bigint): void {
    assert.ok(!this.issued.has(id), `${id} was issued twice`)
    this.issued.add(id)
    const stored = JSON.parse(this.store.records.get('generators/g')!.value).definition
    const bound = this.store.counters.get('generators/g')?.bound ?? 0n
    if (stored.kind === 'snowflake') {
      const { node, unixUs } = decode(parseLayout(layout), id)
      assert.ok(Number(unixUs) < JSON.parse(this.store.records.get(`workers/${node}`)!.value).boundUs)
    } else if (stored.kind === 'timestamp') {
      assert.ok(id >> 13n < bound >> 3n || (bound & 7n) > 0n, 'durable first')
    } else if (!stored.scramble) {
      assert.ok(id < bound, 'durable first')
    }
  }
}

const generators: GeneratorInput[] = [
  { kind: 'sequence', step: 10, horizon: '1s' },
  { kind: 'sequence', step: 7, increment: 3, offset: 1, horizon: '1s' },
  { kind: 'segment', step: 10, horizon: '1s' },
  { kind: 'segment', step: 10, start: 2n ** 53n - 100n, horizon: '1s' },
  { kind: 'segment', step: 50, max: 3000, horizon: '1s' },
  { kind: 'segment', step: 10, within: 'shuffled', horizon: '1s' },
  { kind: 'segment', step: 10, scramble: true, max: 99_999, horizon: '1s' },
  { kind: 'timestamp', layout, horizon: '10s' },
  { kind: 'snowflake', layout },
]

describe('processes that share a store', () => {
  for (const input of generators) {
    test(`issue each id once, durable first, in order, whatever happens: ${JSON.stringify(input, (_, value) => (typeof value === 'bigint' ? String(value) : value))}`, async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
          const world = new World(input)
          const first = await startNode({ store: world.store, clock: world.processes[0]!.clock })
          await first.catalogue.create('g', input)
          await first.stop()
          for (const step of steps) await world.run(step)
          // Faults end: every waiting call is answered, and ids are issued again without help.
          for (const { node } of world.processes) node?.engine.heal()
          for (let turn = 0; turn < 100 && world.waiting.size > 0; turn++) {
            for (const { clock } of world.processes) await clock.pass(100)
          }
          assert.equal(world.waiting.size, 0, 'every wait ends')
        }),
        { numRuns: 60 },
      )
    })
  }

  test('go on without a gap after a clean stop, in any number of them', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(2), fc.integer({ min: 1, max: 50 })), { maxLength: 20 }),
        async (turns) => {
          const store = new MemoryStore()
          let next = 1n
          for (const [fault, count] of turns) {
            const node = await startNode({ store })
            const generator = await node.catalogue.create('g', { kind: 'sequence', step: 10 })
            for (let each = 0; each < count; each++) {
              const [run] = await generator.draw(1)
              assert.equal(run!.first, next++)
            }
            if (fault === 0) await generator.draw(10, { signal: AbortSignal.abort() }).catch(() => {})
            await node.stop()
          }
        },
      ),
      { numRuns: 30 },
    )
  })
})
