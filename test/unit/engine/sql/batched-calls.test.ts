/** Calls in one message, each with a deadline of its own. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { FahaoError } from '../../../../src/base/errors.ts'
import { BatchedCalls, type BatchResult } from '../../../../src/engine/sql/batched-calls.ts'
import type { CallOptions } from '../../../../src/engine/sql/connection-pool.ts'
import { type Ask, DriverError } from '../../../../src/engine/sql/driver.ts'
import { FakeClock, settled } from '../../fake-clock.ts'

const ask: Ask = () => Promise.resolve([])
const contended = new DriverError('UNAVAILABLE', { kind: 'contended', message: 'another session holds it' })

/**
 * A database whose calls begin and end under the control of the test. Requests are words; a batch does not carry out
 * requests `no…`. `late`: the request that passes its deadline when it is sent alone.
 */
function start({ writes = true, late }: { readonly writes?: boolean; readonly late?: string } = {}) {
  const clock = new FakeClock()
  const together: string[] = []
  const alone: string[] = []
  const options: CallOptions[] = []
  let begin = Promise.resolve()
  let answer = Promise.resolve()
  const calls = new BatchedCalls<string, string>(
    {
      clock,
      timeoutMs: 1000,
      widthMax: 1,
      sizeMax: 10,
      async run(work, given) {
        options.push(given)
        await begin
        return work(ask)
      },
    },
    {
      writes,
      keyOf: (request) => request,
      async alone(_, request) {
        alone.push(request)
        if (request === late) throw new FahaoError('UNKNOWN', 'the server did not answer in time')
        if (request === 'locked') throw contended
        return `${request} alone`
      },
      async together(asking, requests): Promise<(BatchResult<string> | undefined)[]> {
        together.push(requests.join(' '))
        await asking({ text: '' })
        await answer
        if (requests.includes('locked')) throw contended
        return requests.map((request) => (request.startsWith('no') ? undefined : { value: request }))
      },
    },
  )
  const hold = () => {
    const gate = Promise.withResolvers<void>()
    return { promise: gate.promise, letGo: () => gate.resolve() }
  }
  return {
    clock,
    calls,
    together,
    alone,
    options,
    holdBegin() {
      const { promise, letGo } = hold()
      begin = promise
      return letGo
    },
    holdAnswer() {
      const { promise, letGo } = hold()
      answer = promise
      return letGo
    },
  }
}

describe('calls that share a batch', () => {
  test('are sent alone if the batch did not carry them out, with the rest of their time', async () => {
    const { clock, calls, alone, options, holdAnswer } = start()
    const letGo = holdAnswer()
    const both = Promise.all([calls.call('yes'), calls.call('no')])
    await settled()
    await clock.pass(400)
    letGo()
    assert.deepEqual(await both, ['yes', 'no alone'])
    assert.deepEqual(alone, ['no'])
    assert.equal(options.at(-1)!.timeoutMs, 600)
  })

  test('are not sent if their deadlines passed before', async () => {
    const { clock, calls, together, holdBegin } = start()
    const letGo = holdBegin()
    const [early, also] = [calls.call('early'), calls.call('also')]
    const refused = Promise.all(
      [early, also].map((call) =>
        assert.rejects(call, { code: 'UNAVAILABLE', message: /^the server did not answer within 1000 ms;/ }),
      ),
    )
    await settled()
    await clock.pass(1001)
    await refused
    letGo()
    await settled()
    assert.deepEqual(together, [])
  })

  test('that write are unknown if their deadlines pass after the batch was sent, and the others settle', async () => {
    for (const writes of [true, false]) {
      const { clock, calls, holdAnswer } = start({ writes })
      const letGo = holdAnswer()
      const all = Promise.allSettled([calls.call('one'), calls.call('two')])
      await settled()
      await clock.pass(1001)
      const codes = (await all).map((outcome) => outcome.status === 'rejected' && outcome.reason.code)
      assert.deepEqual(codes, Array(2).fill(writes ? 'UNKNOWN' : 'UNAVAILABLE'))
      letGo()
    }
  })

  test('report the time of waiting in this process if they were never sent', async () => {
    const { clock, calls, together, holdAnswer } = start()
    const letGo = holdAnswer()
    const first = Promise.allSettled([calls.call('a'), calls.call('b')])
    await settled()
    await clock.pass(500)
    holdAnswer()
    const second = Promise.allSettled([calls.call('c'), calls.call('d'), calls.call('e')])
    await settled()
    letGo()
    await first
    const third = calls.call('c')
    const refused = assert.rejects(third, {
      code: 'UNAVAILABLE',
      message: /in this process.*nothing was sent/,
    })
    await clock.pass(1001)
    await Promise.all([second, refused])
    assert.ok(together.every((sent) => sent.split('c').length <= 2))
  })

  test('do not fail because of a lock that one of them waits for: that call is sent alone until it succeeds', async () => {
    const { calls, together, alone } = start()
    const burst = () => Promise.allSettled([calls.call('a'), calls.call('locked'), calls.call('b')])
    assert.deepEqual(
      (await burst()).map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    )
    assert.deepEqual([together, alone], [['a locked b'], ['a', 'locked', 'b']])
    await burst()
    assert.deepEqual([together.slice(1), alone.slice(3)], [['a b'], ['locked']])
  })

  test('are sent without the call that waits for a lock, also if its deadline passed before the lock timed out', async () => {
    const { calls, together } = start({ late: 'locked' })
    const burst = () => Promise.allSettled([calls.call('a'), calls.call('locked'), calls.call('b')])
    assert.deepEqual(
      (await burst()).map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    )
    await burst()
    assert.deepEqual(together, ['a locked b', 'a b'])
  })
})
