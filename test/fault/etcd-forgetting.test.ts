/** Stores that have lost writes: noticed where that is possible, and recovered by `advance`. */

import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { LogEvent } from '../../src/base/events.ts'
import { repairEach } from '../../src/engine/advance-rules.ts'
import type { Engine } from '../../src/engine/engine.ts'
import { assertDisjoint } from '../conformance/counters.ts'
import { untilItWorks } from '../conformance/life.ts'
import { defaultToken, startEtcd } from '../launch/etcd.ts'
import { mine, openStore, until } from '../unit/engine/etcd/stores.ts'

const timeout = 60_000
const regressed = { code: 'REGRESSED', message: /fahao advance/ }

async function setUp(t: TestContext) {
  const cluster = await startEtcd(t)
  const url = cluster.url('ids')
  const events: LogEvent[] = []
  const reasons: string[] = []
  const onRegressed = (reason: string) => reasons.push(reason)
  const open = () => openStore(t, url, { onRegressed }, events)
  return { cluster, open, events, reasons }
}

describe('a snapshot restored, as etcd does it by default', { timeout }, () => {
  test('is noticed by a process that opens it: nothing is written until it has been advanced', async (t) => {
    const { cluster, open, events, reasons } = await setUp(t)
    const before = await open()
    await before.reserve('a', mine)
    const record = await before.write('k', 'x', undefined)
    const snapshot = await cluster.save()
    const lost = await before.reserve('a', mine)
    await before.close()
    await cluster.restore(snapshot)

    const engine = await open()
    assert.match(engine.status().reason!, /copy/)
    assert.ok(events.some(({ level, message }) => level === 'error' && /copy/.test(message)))
    await assert.rejects(engine.reserve('a', mine), regressed)
    await assert.rejects(engine.reserve('new', mine), regressed)
    await assert.rejects(engine.release('a', lost, lost.start, mine), regressed)
    await assert.rejects(engine.write('k', 'y', record!.version), regressed)
    await assert.rejects(engine.remove('k', record!.version), regressed)
    assert.ok(reasons.length > 0)
    assert.equal((await engine.read('k'))?.value, 'x')
    assert.equal((await engine.list('')).length, 1)
    assert.equal((await engine.counter('a')).bound, 10n)

    assert.equal(await engine.advance(100n), 1)
    assert.deepEqual(engine.status(), { state: 'up' })
    assert.equal((await engine.reserve('a', mine)).start, 110n)
    assert.equal(await engine.release('a', lost, lost.start, mine), false)
    assert.ok(await engine.write('k', 'y', record!.version))
    assert.deepEqual((await open()).status(), { state: 'up' })
  })

  test('is noticed by a process that has it open, before an id is issued twice', async (t) => {
    const { cluster, open } = await setUp(t)
    const engine = await open()
    await engine.reserve('a', mine)
    const snapshot = await cluster.save()
    const lost = await engine.reserve('a', mine)
    await cluster.restore(snapshot)
    await untilItWorks(() => engine.read('k'))
    await assert.rejects(engine.reserve('a', mine), regressed)
    await engine.advance(0n)
    const { start } = await engine.reserve('a', mine)
    assert.ok(start >= lost.end, `${start} was given out before`)
  })

  test('repeats nothing that was reserved above an advance, when it is restored again and another node advances', async (t) => {
    const { cluster, open } = await setUp(t)
    const [one, two] = [await open(), await open()]
    await one.reserve('a', mine)
    const snapshot = await cluster.save()
    const given = [await one.reserve('a', mine)]
    for (const node of [one, two]) {
      await cluster.restore(snapshot)
      await untilItWorks(() => node.read('k'))
      await assert.rejects(node.reserve('a', mine), regressed)
      assert.equal(await node.advance(100n), 1)
      given.push(await node.reserve('a', mine), await node.reserve('a', mine))
      // The process has accepted this advance.
      await untilItWorks(() => two.write('k', 'x', undefined))
    }
    assertDisjoint(given)
  })

  test('is not advanced without an operator where it is from before the latest advance, which lacks all since', async (t) => {
    const { cluster, open } = await setUp(t)
    const [one, two] = [await open(), await open()]
    const byItself = (engine: Engine) => engine.advance(100n, undefined, { ifRegressed: true })
    await one.reserve('a', mine)
    const snapshot = await cluster.save()
    await one.reserve('a', mine)
    const restored = async (node: Engine) => {
      await cluster.restore(snapshot)
      await untilItWorks(() => node.read('k'))
      await assert.rejects(node.reserve('a', mine), regressed)
    }
    await restored(one)
    assert.equal(await byItself(one), 1)
    const between = await two.reserve('a', { ...mine, size: 5000n })
    await restored(two)
    // Also a process that has not accepted the later history reads of it.
    for (const engine of [one, two, await open()])
      await assert.rejects(byItself(engine), { code: 'REGRESSED', message: /before its bounds were last/ })
    assert.equal(await two.advance(10_000n), 1)
    assert.ok((await one.reserve('a', mine)).start >= between.end)
  })
})

