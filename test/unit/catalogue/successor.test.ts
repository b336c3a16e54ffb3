/** What a successor does with leftover ranges when it receives changes late, or finds unreadable ones. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { FahaoError } from '../../../src/base/errors.ts'
import { generatorKey, generatorPrefix } from '../../../src/catalogue/stored-generator.ts'
import type { RecordChange, Watch } from '../../../src/engine/engine.ts'
import { Nodes } from '../cluster/nodes.ts'
import { settled } from '../fake-clock.ts'
import { draw, LateEngine, SharedEngine, startNode, tryNext } from './node.ts'

/** A store on which no watch of generators begins: that of families, which is there before them, does. */
class UnwatchedEngine extends SharedEngine {
  override async watch(prefix: string, listener: (change: RecordChange) => void): Promise<Watch> {
    if (prefix === generatorPrefix) throw new FahaoError('UNAVAILABLE', 'no answer')
    return super.watch(prefix, listener)
  }
}

/** Two nodes of one shard, and how to delay the changes that each receives. `inVain`: their catalogues open at the second try. */
async function two({ inVain = false } = {}) {
  const nodes = new Nodes(1)
  const start = async (address: string) => {
    const { cluster, engine: clusterEngine } = await nodes.start(address)
    const reached = new LateEngine(nodes.store)
    const options = { store: nodes.store, clock: nodes.clock, cluster }
    if (inVain) await assert.rejects(startNode({ ...options, reach: (store) => new UnwatchedEngine(store) }))
    const { catalogue, engine, events } = await startNode({
      ...options,
      reach: () => reached,
      autoCreate: [{ pattern: 'auto*', kind: 'sequence' }],
    })
    return { cluster, clusterEngine, catalogue, engine, events, reached }
  }
  const [one, other] = [await start('a:1'), await start('b:1')]
  await nodes.clock.pass(10_000)
  const { clock, store } = nodes
  return one.cluster.here(0) === undefined
    ? { clock, store, leader: other, successor: one }
    : { clock, store, leader: one, successor: other }
}

type Two = Awaited<ReturnType<typeof two>>

async function handOver({ leader, successor, clock }: Two): Promise<void> {
  await leader.cluster.move(0, successor.cluster.nodeId)
  while (successor.cluster.here(0) === undefined) await clock.pass(1)
  await settled()
}

describe('a successor', () => {
  test('does not issue a leftover range after it has issued ids above', async () => {
    const all = await two()
    const { leader, successor } = all
    await leader.catalogue.create('g', { kind: 'sequence' })
    await draw(await leader.catalogue.open('g'))
    // It reads the record as it was before the alteration, and gets the answer after the hand-over.
    const read = successor.engine.read.bind(successor.engine)
    const answer = Promise.withResolvers<void>()
    successor.engine.read = async (key) => {
      Reflect.deleteProperty(successor.engine, 'read')
      const record = await read(key)
      await answer.promise
      return record
    }
    successor.reached.late = true
    const opening = successor.catalogue.open('g')
    await settled()
    await leader.catalogue.alter('g', { horizon: '30s' })
    const [last] = await draw(await leader.catalogue.open('g'))
    await handOver(all)
    answer.resolve()
    const [next] = await draw(await opening)
    assert.ok(next! > last!)
    successor.reached.report()
    await settled()
    const altered = await successor.catalogue.open('g')
    assert.equal(altered.definition.horizon, 30_000)
    assert.ok((await draw(altered))[0]! > next!)
  })

  test('alone continues the leftover range, also if its catalogue could not be opened before', async () => {
    const all = await two({ inVain: true })
    const { leader, successor } = all
    await leader.catalogue.create('g', { kind: 'sequence' })
    await draw(await leader.catalogue.open('g'), 5)
    await successor.catalogue.open('g')
    await handOver(all)
    const [id] = await draw(await successor.catalogue.open('g'))
    // It changes nothing, but closes what is open.
    await successor.catalogue.alter('g', { kind: 'sequence' })
    await handOver({ ...all, leader: successor, successor: leader })
    const [next] = await draw(await leader.catalogue.open('g'))
    assert.deepEqual([id, next! > id!], [6n, true])
  })

  test('does not create a generator because it has a leftover range', async () => {
    const all = await two()
    const { leader, successor, clock, store } = all
    await draw(await leader.catalogue.open('auto'))
    await draw(await leader.catalogue.open('auto'))
    leader.reached.late = true
    const third = await startNode({ store, clock, reach: () => new SharedEngine(store) })
    await third.catalogue.drop('auto')
    await handOver(all)
    await clock.pass(500)
    assert.equal(JSON.parse(store.records.get(generatorKey('auto'))!.value).state, 'dropped')
    assert.ok((await draw(await successor.catalogue.open('auto')))[0]! > 1n, 'a request for it creates it')
  })

  test('discards an issuer that was opened in vain, without harm to the one that replaces it', async () => {
    const all = await two()
    const { leader, successor, clock, store } = all
    await leader.catalogue.create('g', { kind: 'sequence' })
    await draw(await leader.catalogue.open('g'), 700)
    const [first, held] = [successor.engine.hold('read'), successor.engine.hold('read')]
    await handOver(all)
    await first.arrived
    first.letGo()
    await held.arrived
    const third = await startNode({ store, clock, reach: () => new SharedEngine(store) })
    await third.catalogue.drop('g')
    await third.catalogue.create('g', { kind: 'sequence' })
    held.letGo()
    await settled()
    const next = await successor.catalogue.open('g')
    assert.ok((await draw(next))[0]! > 1000n)
    await settled()
    assert.equal(successor.catalogue.find('g'), next)
    assert.notEqual(tryNext(next), undefined)
    assert.deepEqual(successor.events, [], 'nothing has failed')
  })

  test('does not create a generator that is dropped while it is opened', async () => {
    const all = await two()
    const { leader, successor, clock, store } = all
    await draw(await leader.catalogue.open('auto'))
    await draw(await leader.catalogue.open('auto'))
    const [first, held] = [successor.engine.hold('read'), successor.engine.hold('read')]
    await handOver(all)
    await first.arrived
    first.letGo()
    await held.arrived
    const third = await startNode({ store, clock, reach: () => new SharedEngine(store) })
    await third.catalogue.drop('auto')
    held.letGo()
    await clock.pass(500)
    assert.equal(JSON.parse(store.records.get(generatorKey('auto'))!.value).state, 'dropped')
  })

  test('continues the leftover ranges that it can read', async () => {
    const all = await two()
    const { leader, successor } = all
    await leader.catalogue.create('g', { kind: 'sequence' })
    await draw(await leader.catalogue.open('g'))
    const write = leader.clusterEngine.write.bind(leader.clusterEngine)
    leader.clusterEngine.write = (key, value, expected) =>
      write(key, value.replace('"leftovers":[', '"leftovers":[null,{"name":7},'), expected)
    await handOver(all)
    assert.equal(tryNext(successor.catalogue.find('g')!), 2n)
  })
})
