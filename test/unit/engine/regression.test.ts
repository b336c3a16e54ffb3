import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  accept,
  observe,
  otherHistory,
  type RegressionCheck,
  regressionOf,
  suspect,
} from '../../../src/engine/regression.ts'

const at = (commits: bigint, history = 'one') => ({ history, progress: { commits } })
type Check = RegressionCheck<ReturnType<typeof at>>

const begun: Check = { accepted: at(10n), advances: 0 }
const advanced = { position: at(3n, 'two'), isLater: true, wrong: undefined }

/** The check after a reply with this position, to a request that was sent at `sent`. */
function replied(check: Check, position: ReturnType<typeof at>, sent = check): Check {
  return observe(check, { position, isLater: false, wrong: regressionOf(position, sent.accepted) }, sent)
}

describe('a position', () => {
  test('comes after a position of the same history if no number is lower', () => {
    const of = (pulse: bigint, revision: bigint) => ({ history: 'one', progress: { pulse, revision } })
    assert.equal(regressionOf(of(5n, 6n), of(5n, 6n)), undefined)
    assert.equal(regressionOf(of(5n, 7n), of(5n, 6n)), undefined)
    const behind = 'it lacks acknowledged writes: it stands at pulse 9 and revision 5, after 5 and 6'
    assert.equal(regressionOf(of(9n, 5n), of(5n, 6n)), behind)
  })

  test('does not come after a position of another history', () => {
    assert.equal(regressionOf(at(11n, 'two'), at(10n)), otherHistory)
  })
})

describe('a regression check', () => {
  test('accepts progress, and never a lower position', () => {
    const further = replied(begun, at(12n))
    assert.deepEqual(further.accepted, at(12n))
    // A reply that was overtaken.
    assert.deepEqual(replied(further, at(11n), begun), further)
  })

  test('suspects a regression if a reply is behind the position that was accepted when its request was sent', () => {
    const { suspected, accepted } = replied(begun, at(9n))
    assert.match(suspected!.reason, /commits 9, after 10/)
    assert.deepEqual(suspected!.position, at(9n))
    assert.deepEqual(accepted, at(10n))
  })

  test('keeps its suspicion and the first reason until a later history is accepted', () => {
    let check = suspect(begun, 'first')
    check = replied(check, at(11n))
    check = suspect(check, 'second')
    assert.equal(check.suspected!.reason, 'first')
    assert.deepEqual(observe(check, advanced, check), { accepted: at(3n, 'two'), advances: 1 })
  })

  test('does not accept a later history of a store that is wrong in another way', () => {
    const { accepted, suspected, advances } = observe(begun, { ...advanced, wrong: 'a mark' }, begun)
    assert.deepEqual([accepted, suspected!.reason, advances], [at(10n), 'a mark', 0])
  })

  test('ignores replies to requests from before the present history was accepted', () => {
    const check = observe(begun, advanced, begun)
    assert.equal(replied(check, at(9n), begun), check)
    assert.equal(replied(check, at(2n, 'two'), begun), check)
    assert.equal(observe(check, { position: at(9n), isLater: false, wrong: 'a mark' }, begun), check)
  })

  test('accepts a still later history also from such a reply', () => {
    const check = observe(begun, advanced, begun)
    const later = observe(check, { position: at(1n, 'three'), isLater: true, wrong: undefined }, begun)
    assert.deepEqual(later, { accepted: at(1n, 'three'), advances: 2 })
  })

  test('counts advances of its own process too', () => {
    assert.equal(accept(suspect(begun, 'a loss'), at(1n, 'two')).advances, 1)
  })
})