describe('a snapshot restored under the identity of the cluster', { timeout }, () => {
  test('is noticed by a process that has accepted a later revision, and marked for all others', async (t) => {
    const { cluster, open, reasons } = await setUp(t)
    const [one, other] = [await open(), await open()]
    await one.reserve('a', mine)
    await other.reserve('b', mine)
    const snapshot = await cluster.save()
    for (let each = 0; each < 20; each++) await one.write(`k/${each}`, 'lost', undefined)
    await cluster.restore(snapshot, { token: defaultToken })
    await untilItWorks(() => one.read('k'))
    await assert.rejects(one.reserve('a', mine), regressed)
    assert.match(reasons[0]!, /lacks acknowledged writes: it stands at revision \d+, after \d+/)
    await until(async () => {
      const error = await other.reserve('b', mine).catch((thrown) => thrown)
      return error.code === 'REGRESSED'
    })
    const late = await open()
    await assert.rejects(late.reserve('c', mine), regressed)

    await other.advance(1000n)
    for (const engine of [one, other, late]) {
      assert.ok((await engine.reserve('a', mine)).start >= 1010n)
      assert.deepEqual(engine.status(), { state: 'up' })
    }
  })

  test('brings no version back: a write prepared in what was lost meets nothing', async (t) => {
    const { cluster, open } = await setUp(t)
    const engine = await open()
    await engine.reserve('a', mine)
    const snapshot = await cluster.save()
    const lost = []
    let record = await engine.write('k', '0', undefined)
    for (let each = 1; each < 30; each++) {
      lost.push(record!.version)
      record = await engine.write('k', String(each), record!.version)
    }
    await cluster.restore(snapshot, { token: defaultToken })
    await untilItWorks(() => engine.read('k'))
    await engine.advance(1n)
    let now = await engine.write('k', 'anew', undefined)
    for (let each = 0; each < 40; each++) {
      for (const version of lost)
        if (each % 10 === 0) assert.equal(await engine.write('k', 'old', version), undefined)
      assert.ok(now!.version > record!.version)
      now = await engine.write('k', 'anew', now!.version)
    }
  })

  test('from before an earlier advance is no advance', async (t) => {
    const { cluster, open } = await setUp(t)
    const engine = await open()
    await engine.reserve('a', mine)
    const snapshot = await cluster.save()
    await engine.advance(5n)
    await cluster.restore(snapshot, { token: defaultToken })
    await untilItWorks(() => engine.read('k'))
    await assert.rejects(engine.reserve('a', mine), regressed)
  })
})

describe('keys that were removed', { timeout }, () => {
  test('all of them: noticed by a process that has the store open, and an advance restores the bounds that it held', async (t) => {
    const { cluster, open } = await setUp(t)
    const engine = await open()
    const held = await engine.reserve('a', mine)
    await cluster.ctl('del', '--prefix', 'ids/')
    await assert.rejects(engine.reserve('a', mine), regressed)
    await assert.rejects((await open()).reserve('b', mine), regressed)
    await engine.advance(7n)
    assert.equal((await engine.reserve('a', mine)).start, held.end + 7n)
  })

  test('the state alone: noticed by a process that opens the store, because counters without a state are no new store', async (t) => {
    const { cluster, open } = await setUp(t)
    const engine = await open()
    await engine.reserve('a', mine)
    await engine.close()
    await cluster.ctl('del', 'ids/state')
    await assert.rejects((await open()).reserve('b', mine), regressed)
  })

  test('a counter alone: noticed by a process that holds ranges of it', async (t) => {
    const { cluster, open } = await setUp(t)
    const engine = await open()
    await engine.reserve('a', mine)
    await cluster.ctl('del', 'ids/counters/a')
    await assert.rejects(engine.reserve('a', mine), regressed)
  })

  test('a damaged counter is refused, and does not begin again', async (t) => {
    const { cluster, open } = await setUp(t)
    const engine = await open()
    await cluster.ctl('put', 'ids/counters/a', '12')
    await assert.rejects(engine.reserve('a', mine), { code: 'ENGINE' })
    await assert.rejects(engine.counter('a'), { code: 'ENGINE' })
  })
})

describe('a state that is suspect, or of another store', { timeout }, () => {
  test('stops a process that has the store open', async (t) => {
    for (const change of [{ status: 'suspect', note: 'found by another process' }, { store: 'another' }]) {
      const { cluster, open } = await setUp(t)
      const engine = await openStore(t, cluster.url('ids'), { callTimeoutMs: 1000 })
      await engine.reserve('a', mine)
      const state = JSON.parse(await cluster.ctl('get', '--print-value-only', 'ids/state'))
      await cluster.ctl('put', 'ids/state', JSON.stringify({ ...state, ...change }))
      await assert.rejects(engine.reserve('a', mine), regressed)
      await (await open()).advance(1n)
      assert.equal((await engine.reserve('a', mine)).start, 11n)
    }
  })
})

