import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { FahaoError } from '../../../src/base/errors.ts'
import { MemoryStore } from '../../../src/engine/memory/engine.ts'
import { repairPools } from '../../../src/recovery/repair-pools.ts'
import { FakeClock } from '../fake-clock.ts'
import { poolServer } from './pool-servers.ts'

const minuteMs = 60_000

/** Advances the store of a server, as `fahao advance` does. */
function advance({ engine, timeline }: ReturnType<typeof poolServer>): Promise<number> {
  return engine.advance(0n, repairPools(timeline.nowUs()))
}

/** Lets a store forget what it has learned since this was called, as a failover to a lagging replica does. */
function forgetLater({ records }: MemoryStore): () => void {
  const before = new Map(records)
  return () => {
    records.clear()
    for (const [key, record] of before) records.set(key, record)
  }
}

describe('a claim of a plain worker id', () => {
  test('gets the lowest free id, and tells how long it may be used', async () => {
    const { claim, timeline } = poolServer()
    const first = await claim('a')
    assert.deepEqual(
      { ...first, lease: '' },
      {
        ...{ worker: 0, lease: '', ttlMs: minuteMs, restMs: minuteMs, lastSeenMs: -1 },
        nowUs: timeline.nowUs(),
      },
    )
    assert.match(first.lease, /^0-1-[0-9a-f]{24}$/)
    assert.equal((await claim('b', { ttlMs: 5000, restMs: 0 })).worker, 1)
  })

  test('gives an owner its id again, under a new lease that ends the earlier one', async () => {
    const { claim, pools, clock } = poolServer()
    const first = await claim('a', { seenMs: 77 })
    await claim('b')
    const second = await claim('a')
    assert.equal(second.worker, 0)
    assert.equal(second.lastSeenMs, 77)
    assert.notEqual(second.lease, first.lease)
    await assert.rejects(pools.renew('payments', first.lease), { code: 'NOLEASE' })
    assert.equal(await pools.giveBack('payments', first.lease), false)
    // Also long after its lease, while no other owner has taken the id.
    await clock.pass(60 * minuteMs)
    assert.equal((await claim('b')).worker, 1)
  })

  test('goes to another owner only after the lease and the rest', async () => {
    const { claim, clock } = poolServer()
    await claim('a', { size: 1, ttlMs: minuteMs, restMs: 2 * minuteMs })
    await clock.pass(3 * minuteMs - 1)
    await assert.rejects(claim('b', { size: 1 }), { code: 'EXHAUSTED' })
    await clock.pass(1)
    assert.equal((await claim('b', { size: 1 })).worker, 0)
    // The id has another holder now.
    assert.equal((await claim('a', { size: 2 })).worker, 1)
  })

  test('is refused with the time of the next free id', async () => {
    const { claim, pools, clock } = poolServer()
    const { lease } = await claim('a', { size: 3 })
    await claim('b', { size: 3, ttlMs: 10 * minuteMs })
    await claim('c', { size: 3, stable: true })
    await pools.giveBack('payments', lease)
    await clock.pass(minuteMs / 2)
    const error = await claim('d', { size: 3 }).catch((reason) => reason)
    assert.ok(error instanceof FahaoError)
    assert.equal(
      error.message,
      "no worker id of pool 'payments' is free below 3: 2 held, 1 resting; the first becomes free in 30 s if it is not renewed; wait, return one, or claim with a larger SIZE",
    )
    assert.equal(error.retryAfterMs, 30_000)
    await assert.rejects(
      claim('e', { size: 1, ttlMs: 1000 }).then(() => claim('f', { size: 1 })),
      { code: 'EXHAUSTED' },
    )
  })

  test('keeps a stable id for its owner, until that claims without STABLE', async () => {
    const { claim, pools, clock } = poolServer()
    const { lease } = await claim('a', { size: 1, stable: true })
    await pools.giveBack('payments', lease)
    await clock.pass(60 * minuteMs)
    assert.equal((await pools.list('payments'))[0]!.state, 'kept')
    await assert.rejects(claim('b', { size: 1 }), /1 kept for their owners; none becomes free by itself/)
    assert.equal((await claim('a', { size: 1 })).worker, 0)
    await clock.pass(2 * minuteMs)
    assert.equal((await claim('b', { size: 1 })).worker, 0)
  })

  test('shares one list with those that wait, and each gets an id of its own', async () => {
    const { claim, engine } = poolServer()
    const held = engine.hold('list')
    const first = claim('first')
    await held.arrived
    const others = Array.from({ length: 300 }, (_, index) => claim(`host-${index}`))
    held.letGo()
    const leases = await Promise.all([first, ...others])
    assert.deepEqual(
      leases.map(({ worker }) => worker).sort((a, b) => a - b),
      Array.from({ length: 301 }, (_, id) => id),
    )
    assert.equal(engine.count('list'), 2)
  })

  test('of one owner twice at once gets one id, and the newer lease is in force', async () => {
    const { claim, pools } = poolServer()
    const [one, two] = await Promise.all([claim('a'), claim('a')])
    assert.deepEqual([one.worker, two.worker], [0, 0])
    await assert.rejects(pools.renew('payments', one.lease), { code: 'NOLEASE' })
    await pools.renew('payments', two.lease)
  })

  test('whose reply is lost keeps its id for the owner', async () => {
    const store = new MemoryStore()
    const [one, two] = [poolServer(store), poolServer(store)]
    one.engine.next('write', 'lose-reply')
    assert.equal((await one.claim('a')).worker, 0)
    // The whole answer is lost: the owner asks another server.
    assert.equal((await two.claim('a')).worker, 0)
    assert.equal((await two.pools.list('payments')).length, 1)
  })

  test('whose write comes late ends in one lease', async () => {
    const { claim, engine, pools } = poolServer()
    engine.next('write', 'late')
    const { worker, lease } = await claim('a')
    assert.equal(await engine.deliver(), 1)
    assert.equal(worker, 0)
    await pools.renew('payments', lease)
    assert.deepEqual(
      (await pools.list('payments')).map(({ worker, owner }) => [worker, owner]),
      [[0, 'a']],
    )
  })

  test('reports what the store answers, and what is wrong with the request', async () => {
    const { claim, engine, pools } = poolServer()
    engine.next('list', 'unavailable')
    await assert.rejects(claim('a'), { code: 'UNAVAILABLE' })
    engine.always('write', 'lose-request')
    await assert.rejects(claim('a'), { code: 'UNKNOWN' })
    engine.heal()
    for (const wrong of [{ size: 0 }, { size: 65_537 }, { ttlMs: 999 }, { restMs: -1 }, { owner: 'a\n' }])
      await assert.rejects(claim('a', wrong), { code: 'ERR' })
    await assert.rejects(pools.claim('a b', 'default', { owner: 'a' }), /the name of a pool cannot contain/)
    assert.equal((await claim('a')).worker, 0)
  })

  for (const pool of ['pay\u200bments', 'payments\u202e', 'cafe\u0301']) {
    test(`makes no pool ${JSON.stringify(pool)}, which looks like another, and serves one that exists`, async () => {
      const store = new MemoryStore()
      const { pools, claim } = poolServer(store)
      const owner = 'a'
      await assert.rejects(pools.claim(pool, 'default', { owner }), /the name of a new pool (cannot|must)/)
      await claim(owner)
      const record = store.records.get('pools/payments/0')!
      store.records.set(`pools/${pool}/0`, { ...record, key: `pools/${pool}/0` })
      assert.equal((await pools.claim(pool, 'default', { owner })).worker, 0)
      assert.equal((await pools.claim(pool, 'default', { owner: 'b' })).worker, 1)
    })
  }

  test('is refused at once where too many wait', async () => {
    const { claim, engine } = poolServer()
    const held = engine.hold('list')
    const waiting = Array.from({ length: 10_000 }, (_, index) =>
      claim(`host-${index}`, { size: 5 }).catch((error) => error.code),
    )
    await held.arrived
    await assert.rejects(claim('late'), { code: 'BUSY' })
    held.letGo()
    const refused = (await Promise.all(waiting)).filter((outcome) => outcome === 'EXHAUSTED')
    assert.equal(refused.length, 9995)
    assert.equal((await claim('late', { size: 6 })).worker, 5)
  })

  test('does not see the ids of a pool whose name begins like this one', async () => {
    const { pools } = poolServer()
    for (const pool of ['a/1', 'a/b', 'a', 'others']) {
      assert.equal((await pools.claim(pool, 'default', { owner: 'x' })).worker, 0, pool)
    }
    assert.equal((await pools.list('a')).length, 1)
  })

  test('refuses a time that is more than a day ahead, so that the next holder does not wait for years', async () => {
    const { claim, pools, timeline } = poolServer()
    const dayMs = 86_400_000
    const mostMs = timeline.nowUs() / 1000 + dayMs
    const ahead = {
      code: 'ERR',
      message:
        'SEEN is more than a day ahead of the clock of the service: it is Unix time in ms; set the clock of the holder, and issue no ids until then',
    }
    await assert.rejects(claim('a', { seenMs: mostMs + 1 }), ahead)
    const { lease } = await claim('a', { seenMs: mostMs - 2 })
    await assert.rejects(pools.renew('payments', lease, { seenMs: timeline.nowUs() }), ahead)
    await assert.rejects(pools.giveBack('payments', lease, Number.MAX_SAFE_INTEGER), ahead)
    assert.equal((await pools.renew('payments', lease, { seenMs: mostMs - 1 })).lastSeenMs, mostMs - 1)
    assert.equal(await pools.giveBack('payments', lease, mostMs), true)
    assert.equal((await claim('a')).lastSeenMs, mostMs)
  })
})

