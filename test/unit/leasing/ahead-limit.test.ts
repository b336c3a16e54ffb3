/** How far ahead of the clock worker ids are reserved: never so far that an advance of a store that has lost it begins below. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { FahaoError, hasCode } from '../../../src/base/errors.ts'
import { atOnce } from '../../../src/engine/advance-rules.ts'
import type { StoredRecord } from '../../../src/engine/engine.ts'
import { idOf, readWorker, recordKey, workerRecords } from '../../../src/issuing/worker-records.ts'
import type { WorkerLease } from '../../../src/leasing/worker-lease-terms.ts'
import { repairWorkers } from '../../../src/recovery/repair-workers.ts'
import { draw } from '../catalogue/node.ts'
import { asker, byteLayout, second, startServer, tenLayout } from './server.ts'

const minute = 60 * second
const names = ['event', 'mail'] as const
const layouts = [
  byteLayout.layout,
  tenLayout.layout,
  // 16 ids a second: a few draws fill the units of minutes.
  'time:32,node:8,sequence:4;unit=s;epoch=2026-01-01T00:00:00Z',
  // As the first, but dated ten minutes later.
  'time:41,node:8,sequence:14;epoch=2026-01-01T00:10:00Z',
]

const step = fc.record({
  passMs: fc.oneof(fc.constant(0), fc.nat(2000), fc.nat(120_000)),
  action: fc.constantFrom('alter', 'alter', 'alter', 'lease', 'renew', 'renew', 'renew', 'draw', 'advance'),
  name: fc.constantFrom(...names),
  layout: fc.nat(layouts.length - 1),
  ttlMs: fc.constantFrom(1000, 60_000, 900_000),
  count: fc.constantFrom(1, 10, 100),
})
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never
type Server = Awaited<ReturnType<typeof startServer>>

async function start(): Promise<Server> {
  const server = await startServer()
  for (const name of names) await server.catalogue.create(name, { kind: 'snowflake', ...byteLayout })
  return server
}

/** Alters, and says whether there was room. */
async function altered({ catalogue }: Server, name: string, layout: string): Promise<boolean> {
  return catalogue.alter(name, { layout }).then(
    () => true,
    (error) => {
      if (hasCode(error, 'CLOCK')) return false
      throw error
    },
  )
}

/** Callers and the node itself, and what the store would have kept if it lost all since the last advance. */
class World {
  readonly #server: Server
  #kept: StoredRecord[] = []
  #held: WorkerLease | undefined

  constructor(server: Server) {
    this.#server = server
  }

  async take(each: Step): Promise<void> {
    const { clock } = this.#server
    await clock.pass(each.passMs)
    await this.#do(each).catch((error) => {
      if (!(error instanceof FahaoError)) throw error
      assert.match(error.code, /^(CLOCK|NOLEASE|WORKERID|ERR|LIMIT)$/)
      if (error.code !== 'CLOCK') this.#held = undefined
    })
    await this.#check()
  }

  async #do({ action, name, layout, ttlMs, count }: Step): Promise<void> {
    const { leases, catalogue, engine, clock } = this.#server
    const held = this.#held
    if (action === 'advance') {
      await engine.advance(0n, repairWorkers(clock.wall))
      this.#kept = await workerRecords(engine)
    } else if (action === 'alter') await catalogue.alter(name, { layout: layouts[layout]! })
    else if (action === 'draw') {
      const drawing = draw(await catalogue.open(name), count).catch(() => {})
      // Longer than a draw waits. It is over before the next step, whose calls would miss their deadlines.
      await clock.pass(12_100)
      await drawing
    } else if (action === 'lease' || held === undefined)
      this.#held = await leases.lease(name, { ...asker, ttlMs })
    else this.#held = await leases.renew(name, held.lease, { untilUs: held.untilUs, ttlMs })
  }

  async #check(): Promise<void> {
    const { clock, engine } = this.#server
    const { records } = atOnce(repairWorkers(clock.wall - minute)(this.#kept))
    const { boundUs: beginsUs } = JSON.parse([...records.values()][0]!)
    for (const stored of await workerRecords(engine)) {
      const { boundUs } = readWorker(stored)
      const above = `worker id ${idOf(stored)} is reserved ${(boundUs - beginsUs) / second} s above an advance`
      assert.ok(boundUs <= beginsUs, above)
    }
  }
}

test('an advance of a store that has lost everything since the one before begins above all time of nodes and callers, however alterations follow one another', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 50, size: 'max' }), async (steps) => {
      const world = new World(await start())
      for (const each of steps) await world.take(each)
    }),
    { numRuns: 80, seed: 20_261_123 },
  )
})

