import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { History, type Known } from '../../../../src/engine/etcd/history.ts'
import type { State } from '../../../../src/engine/etcd/state.ts'

function state(era: bigint, phase: State['phase'] = 'open'): Known {
  const eras = [{ id: era, after: 0n }]
  return { state: { store: 's', cluster: 'c', phase, note: 'forgotten', eras }, revision: era * 10n }
}

const at = (revision: number) => ({ clusterId: 'c', revision: String(revision) }) as never

describe('the history of an etcd', () => {
  it('is not doubted for an answer that was sent before an advance and comes after it was heard of', () => {
    for (const phase of ['open', 'suspect'] as const) {
      const history = new History(state(1n), at(10))
      const before = history.seen
      assert.equal(history.heed(at(30), state(2n), history.seen), true, 'somebody has advanced it')
      history.heed(at(500), state(1n, phase), before)
      history.hear(at(500), before)
      assert.equal(history.wrong, undefined)
      assert.deepEqual(history.seen, { era: 2n, revision: 30n })
      assert.equal(history.known.state.eras[0]!.id, 2n)
    }
  })

  it('is doubted for an older era, or revision, in an answer to what was sent after the newer was seen', () => {
    for (const [revision, found] of [
      [500, state(1n)],
      [20, state(2n)],
    ] as const) {
      const history = new History(state(2n), at(30))
      history.heed(at(revision), found, history.seen)
      assert.match(history.wrong ?? '', /an older copy was put in place/)
    }
  })

  it('is not doubted for answers that overtake each other', () => {
    const history = new History(state(1n), at(10))
    const before = history.seen
    history.heed(at(20), state(1n), before)
    history.hear(at(15), before)
    history.heed(at(12), state(1n), before)
    assert.equal(history.wrong, undefined)
    assert.equal(history.seen.revision, 20n)
  })
})
