import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Clock } from '../../../../src/base/clock.ts'
import type { Ask, SqlCommand } from '../../../../src/engine/sql/driver.ts'
import { History, historyJump, type State } from '../../../../src/engine/sql/history.ts'

const begun: State = {
  lineage: 'one',
  pulse: 100n,
  revision: 50n,
  lastWriteUs: 0,
  suspect: undefined,
  server: 's',
  identity: 's',
}

function setUp() {
  let nowUs = 0
  const clock: Clock = { wallUs: () => nowUs, monoUs: () => nowUs, timer: () => ({ cancel() {} }) }
  const told: string[] = []
  const marked: SqlCommand[] = []
  const advances: string[] = []
  const history = new History(
    {
      clock,
      mark: (reason, lineage) => ({ text: `${lineage}: ${reason}` }),
      onRegressed: (reason) => told.push(reason),
      onAdvanced: () => advances.push('advanced'),
    },
    begun,
  )
  const ask: Ask = async (command) => {
    marked.push(command)
    return []
  }
  return {
    history,
    told,
    advances,
    marked,
    ask,
    objection: (state: Partial<State>) => history.objection({ ...begun, ...state }, history.known),
    pass: (us: number) => {
      nowUs += us
    },
  }
}

const advanced = { lineage: 'two', pulse: 100n + historyJump, revision: 50n + historyJump }

describe('a history', () => {
  it('is sound as long as it goes on from what was seen', () => {
    const { history, objection } = setUp()
    assert.equal(objection({}), undefined)
    history.wrote({ ...begun, pulse: 120n, revision: 60n })
    assert.equal(objection({ pulse: 120n, revision: 61n }), undefined)
    assert.match(objection({ pulse: 119n, revision: 60n })!, /pulse 119 and revision 60, after 120 and 60/)
    assert.match(objection({ pulse: 120n, revision: 59n })!, /fahao advance/)
  })

  it('is not believed on another server, under another name, or when it is marked', () => {
    const { objection } = setUp()
    assert.match(objection({ identity: 't' })!, /on server s, and this is server t/)
    assert.match(objection({ lineage: 'other', pulse: 200n })!, /another history/)
    assert.equal(objection({ suspect: 'as somebody has found' }), 'as somebody has found')
  })

  it('is judged by what was known when it was asked for', () => {
    const { history } = setUp()
    const { known } = history
    history.wrote({ ...begun, pulse: 130n })
    assert.equal(history.objection({ ...begun, pulse: 101n }, known), undefined)
  })

  it('is believed again after an advance, and only then', async () => {
    const { history, objection, ask, marked, told } = setUp()
    await assert.rejects(history.check(ask, { ...begun, pulse: 3n }, history.known), { code: 'REGRESSED' })
    assert.equal(told.length, 1)
    assert.match(marked[0]!.text, /^one: the database is not what it was: it stands at pulse 3/)
    assert.equal(history.known.lineage, '')
    assert.match(objection({})!, /pulse 3/)
    assert.equal(objection(advanced), undefined)
    history.wrote(advanced)
    assert.deepEqual(history.known, advanced)
    assert.match(objection({})!, /another history/)
  })

  it('is not doubted for an answer from before the advance that began it, but for a later one', async () => {
    const { history, ask, told, marked } = setUp()
    const lost = { ...begun, suspect: 'as somebody has found' }
    const { known } = history
    history.began(advanced)
    const again = { code: 'UNAVAILABLE', message: /advanced while this was on its way/ }
    await assert.rejects(history.check(ask, lost, known), again)
    await assert.rejects(history.refuse(ask, begun, known, 'a bound is lower'), again)
    assert.deepEqual([told, marked], [[], []])
    assert.equal(history.objection({ ...begun, ...advanced }, history.known), undefined)
    // The dump from before the advance is restored.
    await assert.rejects(history.check(ask, begun, history.known), { code: 'REGRESSED' })
    assert.equal(told.length, 1)
  })

  it('does not mark again what is marked', async () => {
    const { history, ask, marked } = setUp()
    const state = { ...begun, suspect: 'found before' }
    await assert.rejects(history.check(ask, state, history.known), { message: 'found before' })
    assert.equal(marked.length, 0)
  })

  it('takes what a read has shown for durable only a second later', () => {
    const { history, pass } = setUp()
    history.saw({ ...begun, pulse: 110n })
    assert.equal(history.known.pulse, 100n)
    pass(500_000)
    history.saw({ ...begun, pulse: 111n })
    assert.equal(history.known.pulse, 100n)
    pass(500_000)
    history.saw({ ...begun, pulse: 112n })
    assert.equal(history.known.pulse, 110n)
  })

  it('forgets what reads have shown of a lineage that has ended', () => {
    const { history, pass } = setUp()
    history.saw({ ...begun, pulse: 110n })
    history.wrote(advanced)
    pass(2_000_000)
    history.saw({ ...begun, ...advanced })
    assert.deepEqual(history.known, advanced)
  })

  it('tells of an advance that others have made, and of none of its own', () => {
    const { history, advances } = setUp()
    history.wrote({ ...begun, pulse: 120n })
    assert.deepEqual(advances, [])
    history.wrote(advanced)
    history.wrote({ ...advanced, pulse: advanced.pulse + 1n })
    assert.deepEqual(advances, ['advanced'])
    history.began({ lineage: 'three', pulse: 100n + 2n * historyJump, revision: 50n + 2n * historyJump })
    assert.deepEqual(advances, ['advanced'])
    assert.equal(history.known.lineage, 'three')
  })

  it('believes an advance that it has only read of, once that has stood for a second', () => {
    const { history, advances, pass } = setUp()
    history.saw({ ...begun, ...advanced })
    assert.deepEqual(advances, [])
    pass(1_000_001)
    history.saw({ ...begun, ...advanced })
    assert.deepEqual(advances, ['advanced'])
    assert.equal(history.known.lineage, 'two')
  })

  it('learns nothing from reads of a history that is not to be trusted', () => {
    for (const wrong of [{ suspect: 'a loss' }, { identity: 't' }]) {
      const { history, advances, pass } = setUp()
      history.saw({ ...begun, ...advanced, ...wrong })
      pass(1_000_001)
      history.saw({ ...begun, ...advanced, ...wrong })
      assert.deepEqual(advances, [])
      assert.equal(history.known.lineage, 'one')
    }
  })
})
