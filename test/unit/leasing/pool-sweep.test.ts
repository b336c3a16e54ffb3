import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { repairPools } from '../../../src/recovery/repair-pools.ts'
import { poolServer } from './pool-servers.ts'

const minuteMs = 60_000
const dayMs = 86_400_000
const short = { ttlMs: minuteMs, restMs: minuteMs }

type Server = ReturnType<typeof poolServer>

/** The records of plain worker ids, as `pool/ID`. */
async function keysOf({ engine }: Server): Promise<string[]> {
  const records = await engine.list('pools/', { limit: 1000 })
  return records.map(({ key }) => key.slice('pools/'.length)).filter((key) => key !== 'others')
}

/** Claims an id of a new pool, and waits for the sweep that this starts. */
async function addRecord({ pools, engine }: Server, pool: string): Promise<void> {
  await pools.claim(pool, 'default', { owner: 'new', ttlMs: 366 * dayMs })
  let calls = -1
  while (calls !== engine.count('list') + engine.count('remove')) {
    calls = engine.count('list') + engine.count('remove')
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
}

describe('records of plain worker ids', () => {
  test('go a day after lease and rest, where further ones are added', async () => {
    const server = poolServer()
    for (let pool = 0; pool < 50; pool++)
      await server.pools.claim(`p${pool}`, 'default', { owner: 'a', ...short })
    await server.clock.pass(dayMs + 2 * minuteMs)
    await addRecord(server, 'new')
    assert.equal((await keysOf(server)).length, 51, 'a day has not passed')
    await server.clock.pass(60 * minuteMs)
    assert.equal((await keysOf(server)).length, 51, 'no record was added')
    await addRecord(server, 'newer')
    assert.deepEqual(await keysOf(server), ['new/0', 'newer/0'])
    assert.equal((await server.pools.claim('p1', 'default', { owner: 'b' })).lastSeenMs, -1)
  })

  test('stay while they say something: of a holder, a rest, an owner, a reported time, an advance', async () => {
    const server = poolServer()
    const { clock, engine, timeline } = server
    const claim = (pool: string, options: object) =>
      server.pools.claim(pool, 'default', { owner: 'a', ...short, ...options })
    await claim('ended', {})
    await claim('held', { ttlMs: 2 * dayMs })
    await claim('resting', { restMs: 2 * dayMs })
    await claim('kept', { stable: true })
    await claim('seen', { seenMs: timeline.nowUs() / 1000 + dayMs })
    await clock.pass(1.5 * dayMs)
    await addRecord(server, 'new')
    assert.deepEqual((await keysOf(server)).toSorted(), ['held/0', 'kept/0', 'new/0', 'resting/0', 'seen/0'])
    await engine.advance(0n, repairPools(timeline.nowUs()))
    await clock.pass(dayMs)
    await addRecord(server, 'newer')
    assert.equal((await keysOf(server)).length, 6, 'the advance has closed all until less than a day ago')
  })

  test('stay if they were claimed since a sweep has read them', async () => {
    const server = poolServer()
    await server.claim('a', short)
    const [stored] = await server.engine.list('pools/', { limit: 1 })
    await server.clock.pass(2 * dayMs)
    // The second list is that of the sweep, which shows the record as it was.
    await server.claim('b', { ...short, ttlMs: 366 * dayMs })
    const { list } = server.engine
    let lists = 0
    server.engine.list = async (prefix, options) =>
      ++lists === 2 ? [stored!] : list.call(server.engine, prefix, options)
    await addRecord(server, 'new')
    assert.equal(lists, 2)
    assert.equal(server.engine.count('remove'), 1)
    assert.deepEqual((await keysOf(server)).toSorted(), ['new/0', 'payments/0'])
  })

  test('are left to the next sweep where the store is away', async () => {
    const server = poolServer()
    await server.claim('a', short)
    await server.clock.pass(2 * dayMs)
    server.engine.next('remove', 'unavailable')
    await addRecord(server, 'new')
    assert.equal((await keysOf(server)).length, 2)
    await server.clock.pass(60 * minuteMs)
    await addRecord(server, 'newer')
    assert.deepEqual(await keysOf(server), ['new/0', 'newer/0'])
  })
})
