/** Counters: ranges never overlap, bounds never fall but by a release, old holders are refused. */
import assert from 'node:assert/strict'
import { boundMax, type Engine, type ReserveRequest } from '../../src/engine/engine.ts'
import type { Range } from '../../src/ids/run.ts'
import type { Declare } from './describeEngine.ts'
import { FaultyEngine } from './faulty-engine.ts'

const first: Pick<ReserveRequest, 'incarnation'> = { incarnation: 1n }
const unused = { bound: 0n, fence: 0n, incarnation: 0n, version: 0n }

/** Fails unless no two ranges share a value. */
export function assertDisjoint(ranges: readonly Range[]): void {
  const sorted = ranges.filter(({ start, end }) => end > start).sort((a, b) => (a.start < b.start ? -1 : 1))
  for (const [index, range] of sorted.slice(1).entries()) {
    const before = sorted[index]!
    assert.ok(
      before.end <= range.start,
      `[${before.start}, ${before.end}) and [${range.start}, ${range.end}) overlap`,
    )
  }
}

function code(wanted: string): { code: string } {
  return { code: wanted }
}

/** Declares the tests of counters. */
export function counterTests(declare: Declare): void {
  declare('a counter begins at 0, and each range begins where the last one ended', async ({ open }) => {
    const engine = await open()
    assert.deepEqual(await engine.counter('a'), unused)
    const one = await engine.reserve('a', { size: 10n, ...first })
    const two = await engine.reserve('a', { size: 5n, ...first })
    assert.deepEqual([one.start, one.end, two.start, two.end], [0n, 10n, 10n, 15n])
    assert.ok(two.version > one.version)
    assert.deepEqual(await engine.counter('a'), {
      bound: 15n,
      fence: 0n,
      incarnation: 1n,
      version: two.version,
    })
    assert.deepEqual(await engine.counter('b'), unused)
  })

  declare('concurrent reserves never overlap, through several openings of a store', async ({ open }) => {
    const engines = [await open(), await open(), await open()]
    const asked = Array.from({ length: 300 }, (_, index) =>
      engines[index % 3]!.reserve('a', { size: BigInt(1 + (index % 7)), ...first }),
    )
    const ranges = await Promise.all(asked)
    assertDisjoint(ranges)
    const total = ranges.reduce((sum, { start, end }) => sum + end - start, 0n)
    assert.equal((await engines[0]!.counter('a')).bound, total)
  })

  declare(
    'a range starts at the floor when that is above the bound, and never below the bound',
    async ({ open }) => {
      const engine = await open()
      const above = await engine.reserve('a', { size: 1n, floor: 1000n, ...first })
      assert.deepEqual([above.start, above.end], [1000n, 1001n])
      const below = await engine.reserve('a', { size: 2n, floor: 5n, ...first })
      assert.deepEqual([below.start, below.end], [1001n, 1003n])
    },
  )

  declare(
    'a range that would pass max is refused, changes nothing, and one that just fits is given',
    async ({ open }) => {
      const engine = await open()
      await engine.reserve('a', { size: 8n, ...first })
      const before = await engine.counter('a')
      await assert.rejects(engine.reserve('a', { size: 3n, max: 10n, ...first }), code('EXHAUSTED'))
      await assert.rejects(
        engine.reserve('a', { size: 1n, floor: 10n, max: 10n, ...first }),
        code('EXHAUSTED'),
      )
      assert.deepEqual(await engine.counter('a'), before)
      const last = await engine.reserve('a', { size: 2n, max: 10n, ...first })
      assert.deepEqual([last.start, last.end], [8n, 10n])
    },
  )

  declare('a refused first reserve leaves the counter unused', async ({ open }) => {
    const engine = await open()
    await assert.rejects(engine.reserve('a', { size: 11n, max: 10n, ...first }), code('EXHAUSTED'))
    assert.deepEqual(await engine.counter('a'), unused)
  })

  declare(
    'values are exact beyond 2^53 and up to a bound of 2^63, where the counter ends',
    async ({ open }) => {
      const engine = await open()
      const odd = 2n ** 53n + 1n
      const beyond = await engine.reserve('a', { size: 2n, floor: odd, ...first })
      assert.deepEqual([beyond.start, beyond.end], [odd, odd + 2n])
      const last = await engine.reserve('a', { size: 1n, floor: boundMax - 1n, ...first })
      assert.deepEqual([last.start, last.end], [boundMax - 1n, boundMax])
      assert.equal((await engine.counter('a')).bound, boundMax)
      await assert.rejects(engine.reserve('a', { size: 1n, ...first }), code('EXHAUSTED'))
      const sealed = await engine.reserve('a', { size: 0n, incarnation: 2n })
      assert.equal(sealed.end, boundMax)
      assert.equal((await engine.reserve('b', { size: boundMax, ...first })).end, boundMax)
      await assert.rejects(engine.reserve('c', { size: boundMax, floor: 1n, ...first }), code('EXHAUSTED'))
      assert.deepEqual(await engine.counter('c'), unused)
    },
  )

  declare('size 0 opens no range, but raises bound, fence and incarnation', async ({ open }) => {
    const engine = await open()
    const sealed = await engine.reserve('a', { size: 0n, floor: 100n, fence: 3n, incarnation: 2n })
    assert.deepEqual([sealed.start, sealed.end], [100n, 100n])
    assert.deepEqual(await engine.counter('a'), {
      bound: 100n,
      fence: 3n,
      incarnation: 2n,
      version: sealed.version,
    })
    const untouched = await engine.reserve('b', { size: 0n, ...first })
    assert.deepEqual([untouched.start, untouched.end], [0n, 0n])
    assert.equal((await engine.counter('b')).bound, 0n)
  })

  declare(
    'a lower fence, or none after one was seen, is refused; an equal or higher one is taken',
    async ({ open }) => {
      const engine = await open()
      await engine.reserve('a', { size: 1n, fence: 5n, ...first })
      const before = await engine.counter('a')
      await assert.rejects(engine.reserve('a', { size: 1n, fence: 4n, ...first }), code('STALE'))
      await assert.rejects(engine.reserve('a', { size: 1n, ...first }), code('STALE'))
      await assert.rejects(engine.reserve('a', { size: 0n, fence: 4n, ...first }), code('STALE'))
      assert.deepEqual(await engine.counter('a'), before)
      await engine.reserve('a', { size: 1n, fence: 5n, ...first })
      await engine.reserve('a', { size: 1n, fence: 6n, ...first })
      assert.equal((await engine.counter('a')).fence, 6n)
    },
  )

  declare('an earlier incarnation is refused, the same or a later one is accepted', async ({ open }) => {
    const engine = await open()
    await engine.reserve('a', { size: 1n, incarnation: 2n })
    const before = await engine.counter('a')
    await assert.rejects(engine.reserve('a', { size: 1n, incarnation: 1n }), code('STALE'))
    await assert.rejects(engine.reserve('a', { size: 0n, incarnation: 1n }), code('STALE'))
    assert.deepEqual(await engine.counter('a'), before)
    await engine.reserve('a', { size: 1n, incarnation: 2n })
    await engine.reserve('a', { size: 1n, incarnation: 9n })
    assert.equal((await engine.counter('a')).incarnation, 9n)
  })

  declare('a reserve that is both stale and exhausted is rejected as stale', async ({ open }) => {
    const engine = await open()
    await engine.reserve('a', { size: 10n, incarnation: 2n })
    await assert.rejects(engine.reserve('a', { size: 10n, max: 10n, incarnation: 1n }), code('STALE'))
  })

  declare('a released range is reserved again', async ({ open }) => {
    const engine = await open()
    const reserved = await engine.reserve('a', { size: 100n, ...first })
    assert.equal(await engine.release('a', reserved, 40n, first), true)
    const after = await engine.counter('a')
    assert.equal(after.bound, 40n)
    assert.ok(after.version > reserved.version)
    assert.equal((await engine.reserve('a', { size: 1n, ...first })).start, 40n)
  })

  declare(
    'a release may go back below its own range, into adjoining ones of the same holder',
    async ({ open }) => {
      const engine = await open()
      await engine.reserve('a', { size: 100n, ...first })
      const newest = await engine.reserve('a', { size: 100n, ...first })
      assert.equal(await engine.release('a', newest, 30n, first), true)
      assert.equal((await engine.counter('a')).bound, 30n)
    },
  )

  declare(
    'the range below one that was released can be released next, unless another write came between',
    async ({ open }) => {
      const [one, two] = [await open(), await open()]
      const older = await one.reserve('a', { size: 100n, ...first })
      const newer = await one.reserve('a', { size: 100n, ...first })
      assert.equal(await one.release('a', newer, newer.start, first), true)
      assert.equal(await one.release('a', older, 30n, first), false)
      const below = { ...older, version: newer.version + 1n }
      assert.equal(await one.release('a', below, 30n, first), true)
      assert.equal((await one.counter('a')).bound, 30n)
      const next = await one.reserve('a', { size: 100n, ...first })
      const last = await one.reserve('a', { size: 100n, ...first })
      assert.deepEqual([next.start, last.start], [30n, 130n])
      assert.equal(await one.release('a', last, last.start, first), true)
      await two.reserve('a', { size: 0n, floor: 40n, ...first })
      assert.equal(await one.release('a', { ...next, version: last.version + 1n }, 35n, first), false)
      assert.equal((await two.reserve('a', { size: 1n, ...first })).start, 130n)
    },
  )

  declare(
    'reservations have consecutive versions only if no other write changed the counter in between',
    async ({ open }) => {
      const [one, two] = [await open(), await open()]
      const versionOf = async (engine: Engine, size: bigint, floor = 0n) =>
        (await engine.reserve('a', { size, floor, ...first })).version
      const begun = await versionOf(one, 100n)
      assert.equal(await versionOf(one, 100n), begun + 1n)
      assert.equal(await versionOf(one, 0n), begun + 2n)
      // Neither of these moves the bound.
      await versionOf(two, 0n, 150n)
      assert.ok((await versionOf(one, 100n)) > begun + 3n)
      const { end, version, start } = await two.reserve('a', { size: 100n, ...first })
      await two.release('a', { start, end, version }, start, first)
      const later = await one.reserve('a', { size: 0n, ...first })
      assert.ok(later.version > version + 1n)
      await two.advance(0n)
      assert.ok((await versionOf(one, 0n)) > later.version + 1n)
    },
  )

  declare('a reserve of size 0 holds no range that could be lost', async ({ open }) => {
    const [one, two] = [await open(), await open()]
    const begun = await one.reserve('a', { size: 100n, ...first })
    assert.equal((await two.reserve('a', { size: 0n, ...first })).end, begun.end)
    const newest = await one.reserve('a', { size: 100n, ...first })
    assert.equal(await one.release('a', newest, 40n, first), true)
    assert.equal((await two.reserve('a', { size: 10n, ...first })).start, 40n)
  })

  declare(
    'a transferred range may be released by the process that acquired it, without a regression',
    async ({ open }) => {
      const [one, two] = [await open(), await open()]
      const reserved = await one.reserve('a', { size: 100n, ...first })
      one.transfer('a', 40n)
      two.acquire('a', 100n)
      assert.equal((await one.counter('a')).bound, 100n)
      assert.equal(await two.release('a', { ...reserved, start: 40n }, 60n, first), true)
      assert.equal((await one.reserve('a', { size: 10n, ...first })).start, 60n)
      assert.equal((await two.reserve('a', { size: 10n, ...first })).start, 70n)
    },
  )

  declare(
    'of a release and a reserve of one process at the same time either comes first, and nothing is missed',
    async ({ open }) => {
      const engine = await open()
      const race = async (counter: string, releaseFirst: boolean) => {
        const old = await engine.reserve(counter, { size: 100n, ...first })
        const release = () => engine.release(counter, old, 40n, first)
        const reserve = () => engine.reserve(counter, { size: 100n, ...first })
        const calls = releaseFirst ? ([release(), reserve()] as const) : ([reserve(), release()] as const)
        const outcomes = await Promise.all(calls)
        const next = outcomes.find((outcome) => typeof outcome === 'object')!
        const released = outcomes.includes(true)
        assert.equal(next.start, released ? 40n : 100n)
        const after = await engine.reserve(counter, { size: 1n, ...first })
        assertDisjoint([{ start: 0n, end: 40n }, next, after])
        assert.equal(after.start, next.end)
        assert.equal(await engine.release(counter, after, next.end, first), true)
      }
      for (let round = 0; round < 5; round++)
        await Promise.all(Array.from({ length: 40 }, (_, each) => race(`${round}/${each}`, each % 2 === 0)))
    },
  )

  declare(
    'a release down to 0 leaves a counter that begins again, and knows its versions',
    async ({ open }) => {
      const engine = await open()
      const reserved = await engine.reserve('a', { size: 7n, ...first })
      assert.equal(await engine.release('a', reserved, 0n, first), true)
      const again = await engine.reserve('a', { size: 7n, ...first })
      assert.equal(again.start, 0n)
      assert.ok(again.version > reserved.version + 1n)
      assert.equal(await engine.release('a', reserved, 0n, first), false)
    },
  )

  declare('a release works only once', async ({ open }) => {
    const engine = await open()
    const reserved = await engine.reserve('a', { size: 100n, ...first })
    assert.equal(await engine.release('a', reserved, 40n, first), true)
    assert.equal(await engine.release('a', reserved, 20n, first), false)
    assert.equal((await engine.counter('a')).bound, 40n)
  })

  declare(
    'a release is refused after any later reserve or seal, even at the same bound',
    async ({ open }) => {
      const [one, two] = [await open(), await open()]
      const mine = await one.reserve('a', { size: 100n, ...first })
      const theirs = await two.reserve('a', { size: 50n, ...first })
      assert.equal(await one.release('a', mine, 0n, first), false)
      assert.equal(await two.release('a', theirs, 100n, first), true)
      // The bound is what the first reservation made of it, but its version is not.
      assert.equal((await one.counter('a')).bound, mine.end)
      assert.equal(await one.release('a', mine, 0n, first), false)
      const again = await two.reserve('b', { size: 10n, ...first })
      await one.reserve('b', { size: 0n, ...first })
      assert.equal(await two.release('b', again, 0n, first), false)
      assert.equal((await one.counter('b')).bound, 10n)
    },
  )

  declare('a release by an older leader or incarnation is refused', async ({ open }) => {
    const engine = await open()
    const reserved = await engine.reserve('a', { size: 10n, fence: 5n, incarnation: 3n })
    assert.equal(await engine.release('a', reserved, 0n, { fence: 4n, incarnation: 3n }), false)
    assert.equal(await engine.release('a', reserved, 0n, { incarnation: 3n }), false)
    assert.equal(await engine.release('a', reserved, 0n, { fence: 5n, incarnation: 2n }), false)
    assert.equal((await engine.counter('a')).bound, 10n)
    assert.equal(await engine.release('a', reserved, 0n, { fence: 5n, incarnation: 3n }), true)
    assert.deepEqual([(await engine.counter('a')).fence, (await engine.counter('a')).incarnation], [5n, 3n])
  })

  declare(
    'a reservation whose stale release was refused may be released further down, and nothing is missed',
    async ({ open }) => {
      const [one, two] = [await open(), await open()]
      const reserved = await one.reserve('a', { size: 10n, incarnation: 2n })
      assert.equal(await one.release('a', reserved, 5n, { incarnation: 1n }), false)
      assert.equal(await one.release('a', reserved, 0n, { incarnation: 2n }), true)
      assert.equal((await one.reserve('a', { size: 0n, incarnation: 2n })).start, 0n)
      await one.advance(0n)
      assert.equal((await two.counter('a')).bound, 0n)
    },
  )

  declare('an unused counter has no range to release', async ({ open }) => {
    const engine = await open()
    assert.equal(await engine.release('a', { start: 0n, end: 1n, version: 1n }, 0n, first), false)
    assert.deepEqual(await engine.counter('a'), unused)
  })

  declare('a counter keeps its bound when the record of the same name is removed', async ({ open }) => {
    const engine = await open()
    const record = await engine.write('a', '{}', undefined)
    await engine.reserve('a', { size: 10n, ...first })
    assert.equal(await engine.remove('a', record!.version), true)
    assert.equal((await engine.counter('a')).bound, 10n)
    await engine.write('a', '{}', undefined)
    assert.equal((await engine.reserve('a', { size: 1n, incarnation: 2n })).start, 10n)
  })

  declare('a reserve with a lost answer leaves a gap', async ({ open }) => {
    const engine = await open()
    const faulty = new FaultyEngine(engine)
    const before = await faulty.reserve('a', { size: 10n, ...first })
    faulty.next('reserve', 'lose-reply')
    await assert.rejects(faulty.reserve('a', { size: 10n, ...first }), code('UNKNOWN'))
    const after = await faulty.reserve('a', { size: 10n, ...first })
    assert.equal(after.start, before.end + 10n)
    assert.equal(await engine.release('a', before, 0n, first), false)
  })

  declare(
    'a reserve that is carried out late opens a range that no other reserve returned',
    async ({ open }) => {
      const engine = await open()
      const faulty = new FaultyEngine(engine)
      faulty.next('reserve', 'late')
      await assert.rejects(faulty.reserve('a', { size: 10n, ...first }), code('UNKNOWN'))
      const mine = await faulty.reserve('a', { size: 10n, ...first })
      await faulty.deliver()
      assert.equal(await faulty.release('a', mine, 0n, first), false)
      assert.equal((await faulty.reserve('a', { size: 1n, ...first })).start, 20n)
    },
  )

  declare('a late release does not lower the bound below a later reserve', async ({ open }) => {
    const engine = await open()
    const faulty = new FaultyEngine(engine)
    const mine = await faulty.reserve('a', { size: 10n, ...first })
    faulty.next('release', 'late')
    await assert.rejects(faulty.release('a', mine, 0n, first), code('UNKNOWN'))
    const theirs = await engine.reserve('a', { size: 10n, ...first })
    await faulty.deliver()
    assert.equal((await engine.counter('a')).bound, theirs.end)
  })

  declare('each call of a batch has its own answer, refusals included', async ({ open }) => {
    const engine = await open()
    await engine.reserve('a', { size: 10n, incarnation: 2n })
    const outcomes = await Promise.allSettled([
      engine.reserve('a', { size: 1n, incarnation: 2n }),
      engine.reserve('a', { size: 1n, incarnation: 1n }),
      engine.write('r', 'one', undefined),
      engine.write('r', 'two', undefined),
      engine.reserve('a', { size: 100n, max: 50n, incarnation: 2n }),
      engine.reserve('a', { size: 1n, incarnation: 2n }),
    ])
    const [one, stale, mine, yours, exhausted, other] = outcomes.map(told)
    // Several connections may carry them out in another order.
    assert.deepEqual([one, other].sort(), ['10', '11'])
    assert.deepEqual([stale, exhausted], ['STALE', 'EXHAUSTED'])
    assert.deepEqual([mine, yours].filter((outcome) => outcome === 'undefined').length, 1)
    assert.equal((await engine.counter('a')).bound, 12n)
  })

  declare(
    'names are compared as bytes: case, accents, blanks and code points all matter',
    async ({ open }) => {
      const engine = await open()
      for (const [index, name] of oddNames.entries()) {
        await engine.reserve(name, { size: BigInt(index + 1), ...first })
      }
      for (const [index, name] of oddNames.entries()) {
        assert.equal((await engine.counter(name)).bound, BigInt(index + 1), JSON.stringify(name))
      }
    },
  )
}

function told(outcome: PromiseSettledResult<Awaited<ReturnType<Engine['write' | 'reserve']>>>): string {
  if (outcome.status === 'rejected') return outcome.reason.code
  const { value } = outcome
  if (value === undefined) return 'undefined'
  if ('start' in value) return String(value.start)
  return value.value
}

/** Names that some database would take for one another, or for something else. */
export const oddNames: readonly string[] = [
  'order',
  'Order',
  'ORDER',
  'order ',
  ' order',
  'order\t',
  'orde',
  'orders',
  '\u00f6rder',
  'o\u0308rder',
  'stra\u00dfe',
  'strasse',
  '%',
  '_rder',
  'o*',
  "o'r",
  'o"r',
  'o\\r',
  'o`r',
  ';--',
  '\u53d1\u53f7',
  '\ufb01',
  'fi',
  '\uffff',
  '\u{1f600}',
  '\u{10ffff}',
  '\u200b',
  '\u0001',
  '0',
  '00',
  'i',
  '\u0131',
  'I',
  'a/b',
  'a.b',
  'a:b',
  'n'.repeat(300),
]
