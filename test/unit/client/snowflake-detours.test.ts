/** What a client has used of leased time, across everything that replaces the source of its ids. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { ClientGenerator } from '../../../client/src/index.ts'
import { FahaoError, hasCode } from '../../../src/base/errors.ts'
import { FakeClock, settled } from '../fake-clock.ts'
import { clientOf, LeaseService } from './lease-service.ts'

const epoch = 'epoch=2025-01-01T00:00:00Z'
const milliseconds = `time:41,node:10,sequence:12;${epoch}`
const longUnits = `time:31,node:10,sequence:22;unit=10s;${epoch}`
const minutes = `time:31,node:10,sequence:22;unit=1m;${epoch}`
const layouts = [
  milliseconds,
  longUnits,
  minutes,
  `time:41,node:4,sequence:18;${epoch}`,
  `time:41,node:2,sequence:20;${epoch}`,
  `time:43,node:9,sequence:11;${epoch}`,
  `scatter:5,time:41,node:8,sequence:9;${epoch}`,
]
const horizonMs = 1000

function open(layout: string) {
  const clock = new FakeClock()
  const service = new LeaseService(clock, layout)
  let memory = 0
  const marks = [{ name: 'the memory', read: () => memory }]
  const client = clientOf(service, { horizonMs, timeoutMs: 3000 }, { marks })
  const seen = new Set<string>()
  let failures = 0

  /** Takes `count` ids; time passes while one is waited for. Fails if one comes twice. */
  async function take(generator: ClientGenerator, count: number): Promise<void> {
    for (let taken = 0; taken < count; taken++) {
      let isSettled = false
      const drawn = generator.next().then(
        (id) => {
          const key = `${generator.name} ${id}`
          assert.ok(!seen.has(key), `${key} comes twice`)
          seen.add(key)
        },
        (error) => {
          if (!hasCode(error, 'UNAVAILABLE') && !hasCode(error, 'CLOCK') && !hasCode(error, 'EXHAUSTED'))
            throw error
          failures++
        },
      )
      const settling = drawn.finally(() => {
        isSettled = true
      })
      settling.catch(() => {})
      await settled()
      while (!isSettled) await clock.pass(50)
      await drawn
    }
  }

  /** Passes the deadline of all that the service has said, so that the next call asks again. */
  async function rest(generator: ClientGenerator): Promise<void> {
    await clock.pass(2 * horizonMs + 100)
    await take(generator, 1)
    await clock.pass(100)
  }

  /** Sets the clock of the service back by an hour, after which it leases nothing for a while. */
  function setBack(retryAfterMs?: number): void {
    service.aheadUs -= 3_600_000_000
    service.leaseRefusal = farAhead(retryAfterMs)
  }

  function setRight(): void {
    service.aheadUs += 3_600_000_000
    service.leaseRefusal = undefined
  }

  const copyMemory = () => void memory++
  return { clock, service, client, take, rest, setBack, setRight, copyMemory, failures: () => failures }
}

function farAhead(retryAfterMs: number | undefined): FahaoError {
  const options = retryAfterMs === undefined ? {} : { retryAfterMs }
  return new FahaoError('CLOCK', 'this span would end too far ahead of the clock; retry later', options)
}

