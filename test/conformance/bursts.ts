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
}
