/** Many generators whose right ends or is suspended together. */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { Generator } from '../../../src/catalogue/catalogue.ts'
import { generatorKey } from '../../../src/catalogue/stored-generator.ts'
import { settled } from '../fake-clock.ts'
import { twoMembers } from './cluster-nodes.ts'
import { draw, startNode, tryNext } from './node.ts'

const many = 500
const names = Array.from({ length: many }, (_, index) => `g${index}`)

/** A cluster of two nodes, of which one leads generators that have issued 1 and have more ids buffered. */
async function ledByOne() {
  const members = await twoMembers('g')
  const generators: Generator[] = []
  for (const [index, name] of names.entries()) {
    const generator = await members.leader.catalogue.create(name, { kind: 'sequence', step: 10 + index })
    await draw(generator)
    generators.push(generator)
  }
  const bound = (name: string) => members.store.counters.get(generatorKey(name))!.bound
  return { ...members, generators, bound }
}

/** How many names are found with a generator that issues here. */
function issuingHere(catalogue: { find(name: string): Generator | undefined }): number {
  return names.filter((name) => catalogue.find(name)?.issuesHere).length
}

describe('the generators under one leadership', () => {
  test('issue nothing during a lapse, and go on with their next ids after it', async () => {
    const { leader, clock, generators } = await ledByOne()
    for (const generator of generators) assert.equal(tryNext(generator), 2n)
    leader.clusterEngine.always('write', 'unavailable')
    clock.mono += 2_800_000
    clock.wall += 2_800_000
    assert.equal(leader.cluster.check(), false)
    for (const generator of generators) assert.equal(tryNext(generator), undefined)
    const parked = draw(generators[7]!)
    leader.clusterEngine.heal()
    await clock.pass(500)
    assert.deepEqual(await parked, [3n])
    for (const [index, generator] of generators.entries())
      assert.equal(tryNext(generator), index === 7 ? 4n : 3n)
  })

  test('issue nothing once it is lost, whether or not their places have been taken, and nothing is given back', async () => {
    const { leader, other, clock, generators, bound } = await ledByOne()
    const bounds = names.map(bound)
    leader.clusterEngine.always('write', 'unavailable')
    await clock.pass(5000)
    leader.clusterEngine.heal()
    await clock.pass(1000)
    for (const generator of generators) assert.equal(tryNext(generator), undefined)
    assert.equal(issuingHere(leader.catalogue), 0)
    assert.deepEqual(names.map(bound), bounds)
    const { row } = generators[0]!
    assert.equal(row, 0, 'its row is free')
    for (const [index, name] of names.slice(0, 20).entries()) {
      const [id] = await draw(await other.catalogue.open(name))
      assert.ok(id! >= bounds[index]!)
    }
  })

  test('leave the largest ranges to the successor, and release the others', async () => {
    const { leader, other, clock, generators, bound } = await ledByOne()
    await leader.cluster.move(0, other.cluster.nodeId)
    while (other.cluster.here(0) === undefined) await clock.pass(10)
    for (const generator of generators) assert.equal(tryNext(generator), undefined)
    assert.equal(issuingHere(leader.catalogue), 0)
    await settled()
    const kept = names.filter((name) => bound(name) > 2n)
    assert.equal(kept.length, 16)
    assert.ok(kept.every((name) => Number(name.slice(1)) >= 240))
    for (const name of kept) assert.deepEqual(await draw(await other.catalogue.open(name)), [2n])
  })
})

test('of a store that this process does not own any more, none issues', async (t: TestContext) => {
  const node = await startNode()
  t.after(() => node.stop())
  const { catalogue } = node
  const generators: Generator[] = []
  for (const name of names) generators.push(await catalogue.create(name, { kind: 'sequence' }))
  const segment = await catalogue.create('segment', { kind: 'segment' })
  for (const generator of [...generators, segment]) await draw(generator)
  const held = node.engine.hold('reserve')
  const waiting = draw(generators[0]!, 100_000)
  await held.arrived
  catalogue.disown()
  for (const generator of generators) assert.equal(tryNext(generator), undefined)
  assert.notEqual(tryNext(segment), undefined)
  held.letGo()
  // It follows to the generator that is opened again.
  assert.equal((await waiting).length, 100_000)
  assert.notEqual(catalogue.find('g0'), generators[0])
  assert.ok((await draw(await catalogue.open('g1')))[0]! > 1n)
})

test('a node that stops ends them all before anything else, and gives back the largest ranges while there is time', async () => {
  const node = await startNode()
  const { catalogue, store, clock, engine, events } = node
  const generators: Generator[] = []
  for (let index = 0; index < 1000; index++) {
    const generator = await catalogue.create(`g${index}`, {
      kind: 'sequence',
      step: index < 20 ? 100_000 : 10,
    })
    await draw(generator)
    generators.push(generator)
  }
  engine.slow('release', 3000, clock)
  const stopped = node.stop()
  for (const generator of generators) assert.equal(tryNext(generator), undefined)
  await clock.pass(3000)
  await stopped
  const left = generators.map(({ name }) => store.counters.get(generatorKey(name))!.bound > 2n)
  assert.equal(left.slice(0, 20).includes(true), false)
  assert.equal(left.filter((isLeft) => isLeft).length, 200)
  assert.ok(events.some((text) => /200 generators had no time .* gaps of 1800 ids/.test(text)))
})