describe('an id of a snowflake comes once', () => {
  for (const [title, retryAfterMs] of [
    ['with the wait', 2_460_000],
    ['without the wait, as over RESP', undefined],
  ] as const) {
    test(`although leases were refused ${title}, after the clock of the service was set back: then each id is asked for`, async () => {
      const { clock, service, client, take, rest, setBack, setRight, failures } = open(milliseconds)
      const generators = [await client.generator('event'), await client.generator('other')]
      for (const generator of generators) await take(generator, 1000)
      setBack(retryAfterMs)
      for (const generator of generators) {
        await rest(generator)
        assert.equal(service.requests.at(-1), `ID.RUNS ${generator.name}`)
        assert.equal(generator.tryNext(), undefined)
        for (let second = 0; second < 10; second++) {
          const beforeUs = clock.monoUs()
          await take(generator, 10)
          assert.equal(clock.monoUs(), beforeUs, 'no call waits')
          await clock.pass(1000)
        }
      }
      setRight()
      for (const generator of generators) {
        // A try that was under way ends first.
        await clock.pass(3000)
        await rest(generator)
        await take(generator, 1000)
        assert.ok(generator.tryNext() !== undefined)
      }
      assert.equal(failures(), 0)
      await client.close()
    })
  }

  test('and what is left of leased time is used where it lasts until the service leases again', async () => {
    const clock = new FakeClock()
    const service = new LeaseService(clock, milliseconds)
    const client = clientOf(service)
    const generator = await client.generator('event')
    service.leaseRefusal = farAhead(12_000)
    await clock.pass(60_000)
    await generator.next()
    await settled()
    assert.equal(service.requests.at(-1), 'ID.RENEW event')
    assert.ok(generator.tryNext() !== undefined)
    service.leaseRefusal = undefined
    await clock.pass(12_000)
    assert.equal(generator.stats().lastsMs > 60_000, true)
    assert.ok(!service.requests.includes('ID.RUNS event'))
    await client.close()
  })

  test('although its layout loses the room for the worker id, of this client and then of this generator', async () => {
    const { clock, service, client, take, rest, failures } = open(milliseconds)
    const generators = [await client.generator('event'), await client.generator('other')]
    for (const generator of generators) await take(generator, 10)
    for (const nodeBits of [4, 2, 10]) {
      service.alter(`time:41,node:${nodeBits},sequence:12;${epoch}`)
      for (const generator of generators) {
        await rest(generator)
        await take(generator, 10)
      }
    }
    assert.equal(failures(), 0)
    // The leases of the layout before are returned, and not kept until their time is over.
    const returned = service.requests.filter((request) => request.startsWith('ID.RETURN'))
    assert.deepEqual(returned.toSorted(), ['ID.RETURN event', 'ID.RETURN other'])
    const closing = client.close()
    await clock.pass(3000)
    await closing
  })

  test('although its units of time become too long for a lease: then each id is asked for, and leased again later', async () => {
    const { service, client, take, rest, failures } = open(milliseconds)
    const generator = await client.generator('event')
    await take(generator, 10)
    service.alter(minutes)
    await rest(generator)
    await take(generator, 10)
    assert.equal(generator.tryNext(), undefined)
    assert.equal(service.requests.at(-1), 'ID.RUNS event')
    service.alter(milliseconds)
    await rest(generator)
    await take(generator, 10)
    assert.ok(generator.tryNext() !== undefined)
    assert.equal(failures(), 0)
    await client.close()
  })

  test('although leases are forbidden and permitted again within one unit of time: the rest of the span is used', async () => {
    const { clock, service, client, take, rest } = open(longUnits)
    const generators = [await client.generator('event'), await client.generator('other')]
    for (const generator of generators) await take(generator, 10)
    for (let round = 0; round < 3; round++) {
      service.permitsLeases = false
      await rest(generators[0]!)
      assert.equal(service.requests.at(-1), 'ID.RUNS event')
      service.permitsLeases = true
      await rest(generators[0]!)
      await take(generators[0]!, 10)
    }
    const closing = client.close()
    await clock.pass(3000)
    await closing
  })

  test('whatever replaces the source of its ids, in whichever order', async () => {
    const operation = fc.oneof(
      { weight: 6, arbitrary: fc.integer({ min: 1, max: 40 }).map((count) => ['take', count] as const) },
      { weight: 2, arbitrary: fc.integer({ min: 1, max: 4000 }).map((ms) => ['pass', ms] as const) },
      { weight: 3, arbitrary: fc.constantFrom(true, false).map((permits) => ['permit', permits] as const) },
      { weight: 2, arbitrary: fc.constant(['rest'] as const) },
      { weight: 1, arbitrary: fc.constantFrom(undefined, 2_460_000).map((ms) => ['refuse', ms] as const) },
      { weight: 1, arbitrary: fc.constant(['lease again'] as const) },
      { weight: 1, arbitrary: fc.constantFrom(...layouts).map((layout) => ['alter', layout] as const) },
      { weight: 1, arbitrary: fc.integer({ min: -90_000, max: 5000 }).map((ms) => ['clock', ms] as const) },
      { weight: 1, arbitrary: fc.constant(['drop'] as const) },
      { weight: 1, arbitrary: fc.constantFrom(0, 60_000_000).map((us) => ['ahead', us] as const) },
    )
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...layouts),
        fc.array(operation, { minLength: 3, maxLength: 25 }),
        async (layout, operations) => {
          const { clock, service, client, take, rest, copyMemory } = open(layout)
          const generators = [await client.generator('event'), await client.generator('other')]
          for (const [at, [what, value]] of operations.entries()) {
            const generator = generators[at % 2]!
            if (what === 'take') await take(generator, value)
            else if (what === 'pass') await clock.pass(value)
            else if (what === 'permit') service.permitsLeases = value
            else if (what === 'rest') await rest(generator)
            else if (what === 'refuse') service.leaseRefusal = farAhead(value)
            else if (what === 'lease again') service.leaseRefusal = undefined
            else if (what === 'alter') service.alter(value)
            else if (what === 'clock') service.aheadUs += value * 1000
            else if (what === 'ahead') service.spansAheadUs = value
            else copyMemory()
            client.assertInvariants()
          }
          const closing = client.close()
          await clock.pass(3000)
          await closing
        },
      ),
      { numRuns: 60 },
    )
  })
})
