/** Holders of worker leases over several servers whose clocks jump, while the generator is altered and the store forgets. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { FahaoError, hasCode } from '../../../src/base/errors.ts'
import { MemoryStore } from '../../../src/engine/memory/engine.ts'
import type { WorkerLease } from '../../../src/leasing/worker-lease-terms.ts'
import { repairWorkers } from '../../../src/recovery/repair-workers.ts'
import { FakeClock } from '../fake-clock.ts'
import { asker, startServer, startUs } from './server.ts'

const serverCount = 3
/** 7 ids for callers: few, so that they change hands often. */
const layouts = [
  'time:41,node:3,sequence:14;epoch=2026-01-01T00:00:00Z',
  'time:41,node:4,sequence:13;epoch=2026-01-01T00:00:00Z',
] as const
const unitUs = 1000

const jump = (mostMs: number) => fc.integer({ min: -mostMs, max: mostMs })
const step = fc.record({
  passMs: fc.oneof(fc.nat(500), fc.nat(20_000)),
  server: fc.nat(serverCount - 1),
  holder: fc.nat(4),
  ttlMs: fc.integer({ min: 1000, max: 9000 }),
  action: fc.constantFrom(
    'claim',
    'claim',
    'renew',
    'renew',
    'renew',
    'return',
    'copy returns',
    'crash',
    'jump',
    'alter',
    'deliver',
    'advance',
  ),
  jumpMs: fc.oneof(jump(60_000), jump(60_000), jump(3_600_000)),
  /** How much of its span a holder has used, of 1000. */
  used: fc.nat(1000),
  fault: fc.constantFrom(undefined, undefined, undefined, 'lose-reply', 'lose-request', 'late', 'no answer'),
})
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never
type Server = Awaited<ReturnType<typeof startServer>>

/** The time that a holder may use for one incarnation, in Unix µs. */
type Span = {
  readonly lease: string
  readonly worker: number
  readonly layout: string
  readonly from: number
  until: number
}

class World {
  readonly #servers: Server[]
  readonly #spans: Span[] = []
  readonly #holders = new Map<number, WorkerLease>()
  /** What each holder had before its last renewal: what a copy of it has that did not renew. */
  readonly #copies = new Map<number, WorkerLease>()
  #altered = 0

  constructor(servers: Server[]) {
    this.#servers = servers
  }

  static async start(): Promise<World> {
    const store = new MemoryStore()
    const servers: Server[] = []
    for (let index = 0; index < serverCount; index++)
      servers.push(
        await startServer({ store, clock: new FakeClock(startUs + index * 700_000), random: () => 0 }),
      )
    await servers[0]!.catalogue.create('event', { kind: 'snowflake', layout: layouts[0] })
    return new World(servers)
  }

  async take(steps: readonly Step[]): Promise<void> {
    for (const each of steps) {
      for (const { clock } of this.#servers) await clock.pass(each.passMs)
      await this.#do(each)
      for (const { engine } of this.#servers) engine.heal()
      this.#check()
    }
  }

  async #do(each: Step): Promise<void> {
    const server = this.#servers[each.server]!
    const held = this.#holders.get(each.holder)
    if (each.action === 'jump') server.clock.wall += each.jumpMs * 1000
    else if (each.action === 'deliver') await server.engine.deliver()
    else if (each.action === 'crash') this.#holders.delete(each.holder)
    else if (each.action === 'advance') await server.engine.advance(0n, repairWorkers(server.clock.wall))
    else if (each.action === 'copy returns') await this.#copyReturns(each, server)
    else if (each.action === 'alter') {
      await this.#alter(server)
    } else {
      if (each.fault !== undefined && each.fault !== 'no answer') server.engine.next('write', each.fault)
      await this.#ask(each, server, held).catch((error) => {
        if (!(error instanceof FahaoError)) throw error
        if (error.code === 'NOLEASE') this.#holders.delete(each.holder)
        else assert.match(error.code, /^(UNKNOWN|UNAVAILABLE|EXHAUSTED|CONFLICT|WORKERID|CLOCK)$/)
      })
    }
  }

  /** A clock that is far behind the others refuses. */
  async #alter({ catalogue }: Server): Promise<void> {
    try {
      await catalogue.alter('event', { layout: layouts[(this.#altered + 1) % 2]! })
      this.#altered++
    } catch (error) {
      if (!hasCode(error, 'CLOCK')) throw error
    }
  }

  async #ask(
    { action, holder, ttlMs, used, fault }: Step,
    { leases }: Server,
    held: WorkerLease | undefined,
  ) {
    const isLost = fault === 'no answer'
    if (action === 'claim' || held === undefined) {
      const given = await leases.lease('event', { ...asker, ttlMs })
      if (!isLost) this.#given(holder, given)
    } else if (action === 'renew') {
      const given = await leases.renew('event', held.lease, { untilUs: held.untilUs, ttlMs })
      assert.ok(given.untilUs >= held.untilUs && given.worker === held.worker)
      if (!isLost) this.#given(holder, given)
    } else {
      // It has stopped before it sends this, whatever the answer.
      const from = held.fromUs + Math.floor(((held.untilUs - held.fromUs) * used) / 1000)
      for (const span of this.#spans) if (span.lease === held.lease) span.until = Math.min(span.until, from)
      this.#holders.delete(holder)
      await leases.giveBack(held.lease, { fromUs: from, untilUs: held.untilUs })
    }
  }

  /** A copy of a holder that has renewed stops, and takes itself for the holder. The holder does not hear of it. */
  async #copyReturns({ holder }: Step, { leases }: Server): Promise<void> {
    const [held, copy] = [this.#holders.get(holder), this.#copies.get(holder)]
    if (copy === undefined || copy.lease !== held?.lease || copy.untilUs === held.untilUs) return
    assert.equal(await leases.giveBack(copy.lease, copy), false)
  }

  #given(holder: number, given: WorkerLease): void {
    assert.ok(given.fromUs < given.untilUs)
    const before = this.#holders.get(holder)
    if (before !== undefined && before.untilUs < given.untilUs) this.#copies.set(holder, before)
    this.#holders.set(holder, given)
    const { lease, worker, definition, fromUs: from, untilUs: until } = given
    const layout = `${given.incarnation} ${definition.layout}`
    const known = this.#spans.find((span) => span.lease === lease && span.layout === layout)
    if (known === undefined) this.#spans.push({ lease, worker, layout, from, until })
    else known.until = until
  }

  /** No unit of time has two holders of one worker id, nor two incarnations. */
  #check(): void {
    for (const [index, a] of this.#spans.entries()) {
      for (const b of this.#spans.slice(0, index)) {
        if (a.lease === b.lease && a.layout === b.layout) continue
        if (a.worker !== b.worker && a.layout === b.layout) continue
        const from = Math.ceil(Math.max(a.from, b.from) / unitUs)
        const until = Math.floor(Math.min(a.until, b.until) / unitUs)
        assert.ok(from >= until, `${JSON.stringify(a)} and ${JSON.stringify(b)} share time`)
      }
    }
  }
}

test('no interleaving of claims, renewals, returns, alterations and faults gives a moment to two holders', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60, size: 'max' }), async (steps) => {
      await (await World.start()).take(steps)
    }),
    { numRuns: 250, seed: 20_261_123 },
  )
})
