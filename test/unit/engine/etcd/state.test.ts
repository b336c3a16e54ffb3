import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { endOf } from '../../../../src/engine/etcd/api.ts'
import {
  decodeState,
  encodeState,
  revisionOf,
  type State,
  versionAt,
} from '../../../../src/engine/etcd/state.ts'

const state: State = {
  store: 'x',
  cluster: '18446744073709551615',
  status: 'open',
  note: '',
  histories: [
    { id: 5n, after: 0n },
    { id: 9n, after: 100n },
  ],
}

describe('versions of records', () => {
  test('lead back to their revision, and grow with it across histories', () => {
    const revisions = fc.bigInt(1n, 200n)
    fc.assert(
      fc.property(revisions, revisions, (one, other) => {
        assert.equal(revisionOf(state, versionAt(state, one)), one)
        assert.equal(one < other, versionAt(state, one) < versionAt(state, other))
      }),
    )
  })

  test('of a lost history lead nowhere: what was written after the last one that is left has another number', () => {
    const lost = { ...state, histories: [{ id: 5n, after: 0n }] }
    assert.equal(revisionOf(state, versionAt(lost, 101n)), undefined)
    assert.equal(revisionOf(state, versionAt(lost, 100n)), 100n)
    assert.equal(revisionOf(lost, versionAt(state, 101n)), undefined)
  })

  test('that were made up lead nowhere', () => {
    for (const version of [0n, 1n, 100n, 9n << 40n]) assert.equal(revisionOf(state, version), undefined)
  })
})

describe('the state of a store', () => {
  test('is read as it was written', () => {
    assert.deepEqual(decodeState(encodeState(state)), state)
  })

  test('that cannot be understood is refused', () => {
    for (const text of ['', '{}', '[]', '{"format":2}', encodeState({ ...state, histories: [] })])
      assert.throws(() => decodeState(text), { code: 'ENGINE' })
  })
})

test('the end of a prefix lies behind all keys that begin with it, and before all that follow', () => {
  const bytes = fc.uint8Array({ minLength: 1, maxLength: 4 })
  fc.assert(
    fc.property(bytes, bytes, (prefix, key) => {
      const end = endOf(Buffer.from(prefix))
      const begins = Buffer.from(key).subarray(0, prefix.length).equals(prefix)
      const inside =
        Buffer.compare(key, prefix) >= 0 && (end.equals(Buffer.of(0)) || Buffer.compare(key, end) < 0)
      assert.equal(inside, begins)
    }),
    { numRuns: 2000 },
  )
  assert.deepEqual(endOf(Buffer.of(1, 0xff, 0xff)), Buffer.of(2))
  assert.deepEqual(endOf(Buffer.of(0xff)), Buffer.of(0))
})
