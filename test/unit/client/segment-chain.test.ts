import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { type IdOrder, scrambled, shuffled } from '../../../client/src/id-order.ts'
import { type Leftover, SegmentChain } from '../../../client/src/segment-chain.ts'
import { permutation } from '../../../src/ids/permutation.ts'
import { Run } from '../../../src/ids/run.ts'

const key = '000102030405060708090a0b0c0d0e0f'
const orders: Readonly<Record<string, () => IdOrder | undefined>> = {
  'in order': () => undefined,
  shuffled: () => shuffled(1),
  scrambled: () => scrambled(key, 999_999n),
}

/** One step: a range of `add` ids after a gap, ids that are taken, time that passes. */
const step = fc.oneof(
  fc.record({ add: fc.integer({ min: 1, max: 9000 }), gap: fc.integer({ min: 0, max: 3 }) }),
  fc.record({ take: fc.integer({ min: 1, max: 200 }) }),
  fc.record({ fast: fc.integer({ min: 1, max: 70 }) }),
  fc.record({ collect: fc.integer({ min: 1, max: 6000 }) }),
  fc.record({ pass: fc.integer({ min: 1, max: 40 }) }),
)

test('a chain drops ids in front of a gap for ids that follow one another, and none if there are no such ids', () => {
  const ranges = fc.array(
    fc.record({ gap: fc.integer({ min: 0, max: 2 }), size: fc.integer({ min: 1, max: 9 }) }),
    { maxLength: 8 },
  )
  const [count, taken] = [fc.integer({ min: 1, max: 20 }), fc.integer({ min: 0, max: 5 })]
  fc.assert(
    fc.property(ranges, count, taken, (parts, count, taken) => {
      const chain = new SegmentChain(1, 0n)
      let ids: bigint[] = []
      let end = 1n
      for (const { gap, size } of parts) {
        const start = end + BigInt(gap)
        end = start + BigInt(size)
        chain.add({ start, end }, { deadlineUs: 50, lease: String(start) })
        for (let id = start; id < end; id++) ids.push(id)
      }
      ids = ids.slice(chain.take(taken, new Run()))
      const at = ids.findIndex((id, at) => ids[at + count - 1] === id + BigInt(count - 1))
      assert.equal(chain.align(count), at >= 0)
      const kept = at < 0 ? ids : ids.slice(at)
      assert.equal(chain.available, kept.length)
      for (const id of kept) assert.equal(chain.collect(1)![0]!.first, id)
    }),
  )
})