describe('the lease of a plain worker id', () => {
  test('is extended from now on, and never shortened', async () => {
    const { claim, pools, clock } = poolServer()
    const { lease } = await claim('a', { ttlMs: 10 * minuteMs })
    await clock.pass(minuteMs)
    const [before] = await pools.list('payments')
    assert.equal((await pools.renew('payments', lease, { ttlMs: minuteMs })).ttlMs, minuteMs)
    assert.deepEqual(await pools.list('payments'), [before])
    assert.equal((await pools.renew('payments', lease, { ttlMs: 20 * minuteMs })).ttlMs, 20 * minuteMs)
    await clock.pass(minuteMs)
    assert.equal((await pools.renew('payments', lease)).ttlMs, 20 * minuteMs)
  })

  test('is told no longer than its TTL, though the clock of the node stands behind the one that wrote it', async () => {
    const store = new MemoryStore()
    const { claim, clock } = poolServer(store)
    await clock.pass(10 * minuteMs)
    const { lease } = await claim('a', { ttlMs: 5 * minuteMs })
    const behind = poolServer(store)
    assert.equal((await behind.pools.renew('payments', lease)).ttlMs, 5 * minuteMs)
  })

  test('can be renewed after its end as long as no other owner has the id', async () => {
    const { claim, pools, clock } = poolServer()
    const { lease } = await claim('a', { size: 1 })
    await clock.pass(10 * minuteMs)
    await pools.renew('payments', lease)
    await clock.pass(10 * minuteMs)
    await claim('b', { size: 1 })
    await assert.rejects(pools.renew('payments', lease), { code: 'NOLEASE' })
  })

  test('is over once it was returned, and the id rests', async () => {
    const { claim, pools, clock } = poolServer()
    const { lease } = await claim('a', { size: 1 })
    assert.equal(await pools.giveBack('payments', lease, 1234), true)
    assert.equal(await pools.giveBack('payments', lease), false)
    await assert.rejects(pools.renew('payments', lease), { code: 'NOLEASE' })
    await assert.rejects(claim('b', { size: 1 }), { code: 'EXHAUSTED' })
    await clock.pass(minuteMs)
    assert.equal((await claim('b', { size: 1 })).lastSeenMs, 1234)
  })

  test('cannot be guessed, and belongs to its pool', async () => {
    const { claim, pools } = poolServer()
    const { lease } = await claim('a')
    for (const other of ['', 'x', '0-1-0', `${lease.slice(0, -1)}g`, lease.replace('0-', '1-'), `${lease}0`])
      await assert.rejects(pools.renew('payments', other), { code: 'NOLEASE' })
    await assert.rejects(pools.renew('orders', lease), { code: 'NOLEASE' })
  })

  test('survives a lost reply and a faster write', async () => {
    const { claim, pools, engine } = poolServer()
    const { lease } = await claim('a')
    engine.next('write', 'lose-reply')
    await pools.renew('payments', lease, { seenMs: 5 })
    engine.next('write', 'lose-request')
    await assert.rejects(pools.renew('payments', lease, { seenMs: 6 }), { code: 'UNKNOWN' })
    const held = engine.hold('write')
    const slow = pools.renew('payments', lease, { seenMs: 7 })
    await held.arrived
    await pools.renew('payments', lease, { seenMs: 9 })
    held.letGo()
    assert.equal((await slow).lastSeenMs, 9)
  })

  test('is listed and claimed in parts between which others run, however large the pool is', async () => {
    const { claim, pools, engine } = poolServer()
    await claim('first')
    const stored = await engine.read('pools/payments/0')
    for (let id = 1; id < 2000; id++) {
      const value = JSON.stringify({ ...JSON.parse(stored!.value), owner: `host-${id}` })
      await engine.write(`pools/payments/${id}`, value, undefined)
    }
    for (const ask of [() => pools.list('payments'), () => claim('last', { size: 3000 })]) {
      let turns = 0
      let isOver = false
      const count = () => {
        turns++
        if (!isOver) setImmediate(count)
      }
      setImmediate(count)
      await ask()
      isOver = true
      assert.ok(turns >= 7, `${turns} turns`)
    }
    assert.equal((await pools.list('payments')).length, 2001)
  })

  test('is listed without its secret, in the order of ids', async () => {
    const { claim, pools, timeline, clock } = poolServer()
    const nowUs = timeline.nowUs()
    await claim('a', { seenMs: 3, stable: true })
    const { lease } = await claim('b')
    await pools.giveBack('payments', lease)
    const listed = await pools.list('payments')
    const untilUs = nowUs + minuteMs * 1000
    const common = { user: 'default', sinceUs: nowUs }
    assert.deepEqual(listed, [
      { worker: 0, state: 'held', owner: 'a', ...common, untilUs, stable: true, lastSeenMs: 3 },
      { worker: 1, state: 'resting', owner: 'b', ...common, untilUs: nowUs, stable: false, lastSeenMs: -1 },
    ])
    await clock.pass(minuteMs)
    assert.equal((await pools.list('payments'))[1]!.state, 'free')
  })

  test('is found by its owner, also where another server has changed it', async () => {
    const store = new MemoryStore()
    const [one, two] = [poolServer(store), poolServer(store)]
    assert.equal(await one.pools.leaseOf('payments', 'a'), undefined)
    await one.claim('a')
    const { lease } = await two.claim('a')
    assert.equal(await one.pools.leaseOf('payments', 'a'), lease)
    await two.pools.giveBack('payments', lease)
    assert.equal(await one.pools.leaseOf('payments', 'a'), undefined)
  })
})