describe('a chain of alterations, each above what is leased above the one before', () => {
  test('ends at a limit, says when it can go on, and does so then', async () => {
    const server = await start()
    let { lease, untilUs } = await server.leases.lease('event', { ...asker, ttlMs: 900_000 })
    let count = 0
    while (await altered(server, 'event', layouts[++count % 2]!)) {
      assert.ok(count < 10, 'it has no limit')
      untilUs = (await server.leases.renew('event', lease, { untilUs, ttlMs: 900_000 })).untilUs
    }
    assert.ok(count > 2 && untilUs <= server.clock.wall + 19 * minute)
    const again = () => server.catalogue.alter('event', { layout: layouts[count % 2]! })
    const error = await again().catch((reason) => reason)
    assert.ok(error instanceof FahaoError && error.retryable && error.retryAfterMs! > 0)
    assert.match(error.message, new RegExp(`retry in ${error.retryAfterMs! / 1000} s`))
    // The generator goes on as it is.
    ;({ lease, untilUs } = await server.leases.renew('event', lease, { untilUs }))
    await server.clock.pass(error.retryAfterMs!)
    await again()
  })

  test('of one name costs another one only a wait', async () => {
    const server = await start()
    const { lease, ...first } = await server.leases.lease('event', asker)
    let { untilUs } = first
    for (let count = 1; await altered(server, 'event', layouts[count % 2]!); count++)
      ({ untilUs } = await server.leases.renew('event', lease, { untilUs }))
    await assert.rejects(server.catalogue.alter('mail', tenLayout), { code: 'CLOCK' })
    await server.leases.renew('mail', lease, { untilUs })
    await server.clock.pass(3 * 60_000)
    await server.catalogue.alter('mail', tenLayout)
  })
})

test('a node that issues all that its layout has reserves less than its lead above a floor that is far ahead', async () => {
  const server = await start()
  // 16 ids a second.
  await server.catalogue.create('slow', { kind: 'snowflake', layout: layouts[2]! })
  let { lease, untilUs } = await server.leases.lease('event', asker)
  for (let count = 1; await altered(server, 'event', layouts[count % 2]!); count++)
    ({ lease, untilUs } = await server.leases.renew('event', lease, { untilUs }))
  await server.clock.pass(31_000)
  await server.catalogue.alter('slow', {
    layout: layouts[2]!.replace('node:8,sequence:4', 'node:7,sequence:5'),
  })
  const slow = await server.catalogue.open('slow')
  for (let seconds = 0; seconds < 120; seconds++) {
    draw(slow, 32).catch(() => {})
    await server.clock.pass(1000)
  }
  const aheadUs = server.worker.boundUs - server.clock.wall
  assert.ok(aheadUs > 16 * minute && aheadUs < 20 * minute, `${aheadUs / minute} min`)
})

describe('a lease', () => {
  test('is refused with the wait where the floor of an older version lies further ahead', async () => {
    const server = await start()
    const { current } = server.catalogue
    server.catalogue.current = async (name) => {
      const generator = await current.call(server.catalogue, name)
      return { ...generator, floor: BigInt((server.clock.wall + 30 * minute) / 1000 - Date.UTC(2026, 0, 1)) }
    }
    await assert.rejects(server.leases.lease('event', asker), { code: 'CLOCK', retryAfterMs: 12 * 60_000 })
    assert.deepEqual(await server.listed(), [])
  })

  test('is refused for units of time that no limit could keep', async () => {
    const server = await start()
    const layout = 'time:32,node:8,sequence:14;unit=31s;epoch=2026-01-01T00:00:00Z'
    await server.catalogue.create('slow', { kind: 'snowflake', layout })
    await assert.rejects(server.leases.lease('slow', asker), { code: 'WRONGTYPE' })
    assert.equal(server.leases.mayLease(await server.catalogue.open('slow'), asker.user), false)
  })
})

describe('a span ahead of the clock', () => {
  test('grows by three quarters of the time that passes, until the clock has come up', async () => {
    const server = await start()
    await server.engine.advance(0n, repairWorkers(server.clock.wall))
    let { lease, fromUs, untilUs } = await server.leases.lease('event', asker)
    const aheadUs = fromUs - server.clock.wall
    assert.ok(aheadUs >= 20 * minute && untilUs - fromUs === minute)
    const pass = async (seconds: number) => {
      await server.clock.pass(seconds * 1000)
      ;({ untilUs } = await server.leases.renew('event', lease, { untilUs }))
    }
    for (let seconds = 20; seconds <= 140; seconds += 20) {
      await pass(20)
      assert.equal(untilUs - fromUs, minute + seconds * 0.75 * second)
    }
    for (let minutes = 0; minutes < 80; minutes++) {
      const before = untilUs
      await pass(60)
      assert.ok(untilUs <= server.clock.wall + 23 * minute && untilUs >= before)
      const passedUs = server.clock.wall - fromUs + aheadUs
      assert.ok(untilUs - fromUs >= passedUs / 2, 'its holder could go on at half of its rate')
    }
    assert.equal(untilUs, server.clock.wall + minute)
  })

  test('grows on from a higher floor, and as before where the record does not say since when', async () => {
    const server = await start()
    let { lease, untilUs, worker } = await server.leases.lease('event', { ...asker, ttlMs: 600_000 })
    const renew = async () => {
      const given = await server.leases.renew('event', lease, { untilUs })
      untilUs = given.untilUs
      return given.untilUs - given.fromUs
    }
    await server.catalogue.alter('event', tenLayout)
    assert.equal(await renew(), minute)
    await server.clock.pass(40_000)
    assert.equal(await renew(), 90 * second)
    await server.catalogue.alter('event', byteLayout)
    assert.equal(await renew(), minute)
    await server.clock.pass(4000)
    assert.equal(await renew(), 63 * second)
    const stored = (await server.engine.read(recordKey(worker)))!
    const { ahead: _, ...older } = readWorker(stored)
    await server.engine.write(stored.key, JSON.stringify(older), stored.version)
    await server.clock.pass(4000)
    assert.equal(await renew(), 63 * second, 'never shortened')
  })
})
