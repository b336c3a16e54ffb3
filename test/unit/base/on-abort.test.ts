/** Many observers of one AbortSignal cost it one listener. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { RequestSource } from '../../../client/src/request-source.ts'
import { FahaoError } from '../../../src/base/errors.ts'
import { onAbort } from '../../../src/base/on-abort.ts'
import { WaitQueue } from '../../../src/buffers/wait-queue.ts'
import { FakeClock } from '../fake-clock.ts'

/** A signal that counts the calls for its listeners, and those that it has. */
function counted() {
  const stop = new AbortController()
  const { signal } = stop
  const calls = { made: 0, now: 0 }
  const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)]
  Object.assign(signal, {
    addEventListener(...args: Parameters<typeof add>) {
      calls.made++
      calls.now++
      add(...args)
    },
    removeEventListener(...args: Parameters<typeof remove>) {
      calls.made++
      calls.now--
      remove(...args)
    },
  })
  return { stop, signal, calls }
}

const many = 10_000

/** Has a caller wait with a signal, in each of the ways that there are. */
const ways: Readonly<Record<string, () => (signal: AbortSignal) => Promise<unknown>>> = {
  'of a buffer': () => {
    const queue: WaitQueue = new WaitQueue({
      clock: new FakeClock(),
      timeoutMs: 1000,
      lengthMax: many,
      onTimeout: () => new FahaoError('DRY', 'too late'),
      onLeave: () => void queue.first,
    })
    return (signal) =>
      queue.join({ count: 1, contiguous: false, safe: false }, signal).finally(() => {
        if (queue.length % 1000 === 0) queue.assertInvariants()
      })
  },
  'whose ids the client asks for': () => {
    const source = new RequestSource({
      ask: () => new Promise(() => {}),
      clock: new FakeClock(),
      timeoutMs: 1000,
    })
    return (signal) => source.draw(1, { signal })
  },
}

describe('callers that wait with one signal', () => {
  for (const [name, start] of Object.entries(ways))
    test(`${name}, ${many} of them, cost it one listener, and all of them leave when it is aborted`, async () => {
      const { stop, signal, calls } = counted()
      const wait = start()
      const waiting = Array.from({ length: many }, () => wait(signal))
      await undefined
      assert.deepEqual(calls, { made: 1, now: 1 })
      stop.abort()
      const outcomes = await Promise.allSettled(waiting)
      assert.ok(outcomes.every((each) => each.status === 'rejected' && each.reason === signal.reason))
      assert.equal(calls.made, 1)
    })
})

describe('observers of a signal', () => {
  test('are called once, in their order, but not those that were removed, also by one before them', () => {
    const { stop, signal } = counted()
    const called: string[] = []
    onAbort(signal, () => {
      called.push('first')
      removeThird()
    })
    const removeSecond = onAbort(signal, () => called.push('second'))
    const removeThird = onAbort(signal, () => called.push('third'))
    onAbort(signal, () => called.push('last'))
    removeSecond()
    stop.abort()
    assert.deepEqual(called, ['first', 'last'])
  })

  test('leave no listener at the signal, and it takes others afterwards', () => {
    const { stop, signal, calls } = counted()
    let called = 0
    const remove = [1, 2, 3].map(() => onAbort(signal, () => called++))
    assert.equal(calls.now, 1)
    for (const each of [...remove, ...remove]) each()
    assert.equal(calls.now, 0)
    onAbort(signal, () => called++)
    stop.abort()
    assert.equal(called, 1)
    onAbort(undefined, () => called++)()
  })
})
