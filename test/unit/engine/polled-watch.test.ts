import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type ChangePage, PolledWatches, type RecordState } from '../../../src/engine/polled-watch.ts'
import { FakeClock, settled } from '../fake-clock.ts'

const pollMs = 250

function start() {
  const clock = new FakeClock()
  const polls: { readonly after: bigint; readonly answer: (page: ChangePage) => Promise<void> }[] = []
  const watches = new PolledWatches(clock, (after) => {
    const { promise, resolve } = Promise.withResolvers<ChangePage>()
    const answer = (page: ChangePage) => {
      resolve(page)
      return settled()
    }
    polls.push({ after, answer })
    return promise
  })
  const reported: string[] = []
  const add = (revision: bigint) =>
    watches.add('', ({ key, record }) => reported.push(`${key}=${record?.value}`), revision)
  return { clock, polls, watches, reported, add }
}

function written(value: string | null, version: bigint): RecordState {
  return { key: 'k', value, version }
}

describe('a polled watch', () => {
  test('reports own writes at once, and the writes of other processes by the next poll, in pages', async () => {
    const { clock, polls, watches, reported, add } = start()
    add(5n)
    watches.wrote(written('own', 6n))
    await settled()
    assert.deepEqual(reported, ['k=own'])
    await clock.pass(pollMs)
    await polls[0]!.answer({ revision: 7n, records: [written('other', 7n)], more: true })
    await polls[1]!.answer({ revision: 8n, records: [written(null, 8n)], more: false })
    assert.deepEqual([polls[0]!.after, polls[1]!.after], [5n, 7n])
    assert.deepEqual(reported, ['k=own', 'k=other', 'k=undefined'])
  })

  test('reports no older state of a key after a newer one', async () => {
    const { clock, polls, watches, reported, add } = start()
    add(5n)
    await clock.pass(pollMs)
    watches.wrote(written('newer', 9n))
    await polls[0]!.answer({ revision: 8n, records: [written('older', 8n)], more: false })
    watches.wrote(written('late', 7n))
    await settled()
    assert.deepEqual(reported, ['k=newer'])
  })

  test('reports all records of a store whose revision has fallen', async () => {
    const { clock, polls, reported, add } = start()
    add(50n)
    await clock.pass(pollMs)
    await polls[0]!.answer({ revision: 20n, records: [], more: false })
    await clock.pass(pollMs)
    assert.equal(polls[1]!.after, 0n)
    await polls[1]!.answer({ revision: 20n, records: [written('restored', 12n)], more: false })
    assert.deepEqual(reported, ['k=restored'])
  })

  test('polls once at a time, also after the last watch was closed and another one added during a poll', async () => {
    const { clock, polls, add } = start()
    const first = add(5n)
    await clock.pass(pollMs)
    first.close()
    const second = add(5n)
    await polls[0]!.answer({ revision: 5n, records: [], more: false })
    assert.equal(clock.timers, 1)
    second.close()
    assert.equal(clock.timers, 0)
  })
})
