import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Clock } from '../../../../src/base/clock.ts'
import type { Ask, SqlCommand } from '../../../../src/engine/sql/driver.ts'
import { History, historyJump, type State } from '../../../../src/engine/sql/history.ts'

function at(pulse: bigint, revision = 50n, history = 'one') {
  return { history, progress: { pulse, revision } }
}

const begun: State = {
  position: at(100n),
  lastWriteUs: 0,
  suspect: undefined,
  server: 's',
  identity: 's',
}
const advanced = at(100n + historyJump, 50n + historyJump, 'two')

function start() {
  let nowUs = 0
  const clock: Clock = { wallUs: () => nowUs, monoUs: () => nowUs, timer: () => ({ cancel() {} }) }
  const told: string[] = []
  const marked: SqlCommand[] = []
  const advances: string[] = []
  const history = new History(
    {
      clock,
      mark: (reason, id) => ({ text: `${id}: ${reason}` }),
      onRegressed: (reason) => told.push(reason),
      onAdvanced: () => advances.push('advanced'),
    },
    begun,
  )
  const ask: Ask = async (command) => {
    marked.push(command)
    return []
  }
  const stateAt = (position: State['position'], changes: Partial<State> = {}) => {
    return { ...begun, position, ...changes }
  }
  return {
    history,
    told,
    advances,
    marked,
    ask,
    stateAt,
    regression: (position: State['position'], changes: Partial<State> = {}) =>
      history.regression(stateAt(position, changes), history.known),
    pass: (us: number) => {
      nowUs += us
    },
  }
}

