import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { segmentJson, segmentOf, segmentText } from '../../../../src/http/compat/tinyid-segment.ts'
import { Run } from '../../../../src/ids/run.ts'

/** The ids that tinyid's Java client issues of a segment: its `SegmentId`, with Java's remainder and longs. */
function issuedBy(text: string): bigint[] {
  const [from = 0n, loading = 0n, max = 0n, delta = 0n, remainder = 0n] = text.split(',').map(BigInt)
  let current = from
  assert.ok(loading >= from && loading <= max)
  const matches = () => current % delta === remainder
  if (!matches()) {
    for (let tries = 0n; tries <= delta; tries++) {
      current++
      if (!matches()) continue
      current -= delta
      break
    }
  }
  const ids: bigint[] = []
  for (current += delta; current <= max; current += delta) ids.push(current)
  return ids
}

const runs = fc
  .record({
    first: fc.oneof(fc.bigInt(0n, 2000n), fc.bigInt(0n, 2n ** 62n)),
    count: fc.integer({ min: 1, max: 300 }),
    stride: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 1000 })),
  })
  .map(({ first, count, stride }) => {
    const run = new Run()
    run.set(first, count, stride)
    return run
  })

describe('a segment', () => {
  test('makes a client issue just the ids of the run, in their order', () => {
    fc.assert(
      fc.property(runs, (run) => {
        const expected = Array.from({ length: run.count }, (_, at) => run.at(at))
        assert.deepEqual(issuedBy(segmentText(segmentOf(run))), expected)
      }),
    )
  })

  test('is left at 20 % of its way', () => {
    fc.assert(
      fc.property(runs, (run) => {
        const { currentId, loadingId, maxId } = segmentOf(run)
        assert.equal(loadingId - currentId, ((maxId - currentId) * 20n) / 100n)
      }),
    )
  })

  test('says the same in JSON, with every digit', () => {
    fc.assert(
      fc.property(runs, (run) => {
        const segment = segmentOf(run)
        const members = [...segmentJson(segment).matchAll(/"(\w+)":(-?\d+)/g)].map(([, , digits]) => digits)
        assert.equal(members.join(','), segmentText(segment))
        assert.doesNotThrow(() => JSON.parse(segmentJson(segment)))
      }),
    )
  })
})
