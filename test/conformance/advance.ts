/** An advance: nothing that can have been forgotten is given out again, whether or not the store knows of it. */
import assert from 'node:assert/strict'
import { repairAll, repairEach } from '../../src/engine/advance-rules.ts'
import { boundMax, type Repair, type RepairedCounter } from '../../src/engine/engine.ts'
import { constantRepair } from '../constant-repair.ts'
import type { Declare } from './describeEngine.ts'

const first = { incarnation: 1n }

/** What records say of counters, whatever records there are. */
function standing(counters: Readonly<Record<string, RepairedCounter>>): Repair {
  return constantRepair({ counters: new Map(Object.entries(counters)) })
}

const mendAlways = repairAll(
  repairEach(() => 'repaired'),
  standing({
    a: { from: 50n, gap: 1000n, incarnation: 9n },
    none: { from: 0n, gap: 1000n, incarnation: 9n },
  }),
)

/** Declares the tests of advances. */
export function advanceTests(declare: Declare): void {
  declare(
    'advance raises every counter, at most to the end, and outdates every reservation',
    async ({ open }) => {
      const engine = await open()
      const a = await engine.reserve('a', { size: 10n, fence: 2n, incarnation: 3n })
      const b = await engine.reserve('b', { size: 1n, floor: boundMax - 5n, ...first })
      await engine.reserve('c', { size: 0n, ...first })
      assert.equal(await engine.advance(1000n), 3)
      assert.equal((await engine.counter('a')).bound, 1010n)
      assert.equal((await engine.counter('b')).bound, boundMax)
      assert.equal((await engine.counter('c')).bound, 1000n)
      assert.deepEqual([(await engine.counter('a')).fence, (await engine.counter('a')).incarnation], [2n, 3n])
      assert.equal(await engine.release('a', a, 0n, { fence: 2n, incarnation: 3n }), false)
      assert.equal(await engine.release('b', b, 0n, first), false)
      assert.equal(await engine.advance(0n), 3)
    },
  )

  declare(
    'every process counts an advance before a reserve resolves that was carried out after it',
    async ({ open }) => {
      const [one, two] = [await open(), await open()]
      await two.reserve('a', { size: 1n, ...first })
      const before = [one.advances, two.advances]
      await one.advance(1n)
      assert.ok(one.advances > before[0]!)
      // Alone, and together.
      const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
      const seen = names.map(async (name) => {
        await two.reserve(name, { size: 1n, ...first })
        return two.advances
      })
      assert.ok((await Promise.all(seen)).every((advances) => advances > before[1]!))
    },
  )

  declare('an advance repairs records in the same step, and watches report them', async ({ open }) => {
    const [engine, other] = [await open(), await open()]
    const kept = await engine.write('kept', 'x', undefined)
    const old = await engine.write('old', 'x', undefined)
    const told: string[] = []
    await engine.watch('', ({ record }) => told.push(record?.value ?? ''))
    await engine.advance(
      1n,
      repairEach(({ key, value }) => (key === 'old' ? `${value}y` : undefined)),
    )
    const repaired = await other.read('old')
    assert.equal(repaired?.value, 'xy')
    assert.ok(repaired.version > old!.version)
    assert.deepEqual(await other.read('kept'), kept)
    assert.equal(await engine.write('old', 'z', old!.version), undefined)
    assert.ok(told.includes('xy'))
  })

  declare(
    'advance adds records that are not there, and those that were removed, and tells watches of them',
    async ({ open }) => {
      const [engine, other] = [await open(), await open()]
      const removed = await engine.write('removed', 'x', undefined)
      assert.ok(await engine.remove('removed', removed!.version))
      const told: string[] = []
      await engine.watch('', ({ record }) => told.push(record?.value ?? ''))
      const added = new Map([
        ['new', 'n'],
        ['removed', 'r'],
      ])
      await engine.advance(1n, constantRepair({ records: added }))
      assert.deepEqual(
        (await other.list('')).map(({ key, value }) => [key, value]),
        [...added],
      )
      assert.ok((await other.read('removed'))!.version > removed!.version)
      assert.equal(await other.write('new', 'z', undefined), undefined)
      const { version } = (await other.read('new'))!
      assert.ok((await other.write('new', 'later', version))!.version > version)
      assert.deepEqual(
        ['n', 'r'].filter((value) => !told.includes(value)),
        [],
      )
    },
  )

  declare(
    'an advance that is meant for a store that has forgotten leaves a sound one alone',
    async ({ open }) => {
      const engine = await open()
      const reserved = await engine.reserve('a', { size: 10n, ...first })
      await engine.write('k', 'as it was', undefined)
      assert.equal(await engine.advance(1000n, mendAlways, { ifRegressed: true }), 0)
      assert.equal((await engine.counter('a')).bound, 10n)
      assert.equal((await engine.read('k'))?.value, 'as it was')
      assert.equal(await engine.release('a', reserved, 4n, first), true)
    },
  )

  declare('an advance adds counters that repaired records name and the store lacks', async ({ open }) => {
    const [engine, other] = [await open(), await open()]
    const counters = {
      unused: { from: 0n, gap: 100n, incarnation: 7n },
      begun: { from: 1_000_000n, gap: 100n, incarnation: 7n },
      last: { from: boundMax - 5n, gap: 100n, incarnation: 7n },
    }
    assert.equal(await engine.advance(100n, standing(counters)), 3)
    const bounds = Object.keys(counters).map(async (name) => (await other.counter(name)).bound)
    assert.deepEqual(await Promise.all(bounds), [100n, 1_000_100n, boundMax])
    for (const each of [engine, other]) {
      await assert.rejects(each.reserve('begun', { size: 1n, incarnation: 6n }), { code: 'STALE' })
      const { start } = await each.reserve('begun', { size: 1n, incarnation: 7n })
      assert.ok(start === 1_000_100n || start === 1_000_101n)
    }
  })

  declare('an advance raises a counter from the bound that a repair names', async ({ open }) => {
    const engine = await open()
    const below = await engine.reserve('below', { size: 10n, ...first })
    await engine.reserve('above', { size: 10_000n, fence: 4n, incarnation: 9n })
    await engine.reserve('sealed', { size: 0n, ...first })
    await engine.reserve('end', { size: 1n, floor: boundMax - 5n, ...first })
    await engine.reserve('other', { size: 5n, ...first })
    const counters = {
      below: { from: 500n, gap: 100n, incarnation: 3n },
      above: { from: 500n, gap: 1000n, incarnation: 3n },
      sealed: { from: 500n, gap: 1000n, incarnation: 3n },
      end: { from: 500n, gap: boundMax * 3n, incarnation: 3n },
    }
    assert.equal(await engine.advance(100n, standing(counters)), 5)
    const after = async (name: string) => {
      const { bound, fence, incarnation } = await engine.counter(name)
      return [bound, fence, incarnation]
    }
    assert.deepEqual(await after('below'), [600n, 0n, 3n])
    assert.deepEqual(await after('above'), [11_000n, 4n, 9n])
    assert.deepEqual(await after('sealed'), [1500n, 0n, 3n])
    assert.deepEqual(await after('end'), [boundMax, 0n, 3n])
    assert.deepEqual(await after('other'), [105n, 0n, 1n])
    assert.equal(await engine.release('below', below, 0n, { incarnation: 3n }), false)
  })

  declare('an advance repairs the counters of many records', async ({ open }) => {
    const engine = await open()
    const name = (at: number) => `counters/with a name that is not short/${at}`
    const many = Array.from({ length: 6000 }, (_, at) => {
      const from = BigInt(at)
      return [name(at), { from, gap: at % 2 === 0 ? 10n : 20n, incarnation: 2n }] as const
    })
    assert.equal(await engine.advance(10n, standing(Object.fromEntries(many))), 6000)
    for (const at of [0, 1, 2999, 5998, 5999])
      assert.equal((await engine.counter(name(at))).bound, BigInt(at) + (at % 2 === 0 ? 10n : 20n))
  })
}