describe('the history of a database', () => {
  test('is sound while its position is not behind the accepted one', () => {
    const { history, regression } = start()
    assert.equal(regression(at(100n)), undefined)
    history.wrote(at(120n, 60n))
    assert.equal(regression(at(120n, 61n)), undefined)
    assert.match(regression(at(119n, 60n))!, /pulse 119 and revision 60, after 120 and 60/)
    assert.match(regression(at(120n, 59n))!, /fahao advance/)
  })

  test('is not sound on another server, under another id, or when it is marked', () => {
    const { regression } = start()
    assert.match(regression(at(100n), { identity: 't' })!, /on server s, and this is server t/)
    assert.match(regression(at(200n, 50n, 'other'))!, /another history/)
    assert.match(
      regression(at(100n), { suspect: 'another process suspects it' })!,
      /another process suspects it/,
    )
    assert.match(regression(advanced, { suspect: 'marked again' })!, /marked again/)
  })

  test('is compared with the position that was accepted when the statement was sent', () => {
    const { history, stateAt } = start()
    const { known } = history
    history.wrote(at(130n))
    assert.equal(history.regression(stateAt(at(101n)), known), undefined)
  })

  test('is sound again after an advance, and not before', async () => {
    const { history, regression, ask, marked, told, stateAt } = start()
    await assert.rejects(history.check(ask, stateAt(at(3n)), history.known), { code: 'REGRESSED' })
    assert.equal(told.length, 1)
    assert.match(marked[0]!.text, /^one: it lacks acknowledged writes: it stands at pulse 3/)
    assert.match(regression(at(100n))!, /pulse 3/)
    assert.equal(regression(advanced), undefined)
    history.wrote(advanced)
    assert.deepEqual(history.known, { accepted: advanced, advances: 1 })
    assert.match(regression(at(100n))!, /another history/)
  })

  test('is not suspected for a reply from before the advance that began it, but for a later reply', async () => {
    const { history, ask, told, marked, regression, stateAt } = start()
    const marked1 = stateAt(at(100n), { suspect: 'another process suspects it' })
    const { known } = history
    history.began(advanced)
    const again = { code: 'UNAVAILABLE', message: /advanced while this was on its way/ }
    await assert.rejects(history.check(ask, marked1, known), again)
    await assert.rejects(history.refuse(ask, begun, known, 'a bound is lower'), again)
    assert.deepEqual([told, marked], [[], []])
    assert.equal(regression(advanced), undefined)
    // The dump from before the advance is restored.
    await assert.rejects(history.check(ask, begun, history.known), { code: 'REGRESSED' })
    assert.equal(told.length, 1)
  })

  test('is left to an operator if the database lacks an advance, also once another loss is suspected', async () => {
    const { history, ask, stateAt } = start()
    history.began(advanced)
    const refused = { code: 'REGRESSED', message: /from before its bounds were last raised/ }
    assert.throws(() => history.refuseEarlier(stateAt(at(100n)), history.known), refused)
    assert.doesNotThrow(() => history.refuseEarlier(stateAt(at(3n, 50n, 'two')), history.known))
    await assert.rejects(history.check(ask, stateAt(at(3n, 50n, 'two')), history.known))
    assert.throws(() => history.refuseEarlier(stateAt(at(100n)), history.known), refused)
  })

  test('has no write without a version, also if the state was changed beside it', async () => {
    const { history } = start()
    const { position, server, identity } = begun
    const state = {
      history: position.history,
      pulse: '100',
      revision: '50',
      last_write_us: '0',
      server,
      identity,
    }
    const changed = { done_history: position.history, done_pulse: '100', done_revision: '51' }
    const change = (version: string | null) =>
      history.change(
        async () => [{ ...state, ...changed, done_version: version }],
        () => ({ text: '' }),
      )
    assert.deepEqual(await change(null), [])
    assert.equal(history.known.accepted.progress.revision, 50n)
    assert.equal((await change('51'))[0]?.done_version, '51')
    assert.equal(history.known.accepted.progress.revision, 51n)
  })

  test('is not marked twice', async () => {
    const { history, ask, marked, stateAt } = start()
    const state = stateAt(at(100n), { suspect: 'found before' })
    await assert.rejects(history.check(ask, state, history.known), { message: /found before/ })
    assert.equal(marked.length, 0)
  })

  test('accepts the position that a read has shown a second later', () => {
    const { history, pass, stateAt } = start()
    const pulse = () => history.known.accepted.progress.pulse
    history.saw(stateAt(at(110n)))
    assert.equal(pulse(), 100n)
    pass(500_000)
    history.saw(stateAt(at(111n)))
    assert.equal(pulse(), 100n)
    pass(500_000)
    history.saw(stateAt(at(112n)))
    assert.equal(pulse(), 110n)
  })

  test('discards the positions of an ended history that reads have shown', () => {
    const { history, pass, stateAt } = start()
    history.saw(stateAt(at(110n)))
    history.wrote(advanced)
    pass(2_000_000)
    history.saw(stateAt(advanced))
    assert.deepEqual(history.known.accepted, advanced)
  })

  test('reports an advance by another process, and no advance of its own', () => {
    const { history, advances } = start()
    history.wrote(at(120n))
    assert.deepEqual(advances, [])
    history.wrote(advanced)
    history.wrote(at(advanced.progress.pulse + 1n, advanced.progress.revision, 'two'))
    assert.deepEqual(advances, ['advanced'])
    history.began(at(100n + 2n * historyJump, 50n + 2n * historyJump, 'three'))
    assert.deepEqual(advances, ['advanced'])
    assert.equal(history.known.accepted.history, 'three')
  })

  test('accepts an advance that only reads have shown, once that is a second old', () => {
    const { history, advances, pass, stateAt } = start()
    history.saw(stateAt(advanced))
    assert.deepEqual(advances, [])
    pass(1_000_001)
    history.saw(stateAt(advanced))
    assert.deepEqual(advances, ['advanced'])
    assert.equal(history.known.accepted.history, 'two')
  })

  test('accepts nothing from reads of a marked database, or of another server', () => {
    for (const wrong of [{ suspect: 'a loss' }, { identity: 't' }]) {
      const { history, advances, pass, stateAt } = start()
      history.saw(stateAt(advanced, wrong))
      pass(1_000_001)
      history.saw(stateAt(advanced, wrong))
      assert.deepEqual(advances, [])
      assert.equal(history.known.accepted.history, 'one')
    }
  })
})
