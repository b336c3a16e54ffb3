import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CallsInFlight } from '../../../../src/engine/calls-in-flight.ts'
import { ThreadCalls } from '../../../../src/engine/sqlite/thread-calls.ts'
import { unpackOperations } from '../../../../src/engine/sqlite/thread-messages.ts'
import { FakeClock } from '../../fake-clock.ts'

const timeoutMs = 5000

function start() {
  const clock = new FakeClock()
  const sent: string[] = []
  const calls = new ThreadCalls({
    clock,
    timeoutMs,
    inFlight: new CallsInFlight(),
    send: (packed) =>
      sent.push(
        unpackOperations(packed)
          .map(({ op }) => op)
          .join(' '),
      ),
    onWrote() {},
  })
  return {
    clock,
    sent,
    calls,
    read: () => calls.call('read', 'k'),
    advance: () => calls.call('advance', 1n, [], new Map(), false),
  }
}

describe('the calls of a store', () => {
  test('give an advance a longer deadline, and the other calls keep theirs beside it', async () => {
    const { clock, sent, calls, read, advance } = start()
    const advancing = advance()
    await clock.pass(1)
    const outcomes: string[] = []
    const reading = read().catch(({ code }) => outcomes.push(code))
    await clock.pass(timeoutMs - 100)
    assert.deepEqual(outcomes, [])
    await clock.pass(200)
    await reading
    assert.deepEqual([outcomes, sent], [['UNAVAILABLE'], ['advance']])
    await clock.pass(200_000)
    calls.done(['', 3])
    assert.equal(await advancing, 3)
  })

  test('settle an advance as unknown at its deadline', async () => {
    const { clock, advance } = start()
    const advancing = assert.rejects(advance(), { code: 'UNKNOWN' })
    await clock.pass(241_000)
    await advancing
  })

  test('settle the calls behind an unsent advance at their own deadlines', async () => {
    const { clock, sent, calls, read, advance } = start()
    const first = assert.rejects(read(), { code: 'UNAVAILABLE' })
    await clock.pass(1)
    const advancing = advance()
    const last = assert.rejects(read(), { code: 'UNAVAILABLE' })
    await clock.pass(timeoutMs + 100)
    await Promise.all([first, last])
    calls.done(['', undefined])
    await clock.pass(1)
    assert.deepEqual(sent, ['read', 'advance'])
    calls.done(['', 0])
    await advancing
  })
})
