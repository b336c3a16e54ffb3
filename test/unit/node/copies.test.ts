import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { copyMarginMs } from '../../../src/base/copy-detector.ts'
import { MemoryStore } from '../../../src/engine/memory/engine.ts'
import { readWorker, workerRecords } from '../../../src/issuing/worker-records.ts'
import { SharedEngine } from '../catalogue/node.ts'
import { settled } from '../fake-clock.ts'
import { idsOf, type Twin, twins } from './copied-node.ts'

const kinds = {
  seg: { kind: 'segment', step: 1000 },
  flake: { kind: 'snowflake' },
  seq: { kind: 'sequence' },
} as const
const names = Object.keys(kinds)

/** A node with ids of several kinds in its buffers. */
async function fill({ node, draw, clock }: Twin): Promise<void> {
  for (const [name, options] of Object.entries(kinds)) {
    await node.catalogue.create(name, options)
    await draw(name, 10)
  }
  await clock.pass(5000)
}

/** A snapshot is resumed, and its wall clock is set. */
function resume({ clock }: Twin, awayMs = 60_000): void {
  clock.wall += awayMs * 1000
}

/** Takes what is buffered, then draws: what a client sees in a callback, and what waits for a refill. */
async function ask({ take, draw }: Twin, name: string, count: number): Promise<bigint[]> {
  const ids = take(name, count)
  return [...ids, ...(await draw(name, count - ids.length || 1))]
}

function assertUnique(ids: bigint[]): void {
  assert.equal(new Set(ids).size, ids.length)
}

