/** New names: which steps they take in the engine, and what is left when one of these steps fails. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { AutoCreate } from '../../../src/catalogue/deps.ts'
import { generatorKey } from '../../../src/catalogue/stored-generator.ts'
import { MemoryStore } from '../../../src/engine/memory/engine.ts'
import type { Kind } from '../../../src/issuing/issuer.ts'
import { settled } from '../fake-clock.ts'
import { DeafEngine, draw, type Node, SharedEngine, startNode } from './node.ts'

const creating = (kind: Kind): AutoCreate[] => [{ pattern: '*', kind }]
const one = (node: Node, name = 'a') => node.catalogue.whenOpen(name, (generator) => draw(generator))
const callsOf = (node: Node, from: number) => node.engine.calls.slice(from).map(({ method }) => method)
const boundOf = (node: Node, name = 'a') => node.store.counters.get(generatorKey(name))?.bound

describe('a new name', () => {
  for (const kind of ['sequence', 'segment'] as const)
    test(`is looked up, created and first reserved in one step: ${kind}`, async () => {
      const node = await startNode({ autoCreate: creating(kind) })
      node.engine.looksUpAtOnce = true
      const from = node.engine.calls.length
      const lookUp = node.engine.hold('lookUp')
      const drawn = one(node)
      await lookUp.arrived
      assert.deepEqual(callsOf(node, from), ['lookUp'])
      assert.equal(node.catalogue.find('a'), undefined)
      lookUp.letGo()
      assert.deepEqual(await drawn, [1n])
      // The read shows that no family has come to have the name.
      assert.deepEqual(callsOf(node, from), ['lookUp', 'read'])
      await node.stop()
    })

  test('shares its look-up, and the read of families, with all that are asked for in its turn', async () => {
    const node = await startNode({ autoCreate: creating('segment') })
    node.engine.looksUpAtOnce = true
    const from = node.engine.calls.length
    const names = Array.from({ length: 700 }, (_, index) => `name${index}`)
    const drawn = await Promise.all(names.flatMap((name) => [one(node, name), one(node, name)]))
    assert.deepEqual(
      drawn.flat(),
      names.flatMap(() => [1n, 2n]),
    )
    assert.deepEqual(callsOf(node, from), ['lookUp', 'read'])
    for (const name of names) assert.equal(boundOf(node, name), 11n)
    node.catalogue.assertInvariants()
    await node.stop()
  })

  test('is first reserved for all that wait for it', async () => {
    const node = await startNode({ autoCreate: creating('segment') })
    const drawn = Array.from({ length: 2500 }, () => one(node))
    assert.deepEqual(
      (await Promise.all(drawn)).flat(),
      drawn.map((_, index) => BigInt(index + 1)),
    )
    const [, request] = node.engine.calls.find(({ method }) => method === 'reserve')!.args
    assert.equal((request as { size: bigint }).size, 2500n + 8n)
    await node.stop()
  })

  test('that exists is opened in one step, and reserved in another', async () => {
    const node = await startNode({ autoCreate: creating('segment') })
    await one(node)
    const other = await startNode({ store: node.store })
    const from = other.engine.calls.length
    assert.equal((await one(other)).length, 1)
    assert.deepEqual(callsOf(other, from), ['read', 'counter', 'read', 'reserve'])
    await other.stop()
    await node.stop()
  })

  test('of a sequence that many processes share is reserved after its creation', async () => {
    const node = await startNode({
      autoCreate: creating('sequence'),
      reach: (store) => new SharedEngine(store),
    })
    const from = node.engine.calls.length
    assert.deepEqual(await one(node), [1n])
    const calls = callsOf(node, from).filter((method) => method !== 'ownership')
    assert.deepEqual(calls, ['read', 'counter', 'write', 'read', 'reserve'])
    assert.equal(boundOf(node), 2n)
    await node.stop()
  })

  test('whose counter was used begins a later incarnation, and is reserved after its creation', async () => {
    const node = await startNode({ autoCreate: creating('segment') })
    await node.engine.reserve(generatorKey('a'), { size: 10n, floor: 1n, incarnation: 3n })
    const from = node.engine.calls.length
    const [id] = await one(node)
    assert.ok(id! >= 11n)
    assert.equal(node.catalogue.find('a')!.incarnation, 4n)
    assert.ok(callsOf(node, from).indexOf('write') < callsOf(node, from).indexOf('reserve'))
    await node.stop()
  })

  test('that counts time reserves nothing beside its record: it would leave a sequence no room', async () => {
    const store = new MemoryStore()
    const node = await startNode({ store, autoCreate: creating('timestamp') })
    const write = node.engine.hold('write')
    const drawn = one(node)
    await write.arrived
    await settled()
    assert.equal(node.engine.count('reserve'), 0)
    write.letGo()
    assert.equal((await drawn).length, 1)
    await node.stop()
  })
})

describe('names that are created together', () => {
  test('share one look-up, which creates them, and one read', async () => {
    const node = await startNode()
    node.engine.looksUpAtOnce = true
    const from = node.engine.calls.length
    const names = Array.from({ length: 300 }, (_, index) => `name${index}`)
    const define = (name: string) => node.catalogue.define(name, { kind: 'segment', offset: 3, increment: 5 })
    await Promise.all(names.map(define))
    assert.deepEqual(callsOf(node, from), ['lookUp', 'read'])
    await Promise.all(names.map(define))
    assert.deepEqual(callsOf(node, from), ['lookUp', 'read', 'lookUp'])
    assert.deepEqual(await one(node, 'name299'), [3n])
    const other = node.catalogue.define('name7', { kind: 'segment', increment: 4 })
    await assert.rejects(other, { code: 'EXISTS' })
    await node.stop()
  })

  test('fail alone, and are there if the outcome was unknown', async () => {
    const node = await startNode()
    node.engine.looksUpAtOnce = true
    await node.engine.reserve(generatorKey('used'), { size: 9n, incarnation: 2n })
    const define = (name: string) => node.catalogue.define(name, { kind: 'sequence' })
    const outcomes = await Promise.allSettled([define('a'), define('b c'), define('used')])
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    )
    assert.equal((await node.catalogue.open('used')).incarnation, 3n)
    node.engine.next('lookUp', 'lose-reply')
    await assert.rejects(define('d'), { code: 'UNKNOWN' })
    assert.equal(await node.catalogue.exists('d'), true)
    await define('d')
    await node.stop()
  })
})

describe('the first reserve of a new name', () => {
  test('is not made if another process was faster, with another kind', async () => {
    const store = new MemoryStore()
    const node = await startNode({ store, autoCreate: creating('segment') })
    const other = await startNode({ store, reach: (reached) => new SharedEngine(reached) })
    const write = node.engine.hold('write')
    const drawn = one(node)
    await write.arrived
    await other.catalogue.create('a', { kind: 'segment', increment: 10, step: 1 })
    write.letGo()
    const [id] = await drawn
    assert.equal(node.catalogue.find('a')!.definition.increment, 10)
    assert.equal(id! % 10n, 1n)
    assert.equal(node.engine.count('release'), 0)
    node.catalogue.assertInvariants()
    await node.stop()
    await other.stop()
  })

  test('raises no incarnation above that of the record: a second try begins after the first one is known', async () => {
    const node = await startNode({ autoCreate: creating('segment'), reach: (store) => new DeafEngine(store) })
    node.engine.next('write', 'late')
    await assert.rejects(one(node), { code: 'UNKNOWN' })
    assert.equal(node.catalogue.find('a'), undefined)
    const write = node.engine.hold('write')
    const second = one(node)
    await write.arrived
    // The first write is carried out now, with incarnation 1.
    await node.engine.deliver()
    write.letGo()
    assert.equal((await second).length, 1)
    assert.equal(node.catalogue.find('a')!.incarnation, 1n)
    await node.stop()
  })

  for (const fault of ['lose-reply', 'lose-request', 'late'] as const)
    test(`is a gap or nothing if its outcome is unknown, and the callers get ids of the next one: ${fault}`, async () => {
      const node = await startNode({ autoCreate: creating('segment') })
      node.engine.next('reserve', fault)
      const drawn = Promise.all([one(node), one(node)])
      await settled()
      await node.clock.pass(100)
      const ids = (await drawn).flat()
      await node.engine.deliver()
      const more = (await Promise.all([one(node), one(node)])).flat()
      const all = [...ids, ...more]
      assert.deepEqual(all, all.toSorted(byValue))
      assert.equal(new Set(all).size, 4)
      if (fault === 'lose-reply') assert.ok(ids[0]! > 1n)
      await node.stop()
    })

  for (const atOnce of [true, false])
    test(`is a gap if the outcome is unknown, and the record is read before anything is issued: ${atOnce ? 'one step' : 'several'}`, async () => {
      const node = await startNode({ autoCreate: creating('sequence') })
      node.engine.looksUpAtOnce = atOnce
      node.engine.next(atOnce ? 'lookUp' : 'write', 'lose-reply')
      await assert.rejects(Promise.all([one(node), one(node)]), { code: 'UNKNOWN' })
      assert.equal(node.catalogue.find('a'), undefined)
      const from = node.engine.calls.length
      assert.deepEqual(await one(node), [atOnce ? 11n : 1n])
      assert.ok(!callsOf(node, from).includes('write'))
      await node.stop()
    })

  test('is not made if the write is refused, so that nothing is skipped', async () => {
    const node = await startNode({ autoCreate: creating('sequence') })
    node.engine.next('write', 'unavailable')
    await assert.rejects(one(node), { code: 'UNAVAILABLE' })
    assert.equal(boundOf(node), undefined)
    assert.deepEqual(await one(node), [1n])
    await node.stop()
  })

  for (const during of ['lookUp', 'read'] as const)
    test(`is not used if the store is advanced before that: ${during}`, async () => {
      const node = await startNode({ autoCreate: creating('segment') })
      node.engine.looksUpAtOnce = true
      const from = node.engine.calls.length
      const held = node.engine.hold(during)
      const drawn = one(node)
      await held.arrived
      await node.engine.advance(1_000_000n)
      held.letGo()
      const [id] = await drawn
      // Looked up before the advance, it is looked up again.
      assert.equal(callsOf(node, from).filter((method) => method === 'reserve').length, 1)
      // The first one was reserved after the advance if the look-up arrived after it, and was given back.
      assert.ok(during === 'lookUp' || id! > 1n, String(id))
      node.catalogue.assertInvariants()
      await node.stop()
    })

  test('is given back if this process has stopped owning the store meanwhile, and is not issued', async () => {
    const node = await startNode({ autoCreate: creating('sequence') })
    node.engine.looksUpAtOnce = true
    const read = node.engine.hold('read')
    const drawn = one(node)
    await read.arrived
    node.catalogue.disown()
    read.letGo()
    assert.equal((await drawn).length, 1)
    assert.equal(node.engine.count('release'), 1)
    node.catalogue.assertInvariants()
    await node.stop()
  })

  test('is dropped if the name is altered before it can be found', async () => {
    const store = new MemoryStore()
    const node = await startNode({ store, autoCreate: creating('segment') })
    const other = await startNode({ store, reach: (reached) => new SharedEngine(reached) })
    const reserve = node.engine.hold('reserve')
    const drawn = one(node)
    await reserve.arrived
    await settled()
    await other.catalogue.alter('a', { kind: 'segment', increment: 7 })
    reserve.letGo()
    const [id] = await drawn
    assert.equal(node.catalogue.find('a')!.incarnation, 2n)
    assert.ok(id! >= 1n)
    await other.stop()
    await node.stop()
  })

  test('fails alone where others of its group succeed', async () => {
    const node = await startNode({ autoCreate: creating('sequence') })
    node.engine.next('write', 'unavailable', 2)
    const names = ['a', 'b', 'c', 'd']
    const outcomes = await Promise.allSettled(names.map((name) => one(node, name)))
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ['rejected', 'rejected', 'fulfilled', 'fulfilled'],
    )
    await node.stop()
  })
})

type Act = {
  readonly at: number
  readonly name: string
  readonly fault:
    | {
        readonly method: 'reserve' | 'write' | 'read' | 'any'
        readonly what: 'lose-reply' | 'lose-request' | 'late'
      }
    | undefined
  readonly next: 'deliver' | 'crash' | 'settle' | 'go'
}

const act: fc.Arbitrary<Act> = fc.record({
  at: fc.nat(1),
  name: fc.constantFrom('a', 'b', 'c'),
  fault: fc.option(
    fc.record({
      method: fc.constantFrom('reserve', 'write', 'read', 'any'),
      what: fc.constantFrom('lose-reply', 'lose-request', 'late'),
    }),
    { nil: undefined },
  ),
  next: fc.constantFrom('deliver', 'crash', 'settle', 'go', 'go'),
})

test('a name that was created while others of its group were opened is found when it is next asked for', async () => {
  const reach = (store: MemoryStore) => new SharedEngine(store)
  const node = await startNode({ reach })
  const other = await startNode({ reach, store: node.store, generators: { b: { kind: 'segment' } } })
  node.engine.looksUpAtOnce = true
  const read = node.engine.hold('read')
  const refused = assert.rejects(one(node, 'a'), { code: 'NOGENERATOR' })
  const drawn = one(node, 'b')
  // The look-up has found no record of a, and one of b.
  await read.arrived
  await other.catalogue.create('a', { kind: 'segment' })
  await settled()
  read.letGo()
  await Promise.all([refused, drawn])
  assert.equal((await one(node, 'a')).length, 1)
  await other.stop()
  await node.stop()
})

test('whatever fails or crashes while processes create the same names with different kinds, no id is repeated', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(act, { maxLength: 30 }), async (acts) => {
      const store = new MemoryStore()
      const start = (kind: Kind) =>
        startNode({ store, autoCreate: creating(kind), reach: (reached) => new SharedEngine(reached) })
      const kinds = ['segment', 'sequence'] as const
      const nodes = await Promise.all(kinds.map(start))
      const everyone = [...nodes]
      const issued = new Set<string>()
      const drawing: Promise<void>[] = []
      for (const { at, name, fault, next } of acts) {
        const node = nodes[at]!
        if (fault !== undefined) node.engine.next(fault.method, fault.what)
        const note = (ids: bigint[]) => {
          for (const id of ids) {
            assert.ok(!issued.has(`${name} ${id}`), `${name} ${id} was issued twice`)
            issued.add(`${name} ${id}`)
          }
        }
        drawing.push(one(node, name).then(note, (error) => assert.ok('code' in error, error)))
        if (next === 'settle') await settled()
        if (next === 'deliver') await node.engine.deliver()
        if (next === 'crash') {
          // Another process follows; what this one has sent is still carried out, and its answers are lost.
          node.engine.heal()
          nodes[at] = await start(kinds[at]!)
          everyone.push(nodes[at]!)
        }
        for (const each of nodes) each.catalogue.assertInvariants()
      }
      for (const each of everyone) each.engine.heal()
      // Every name can be used in the end: no counter is ahead of its record.
      const fresh = await start('segment')
      const last = Promise.all(['a', 'b', 'c'].map((name) => one(fresh, name)))
      await timePasses([...everyone, fresh], Promise.all([last, ...drawing]))
      for (const [index, [id]] of (await last).entries()) assert.ok(!issued.has(`${'abc'[index]} ${id}`))
      await fresh.stop()
    }),
    { numRuns: 150 },
  )
})

/** Lets time pass until this has settled. */
async function timePasses(nodes: readonly Node[], until: Promise<unknown>): Promise<void> {
  let isDone = false
  const done = until.finally(() => {
    isDone = true
  })
  for (let turn = 0; !isDone; turn++) {
    assert.ok(turn < 100, 'callers wait no longer than they may')
    await settled()
    for (const { clock } of nodes) await clock.pass(200)
  }
  await done
}

function byValue(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0
}
