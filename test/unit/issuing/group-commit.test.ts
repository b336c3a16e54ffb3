import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { FahaoError } from '../../../src/base/errors.ts'
import type { GeneratorInput } from '../../../src/catalogue/generator-options.ts'
import { MemoryStore } from '../../../src/engine/memory/engine.ts'
import { draw, type Node, type NodeOptions, SharedEngine, startNode } from '../catalogue/node.ts'
import { FakeClock, settled } from '../fake-clock.ts'

/** A node among others on one store, and a sequence on it. */
async function open(options: Partial<GeneratorInput> = {}, nodeOptions: NodeOptions = {}) {
  const node = await startNode({ reach: (store) => new SharedEngine(store), ...nodeOptions })
  const generator = await node.catalogue.create('order', { kind: 'sequence', ...options })
  return { ...node, generator }
}

function reserves({ engine }: Pick<Node, 'engine'>): number {
  return engine.count('reserve')
}

/** What became of a request, so far. */
function watched(request: Promise<bigint[]>): { outcome: unknown } {
  const seen: { outcome: unknown } = { outcome: 'waits' }
  request.then(
    (ids) => (seen.outcome = ids),
    (error) => (seen.outcome = error.code),
  )
  return seen
}

describe('group commit', () => {
  test('reserves exactly the requested ids, and buffers none', async () => {
    const { generator, store } = await open()
    assert.deepEqual(await draw(generator), [1n])
    assert.deepEqual(await draw(generator, 3), [2n, 3n, 4n])
    assert.equal(store.counters.get('generators/order')?.bound, 5n)
    const { inHand, issued, reserved, released } = generator.stats()
    assert.deepEqual(
      { inHand, issued, reserved, released },
      { inHand: 0, issued: 4, reserved: 4, released: 0 },
    )
  })

  test('gathers the requests of one callback, and those that arrive while a reserve is under way', async () => {
    const { generator, engine } = await open()
    const held = engine.hold('reserve')
    const first = [draw(generator), draw(generator, 2), draw(generator)]
    await held.arrived
    const second = Array.from({ length: 50 }, () => draw(generator))
    held.letGo()
    assert.deepEqual(await Promise.all(first), [[1n], [2n, 3n], [4n]])
    assert.deepEqual(
      (await Promise.all(second)).flat(),
      Array.from({ length: 50 }, (_, at) => BigInt(at + 5)),
    )
    assert.equal(engine.count('reserve'), 2)
  })

  test('serves the callers of a reserve without a reply from the next one', async () => {
    for (const fault of ['lose-reply', 'lose-request', 'late', 'unavailable'] as const) {
      const { generator, engine, clock } = await open()
      engine.next('reserve', fault)
      const waiting = draw(generator, 2)
      await clock.pass(20)
      assert.deepEqual(await waiting, fault === 'lose-reply' ? [3n, 4n] : [1n, 2n], fault)
      await engine.deliver()
      assert.deepEqual(
        await draw(generator),
        fault === 'lose-request' || fault === 'unavailable' ? [3n] : [5n],
      )
    }
  })

  test('rejects callers that wait too long with the error of the engine, and drops their ids', async () => {
    const { generator, engine, clock } = await open()
    engine.always('reserve', 'lose-reply')
    const waiting = watched(draw(generator))
    await clock.pass(2000)
    assert.equal(waiting.outcome, 'DRY')
    engine.heal()
    const later = draw(generator)
    await clock.pass(1000)
    const [id] = await later
    assert.ok(id! > 2n, `${id}`)
  })

  test('rejects at once with an error that waiting does not end, and retries a second later', async () => {
    const { generator, engine, clock } = await open()
    engine.next('reserve', new FahaoError('REGRESSED', 'forgot'))
    await assert.rejects(draw(generator), { code: 'REGRESSED' })
    await assert.rejects(draw(generator), { code: 'REGRESSED' })
    assert.equal(engine.count('reserve'), 1)
    await clock.pass(1000)
    assert.deepEqual(await draw(generator), [1n])
  })

  test('keeps increment and offset, and skips no id for them', async () => {
    const { generator, store } = await open({ start: 5n, increment: 10, offset: 3n })
    assert.deepEqual(await draw(generator, 3), [13n, 23n, 33n])
    assert.deepEqual(await draw(generator), [43n])
    assert.equal(store.counters.get('generators/order')?.bound, 45n)
    assert.equal(generator.lastIssued(), 43n)
  })

  test('issues up to the last id, and rejects requests for more than is left', async () => {
    const { generator } = await open({ max: 10n })
    assert.deepEqual((await draw(generator, 6)).at(-1), 6n)
    const outcomes = [3, 5, 1, 1].map((count) => watched(draw(generator, count)))
    await settled()
    assert.deepEqual(
      outcomes.map(({ outcome }) => outcome),
      [[7n, 8n, 9n], 'EXHAUSTED', [10n], 'EXHAUSTED'],
    )
  })

  test('reads from the engine that others have come close to the end', async () => {
    const store = new MemoryStore()
    const one = await open({ max: 25n, increment: 10, offset: 5n, start: 1n }, { store })
    const two = await open({}, { store })
    assert.deepEqual(await draw(one.generator), [5n])
    assert.deepEqual(await draw(two.generator), [15n])
    const outcomes = [1, 1].map((count) => watched(draw(one.generator, count)))
    await settled()
    assert.deepEqual(
      outcomes.map(({ outcome }) => outcome),
      [[25n], 'EXHAUSTED'],
    )
    await assert.rejects(draw(two.generator), { code: 'EXHAUSTED' })
  })

  test('moves forward for all nodes, and never below ids that another node has issued', async () => {
    const store = new MemoryStore()
    const one = await open({}, { store })
    const two = await open({}, { store })
    await one.generator.moveTo(100n)
    assert.deepEqual(await draw(two.generator, 2), [101n, 102n])
    await assert.rejects(one.generator.moveTo(101n), { code: 'ERR', message: /has issued 102 already/ })
    await one.generator.moveTo(102n)
    assert.deepEqual(await draw(one.generator), [103n])
  })

  test('returns the newest id of all nodes through the catalogue', async () => {
    const store = new MemoryStore()
    const one = await open({}, { store })
    const two = await open({}, { store })
    assert.equal((await one.catalogue.info('order')).lastIssued, undefined)
    await draw(two.generator, 7)
    const { lastIssued, mode } = await one.catalogue.info('order')
    assert.deepEqual({ lastIssued, mode }, { lastIssued: 7n, mode: 'group commit' })
  })

  test('issues no id past 2^53−1 to a client that would round it, and skips none', async () => {
    const { generator, store } = await open({ start: 2n ** 53n - 2n })
    const outcomes = [true, true, false].map((safe) =>
      generator.draw(1, { safe }).then(
        ([run]) => run!.first,
        (error) => error.code,
      ),
    )
    assert.deepEqual(await Promise.all(outcomes), [2n ** 53n - 2n, 2n ** 53n - 1n, 2n ** 53n])
    assert.equal(await generator.draw(1, { safe: true }).catch((error) => error.code), 'UNSAFE')
    assert.equal(store.counters.get('generators/order')?.bound, 2n ** 53n + 1n)
  })

  test('does not go below the highest bound that this process has seen, on an engine that forgot writes', async () => {
    const { generator, store } = await open()
    await draw(generator, 10)
    store.counters.clear()
    assert.deepEqual(await draw(generator), [11n])
    assert.equal(generator.lastIssued(), 11n)
  })

  test('rejects waiting callers when it closes, and leaves no task under way', async () => {
    const { generator, engine, catalogue } = await open()
    const held = engine.hold('reserve')
    const waiting = watched(draw(generator))
    await held.arrived
    const closed = catalogue.close()
    await settled()
    assert.equal(waiting.outcome, 'SHUTDOWN')
    held.letGo()
    await closed
    await assert.rejects(draw(generator), { code: 'SHUTDOWN' })
  })

  test('continues with the next incarnation when it is altered meanwhile', async () => {
    const store = new MemoryStore()
    const one = await open({}, { store })
    const two = await open({}, { store })
    await draw(one.generator, 3)
    const held = two.engine.hold('reserve')
    const waiting = draw(two.generator)
    await held.arrived
    await one.catalogue.alter('order', { increment: 10, offset: 0n })
    held.letGo()
    assert.deepEqual(await waiting, [20n])
  })

  test('waits for the callers that it has just served, but only for a quarter of the time of a reserve', async () => {
    const clock = new FakeClock()
    const { generator, engine } = await open({}, { clock })
    const served = async (count: number) => {
      const held = engine.hold('reserve')
      const waiting = Array.from({ length: count }, () => draw(generator))
      await held.arrived
      await clock.pass(20)
      held.letGo()
      await Promise.all(waiting)
    }
    await served(3)
    const before = reserves({ engine })
    const two = [draw(generator), draw(generator)]
    await settled()
    assert.equal(reserves({ engine }), before, 'the third may come')
    await Promise.all([...two, draw(generator)])
    assert.equal(reserves({ engine }), before + 1)

    await served(3)
    const one = watched(draw(generator))
    await clock.pass(4)
    assert.equal(one.outcome, 'waits')
    await clock.pass(1)
    assert.deepEqual(one.outcome, [8n + 2n], 'the others did not come')
  })

  test('reserves once for each batch, however the batches arrive', async () => {
    const clock = new FakeClock()
    const node = await open({}, { clock })
    for (let round = 0; round < 5; round++) {
      await Promise.all(Array.from({ length: 20 }, () => draw(node.generator)))
    }
    assert.equal(reserves(node), 5)
  })
})

describe('a shared store', () => {
  test('rejects timestamps, and names the alternatives', async () => {
    const { catalogue } = await open()
    await assert.rejects(catalogue.create('txn', { kind: 'timestamp' }), {
      code: 'NOTOWNER',
      message: /is a timestamp, which needs a store that one process owns.*use sequence.*or snowflake/,
    })
  })

  test('serves the kinds in order per node as before', async () => {
    const { catalogue } = await open()
    const user = await catalogue.create('user', { kind: 'segment' })
    assert.deepEqual(await draw(user), [1n])
    assert.equal(user.mode, 'node')
    assert.equal((await draw(await catalogue.create('event', { kind: 'snowflake' }))).length, 1)
  })
})
