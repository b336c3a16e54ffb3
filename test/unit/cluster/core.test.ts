import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { ClusterCore } from '../../../src/cluster/core.ts'
import type { Effect } from '../../../src/cluster/events.ts'
import { nodeKey, shardKey } from '../../../src/cluster/records.ts'
import { timing } from '../../../src/cluster/timing.ts'
import { Model } from './cores.ts'

/** What can befall a cluster, with how often it does in a hundred events. */
const troubles: readonly (readonly [percent: number, happen: (model: Model, which: number) => void])[] = [
  [15, (model, which) => model.advanceAny(which)],
  [8, (model, which) => model.giveUpAny(which)],
  [8, (model, which) => model.pass(which % 700)],
  [6, (model, which) => model.news(which)],
  [1, (model, which) => model.stall(which % 5)],
  [1, (model, which) => model.suspend(which, which % 5000)],
  [1, (model, which) => model.tell(which, { type: 'intend', intent: which % 2 === 0 ? 'drain' : 'lead' })],
  [1, (model, which) => model.tell(which, { type: 'renew' })],
]

/** One event: most of the time the next one of a calm day. */
function happen(model: Model, percent: number, which: number): void {
  let below = 0
  for (const [share, trouble] of troubles) {
    below += share
    if (percent < below) return trouble(model, which)
  }
  model.goOn()
}

/** The ids of the nodes that lead each shard. */
function leadersOf(model: Model): string[][] {
  return Array.from({ length: model.shards }, (_, shard) =>
    model.leaders(shard).map(({ core }) => core.state.lease.id),
  )
}

// Twice the margin covers these, and a suspension that is too short to be noticed.
const rate = fc.double({ min: 0.96, max: 1.04, noNaN: true })
const events = fc.array(fc.tuple(fc.nat(99), fc.nat(100_000)), {
  minLength: 400,
  maxLength: 1200,
  size: 'max',
})

/** A core that leads the only shard of its cluster, and the moment. */
function leading() {
  const now = { monoUs: 0, wallUs: 0 }
  const core = new ClusterCore(timing({ leaseTtlMs: 3000 }), 1, { version: '1' }, 'n1', now)
  let version = 0n
  const answer = (call: Effect): Effect[] => {
    if (call.do === 'list') return [...core.step({ type: 'answered', call, answer: { records: [] } }, now)]
    if (call.do !== 'write') return []
    const stored = { key: call.key, value: call.value, version: ++version }
    return [...core.step({ type: 'answered', call, answer: { stored } }, now)]
  }
  core.step({ type: 'join', id: 'n1' }, now)
  while (core.leaderships.held(0) === undefined)
    for (const effect of core.step({ type: 'tick' }, now)) answer(effect)
  /** The effects of a record of this node that another one has declared dead. */
  const declareDead = () => {
    const record = { ...core.state.view.node('n1')!.value, deadBy: 'n2' }
    const stored = { key: nodeKey('n1'), value: JSON.stringify(record), version: ++version }
    return core.step({ type: 'changed', change: { key: stored.key, record: stored } }, now)
  }
  return { core, now, declareDead }
}

/** What effects are, in order. */
function namesOf(effects: readonly Effect[]): string[] {
  return effects.map((effect) => (effect.do === 'report' ? effect.event.type : effect.do))
}

describe('the effects of a core', () => {
  test('begin with the lapse of the lease, whatever event shows it', () => {
    const { core, now } = leading()
    const effects = core.step({ type: 'renew' }, { ...now, monoUs: 2_700_000 })
    assert.deepEqual(namesOf(effects), ['onLapse', 'lapsed', 'wake'])
  })

  test('end every term before the end of the lease is told', () => {
    const { core, declareDead } = leading()
    assert.deepEqual(namesOf(declareDead()), ['onLost', 'lost', 'wake', 'died', 'wake', 'onDead'])
    assert.equal(core.leaderships.held(0), undefined)
  })

  test('release a shard before the write that names its successor', () => {
    const { core, now } = leading()
    core.step({ type: 'intend', intent: 'giveAllAway' }, now)
    const [release] = core.step({ type: 'tick' }, now)
    assert.ok(release?.do === 'release')
    assert.equal(core.leaderships.held(0), undefined, 'stopped')
    const { change } = release
    const [write] = core.step({ type: 'released', change, leftovers: [], error: undefined }, now)
    assert.ok(write?.do === 'write' && write.key === shardKey(0))
  })
})

describe('cores of a cluster', () => {
  test('lead a shard one at a time at every instant, whatever is late, lost or stopped, and recover', () => {
    const seen: string[] = []
    const property = fc.property(fc.array(rate, { minLength: 3, maxLength: 3 }), events, (rates, all) => {
      const model = new Model(2, rates)
      for (const [percent, which] of all) {
        happen(model, percent, which)
        for (const ids of leadersOf(model)) assert.ok(ids.length <= 1, `${ids.join(' and ')} lead one shard`)
      }
      model.stall(-1)
      for (const at of model.nodes.keys()) model.tell(at, { type: 'intend', intent: 'lead' })
      const calmUs = model.nowUs + 15_000_000
      while (model.nowUs < calmUs) model.goOn()
      for (const ids of leadersOf(model)) assert.equal(ids.length, 1, 'every shard is led again')
      seen.push(...model.nodes.flatMap(({ events }) => events.map(({ type }) => type)))
    })
    fc.assert(property, { numRuns: 100 })
    for (const type of ['won', 'lost', 'handedOver', 'died', 'lapsed', 'resumed'])
      assert.ok(seen.includes(type), `no event ${type}`)
  })

  test('consist of files that have no engine, no clock, no timer and no promise', () => {
    const files =
      'address-conflicts assignment balance core events failure-detector handover leaderships node-lease records slots timing view'
    for (const file of files.split(' ')) {
      const text = readFileSync(join(import.meta.dirname, `../../../src/cluster/${file}.ts`), 'utf8')
      const code = text.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')
      assert.doesNotMatch(code, /\b(?:Engine|Clock|Timer|Promise|async|await|queueMicrotask)\b/, file)
    }
  })
})
