import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Catalogue } from '../../../src/catalogue/catalogue.ts'
import type { Engine } from '../../../src/engine/engine.ts'
import { BufferedIds, healthOf } from '../../../src/node/health.ts'
import { FakeClock } from '../fake-clock.ts'

type Figures = {
  inHand: number
  inHandSeconds: number
  ratePerSecond: number
  waiting: number
  mode?: string
}

const idle = { inHand: 0, inHandSeconds: Number.POSITIVE_INFINITY, ratePerSecond: 0, waiting: 0 }
const busy = { inHand: 500, inHandSeconds: 50, ratePerSecond: 10, waiting: 0 }
const dry = { inHand: 0, inHandSeconds: 0, ratePerSecond: 10, waiting: 3 }

function health(state: 'up' | 'down', generators: readonly Figures[], stopping = false, trouble?: string) {
  const engine = { status: () => (state === 'up' ? { state } : { state, reason: 'the disk is gone' }) }
  const catalogue = {
    inUse: () => generators.map((figures) => ({ mode: figures.mode, definition: {}, stats: () => figures })),
  }
  return healthOf({
    engine: engine as unknown as Engine,
    catalogue: catalogue as unknown as Catalogue,
    stopping,
    trouble,
  })
}

describe('the health of a node', () => {
  test('is ok while the engine is up, whatever is buffered', () => {
    assert.deepEqual(health('up', [dry]), { state: 'ok', reason: undefined, inHandSeconds: 0 })
    assert.equal(health('up', []).inHandSeconds, undefined)
    assert.equal(health('up', [busy, { ...dry, mode: 'group commit' }]).inHandSeconds, 50)
  })

  test('is degraded without the engine while ids are buffered, and says how long they last', () => {
    assert.deepEqual(health('down', [busy, idle]), {
      state: 'degraded',
      reason: 'the disk is gone',
      inHandSeconds: 50,
    })
    assert.deepEqual(health('down', [busy, dry]), {
      state: 'degraded',
      reason: 'the disk is gone',
      inHandSeconds: 0,
    })
  })

  test('is degraded while a regression stops reserves, and says what to do', () => {
    const trouble = 'nothing is reserved; run `fahao advance`'
    assert.deepEqual(health('up', [busy], false, trouble), {
      state: 'degraded',
      reason: trouble,
      inHandSeconds: 50,
    })
    assert.equal(health('up', [dry], false, trouble).state, 'down')
  })

  test('is down without the engine and without ids', () => {
    assert.equal(health('down', [idle, dry]).state, 'down')
    assert.equal(health('down', []).state, 'down')
  })

  test('is down until it has joined its cluster, and degraded while a shard has no leader', () => {
    const engine = { status: () => ({ state: 'up' }) } as Engine
    const catalogue = { inUse: () => [] } as unknown as Catalogue
    const of = (joined: boolean, trouble?: string) =>
      healthOf({ engine, catalogue, stopping: false, trouble: undefined, membership: { joined, trouble } })
    assert.deepEqual(
      [of(false, 'not joined'), of(true, 'no leader'), of(true)].map(({ state, reason }) => [state, reason]),
      [
        ['down', 'not joined'],
        ['degraded', 'no leader'],
        ['ok', undefined],
      ],
    )
  })

  test('is stopping during a stop', () => {
    assert.equal(health('up', [busy], true).state, 'stopping')
  })

  test('counts as degraded a tenth of a second after a buffer has ids again', async () => {
    let stats: Figures = dry
    const catalogue = { inUse: () => [{ definition: {}, stats: () => stats }] } as unknown as Catalogue
    const engine = { status: () => ({ state: 'down', reason: 'the disk is gone' }) } as unknown as Engine
    const clock = new FakeClock()
    const inHand = new BufferedIds(catalogue, clock)
    const state = () => healthOf({ engine, catalogue, stopping: false, trouble: undefined, inHand }).state
    assert.equal(state(), 'down')
    stats = { ...dry, inHand: 1 }
    await clock.pass(100)
    assert.equal(state(), 'degraded')
  })

  test('is asked for by anyone, so the generators are read ten times a second at most, and in a twentieth of the time', async () => {
    let read = 0
    const stats = () => {
      read++
      return dry
    }
    const catalogue = { inUse: () => Array(1000).fill({ definition: {}, stats }) } as unknown as Catalogue
    const clock = new FakeClock()
    // The time that a reading of all takes.
    let tookUs = 0
    const inHand = new BufferedIds(catalogue, { monoUs: () => clock.monoUs() + (read / 1000) * tookUs })
    for (const state of ['up', 'down'] as const) {
      const engine = { status: () => ({ state, reason: 'the disk is gone' }) } as unknown as Engine
      const source = { engine, catalogue, stopping: false, trouble: undefined, inHand }
      for (let probes = 0; probes < 5; probes++) healthOf(source)
    }
    assert.equal(read, 1000)
    await clock.pass(100)
    assert.equal(inHand.read().seconds, 0)
    assert.equal(read, 2000)
    await clock.pass(100)
    tookUs = 20_000
    inHand.read()
    for (let ms = 0; ms < 390; ms += 10) {
      await clock.pass(10)
      inHand.read()
    }
    assert.equal(read, 3000)
    await clock.pass(10)
    inHand.read()
    assert.equal(read, 4000)
  })
})