describe('a node whose memory exists twice', () => {
  test('issues the ids of the original alone from the buffer, while the copy has dropped what it holds', async () => {
    const [original, copy] = await twins(fill)
    resume(copy)
    assert.deepEqual(copy.take('seg', 10), [])
    assert.equal(original.take('seg', 10).length, 10)
    assertUnique([...(await ask(original, 'seg', 2000)), ...(await ask(copy, 'seg', 2000))])
  })

  test('takes another worker id than the one that its copy may hold, and leaves that record as it is', async () => {
    const store = new MemoryStore()
    const [original, copy] = await twins(fill, { store })
    const before = original.node.workerId!
    resume(copy)
    await copy.draw('flake', 1)
    assert.notEqual(copy.node.workerId, before)
    await original.draw('flake', 1)
    assert.equal(original.node.workerId, before)
    const records = await workerRecords(new SharedEngine(store))
    assert.equal(new Set(records.map((stored) => readWorker(stored).owner)).size, 2)
  })

  test('lets one of two copies continue under a fixed worker id, above all time that was reserved', async () => {
    const pair = await twins(fill, { config: { workerId: { by: 'static', value: '7' }, leadMs: 10_000 } })
    for (const twin of pair) resume(twin, copyMarginMs + 1)
    const outcomes = await Promise.allSettled(pair.map((twin) => twin.draw('flake', 10)))
    const ids = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value : []))
    assert.ok(ids.length >= 10)
    assertUnique(ids)
  })

  test('releases nothing that its copy may issue when it stops', async () => {
    const store = new MemoryStore()
    const [original, copy] = await twins(fill, { store })
    const bounds = () => [...store.counters].map(([name, { bound }]) => [name, bound])
    const before = bounds()
    resume(copy)
    const stopping = copy.node.close()
    await copy.clock.pass(5000)
    await stopping
    assert.deepEqual(bounds(), before)
    assert.equal(original.take('seg', 10).length, 10)
  })

  for (const isAtRest of [false, true])
    test(`releases nothing of a generator ${isAtRest ? 'at rest' : 'in use'} where its copy is resumed in the middle of its stop`, async () => {
      const store = new MemoryStore()
      const story = async (twin: Twin) => {
        await fill(twin)
        if (!isAtRest) await twin.draw('seg', 10)
      }
      const [original, copy] = await twins(story, { store })
      const { names } = copy.node
      assert.equal(names.isAtRest(names.entryNamed('seg')), isAtRest)
      const bound = () => store.counters.get('generators/seg')!.bound
      const before = bound()
      const stopping = copy.node.close()
      resume(copy)
      await copy.clock.pass(5000)
      await stopping
      assert.equal(bound(), before)
      assert.equal(original.take('seg', 10).length, 10)
    })

  test('drops the ids of a reserve whose answer both copies receive, and serves the callers that wait from another', async () => {
    const snapshot = Promise.withResolvers<void>()
    const drawn: Promise<bigint[]>[] = []
    let isLate = false
    const late = async (what: string, answer: Promise<unknown>) => {
      if (what.startsWith('reserve') && isLate) await snapshot.promise
      return answer
    }
    const story = async (twin: Twin) => {
      await fill(twin)
      isLate = true
      const drawing = twin.node.catalogue.find('seg')!.draw(50_000)
      drawn.push(drawing.then(idsOf))
      await settled()
    }
    const pair = await twins(story, { late })
    for (const twin of pair) resume(twin)
    snapshot.resolve()
    for (const twin of pair) await twin.clock.pass(1000)
    const ids = (await Promise.all(drawn)).flat()
    assert.equal(ids.length, 100_000)
    assertUnique(ids)
  })

  test('leads on in one copy at most, which has renewed the lease since; the other joins again under another id', async () => {
    const story = async (twin: Twin) => {
      void twin.node.membership!.join()
      await twin.clock.pass(6000)
      await fill(twin)
    }
    const address = { host: '127.0.0.1', port: 7379 }
    const pair = await twins(story, { config: { cluster: 'c', shards: 1, resp: address } })
    const leaders = () => pair.filter(({ node }) => node.membership!.cluster.check()).length
    assert.equal(leaders(), 2)
    const ids: bigint[] = []
    for (const twin of pair) {
      resume(twin)
      ids.push(...twin.take('seq', 10))
    }
    assert.deepEqual([ids.length, leaders()], [0, 0])
    // Two processes do not renew within the same nanosecond.
    pair[1].clock.mono += 0.25
    for (const twin of pair) await twin.clock.pass(100)
    assert.equal(leaders(), 1)
    const drawn = pair.map(async ({ node }) => idsOf(await (await node.catalogue.open('seq')).draw(10)))
    const settling = Promise.allSettled(drawn)
    await Promise.all(pair.map(({ clock }) => clock.pass(10_000)))
    for (const outcome of await settling) if (outcome.status === 'fulfilled') ids.push(...outcome.value)
    assert.equal(ids.length, 10)
    assert.equal(new Set(pair.map(({ node }) => node.membership!.cluster.nodeId)).size, 2)
  })

  test('notices a copy that no clock has shown when both renew the lease of one node', async () => {
    const story = async (twin: Twin) => {
      void twin.node.membership!.join()
      await twin.clock.pass(6000)
      await fill(twin)
    }
    const address = { host: '127.0.0.1', port: 7379 }
    const [original, copy] = await twins(story, { config: { cluster: 'c', shards: 1, resp: address } })
    copy.clock.mono += 0.25
    for (const twin of [original, copy]) await twin.clock.pass(1500)
    const noticed = [original, copy].map(({ events }) =>
      events.some((each) => each.includes('renews the lease')),
    )
    assert.deepEqual(noticed, [false, true])
    assertUnique([...original.take('seg', 10), ...(await ask(copy, 'seg', 10)), ...original.take('seg', 10)])
  })

  test('goes on with its buffer after a step of the clock within the margin, and after one backwards', async () => {
    for (const stepMs of [copyMarginMs, -3_600_000]) {
      const [node] = await twins(fill)
      resume(node, stepMs)
      assert.equal(node.take('seg', 10).length, 10)
    }
  })

  test('cannot notice a copy where both clocks stood still: both issue the same buffered ids', async () => {
    const [original, copy] = await twins(fill)
    for (const name of ['seg', 'flake']) assert.deepEqual(original.take(name, 10), copy.take(name, 10))
    // A sequence of a store that nodes share has no buffer: each request has a reserve of its own.
    assertUnique([...(await original.draw('seq', 10)), ...(await copy.draw('seq', 10))])
  })

  test('notices a copy that no clock has shown when both extend the time of one worker id', async () => {
    const [original, copy] = await twins(fill)
    // Both have taken ids until the reserved time has to be extended.
    await original.clock.pass(700_000)
    await original.draw('flake', 1)
    await copy.clock.pass(700_001)
    await copy.draw('flake', 1)
    await copy.clock.pass(1000)
    assert.equal(original.events.filter((event) => event.includes('may exist twice')).length, 0)
    assert.equal(copy.events.filter((event) => event.includes('another process extends the claim')).length, 1)
    assert.notEqual(original.node.workerId, copy.node.workerId)
    assertUnique([...(await ask(original, 'seg', 3000)), ...(await ask(copy, 'seg', 3000))])
  })

  test('repeats nothing, whichever copies ask for what, from the notice on', async () => {
    const step = fc.record({
      who: fc.integer({ min: 0, max: 1 }),
      name: fc.constantFrom(...names),
      count: fc.integer({ min: 1, max: 1500 }),
      passMs: fc.integer({ min: 0, max: 30_000 }),
      stepMs: fc.oneof(fc.constant(0), fc.integer({ min: -10_000, max: 100_000 })),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        const pair = await twins(fill)
        for (const twin of pair) resume(twin)
        const issued = new Map<string, bigint[]>(names.map((name) => [name, []]))
        for (const { who, name, count, passMs, stepMs } of steps) {
          const twin = pair[who]!
          issued.get(name)!.push(...(await ask(twin, name, count)))
          twin.clock.wall += stepMs * 1000
          await twin.clock.pass(passMs)
        }
        for (const ids of issued.values()) assertUnique(ids)
      }),
      { numRuns: 30 },
    )
  })
})
