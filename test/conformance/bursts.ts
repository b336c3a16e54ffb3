/** Many calls at once, which an engine may send together: each is answered as if it had come alone. */
import assert from 'node:assert/strict'
import type { Engine } from '../../src/engine/engine.ts'
import { assertDisjoint, oddNames } from './counters.ts'
import type { Declare } from './describeEngine.ts'

const life = { incarnation: 2n }
const names = [...oddNames, ...Array.from({ length: 200 }, (_, index) => `many/${index}`)]

/** What became of calls: a start, a word of a refusal, or what a release said. */
async function toldOf(calls: readonly Promise<{ readonly start: bigint } | boolean>[]): Promise<string[]> {
  const outcomes = await Promise.allSettled(calls)
  return outcomes.map((outcome) => {
    if (outcome.status === 'rejected') return String(outcome.reason.code)
    return typeof outcome.value === 'object' ? String(outcome.value.start) : String(outcome.value)
  })
}

function reserveEach(engine: Engine, of: readonly string[]) {
  return Promise.all(of.map((name) => engine.reserve(name, { size: 10n, ...life })))
}

/** Declares the tests of bursts. */
export function burstTests(declare: Declare): void {
  declare('a refused reserve among many at once fails by itself alone', async ({ open }) => {
    const engine = await open()
    await reserveEach(engine, names.slice(0, -50))
    const isStale = (index: number) => index % 5 === 1 && index < names.length - 50
    const isFull = (index: number) => index % 5 === 3
    const told = await toldOf(
      names.map((name, index) => {
        if (isStale(index)) return engine.reserve(name, { size: 1n, incarnation: 1n })
        return engine.reserve(name, { size: 10n, ...life, ...(isFull(index) && { max: 9n }) })
      }),
    )
    const startOf = (index: number) => (index < names.length - 50 ? 10n : 0n)
    assert.deepEqual(
      told,
      names.map((_, index) => (isStale(index) ? 'STALE' : isFull(index) ? 'EXHAUSTED' : `${startOf(index)}`)),
    )
    const counters = await Promise.all(names.map((name) => engine.counter(name)))
    assert.deepEqual(
      counters.map(({ bound }) => bound),
      names.map((_, index) => startOf(index) + (isStale(index) || isFull(index) ? 0n : 10n)),
    )
  })

  declare(
    'a refused release among many at once changes nothing, and all others are carried out',
    async ({ open }) => {
      const [engine, other] = [await open(), await open()]
      const ranges = await reserveEach(engine, names)
      await reserveEach(
        other,
        names.filter((_, index) => index % 3 === 0),
      )
      const released = ranges.map((range, index) => engine.release(names[index]!, range, 4n, life))
      assert.deepEqual(
        await toldOf(released),
        names.map((_, index) => String(index % 3 !== 0)),
      )
      const again = await reserveEach(engine, names)
      assert.deepEqual(
        again.map(({ start }) => start),
        names.map((_, index) => (index % 3 === 0 ? 20n : 4n)),
      )
    },
  )

  declare('several calls on one counter in one burst are carried out one after another', async ({ open }) => {
    const engine = await open()
    const wanted = Array.from({ length: 300 }, (_, index) => `few/${index % 7}`)
    const ranges = await reserveEach(engine, wanted)
    for (const name of new Set(wanted)) {
      const own = ranges.filter((_, index) => wanted[index] === name)
      assertDisjoint(own)
      assert.equal((await engine.counter(name)).bound, BigInt(own.length) * 10n)
    }
  })

  declare(
    'bursts of two processes on the same counters, in opposite orders, all come through',
    async ({ open }) => {
      const engines = [await open(), await open()]
      const turned = names.toReversed()
      const given = new Map<string, { start: bigint; end: bigint }[]>(names.map((name) => [name, []]))
      for (let round = 0; round < 3; round++) {
        const [one, two] = await Promise.all([
          reserveEach(engines[0]!, names),
          reserveEach(engines[1]!, turned),
        ])
        for (const [index, range] of one!.entries()) given.get(names[index]!)!.push(range)
        for (const [index, range] of two!.entries()) given.get(turned[index]!)!.push(range)
      }
      for (const ranges of given.values()) assertDisjoint(ranges)
      // A first use that meets another one may leave a gap.
      assert.ok((await engines[0]!.counter(names[0]!)).bound >= 60n)
    },
  )

  declare(
    'records and counters that are read at once are each what they are, or not there',
    async ({ open }) => {
      const engine = await open()
      const some = names.slice(0, 60)
      for (const name of some.slice(0, 20)) await engine.write(name, `value of ${name}`, undefined)
      await reserveEach(engine, some.slice(10, 40))
      const records = await Promise.all(some.map((name) => engine.read(name)))
      assert.deepEqual(
        records.map((record) => record?.value),
        some.map((name, index) => (index < 20 ? `value of ${name}` : undefined)),
      )
      const counters = await Promise.all(some.map((name) => engine.counter(name)))
      assert.deepEqual(
        counters.map(({ bound }) => bound),
        some.map((_, index) => (index >= 10 && index < 40 ? 10n : 0n)),
      )
    },
  )

  declare(
    'of many writes and removals at once, each one whose condition does not hold fails by itself alone',
    async ({ open }) => {
      const [engine, other] = [await open(), await open()]
      const there = await Promise.all(
        names.map((name, index) => (index % 3 === 0 ? undefined : engine.write(name, 'before', undefined))),
      )
      const before = names.map((_, index) => there[index]?.version)
      // Every fifth has been changed by another process since; every seventh removal and write names no version that ever was.
      const lost = new Set<number>()
      for (const [index, version] of before.entries()) {
        if (index % 5 !== 0 || version === undefined) continue
        await other.write(names[index]!, 'of another', version)
        lost.add(index)
      }
      const told = await Promise.all(
        names.map((name, index) => {
          const version = before[index]
          if (index % 7 === 1) {
            lost.add(index)
            return engine.write(name, 'never', version === undefined ? 1n : undefined)
          }
          if (index % 4 === 1 && version !== undefined) return engine.remove(name, version)
          return engine.write(name, `value ${index}`, version)
        }),
      )
      assert.deepEqual(
        told.map((answer) => answer !== undefined && answer !== false),
        names.map((_, index) => !lost.has(index)),
      )
      for (const [index, answer] of told.entries())
        if (typeof answer === 'object') assert.ok(answer.version > (before[index] ?? 0n))
      const records = await Promise.all(names.map((name) => engine.read(name)))
      for (const [index, record] of records.entries()) {
        const answer = told[index]
        if (typeof answer === 'object') assert.deepEqual(record, answer)
        else if (answer === true) assert.equal(record, undefined)
        else assert.equal(record?.value, before[index] && (index % 5 === 0 ? 'of another' : 'before'))
      }
    },
  )

  declare(
    'of writes of two processes at once, in opposite orders, exactly one of each record succeeds',
    async ({ open }) => {
      const engines = [await open(), await open()]
      const turned = names.toReversed()
      let versions = new Map<string, bigint | undefined>(names.map((name) => [name, undefined]))
      for (let round = 0; round < 3; round++) {
        const writeEach = (engine: Engine, of: readonly string[], value: string) =>
          Promise.all(of.map((name) => engine.write(name, value, versions.get(name))))
        const both = await Promise.all([
          writeEach(engines[0]!, names, `one ${round}`),
          writeEach(engines[1]!, turned, `two ${round}`),
        ])
        const written = both.flat().filter((record) => record !== undefined)
        assert.deepEqual(written.map(({ key }) => key).sort(), [...names].sort())
        const stored = await Promise.all(names.map((name) => engines[0]!.read(name)))
        const newest = new Map(written.map((record) => [record.key, record]))
        for (const record of stored) assert.deepEqual(record, newest.get(record!.key))
        versions = new Map(written.map(({ key, version }) => [key, version]))
      }
    },
  )

  declare(
    'a watch of another process misses no record of many that are written at once, and sees versions grow',
    async ({ open }) => {
      const [engine, other, third] = [await open(), await open(), await open()]
      const seen: { readonly key: string; readonly version: bigint }[] = []
      let told = () => {}
      await engine.watch('', ({ key, record }) => {
        seen.push({ key, version: record!.version })
        told()
      })
      for (let round = 0; round < 3; round++) {
        const keys = names.map((name) => `${round}/${name}`)
        const written = await Promise.all(
          keys.map((key, index) => [other, third][index % 2]!.write(key, 'x', undefined)),
        )
        while (new Set(seen.map(({ key }) => key)).size < names.length * (round + 1))
          await new Promise<void>((resolve) => (told = resolve))
        const versions = new Map(seen.map(({ key, version }) => [key, version]))
        for (const record of written) assert.equal(versions.get(record!.key), record!.version)
      }
      const versions = seen.map(({ version }) => version)
      assert.deepEqual(
        versions,
        versions.toSorted((a, b) => (a < b ? -1 : 1)),
      )
    },
  )

  declare(
    'generators that two processes create at once, in opposite orders, each get one record and disjoint ranges',
    async ({ open }) => {
      const engines = [await open(), await open()]
      const keys = Array.from({ length: 600 }, (_, index) => `new/${index}`)
      const createEach = (engine: Engine, of: readonly string[]) =>
        Promise.all(
          of.map(async (key) => {
            const [record, range] = await Promise.all([
              engine.write(key, 'x', undefined),
              engine.reserve(key, { size: 10n, floor: 1n, ...life }),
            ])
            return { key, record, range }
          }),
        )
      const made = (
        await Promise.all([createEach(engines[0]!, keys), createEach(engines[1]!, keys.toReversed())])
      ).flat()
      for (const key of keys) {
        const own = made.filter((each) => each.key === key)
        assert.equal(own.filter(({ record }) => record !== undefined).length, 1)
        assertDisjoint(own.map(({ range }) => range))
      }
      const counters = await Promise.all(keys.map((key) => engines[0]!.counter(key)))
      assert.ok(counters.every(({ bound, version }) => bound === 21n && version === 2n))
    },
  )
}