for (const [name, order] of Object.entries(orders)) {
  describe(`a chain ${name}`, () => {
    test('issues ids of its ranges only, each once, and none past its deadline', () => {
      fc.assert(
        fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
          const chain = new SegmentChain(1, 0n, order())
          const whole = permutation(Buffer.from(key, 'hex'), 1_000_000n)
          /** The deadline of each id that may be issued. */
          const open = new Map<bigint, number>()
          const run = new Run()
          let end = 1n
          let now = 0
          const issue = (id: bigint) => {
            assert.ok(open.get(id)! > now, `${id} is not open`)
            open.delete(id)
          }
          for (const each of steps) {
            chain.expire(now)
            if ('add' in each) {
              const start = end + BigInt(each.gap)
              end = start + BigInt(each.add)
              chain.add({ start, end }, { deadlineUs: now + 50, lease: String(start) })
              for (let raw = start; raw < end; raw++)
                open.set(name === 'scrambled' ? whole.forward(raw) : raw, now + 50)
            } else if ('take' in each) {
              const taken = chain.take(each.take, run)
              for (let index = 0; index < taken; index++) issue(run.at(index))
            } else if ('fast' in each) {
              for (let left = each.fast; left > 0; left--)
                if (chain.fastRun.take(1, run) > 0 || chain.take(1, run) > 0) issue(run.first)
            } else if ('collect' in each) {
              const had = chain.available
              const runs = chain.collect(each.collect)
              assert.equal(runs !== undefined, had >= each.collect)
              for (const part of runs ?? [])
                for (let index = 0; index < part.count; index++) issue(part.at(index))
            } else now += each.pass
          }
          chain.expire(now)
          const left = [...open.values()].filter((deadline) => deadline > now).length
          assert.equal(chain.available, left)
          assert.equal(chain.collect(left)?.reduce((sum, { count }) => sum + count, 0) ?? 0, left)
        }),
        { numRuns: 60 },
      )
    })

    test('names as unused what no issued id lies above', () => {
      fc.assert(
        fc.property(fc.integer({ min: 1, max: 9000 }), fc.integer({ min: 0, max: 9000 }), (size, wanted) => {
          const chain = new SegmentChain(1, 0n, order())
          chain.add({ start: 100n, end: 100n + BigInt(size) }, { deadlineUs: 1, lease: 'a' })
          const count = Math.min(wanted, size)
          const ids = new Set<bigint>()
          for (const run of chain.collect(count) ?? [])
            for (let index = 0; index < run.count; index++) ids.add(run.at(index))
          const [left] = given(chain)
          // Of a shuffled range, the last block may have been begun.
          if (name === 'scrambled') assert.equal(left === undefined, count === size)
          const whole = permutation(Buffer.from(key, 'hex'), 1_000_000n)
          const end = 100n + BigInt(size)
          for (let raw = left?.from ?? end; raw < end; raw++)
            assert.ok(!ids.has(name === 'scrambled' ? whole.forward(raw) : raw))
          assert.equal(chain.available, 0)
        }),
        { numRuns: 60 },
      )
    })
  })
}

/** All that is left of a chain, as it is given back. */
function given(chain: SegmentChain): Leftover[] {
  chain.giveUp()
  const all: Leftover[] = []
  for (let each = chain.takeUnused(); each !== undefined; each = chain.takeUnused()) all.push(each)
  return all
}

describe('a chain', () => {
  const terms = (lease: string) => ({ deadlineUs: 10, lease })

  test('keeps to the increment and the offset', () => {
    const chain = new SegmentChain(10, 3n)
    chain.add({ start: 1n, end: 24n }, terms('a'))
    const run = new Run()
    assert.equal(chain.take(5, run), 3)
    assert.deepEqual([run.at(0), run.at(1), run.at(2)], [3n, 13n, 23n])
  })

  test('gives numbers up to 2^53−1, and says when the next ids are above it', () => {
    const chain = new SegmentChain(1, 0n)
    chain.add({ start: 2n ** 53n - 2n, end: 2n ** 53n + 2n }, terms('a'))
    assert.deepEqual([chain.areSafe(1), chain.areSafe(2), chain.areSafe(3)], [true, true, false])
  })

  test('takes the fast run back at the end of the callback, and the deadline holds for it then', async () => {
    const chain = new SegmentChain(1, 0n)
    const run = new Run()
    chain.add({ start: 1n, end: 100n }, terms('a'))
    chain.take(1, run)
    assert.ok(chain.fastRun.count > 0)
    await undefined
    assert.equal(chain.fastRun.count, 0)
    chain.expire(10)
    assert.equal(chain.take(1, run), 0)
  })

  test('returns the newest lease first', () => {
    const chain = new SegmentChain(1, 0n)
    chain.add({ start: 1n, end: 100n }, terms('a'))
    chain.add({ start: 100n, end: 200n }, terms('b'))
    chain.collect(50)
    assert.deepEqual(given(chain), [
      { lease: 'b', from: 100n },
      { lease: 'a', from: 51n },
    ])
  })
})

