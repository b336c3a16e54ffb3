import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readStored, type StoredGenerator, writeStored } from '../../../src/catalogue/stored-generator.ts'
import { atOnce } from '../../../src/engine/advance-rules.ts'
import { MemoryStore } from '../../../src/engine/memory/engine.ts'
import { parseLayout } from '../../../src/ids/layout-text.ts'
import { repairGenerators } from '../../../src/recovery/repair-generators.ts'
import { draw, startNode } from '../catalogue/node.ts'
import { FakeClock } from '../fake-clock.ts'

const jump = 2n ** 20n
const nowUs = Date.UTC(2026, 5, 1) * 1000
const minuteUs = 60_000_000

/** What becomes of the generators of a store in an advance by 100 ids. */
async function repaired(change: (node: Awaited<ReturnType<typeof startNode>>) => Promise<unknown>) {
  const node = await startNode()
  await change(node)
  const { records, counters } = atOnce(repairGenerators(nowUs, 100n)(await node.engine.list('')))
  await node.stop()
  const stored = (name: string): StoredGenerator => {
    const key = `generators/${name}`
    return readStored({ key, value: records.get(key)!, version: 1n })
  }
  return { records, counters, counter: (name: string) => counters.get(`generators/${name}`), stored }
}

describe('generators in a store that has forgotten writes', () => {
  test('have a counter, used or not, from where their ids begin', async () => {
    const { counter } = await repaired(async ({ catalogue }) => {
      await catalogue.define('plain', { kind: 'segment' })
      await catalogue.define('late', { kind: 'sequence', start: 1_000_000n })
    })
    assert.deepEqual(counter('plain'), { from: 1n, gap: 100n, incarnation: jump + 1n })
    assert.deepEqual(counter('late'), { from: 1_000_000n, gap: 100n, incarnation: jump + 1n })
  })

  test('move by as many ids as the gap, where only every tenth value is one', async () => {
    const { counter } = await repaired(({ catalogue }) =>
      catalogue.define('tenth', { kind: 'segment', increment: 10 }),
    )
    assert.equal(counter('tenth')?.gap, 1000n)
  })

  test('have the counter that their incarnation counts by, also where it is not the first', async () => {
    const { counters, stored } = await repaired(async ({ catalogue }) => {
      await catalogue.create('x', { kind: 'timestamp' })
      await catalogue.alter('x', { kind: 'sequence' })
    })
    const { counter, floor, incarnation } = stored('x')
    assert.deepEqual([...counters], [[counter!, { from: floor > 1n ? floor : 1n, gap: 100n, incarnation }]])
  })

  test('have their floor raised where they are families, whose sections may lack their counters', async () => {
    const { records, counters, stored } = await repaired(async ({ catalogue }) => {
      await catalogue.create('room:*', { kind: 'sequence', family: true, start: 7 })
      await draw(await catalogue.open('room:1'))
    })
    assert.equal(stored('room:*').floor, 107n)
    assert.equal(stored('room:*').incarnation, jump + 1n)
    assert.equal(counters.size, 0)
    assert.equal(records.get('families'), undefined)
  })

  test('are families again whose last write of the record of families is lost', async () => {
    const { records } = await repaired(async ({ catalogue, engine }) => {
      await catalogue.create('room:*', { kind: 'sequence', family: true })
      const record = await engine.read('families')
      await engine.write('families', record!.value.replace('active', 'announced'), record!.version)
    })
    assert.match(records.get('families')!, /"state":"active"/)
  })

  test('give no id of a family twice after an advance, also in a section whose counter was lost', async () => {
    const store = new MemoryStore()
    const node = await startNode({ store })
    await node.catalogue.create('room:*', { kind: 'sequence', family: true, step: 10 })
    const [before] = await draw(await node.catalogue.open('room:1'), 5)
    await node.crash()
    for (const name of [...store.counters.keys()])
      if (name.startsWith('families/')) store.counters.delete(name)
    const after = await startNode({ store })
    await after.engine.advance(100n, repairGenerators(nowUs, 100n))
    await after.catalogue.reopenAll()
    const [next] = await draw(await after.catalogue.open('room:1'))
    assert.ok(next! > before! + 4n)
  })

  test('move by the larger increment while one takes the place of the other', async () => {
    const node = await startNode()
    await node.catalogue.define('x', { kind: 'segment', increment: 2 })
    const [record] = await node.engine.list('generators/')
    const stored = readStored(record!)
    const next = { ...stored.definition, increment: 5 }
    const value = writeStored({ ...stored, state: 'altering', next })
    const { counters } = atOnce(repairGenerators(nowUs, 100n)([{ ...record!, value }]))
    assert.equal(counters.get('generators/x')?.gap, 500n)
    await node.stop()
  })

  test('that follow the clock pass more time than can have been reserved, from now or from where they stand', async () => {
    const { counter } = await repaired(async ({ catalogue }) => {
      await catalogue.define('t', { kind: 'timestamp' })
      await catalogue.define('far', { kind: 'timestamp', horizon: '1h' })
    })
    const layout = parseLayout('twitter')
    const rawOf = (us: number) => BigInt(us / 1000) << 12n
    const from = rawOf(nowUs - layout.epochUs)
    const incarnation = jump + 1n
    assert.deepEqual(counter('t'), { from, gap: 100n + rawOf(15 * minuteUs), incarnation })
    assert.deepEqual(counter('far'), { from, gap: 100n + rawOf(90 * minuteUs), incarnation })
  })

  test('go on above what a timestamp has issued ahead of the clock, also where its last reserves were forgotten', async () => {
    const store = new MemoryStore()
    const clock = new FakeClock()
    const issued: bigint[] = []
    /** A node's life, from its start to its crash. */
    const live = async (advances: boolean) => {
      const { engine, catalogue, crash } = await startNode({ store, clock })
      await catalogue.define('t', { kind: 'timestamp', horizon: '1s' })
      if (advances) await engine.advance(100n, repairGenerators(clock.wall, 100n))
      const [id] = await draw(await catalogue.open('t'))
      assert.ok(
        issued.every((each) => each < id!),
        `${id} after ${issued}`,
      )
      issued.push(id!)
      await crash()
    }
    await live(true)
    const kept = new Map(store.counters)
    for (let crashes = 0; crashes < 3; crashes++) await live(false)
    for (const [name, counter] of kept) store.counters.set(name, counter)
    await live(true)
  })

  test('begin incarnations above all forgotten ones, dropped generators too', async () => {
    const { counter, stored } = await repaired(async ({ catalogue }) => {
      await catalogue.define('gone', { kind: 'segment', start: 500n })
      await catalogue.drop('gone')
      await catalogue.define('flake', { kind: 'snowflake' })
    })
    assert.equal(stored('gone').state, 'dropped')
    assert.equal(stored('gone').incarnation, jump + 2n)
    assert.equal(counter('gone')?.from, 500n)
    assert.equal(stored('flake').incarnation, jump + 1n)
    assert.equal(counter('flake'), undefined)
  })

  test('leave out a record that cannot be read, and all that is no generator', async () => {
    const value = 'no generator'
    const records = [
      { key: 'generators/x', value, version: 1n },
      { key: 'workers/0', value: '{}', version: 2n },
    ]
    const { records: changed, counters } = atOnce(repairGenerators(nowUs, 100n)(records))
    assert.deepEqual([changed.size, counters.size], [0, 0])
  })
})

test('a generator that was altered in what was forgotten issues again at once, although its counter was in use by the forgotten life', async () => {
  const node = await startNode()
  await draw(await node.catalogue.create('x', { kind: 'segment' }))
  // Another process that goes on by the life which is forgotten.
  await node.engine.reserve('generators/x', { size: 10n, incarnation: 2n })
  await node.engine.advance(100n, repairGenerators(nowUs, 100n))
  await node.catalogue.reopenAll()
  await assert.rejects(node.engine.reserve('generators/x', { size: 1n, incarnation: 2n }), {
    code: 'STALE',
  })
  assert.ok(Number(await draw(await node.catalogue.open('x'))) > 100)
  await node.stop()
})
