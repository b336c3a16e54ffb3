import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { type Leftover, SegmentChain } from '../../../client/src/segment-chain.ts'
import { Run } from '../../../src/ids/run.ts'

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

/** All that is left of a chain, as it is given back. */
function given(chain: SegmentChain): Leftover[] {
  chain.giveUp()
  const all: Leftover[] = []
  for (let each = chain.takeUnused(); each !== undefined; each = chain.takeUnused()) all.push(each)
  return all
}

describe('a chain', () => {
  const terms = (lease: string) => ({ deadlineUs: 10, lease })

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
  chain.spare(20, 30)
  assert.deepEqual(chain.takeUnused(), { lease: 'b', from: 130n }, 'all but as many as are kept')
  chain.add({ start: 200n, end: 300n }, { deadlineUs: 30, lease: 'c' })
  assert.deepEqual(spare(30), { lease: 'c', from: 200n })
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