for (const [name, order] of Object.entries(orders))
  test(`a chain ${name} issues nothing of what it has named as spare, and keeps as many as it is told to`, () => {
    const whole = permutation(Buffer.from(key, 'hex'), 1_000_000n)
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 20_000 }),
        fc.integer({ min: 0, max: 20_000 }),
        fc.integer({ min: 0, max: 20_000 }),
        fc.boolean(),
        (size, use, keep, isOver) => {
          const chain = new SegmentChain(1, 0n, order())
          chain.add({ start: 1n, end: 5n }, { deadlineUs: 10, lease: 'before' })
          chain.add({ start: 100n, end: 100n + BigInt(size) }, { deadlineUs: 20, lease: 'a' })
          const ids = (chain.collect(Math.min(4 + use, 4 + size)) ?? []).map((run) =>
            Array.from({ length: run.count }, (_, at) => run.at(at)),
          )
          if (isOver) chain.expire(20)
          const left = chain.available
          chain.spare(30, keep)
          const spare = chain.takeUnused()
          assert.ok(chain.available >= Math.min(left, keep))
          ids.push(
            ...(chain.collect(chain.available) ?? []).map((run) =>
              Array.from({ length: run.count }, (_, at) => run.at(at)),
            ),
          )
          const end = spare?.from ?? 100n + BigInt(size)
          const raw = new Set(ids.flat().map((id) => (name === 'scrambled' ? whole.inverse(id) : id)))
          assert.equal(raw.size, ids.flat().length)
          for (const id of raw) assert.ok(id < end, `${id} of ${end}`)
          if (name !== 'shuffled' && isOver && use < size) assert.equal(spare?.lease, 'a')
          if (name !== 'shuffled' && !isOver && spare !== undefined)
            assert.equal(raw.size, 4 + Math.min(use, size) + keep)
        },
      ),
      { numRuns: 60 },
    )
  })

test('a range that has long to go, or is not the newest, is no spare', () => {
  const chain = new SegmentChain(1, 0n)
  const spare = (dueUs: number) => {
    chain.spare(dueUs, 0)
    return chain.takeUnused()
  }
  chain.add({ start: 1n, end: 100n }, { deadlineUs: 10, lease: 'a' })
  assert.equal(spare(9), undefined)
  chain.add({ start: 100n, end: 200n }, { deadlineUs: 20, lease: 'b' })
  assert.equal(spare(15), undefined)
  chain.expire(10)
  assert.deepEqual(chain.takeUnused(), { lease: 'a', from: 1n }, 'what came to its deadline')
  assert.deepEqual(spare(20), { lease: 'b', from: 100n })
  assert.equal(chain.available, 0)
  assert.equal(spare(20), undefined)
})

test('ids that come to their deadline before their turn make a chain last no longer', () => {
  const chain = new SegmentChain(1, 0n)
  const seconds = (count: number) => count * 1_000_000
  chain.add({ start: 1n, end: 1001n }, { deadlineUs: seconds(30), lease: 'a' })
  chain.add({ start: 1001n, end: 1101n }, { deadlineUs: seconds(90), lease: 'b' })
  assert.equal(chain.lastsMs(100, 0), 11_000)
  assert.equal(chain.lastsMs(10, 0), 40_000)
  assert.equal(chain.lastsMs(1, 0), 90_000)
  assert.equal(chain.lastsMs(0, 0), 90_000)
  assert.equal(chain.lastsMs(10, seconds(29)), 11_000)
  const run = new Run()
  chain.take(1, run)
  chain.fastRun.takeNumber()
  assert.equal(chain.lastsMs(100, 0), 10_980)
  assert.equal(chain.fastRun.takeNumber(), 3)
})

test('a chain that is asked how many ids are left keeps those of the callback at hand', () => {
  const chain = new SegmentChain(1, 0n)
  const run = new Run()
  chain.add({ start: 1n, end: 101n }, { deadlineUs: 50, lease: 'a' })
  assert.equal(chain.take(1, run), 1)
  assert.equal(chain.available, 99)
  assert.equal(chain.fastRun.takeNumber(), 2)
  assert.equal(chain.available, 98)
  assert.equal(chain.fastRun.takeNumber(), 3)
})