describe('plain worker ids in a store that has forgotten writes', () => {
  test('stay with their holders, and no id is claimed before the longest lease and rest are over', async () => {
    const store = new MemoryStore()
    const clock = new FakeClock()
    const server = poolServer(store, clock)
    const { lease } = await server.claim('a', { ttlMs: 4 * minuteMs, restMs: minuteMs })
    const forget = forgetLater(store)
    await server.claim('forgotten')
    forget()
    await advance(server)
    await server.pools.renew('payments', lease)
    for (const owner of ['a', 'b', 'forgotten'])
      await assert.rejects(server.claim(owner), { code: 'EXHAUSTED' })
    await clock.pass(5 * minuteMs - 1)
    await server.pools.renew('payments', lease)
    await assert.rejects(server.claim('b'), { code: 'EXHAUSTED' })
    await clock.pass(1)
    assert.equal((await server.claim('b')).worker, 1)
  })

  test('end with their leases where those were over', async () => {
    const server = poolServer()
    const { lease } = await server.claim('a')
    await server.clock.pass(minuteMs)
    await advance(server)
    await assert.rejects(server.pools.renew('payments', lease), { code: 'NOLEASE' })
  })

  test('are not claimed by a write that an advance has overtaken', async () => {
    const server = poolServer()
    const held = server.engine.hold('write')
    const claim = server.claim('a')
    await held.arrived
    await advance(server)
    held.letGo()
    await assert.rejects(claim, { code: 'EXHAUSTED' })
    await server.clock.pass(2 * minuteMs - 1)
    await assert.rejects(server.claim('a'), { code: 'EXHAUSTED' })
    await server.clock.pass(1)
    assert.equal((await server.claim('a')).worker, 0)
  })
})
