/** The groups of names, with openings and outcomes that the test decides. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ColdNames } from '../../../src/catalogue/cold-names.ts'
import type { NameOpening, Opening } from '../../../src/catalogue/name-opening.ts'
import { NameTasks } from '../../../src/catalogue/name-tasks.ts'
import { WaitingCallers } from '../../../src/catalogue/waiting-callers.ts'
import { FakeClock } from '../fake-clock.ts'

/** Opens names as `openTogether` says; each opening ends as `opened` says, or with a refusal of all callers. */
function newColdNames(openTogether: NameOpening['openTogether'], opened: (name: string) => void = () => {}) {
  const [tasks, waiting] = [new NameTasks(), new WaitingCallers()]
  const cold = new ColdNames(new FakeClock(), tasks, waiting, { openTogether } as NameOpening, {
    joins: () => true,
    opened(name) {
      opened(name)
      tasks.end(name)
      waiting.refuse(name, new Error('no generator'))
    },
  })
  const ask = (name: string) => {
    const asked = waiting.join(name, () => {})
    cold.add(name)
    return asked
  }
  return { ask, tasks }
}

const none = async (names: readonly string[]): Promise<readonly Opening[]> => names.map(() => undefined)

test('a name that is asked for again while it is queued is in its group once, and can be queued afterwards', async () => {
  const groups: (readonly string[])[] = []
  const { ask } = newColdNames((names) => {
    groups.push(names)
    return none(names)
  })
  await Promise.allSettled([ask('a'), ask('b'), ask('a')])
  await Promise.allSettled([ask('a')])
  assert.deepEqual(groups, [['a', 'b'], ['a']])
})

test('a name whose end throws leaves no caller waiting, neither its own nor those of its group', async () => {
  const { ask, tasks } = newColdNames(none, (name) => {
    if (name === 'a') throw new Error('thrown')
  })
  const refused = assert.rejects(ask('a'), { message: 'thrown' })
  await assert.rejects(ask('b'), { message: 'no generator' })
  await refused
  await tasks.allIdle()
})

test('a group that throws refuses the callers of all its names', async () => {
  const { ask, tasks } = newColdNames(() => Promise.reject(new Error('thrown')))
  const refused = assert.rejects(ask('a'), { message: 'thrown' })
  await assert.rejects(ask('b'), { message: 'thrown' })
  await refused
  await tasks.allIdle()
})
