/** Held ranges, and a release that overtakes a reserve of the same process. The fake dialect only orders the statements. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ReleaseArguments, ReserveArguments } from '../../../../src/engine/sql/counter-updates.ts'
import { Counters } from '../../../../src/engine/sql/counters.ts'
import type { Ask, Row } from '../../../../src/engine/sql/driver.ts'
import { History, type State } from '../../../../src/engine/sql/history.ts'
import type { Dialect } from '../../../../src/engine/sql/statements.ts'
import { FakeClock } from '../../fake-clock.ts'

const mine = { incarnation: 1n }
const state: State = {
  position: { history: 'one', progress: { pulse: 1n, revision: 1n } },
  lastWriteUs: 0,
  suspect: undefined,
  server: 's',
  identity: 's',
}
const stateRow: Row = {
  history: 'one',
  pulse: '1',
  revision: '1',
  last_write_us: '0',
  suspect: null,
  server: 's',
  identity: 's',
}

function start() {
  let last = -1n
  let version = 0n
  const row = (done: Row): Row[] => [
    { ...stateRow, last: `${last}`, fence: '0', incarnation: '1', version: `${version}`, ...done },
  ]
  const carryOut: Record<string, () => Row[]> = {}
  let commands = 0
  const command = (answer: () => Row[]) => {
    const text = `${commands++}`
    carryOut[text] = answer
    return { text }
  }
  const dialect = {
    reserve: ({ size, held }: ReserveArguments) =>
      command(() => {
        if (last < held.end - 1n) return row({})
        last += size
        version++
        return row({ done_last: `${last}`, done_version: `${version}` })
      }),
    release: ({ version: expected, from }: ReleaseArguments) =>
      command(() => {
        if (version !== expected) return row({})
        last = from - 1n
        version++
        return row({ done_version: `${version}` })
      }),
  }
  const told: string[] = []
  const history = new History(
    {
      clock: new FakeClock(),
      mark: () => ({ text: 'mark' }),
      onRegressed: (reason) => told.push(reason),
      onAdvanced: () => {},
    },
    state,
  )
  const ask: Ask = async ({ text }) => carryOut[text]?.() ?? []
  const counters = new Counters(dialect as unknown as Dialect, history)
  const forget = (bound: bigint) => {
    last = bound - 1n
  }
  return { counters, ask, told, forget }
}

/** Delays its statements until `letGo` is called. */
function held(ask: Ask): { readonly ask: Ask; readonly letGo: () => void } {
  const gone = Promise.withResolvers<void>()
  return {
    ask: async (command) => {
      await gone.promise
      return ask(command)
    },
    letGo: gone.resolve,
  }
}

test('a range acquired from another process is held like a reserved one, until it is transferred in turn', async () => {
  const { counters, ask, forget } = start()
  await counters.reserve(ask, 'a', { size: 100n, ...mine })
  counters.transfer('a', 40n)
  forget(60n)
  assert.equal((await counters.reserve(ask, 'a', { size: 10n, ...mine })).start, 60n)
  counters.acquire('a', 200n)
  await assert.rejects(counters.reserve(ask, 'a', { size: 10n, ...mine }), { code: 'REGRESSED' })
  counters.acquire('a', 150n)
  assert.deepEqual([...counters.held()], [['a', 200n]])
  counters.transfer('a', 70n)
  assert.equal((await counters.reserve(ask, 'a', { size: 10n, ...mine })).start, 70n)
})

describe('a reserve that a release of the same process has overtaken', () => {
  test('begins at the bound that the release set, and finds no loss', async () => {
    const { counters, ask, told } = start()
    const old = await counters.reserve(ask, 'a', { size: 100n, ...mine })
    const slow = held(ask)
    const next = counters.reserve(slow.ask, 'a', { size: 10n, ...mine })
    assert.equal(await counters.release(ask, 'a', old, 40n, mine), true)
    slow.letGo()
    assert.deepEqual(await next, { start: 40n, end: 50n, version: 3n })
    assert.deepEqual(told, [])
  })

  test('is refused all the same if the bound is below the released range', async () => {
    const { counters, ask, told, forget } = start()
    const old = await counters.reserve(ask, 'a', { size: 100n, ...mine })
    const slow = held(ask)
    const next = counters.reserve(slow.ask, 'a', { size: 10n, ...mine })
    await counters.release(ask, 'a', old, 40n, mine)
    forget(20n)
    slow.letGo()
    await assert.rejects(next, { code: 'REGRESSED' })
    assert.equal(told.length, 1)
  })
})
