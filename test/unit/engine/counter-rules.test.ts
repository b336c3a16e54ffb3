import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { release, reserve, unused } from '../../../src/engine/counter-rules.ts'
import { boundMax, type Counter, type ReserveRequest } from '../../../src/engine/engine.ts'

const counter: Counter = { bound: 100n, fence: 5n, incarnation: 2n, version: 7n }
const current = { size: 10n, fence: 5n, incarnation: 2n }

/** The code of the error that a reserve answers with; undefined: it opens a range. */
function refusal(request: ReserveRequest): string | undefined {
  const { counter: after, answer } = reserve('c', counter, request)
  if (!(answer instanceof Error)) return undefined
  assert.equal(after, counter, 'a refused reserve changes nothing')
  return answer.code
}

describe('a reserve', () => {
  test('starts at the bound or the floor, and stores its fence, its incarnation and the next version', () => {
    const request = { ...current, fence: 6n, incarnation: 3n }
    assert.deepEqual(reserve('c', counter, request), {
      counter: { bound: 110n, fence: 6n, incarnation: 3n, version: 8n },
      answer: { start: 100n, end: 110n, version: 8n },
    })
    assert.deepEqual(reserve('c', counter, { ...request, floor: 200n }).answer, {
      start: 200n,
      end: 210n,
      version: 8n,
    })
    assert.deepEqual(reserve('c', unused, current).answer, { start: 0n, end: 10n, version: 1n })
  })

  test('is stale under a lower fence, none, or a lower incarnation', () => {
    assert.equal(refusal({ ...current, fence: 4n }), 'STALE')
    assert.equal(refusal({ size: 10n, incarnation: 2n }), 'STALE')
    assert.equal(refusal({ ...current, incarnation: 1n }), 'STALE')
    assert.equal(refusal(current), undefined)
  })

  test('ends at its maximum or below, 2^63 by default', () => {
    assert.equal(refusal({ ...current, max: 110n }), undefined)
    assert.equal(refusal({ ...current, max: 109n }), 'EXHAUSTED')
    assert.equal(refusal({ ...current, size: boundMax - 100n }), undefined)
    assert.equal(refusal({ ...current, size: boundMax - 99n }), 'EXHAUSTED')
  })
})

describe('a release', () => {
  const newest = { version: 7n, from: 40n, fence: 5n, incarnation: 2n }

  test('lowers the bound under the version of the newest reservation, and makes another version', () => {
    assert.deepEqual(release(counter, newest), {
      counter: { ...counter, bound: 40n, version: 8n },
      answer: true,
    })
  })

  test('changes nothing under another version, a lower fence or a lower incarnation', () => {
    for (const change of [{ version: 6n }, { version: 8n }, { fence: 4n }, { incarnation: 1n }]) {
      const { counter: after, answer } = release(counter, { ...newest, ...change })
      assert.equal(answer, false)
      assert.equal(after, counter)
    }
  })
})
