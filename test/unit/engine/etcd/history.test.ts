import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { History, type Known } from '../../../../src/engine/etcd/history.ts'
import type { State } from '../../../../src/engine/etcd/state.ts'

function state(id: bigint, changes: Partial<State> = {}): Known {
  const histories = [{ id, after: 0n }]
  const full: State = { store: 's', cluster: 'c', status: 'open', note: 'a loss', histories, ...changes }
  return { state: full, revision: id * 10n }
}

const at = (revision: number) => ({ clusterId: 'c', revision: String(revision) }) as never

describe('the history of an etcd', () => {
  test('is not suspected for a reply to a request from before an advance that was accepted meanwhile', () => {
    for (const status of ['open', 'suspect'] as const) {
      const history = new History(state(1n), at(10))
      const before = history.check
      assert.equal(history.observe(at(30), state(2n), history.check), true, 'another process has advanced it')
      history.observe(at(500), state(1n, { status }), before)
      history.observeSame(at(500), before)
      assert.equal(history.wrong, undefined)
      assert.equal(history.check.accepted.progress.revision, 30n)
      assert.equal(history.known.state.histories[0]!.id, 2n)
    }
  })

  test('is not suspected where such a reply shows the new history, whose revisions begin at an older one', () => {
    const history = new History(state(1n), at(500))
    const before = history.check
    assert.equal(history.observe(at(30), state(2n), before), true)
    assert.equal(history.observe(at(31), state(2n), before), false)
    assert.deepEqual([history.wrong, history.check.advances], [undefined, 1])
  })

  test('is suspected for an older number, or revision, in a reply to a request from after the newer was accepted', () => {
    for (const [revision, found, reason] of [
      [500, state(1n), /from before the last advance/],
      [20, state(2n), /revision 20, after 30/],
    ] as const) {
      const history = new History(state(2n), at(30))
      history.observe(at(revision), found, history.check)
      assert.match(history.wrong ?? '', reason)
    }
  })

  test('is not suspected for replies that overtake each other', () => {
    const history = new History(state(1n), at(10))
    const before = history.check
    history.observe(at(20), state(1n), before)
    history.observeSame(at(15), before)
    history.observe(at(12), state(1n), before)
    assert.equal(history.wrong, undefined)
    assert.equal(history.check.accepted.progress.revision, 20n)
  })

  test('is accepted after an advance that a process saw under way in a restored etcd', () => {
    const history = new History(state(1n), at(500))
    history.observe(at(30), state(2n, { status: 'advancing' }), history.check)
    assert.equal(history.known.state.histories[0]!.id, 1n)
    assert.equal(history.observe(at(31), state(2n), history.check), true)
    assert.equal(history.wrong, undefined)
  })

  test('is suspected during an advance that lacks writes of the accepted history', () => {
    const history = new History(state(1n), at(500))
    history.observe(at(30), state(1n, { status: 'advancing' }), history.check)
    assert.match(history.wrong ?? '', /revision 30, after 500/)
  })

  test('is not the state of an advance for a process that is started during one', () => {
    const history = new History(state(1n, { status: 'advancing' }), at(10))
    assert.equal(history.known.revision, -1n)
    assert.equal(history.observe(at(12), state(1n), history.check), false)
    assert.equal(history.known.revision, 10n)
  })

  test('turns when a regression is suspected, and when a later history is accepted', () => {
    const history = new History(state(1n), at(30))
    history.observe(at(40), state(1n), history.check)
    assert.equal(history.turns, 0)
    history.observe(at(20), state(1n), history.check)
    history.observe(at(20), state(1n), history.check)
    assert.equal(history.turns, 1)
    assert.equal(history.observe(at(21), state(2n), history.check), true)
    assert.equal(history.turns, 2)
    history.accept(state(3n), at(30))
    assert.equal(history.turns, 3)
  })

  test('of another store is accepted only once that has been advanced', () => {
    const history = new History(state(5n), at(10))
    history.observe(at(10), state(1n, { store: 't' }), history.check)
    assert.match(history.wrong ?? '', /another store/)
    assert.equal(history.observe(at(11), state(1n, { store: 't' }), history.check), false)
    assert.equal(history.observe(at(12), state(6n, { store: 't' }), history.check), true)
    assert.equal(history.wrong, undefined)
  })
})
