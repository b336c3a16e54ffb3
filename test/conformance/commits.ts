/** Commits: several records and a reserve, all or nothing. */
import assert from 'node:assert/strict'
import { hasCode } from '../../src/base/errors.ts'
import {
  boundMax,
  type Commit,
  type Committed,
  commitMax,
  type Engine,
  type RecordChange,
  type RecordWrite,
} from '../../src/engine/engine.ts'
import type { Declare } from './describeEngine.ts'
import { FaultyEngine } from './faulty-engine.ts'
import { untilItWorks } from './life.ts'

const unused = { bound: 0n, fence: 0n, incarnation: 0n, version: 0n }
const one = { size: 1n, incarnation: 1n }

/** Asserts that a call, whatever becomes of it, changes neither these records nor these counters. */
async function changesNothing<Value>(engine: Engine, names: readonly string[], call: () => Promise<Value>) {
  const look = () =>
    Promise.all(names.map(async (name) => [await engine.read(name), await engine.counter(name)]))
  const before = await look()
  const outcome = await call().catch((error: { code: string }) => error.code)
  assert.deepEqual(await look(), before)
  return outcome
}

/** Adds to a list in a record what it draws from a counter, and tries again for as long as others are faster. */
async function append(engine: Engine, key: string, counter: string): Promise<bigint> {
  for (;;) {
    const [record, { bound, version }] = [await engine.read(key), await engine.counter(counter)]
    const value = `${record?.value ?? ''}${bound},`
    const committed = await engine.commit({
      records: [{ key, value, expected: record?.version }],
      counter: { name: counter, request: one, version },
    })
    if (committed !== undefined) return committed.reservation!.start
  }
}