describe('an advance', { timeout }, () => {
  test('of many counters and records changes all of them, and so does each of several at once', async (t) => {
    const { open } = await setUp(t)
    const [one, other] = [await open(), await open()]
    const names = Array.from({ length: 250 }, (_, index) => `c${index}`)
    await Promise.all(names.map((name) => one.reserve(name, mine)))
    await Promise.all(names.slice(0, 50).map((name) => one.write(name, 'x'.repeat(30_000), undefined)))
    const repair = repairEach(({ value }) => `${value}y`)
    const [first] = await Promise.all([one.advance(100n, repair), other.advance(1000n)])
    assert.equal(first, 250)
    for (const name of names) assert.ok((await other.counter(name)).bound >= 1110n)
    const records = await other.list('')
    assert.ok(records.length === 50 && records.every(({ value }) => value.endsWith('xy')))
  })

  test('of many nodes at once, because the store has lost writes, raises bounds on one of them', async (t) => {
    const { cluster, open } = await setUp(t)
    const engines = [await open(), await open(), await open()]
    for (const engine of engines) await engine.reserve('a', mine)
    const advanceAll = () =>
      Promise.all(engines.map((each) => each.advance(100n, undefined, { ifRegressed: true })))
    assert.deepEqual(await advanceAll(), [0, 0, 0])
    assert.equal((await engines[0]!.counter('a')).bound, 30n)
    const state = JSON.parse(await cluster.ctl('get', '--print-value-only', 'ids/state'))
    await cluster.ctl('put', 'ids/state', JSON.stringify({ ...state, status: 'suspect', note: 'a loss' }))
    assert.deepEqual((await advanceAll()).sort(), [0, 0, 1])
    assert.equal((await engines[0]!.counter('a')).bound, 130n)
    for (const engine of engines) await engine.reserve('a', mine)
  })

  test('is reported to processes that have noticed no loss, once each', async (t) => {
    const { cluster, open } = await setUp(t)
    const engine = await open()
    const advances: string[] = []
    for (const name of ['reads', 'writes']) {
      const idle = await openStore(t, cluster.url('ids'), { onAdvanced: () => advances.push(name) })
      await idle.write(name, 'x', undefined)
      await engine.advance(1n)
      if (name === 'reads') assert.equal((await idle.read(name))?.value, 'x')
      else await idle.reserve('a', mine)
      await idle.reserve('b', mine)
      assert.equal(advances.at(-1), name)
      await idle.advance(1n)
      await idle.close()
    }
    assert.equal(advances.length, 2)
  })

  test('that was never finished is finished by the next, and until then no other process writes', async (t) => {
    const { cluster } = await setUp(t)
    const old = await openStore(t, cluster.url('ids'), { callTimeoutMs: 300 })
    for (const name of ['a', 'b']) await old.reserve(name, mine)
    const record = await old.write('k', 'x', undefined)
    const state = JSON.parse(await cluster.ctl('get', '--print-value-only', 'ids/state'))
    await cluster.ctl(
      'put',
      'ids/state',
      JSON.stringify({ ...state, status: 'advancing', note: 'a process that has ended' }),
    )
    const engine = await openStore(t, cluster.url('ids'), { callTimeoutMs: 300 })
    // UNKNOWN when the deadline comes while one more try is under way.
    const waiting = { code: /^(UNAVAILABLE|UNKNOWN)$/ }
    await assert.rejects(engine.reserve('a', mine), waiting)
    await Promise.all([
      assert.rejects(old.reserve('a', mine), waiting),
      assert.rejects(old.write('k', 'y', record!.version), waiting),
    ])
    await until(async () => (await engine.reserve('a', mine).catch(({ code }) => code)) === 'REGRESSED')
    assert.equal(await engine.advance(100n, undefined, { ifRegressed: true }), 2)
    assert.equal((await engine.reserve('a', mine)).start, 110n)
    assert.equal((await old.reserve('b', mine)).start, 110n)
  })

  test('delays the reserves that are made meanwhile, and none of them falls below it', async (t) => {
    const { open } = await setUp(t)
    const [one, other] = [await open(), await open()]
    await one.reserve('a', mine)
    const advancing = one.advance(1000n)
    const reserved = await Promise.all([one, other].map((engine) => engine.reserve('a', mine)))
    await advancing
    const { bound } = await one.counter('a')
    assert.ok(bound >= 1010n)
    assert.ok(reserved.every(({ end }) => end <= bound))
    assert.ok((await other.reserve('a', mine)).start >= bound)
  })
})
