/** Holders of plain worker ids over several servers whose clocks differ by less than the rest. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { hasCode } from '../../../src/base/errors.ts'
import { MemoryStore } from '../../../src/engine/memory/engine.ts'
import { repairPools } from '../../../src/recovery/repair-pools.ts'
import { FakeClock } from '../fake-clock.ts'
import { type PoolServer, poolServer } from './pool-servers.ts'

const restMs = 4000
const size = 4
const owners = 7
const serverCount = 3

const step = fc.record({
  passMs: fc.oneof(fc.nat(500), fc.nat(20_000)),
  server: fc.nat(serverCount - 1),
  owner: fc.nat(owners - 1),
  ttlMs: fc.integer({ min: 1000, max: 9000 }),
  action: fc.constantFrom('claim', 'claim', 'renew', 'renew', 'return', 'jump', 'forget', 'claim all'),
  /** Where a clock jumps to, within the band in which all clocks stay. */
  aheadMs: fc.nat(restMs - 1),
  fault: fc.constantFrom(undefined, undefined, 'lose-reply', 'lose-request', 'late', 'no answer'),
})
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

/** One id in the time in which an owner uses it, in ms of true time. */
type Use = { readonly owner: number; readonly worker: number; readonly from: number; until: number }

/** Servers, owners, and the true time, which no server knows. */
class World {
  readonly uses: Use[] = []
  readonly store = new MemoryStore()
  readonly servers: PoolServer[] = []
  readonly #aheadMs = Array<number>(serverCount).fill(0)
  readonly #leases = new Map<number, { lease: string; use: Use }>()
  #earlier = new Map(this.store.records)
  #nowMs = 0

  constructor() {
    for (let index = 0; index < serverCount; index++)
      this.servers.push(poolServer(this.store, new FakeClock()))
  }

  async take(steps: readonly Step[]): Promise<void> {
    for (const each of steps) {
      this.#pass(each.passMs)
      if (each.action === 'jump') this.#jump(each.server, each.aheadMs)
      else if (each.action === 'forget') await this.#forget(each.server)
      else await this.#ask(each)
      this.#check()
    }
  }

  async #ask({ action, server, owner, ttlMs, fault }: Step): Promise<void> {
    const { engine } = this.servers[server]!
    if (fault !== undefined && fault !== 'no answer') engine.next('write', fault)
    const isLost = fault === 'no answer'
    if (action === 'claim') await this.#claim(server, owner, ttlMs, isLost)
    else if (action === 'renew') await this.#renew(server, owner, ttlMs, isLost)
    else if (action === 'return') await this.#return(server, owner)
    else {
      const all = Array.from({ length: owners }, (_, each) =>
        this.#claim((server + each) % serverCount, each, ttlMs, isLost),
      )
      await Promise.all(all)
    }
    await engine.deliver()
    engine.heal()
  }

  async #claim(server: number, owner: number, ttlMs: number, isLost: boolean): Promise<void> {
    const sentMs = this.#nowMs
    const lease = await this.servers[server]!.claim(`owner-${owner}`, { size, ttlMs, restMs }).catch(expected)
    if (lease === undefined || isLost) return
    const use = { owner, worker: lease.worker, from: sentMs, until: sentMs + lease.ttlMs }
    this.uses.push(use)
    this.#leases.set(owner, { lease: lease.lease, use })
  }

  async #renew(server: number, owner: number, ttlMs: number, isLost: boolean): Promise<void> {
    const held = this.#leases.get(owner)
    // A holder that was told nothing stops at its deadline, and may ask again later.
    if (held === undefined) return
    const sentMs = this.#nowMs
    const { pools } = this.servers[server]!
    const lease = await pools.renew('payments', held.lease, { ttlMs }).catch(expected)
    if (lease === undefined || isLost) return
    const until = sentMs + lease.ttlMs
    if (sentMs <= held.use.until) {
      held.use.until = Math.max(held.use.until, until)
      return
    }
    held.use = { ...held.use, from: sentMs, until }
    this.uses.push(held.use)
  }

  async #return(server: number, owner: number): Promise<void> {
    const held = this.#leases.get(owner)
    if (held === undefined) return
    this.#leases.delete(owner)
    // The holder stops before it asks.
    held.use.until = Math.min(held.use.until, this.#nowMs)
    await this.servers[server]!.pools.giveBack('payments', held.lease).catch(expected)
  }

  #pass(ms: number): void {
    this.#nowMs += ms
    for (const { clock } of this.servers) {
      clock.wall += ms * 1000
      clock.mono += ms * 1000
    }
  }

  #jump(server: number, aheadMs: number): void {
    this.servers[server]!.clock.wall += (aheadMs - this.#aheadMs[server]!) * 1000
    this.#aheadMs[server] = aheadMs
  }

  /** The store goes back to the last time that it did, and is advanced. */
  async #forget(server: number): Promise<void> {
    const { records } = this.store
    records.clear()
    for (const [key, record] of this.#earlier) records.set(key, record)
    const { engine, timeline } = this.servers[server]!
    await engine.advance(0n, repairPools(timeline.nowUs()))
    this.#earlier = new Map(records)
  }

  #check(): void {
    const last = this.uses.at(-1)
    if (last === undefined) return
    for (const one of this.uses.slice(-3 * owners)) {
      for (const two of this.uses.slice(-3 * owners)) {
        if (one.worker !== two.worker || one.owner === two.owner) continue
        const overlaps = one.from < two.until && two.from < one.until
        assert.ok(!overlaps, `${JSON.stringify(one)} and ${JSON.stringify(two)} at one time`)
      }
    }
  }
}

function expected(error: unknown): undefined {
  const codes = ['EXHAUSTED', 'NOLEASE', 'UNKNOWN'] as const
  if (codes.some((code) => hasCode(error, code))) return undefined
  throw error
}

test('plain worker ids of several servers have one holder at a time while all clocks of servers lie within the rest', async () => {
  let uses = 0
  const run = async (steps: readonly Step[]) => {
    const world = new World()
    await world.take(steps)
    uses += world.uses.length
  }
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 80 }), run), {
    numRuns: 150,
    seed: 12,
  })
  assert.ok(uses > 500, `${uses}`)
})
