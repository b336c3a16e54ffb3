import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Operation } from '../../../../src/engine/sqlite/protocol.ts'
import { WorkerCalls } from '../../../../src/engine/sqlite/worker-calls.ts'
import { FakeClock } from '../../fake-clock.ts'

const timeoutMs = 5000
const advance: Operation = { op: 'advance', gap: 1n, repaired: [], counters: new Map(), ifRegressed: false }
const read: Operation = { op: 'read', key: 'k' }

function start() {
  const clock = new FakeClock()
  const sent: string[] = []
  const calls = new WorkerCalls({
    clock,
    timeoutMs,
    send: (operations) => sent.push(operations.map(({ op }) => op).join(' ')),
    observe: () => {},
    onWaiting: () => {},
  })
  return { clock, calls, sent }
}

describe('the calls of a store', () => {
  it('give an advance a longer deadline, and the other calls keep theirs beside it', async () => {
    const { clock, calls, sent } = start()
    const advancing = calls.call(advance)
    await clock.pass(1)
    const outcomes: string[] = []
    const reading = calls.call(read).catch(({ code }) => outcomes.push(code))
    await clock.pass(timeoutMs - 100)
    assert.deepEqual(outcomes, [])
    await clock.pass(200)
    await reading
    assert.deepEqual([outcomes, sent], [['UNAVAILABLE'], ['advance']])
    await clock.pass(200_000)
    calls.done([{ value: { raised: 3, records: [] } }])
    assert.deepEqual(await advancing, { raised: 3, records: [] })
  })

  it('settle an advance as unknown at its deadline', async () => {
    const { clock, calls } = start()
    const advancing = assert.rejects(calls.call(advance), { code: 'UNKNOWN' })
    await clock.pass(241_000)
    await advancing
  })

  it('settle the calls behind an unsent advance at their own deadlines', async () => {
    const { clock, calls, sent } = start()
    const first = assert.rejects(calls.call(read), { code: 'UNAVAILABLE' })
    await clock.pass(1)
    const advancing = calls.call(advance)
    const last = assert.rejects(calls.call(read), { code: 'UNAVAILABLE' })
    await clock.pass(timeoutMs + 100)
    await Promise.all([first, last])
    calls.done([{ value: undefined }])
    assert.deepEqual(sent, ['read', 'advance'])
    calls.done([{ value: { raised: 0, records: [] } }])
    await advancing
  })
})
