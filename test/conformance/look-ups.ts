/** Look-ups of many names, which create those that were never used. */
import assert from 'node:assert/strict'
import { FahaoError } from '../../src/base/errors.ts'
import type { Engine, First, LookedUp, LookUp, RecordChange } from '../../src/engine/engine.ts'
import { assertDisjoint } from './counters.ts'
import type { Declare } from './describeEngine.ts'
import { FaultyEngine } from './faulty-engine.ts'

const unused = { bound: 0n, fence: 0n, incarnation: 0n, version: 0n }
const reserve = { size: 10n, floor: 1n, incarnation: 1n }
const first: First = { value: 'first', reserve }

/** The outcomes, none of which is an error. */
async function found(engine: Engine, lookUps: readonly LookUp[]): Promise<LookedUp[]> {
  const outcomes = await engine.lookUp(lookUps)
  return outcomes.map((each) => {
    if (each instanceof FahaoError) throw each
    return each
  })
}

/** Declares the tests of look-ups. */
export function lookUpTests(declare: Declare): void {
  declare('names are looked up with their records and counters, in their order', async ({ open }) => {
    const engine = await open()
    const record = await engine.write('a', 'one', undefined)
    await engine.reserve('a', { size: 5n, fence: 2n, incarnation: 3n })
    await engine.reserve('b', { size: 7n, incarnation: 1n })
    const empty = await engine.write('d', '', undefined)
    const lookUps = ['b', 'a', 'c', 'd'].map((key) => ({ key }))
    const [b, a, c, d] = await found(engine, lookUps)
    assert.deepEqual(a, { record, counter: await engine.counter('a'), isNew: false })
    assert.deepEqual(b, { record: undefined, counter: await engine.counter('b'), isNew: false })
    assert.deepEqual(c, { record: undefined, counter: unused, isNew: false })
    assert.deepEqual(d, { record: empty, counter: unused, isNew: false })
    assert.deepEqual(await engine.lookUp([]), [])
  })

  declare('a name that was never used gets its record and its first range', async ({ open }) => {
    const engine = await open()
    const [a, b] = await found(engine, [
      { key: 'a', first },
      { key: 'b', first: { value: 'alone' } },
    ])
    assert.deepEqual([a!.isNew, a!.record?.value, a!.counter], [true, 'first', unused])
    assert.deepEqual(await engine.read('a'), a!.record)
    assert.deepEqual([a!.reservation?.start, a!.reservation?.end], [1n, 11n])
    assert.equal((await engine.counter('a')).version, a!.reservation?.version)
    assert.deepEqual([b!.isNew, b!.record?.value, b!.reservation], [true, 'alone', undefined])
    assert.deepEqual(await engine.read('b'), b!.record)
    assert.deepEqual(await engine.counter('b'), unused)
    assert.equal((await engine.reserve('a', { size: 1n, incarnation: 1n })).start, 11n)
    const written = await engine.write('a', 'two', a!.record!.version)
    assert.equal(written?.value, 'two')
  })

  declare('the range of a new name can be released', async ({ open }) => {
    const engine = await open()
    const [a] = await found(engine, [{ key: 'a', first: { value: 'x', reserve: { ...reserve, fence: 4n } } }])
    const writer = { fence: 4n, incarnation: 1n }
    assert.equal(await engine.release('a', a!.reservation!, 3n, writer), true)
    assert.equal((await engine.counter('a')).bound, 3n)
  })

  declare('a name with a record, or with a counter that was used, is left as it is', async ({ open }) => {
    const engine = await open()
    const record = await engine.write('a', 'one', undefined)
    await engine.reserve('b', { size: 7n, incarnation: 2n })
    const before = await engine.counter('b')
    const [a, b, c] = await found(
      engine,
      ['a', 'b', 'c'].map((key) => ({ key, first })),
    )
    assert.deepEqual(a, { record, counter: unused, isNew: false })
    assert.deepEqual(b, { record: undefined, counter: before, isNew: false })
    assert.equal(c!.isNew, true)
    assert.deepEqual(await engine.counter('a'), unused)
    assert.deepEqual([await engine.read('b'), await engine.counter('b')], [undefined, before])
  })

  declare('a record that was removed is written again', async ({ open }) => {
    const engine = await open()
    const removed = await engine.write('a', 'one', undefined)
    await engine.remove('a', removed!.version)
    const [a] = await found(engine, [{ key: 'a', first }])
    assert.equal(a!.isNew, true)
    assert.ok(a!.record!.version > removed!.version)
  })

  declare('of many that create the same names at once, one creates each', async ({ open }) => {
    const engines = [await open(), await open(), await open()]
    const keys = Array.from({ length: 200 }, (_, index) => `name${index}`)
    const outcomes = await Promise.all(
      engines.map((engine, at) =>
        found(
          engine,
          keys.map((key) => ({ key, first: { value: `by ${at}`, reserve } })),
        ),
      ),
    )
    for (const [index, key] of keys.entries()) {
      const each = outcomes.map((of) => of[index]!)
      assert.equal(each.filter(({ isNew }) => isNew).length, 1)
      const record = await engines[0]!.read(key)
      for (const one of each) assert.deepEqual(one.record, record)
      const next = await engines[1]!.reserve(key, { size: 1n, incarnation: 1n })
      assertDisjoint([next, ...each.flatMap(({ reservation }) => reservation ?? [])])
    }
  })

  declare('a range that does not fit fails alone, and is not opened', async ({ open }) => {
    const engine = await open()
    const tooLarge = { value: 'x', reserve: { ...reserve, max: 5n } }
    const [a, b] = await engine.lookUp([
      { key: 'a', first: tooLarge },
      { key: 'b', first },
    ])
    if (a instanceof FahaoError) {
      assert.equal(a.code, 'EXHAUSTED')
      assert.equal(await engine.read('a'), undefined)
    } else assert.equal(a!.reservation, undefined)
    assert.equal((await engine.counter('a')).bound, 0n)
    assert.ok(b !== undefined && !(b instanceof FahaoError) && b.isNew)
  })

  declare('a name whose outcome was unknown is found, and its range is not given again', async ({ open }) => {
    const engine = await open()
    const faulty = new FaultyEngine(engine)
    faulty.looksUpAtOnce = true
    faulty.next('lookUp', 'lose-reply')
    await assert.rejects(faulty.lookUp([{ key: 'a', first }]), { code: 'UNKNOWN' })
    const [a] = await found(faulty, [{ key: 'a', first }])
    assert.deepEqual([a!.isNew, a!.record?.value], [false, 'first'])
    assert.equal(a!.counter.bound, 11n)
  })

  declare('new names are reported to watches', async ({ open }) => {
    const [one, two] = [await open(), await open()]
    for (const [at, watcher] of [one, two].entries()) {
      const seen = Promise.withResolvers<RecordChange>()
      const watch = await watcher.watch('w', seen.resolve)
      const [made] = await found(one, [{ key: `w${at}`, first }])
      assert.deepEqual((await seen.promise).record, made!.record)
      watch.close()
    }
  })
}
