/** Requests for single ids of generators that other nodes lead. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Access } from '../../../src/auth/access.ts'
import { type ErrorCode, FahaoError } from '../../../src/base/errors.ts'
import { NoReply } from '../../../src/forwarding/forwarder.ts'
import { SharedDraws } from '../../../src/forwarding/shared-draws.ts'
import type { Leaders, OperatingNode } from '../../../src/operations/caller.ts'
import { callerStopped } from '../../../src/operations/caller-session.ts'
import { fakeNode } from '../http/fake-node.ts'

const [alice, bob] = ['alice', 'bob'].map((user) => new Access(user, undefined, ['*'])) as [Access, Access]
const here = new AbortController().signal
const turn = () => new Promise((resolve) => setImmediate(resolve))

/** A leader that counts up for each name; it answers when `answer` says so, or at once. */
function start({ countMax = 1000 } = {}) {
  const draws: string[] = []
  const newest = new Map<string, number>()
  const held: (() => void)[] = []
  const state = { holds: false, failure: (_count: number): Error | undefined => undefined }
  const draw = async (name: string, count: number, user: string) => {
    draws.push(`${user} ${name} ${count}`)
    const failure = state.failure(count)
    if (failure !== undefined) throw failure
    const first = (newest.get(name) ?? 0) + 1
    newest.set(name, first + count - 1)
    if (state.holds) await new Promise<void>((resolve) => held.push(resolve))
    return { count, heldBytes: 0, at: (index: number) => String(first + index) }
  }
  const leaders: Leaders = {
    isElsewhere: () => true,
    carryOut: (_, { name, ...values }, { access }) =>
      draw(name, Number((values as unknown as { count: bigint }).count), access.user) as never,
  }
  const fake = fakeNode()
  const node = { ...fake, server: { ...fake.server, countMax } } as unknown as OperatingNode
  const shared = new SharedDraws(leaders, node)
  const next = (name = 'order', caller = alice, signal = here) => shared.next(name, caller, signal)
  return { draws, state, next, answer: () => held.shift()!() }
}

async function codesOf(requests: readonly Promise<string>[]): Promise<string[]> {
  const settled = await Promise.allSettled(requests)
  return settled.map((each) => (each.status === 'fulfilled' ? each.value : each.reason.code))
}

function many<Result>(count: number, make: () => Result): Result[] {
  return Array.from({ length: count }, () => make())
}

describe('requests of one turn', () => {
  test('share a draw, whose ids they get in their order', async () => {
    const { draws, next } = start()
    assert.deepEqual(await Promise.all(many(3, next)), ['1', '2', '3'])
    assert.deepEqual(draws, ['alice order 3'])
  })

  test('share none with those for another name or of another user', async () => {
    const { draws, next } = start()
    await Promise.all([next(), next('user'), next('order', bob), next()])
    assert.deepEqual(draws, ['alice order 2', 'alice user 1', 'bob order 1'])
  })

  test('have as many draws as it takes', async () => {
    const { draws, next } = start({ countMax: 2 })
    assert.deepEqual(await Promise.all(many(5, next)), ['1', '2', '3', '4', '5'])
    assert.deepEqual(draws, ['alice order 2', 'alice order 2', 'alice order 1'])
  })

  test('use up no id for clients that have gone', async () => {
    const { draws, next } = start()
    const gone = new AbortController()
    const requests = [next(), next('order', alice, gone.signal), next()]
    gone.abort(callerStopped)
    assert.deepEqual(await codesOf(requests), ['1', 'ABORTED', '2'])
    assert.deepEqual(draws, ['alice order 2'])
  })
})

test('a request that comes while a draw is under way has a draw of its own', async () => {
  const { draws, state, next, answer } = start()
  state.holds = true
  const early = many(2, next)
  await turn()
  const late = next()
  await turn()
  answer()
  assert.deepEqual(await Promise.all(early), ['1', '2'])
  assert.deepEqual(draws, ['alice order 2', 'alice order 1'])
  answer()
  assert.equal(await late, '3')
})

describe('a draw that is refused', () => {
  for (const code of ['QUOTA', 'LIMIT', 'DRY', 'EXHAUSTED'] as const) {
    test(`with ${code} is sent again for each request, which gets an answer of its own`, async () => {
      const { draws, state, next } = start()
      let left = 2
      state.failure = (count) => {
        if (count <= left) left -= count
        else return new FahaoError(code, 'no')
        return undefined
      }
      assert.deepEqual(await codesOf(many(3, next)), ['1', '2', code])
      assert.deepEqual(draws, ['alice order 3', ...many(3, () => 'alice order 1')])
    })
  }

  for (const failure of [
    new FahaoError('NOPERM' satisfies ErrorCode, 'no'),
    new FahaoError('UNKNOWN', 'no'),
    new NoReply('lost', 'a:1', 'it closed the connection'),
  ]) {
    test(`with ${failure.code} (${failure.name}) is not sent again`, async () => {
      const { draws, state, next } = start()
      state.failure = () => failure
      assert.deepEqual(await codesOf(many(2, next)), [failure.code, failure.code])
      assert.deepEqual(draws, ['alice order 2'])
    })
  }
})