/** Declares the tests of commits. */
export function commitTests(declare: Declare): void {
  declare('a commit writes its records and reserves its range', async ({ open }) => {
    const engine = await open()
    const old = await engine.write('old', 'x', undefined)
    await engine.reserve('c', { size: 7n, floor: 3n, incarnation: 2n })
    const records = [
      { key: 'new', value: 'one', expected: undefined },
      { key: 'old', value: '', expected: old!.version },
    ]
    const { version } = await engine.counter('c')
    const request = { size: 5n, floor: 20n, max: 25n, fence: 4n, incarnation: 3n }
    const committed = await engine.commit({ records, counter: { name: 'c', request, version } })
    assert.deepEqual(committed!.reservation, { start: 20n, end: 25n, version: version + 1n })
    assert.deepEqual(
      committed!.records.map(({ key, value }) => [key, value]),
      [
        ['new', 'one'],
        ['old', ''],
      ],
    )
    for (const record of committed!.records) assert.deepEqual(await engine.read(record.key), record)
    assert.ok(committed!.records[1]!.version > old!.version)
    assert.deepEqual(await engine.counter('c'), {
      bound: 25n,
      fence: 4n,
      incarnation: 3n,
      version: version + 1n,
    })
    assert.equal((await engine.reserve('c', { ...request, max: boundMax })).start, 25n)
    assert.equal((await engine.write('new', 'two', committed!.records[0]!.version))?.value, 'two')
  })

  declare('a commit needs no counter, and none that was used, and no records', async ({ open }) => {
    const engine = await open()
    const record = { key: 'a', value: 'x', expected: undefined }
    const written = await engine.commit({ records: [record] })
    assert.deepEqual([written!.records.length, written!.reservation], [1, undefined])
    const first = { name: 'c', request: { ...one, floor: 9n }, version: 0n }
    const begun = await engine.commit({ records: [], counter: first })
    assert.deepEqual(begun!.reservation, { start: 9n, end: 10n, version: 1n })
    assert.deepEqual([begun!.records, (await engine.counter('c')).bound], [[], 10n])
    const removed = await engine.read('a')
    await engine.remove('a', removed!.version)
    const again = await engine.commit({ records: [record], counter: { ...first, version: 1n } })
    assert.ok(again!.records[0]!.version > removed!.version)
    const [range] = [again!.reservation!]
    assert.equal(await engine.release('c', range, range.start, { incarnation: 1n }), true)
  })

  declare('a commit changes nothing if one version differs', async ({ open }) => {
    const engine = await open()
    const a = await engine.write('a', 'x', undefined)
    const gone = await engine.write('gone', 'x', undefined)
    await engine.remove('gone', gone!.version)
    await engine.reserve('a', one)
    const good = { key: 'a', value: 'changed', expected: a!.version }
    const fresh = { key: 'b', value: 'new', expected: undefined }
    const counter = { name: 'a', request: one, version: 1n }
    const refused: Commit[] = [
      { records: [good, { ...fresh, expected: a!.version }], counter },
      { records: [fresh, { ...good, expected: undefined }], counter },
      { records: [{ ...good, expected: a!.version + 1n }], counter },
      { records: [good, { key: 'gone', value: 'y', expected: gone!.version }], counter },
      { records: [good, fresh], counter: { ...counter, version: 0n } },
      { records: [good, fresh], counter: { ...counter, version: 2n } },
      { records: [good, fresh], counter: { ...counter, name: 'b' } },
      { records: [], counter: { ...counter, version: 0n } },
      { records: [good, { ...fresh, expected: 7n }] },
    ]
    const names = ['a', 'b', 'gone']
    for (const commit of refused)
      assert.equal(await changesNothing(engine, names, () => engine.commit(commit)), undefined)
    const together = () => Promise.all(refused.map((commit) => engine.commit(commit)))
    assert.deepEqual(
      await changesNothing(engine, names, together),
      refused.map(() => undefined),
    )
    assert.notEqual(await engine.commit({ records: [good, fresh], counter }), undefined)
  })

  declare('a commit changes nothing if its counter refuses', async ({ open }) => {
    const engine = await open()
    const a = await engine.write('a', 'x', undefined)
    await engine.reserve('c', { size: 5n, fence: 5n, incarnation: 5n })
    const records = [
      { key: 'a', value: 'changed', expected: a!.version },
      { key: 'b', value: 'new', expected: undefined },
    ]
    const current = { size: 1n, fence: 5n, incarnation: 5n }
    const refuse = async (request: Partial<typeof current> & { max?: bigint }, name = 'c', version = 1n) => {
      const counter = { name, request: { ...current, ...request }, version }
      return changesNothing(engine, ['a', 'b', 'c', 'd'], () => engine.commit({ records, counter }))
    }
    assert.equal(await refuse({ fence: 4n }), 'STALE')
    assert.equal(await refuse({ fence: 0n, size: 0n }), 'STALE')
    assert.equal(await refuse({ incarnation: 4n }), 'STALE')
    assert.equal(await refuse({ max: 5n }), 'EXHAUSTED')
    assert.equal(await refuse({ size: boundMax }), 'EXHAUSTED')
    assert.equal(await refuse({ max: 0n }, 'd', 0n), 'EXHAUSTED')
    const other = engine.commit({ records, counter: { name: 'c', request: current, version: 1n } })
    assert.notEqual(await other, undefined)
  })

  declare('a commit of size 0 raises the fence and the floor', async ({ open }) => {
    const engine = await open()
    const request = { size: 0n, floor: 50n, fence: 3n, incarnation: 2n }
    const records = [{ key: 'a', value: 'x', expected: undefined }]
    const sealed = await engine.commit({ records, counter: { name: 'c', request, version: 0n } })
    assert.deepEqual(sealed!.reservation, { start: 50n, end: 50n, version: 1n })
    assert.deepEqual(await engine.counter('c'), { bound: 50n, fence: 3n, incarnation: 2n, version: 1n })
    const late = { name: 'c', request: { size: 0n, fence: 2n, incarnation: 2n }, version: 1n }
    const zombie = { records: [{ key: 'b', value: 'x', expected: undefined }], counter: late }
    await assert.rejects(engine.commit(zombie), { code: 'STALE' })
    assert.equal(await engine.read('b'), undefined)
  })

  declare('a commit takes 60 records, and values of 32 KiB', async ({ open }) => {
    const engine = await open()
    const many = Array.from({ length: commitMax }, (_, at) => `k/${at}`.padEnd(300, 'ü').slice(0, 150))
    const first = many.map((key) => ({ key, value: '1', expected: undefined }))
    const counter = (version: bigint) => ({ name: 'c', request: one, version })
    const written = await engine.commit({ records: first, counter: counter(0n) })
    assert.equal(written!.records.length, commitMax)
    const value = `'\\"\n${'界'.repeat(10_000)}`
    const second = written!.records.map(({ key, version }, at) => {
      return { key, value: at < 8 ? value : '2', expected: version }
    })
    const rewritten = await engine.commit({ records: second, counter: counter(1n) })
    assert.deepEqual(
      (await engine.list('k/')).map(({ value }) => value).sort(),
      second.map(({ value }) => value).sort(),
    )
    for (const record of rewritten!.records) assert.deepEqual(await engine.read(record.key), record)
    const third = second.map((each, at) => ({ ...each, expected: rewritten!.records[at]!.version }))
    third[commitMax - 1] = second[commitMax - 1]!
    assert.equal(await engine.commit({ records: third, counter: counter(2n) }), undefined)
    assert.deepEqual(await engine.read(many[0]!), rewritten!.records[0])
  })

  declare('of commits of one moment that expect the same, one is carried out', async ({ open }) => {
    const engines = [await open(), await open()]
    for (let round = 0; round < 10; round++) {
      const key = `k${round}`
      const calls = Array.from({ length: 12 }, (_, at) => {
        const records: RecordWrite[] = [{ key, value: `by ${at}`, expected: undefined }]
        if (at % 3 === 0) records.push({ key: `${key}/${at}`, value: 'too', expected: undefined })
        const counter = at % 2 === 0 ? { name: key, request: one, version: 0n } : undefined
        return engines[at % 2]!.commit({ records, counter })
      })
      const outcomes = await Promise.all([...calls, engines[0]!.write(key, 'alone', undefined)])
      const done = outcomes.flatMap((outcome, at) => (outcome === undefined ? [] : [at]))
      assert.equal(done.length, 1)
      const [at] = done
      const isAlone = at === calls.length
      assert.equal((await engines[0]!.read(key))!.value, isAlone ? 'alone' : `by ${at}`)
      assert.equal((await engines[0]!.list(`${key}/`)).length, !isAlone && at! % 3 === 0 ? 1 : 0)
      assert.equal((await engines[1]!.counter(key)).bound, !isAlone && at! % 2 === 0 ? 1n : 0n)
    }
  })

  declare('what a record says of a counter is true, whichever process commits', async ({ open }) => {
    const engines = [await open(), await open()]
    const drawn = await Promise.all(
      Array.from({ length: 8 }, async (_, worker) => {
        const starts: bigint[] = []
        for (let round = 0; round < 10; round++)
          starts.push(await append(engines[worker % 2]!, 'list', 'counter'))
        return starts
      }),
    )
    const numbers = drawn
      .flat()
      .map(Number)
      .sort((a, b) => a - b)
    const expected = Array.from({ length: 80 }, (_, at) => at)
    assert.deepEqual(numbers, expected)
    assert.equal((await engines[0]!.read('list'))!.value, expected.map((each) => `${each},`).join(''))
    assert.equal((await engines[1]!.counter('counter')).bound, 80n)
  })

  declare('commits of crossing names do not hinder each other', async ({ open }) => {
    const engines = [await open(), await open()]
    const keys = ['a', 'b', 'c', 'd']
    const rewrite = async (engine: Engine, order: readonly string[], counter: string) => {
      for (;;) {
        const records = await Promise.all(
          order.map(async (key) => ({ key, value: 'x', expected: (await engine.read(key))?.version })),
        )
        const { version } = await engine.counter(counter)
        if (await engine.commit({ records, counter: { name: counter, request: one, version } })) return
      }
    }
    const calls = Array.from({ length: 24 }, (_, at) => {
      const order = at % 2 === 0 ? keys : keys.toReversed()
      return rewrite(engines[at % 2]!, order, at % 4 < 2 ? 'a' : 'z')
    })
    await Promise.all(calls)
    assert.deepEqual(
      [(await engines[0]!.counter('a')).bound, (await engines[0]!.counter('z')).bound],
      [12n, 12n],
    )
  })

  declare('commits and reserves of one counter never open one range twice', async ({ open }) => {
    const engines = [await open(), await open()]
    const starts = await Promise.all(
      Array.from({ length: 60 }, async (_, at) => {
        const engine = engines[at % 2]!
        return at % 3 === 0 ? append(engine, `r${at}`, 'c') : (await engine.reserve('c', one)).start
      }),
    )
    const numbers = starts.map(Number).sort((a, b) => a - b)
    assert.deepEqual(
      numbers,
      numbers.map((_, at) => at),
    )
  })

  declare('a commit whose outcome is unknown is settled by a record', async ({ open }) => {
    const engine = await open()
    const faulty = new FaultyEngine(engine)
    const commit = {
      records: [
        { key: 'a', value: 'mine', expected: undefined },
        { key: 'b', value: 'mine', expected: undefined },
      ],
      counter: { name: 'c', request: one, version: 0n },
    }
    faulty.next('commit', 'lose-request')
    await assert.rejects(faulty.commit(commit), { code: 'UNKNOWN' })
    assert.deepEqual([await engine.read('b'), await engine.counter('c')], [undefined, unused])
    faulty.next('commit', 'late')
    await assert.rejects(faulty.commit(commit), { code: 'UNKNOWN' })
    faulty.next('commit', 'lose-reply')
    await assert.rejects(faulty.commit(commit), { code: 'UNKNOWN' })
    assert.deepEqual([(await engine.read('b'))?.value, (await engine.counter('c')).bound], ['mine', 1n])
    const after = await engine.counter('c')
    // It comes too late to change anything.
    await faulty.deliver()
    assert.deepEqual(await engine.counter('c'), after)
    assert.equal(await faulty.commit(commit), undefined)
  })

  declare('what was read before an advance is not committed', async ({ open }) => {
    const [mine, other] = [await open(), await open()]
    const record = await mine.write('a', 'x', undefined)
    await mine.reserve('c', one)
    const before = mine.advances
    await other.advance(100n)
    const fresh = { key: 'b', value: 'x', expected: undefined }
    const commit = { records: [fresh], counter: { name: 'c', request: one, version: 1n } }
    assert.equal(await mine.commit(commit), undefined)
    const counter = { name: 'c', request: one, version: (await mine.counter('c')).version }
    const done = (await mine.commit({ records: [{ ...record!, expected: record!.version }], counter }))!
    assert.equal(done.reservation!.start, 101n)
    assert.ok(mine.advances > before)
    assert.ok(done.records[0]!.version > record!.version)
  })

  declare('the records of a commit are reported to watches', async ({ open }) => {
    const [mine, other] = [await open(), await open()]
    for (const [at, watcher] of [mine, other].entries()) {
      const [seen, all] = [new Map<string, RecordChange>(), Promise.withResolvers<void>()]
      const watch = await watcher.watch(`w${at}/`, (change) => {
        seen.set(change.key, change)
        if (seen.size === 2) all.resolve()
      })
      const records = ['a', 'b'].map((key) => ({ key: `w${at}/${key}`, value: 'x', expected: undefined }))
      const committed: Committed | undefined = await mine.commit({ records })
      await all.promise
      for (const record of committed!.records) assert.deepEqual(seen.get(record.key)?.record, record)
      watch.close()
    }
  })

  declare(
    'a commit that another process holds up is refused or unknown, and later ones are carried out',
    async ({ open, freeze }) => {
      const engine = await open({ callTimeoutMs: 700 })
      await engine.write('a', 'x', undefined)
      const thaw = await freeze()
      const commit = {
        records: [{ key: 'b', value: 'x', expected: undefined }],
        counter: { name: 'c', request: one, version: 0n },
      }
      const error = await engine.commit(commit).then(
        () => undefined,
        (error: unknown) => error,
      )
      await thaw()
      assert.ok(hasCode(error, 'UNKNOWN') || hasCode(error, 'UNAVAILABLE'), String(error))
      await untilItWorks(() => engine.read('b'))
      await append(engine, 'b', 'c')
      const [{ value }, { bound }] = [(await engine.read('b'))!, await engine.counter('c')]
      // Both of it were carried out, or neither.
      assert.equal(value, bound === 2n ? 'x1,' : '0,')
    },
    'freezes',
  )
}
