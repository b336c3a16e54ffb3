/** Calls of strict kinds: how they share requests, and how long they wait for a service that does not answer. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RequestSource } from '../../../client/src/request-source.ts'
import { FahaoError } from '../../../src/base/errors.ts'
import { Run } from '../../../src/ids/run.ts'
import { FakeClock, settled } from '../fake-clock.ts'

type Asked = { readonly count: number; readonly timeoutMs: number; readonly answer: () => void }

/** A source whose requests a test answers; without an answer they fail after their time. */
function open() {
  const clock = new FakeClock()
  const asked: Asked[] = []
  let next = 1n
  const ask = (count: number, timeoutMs: number) =>
    new Promise<Run[]>((resolve, reject) => {
      const timer = clock.timer(timeoutMs, () => reject(new FahaoError('UNAVAILABLE', 'away')))
      const answer = () => {
        timer.cancel()
        const run = new Run()
        run.set(next, count, 1)
        next += BigInt(count)
        resolve([run])
      }
      asked.push({ count, timeoutMs, answer })
    })
  const source = new RequestSource({ ask, clock, timeoutMs: 8000 })
  /** When a call began and ended, in ms, and what became of it. */
  const call = async () => {
    const sinceMs = clock.mono / 1000
    const outcome = await source.draw(1, {}).then(
      ([run]) => run!.first,
      (error: unknown) => (error as FahaoError).code,
    )
    return { outcome, tookMs: clock.mono / 1000 - sinceMs }
  }
  return { clock, asked, source, call }
}

test('calls that come while eight requests are under way share the ninth', async () => {
  const { asked, call } = open()
  const calls = []
  for (let turn = 0; turn < 12; turn++) {
    calls.push(call(), call())
    await settled()
  }
  assert.deepEqual(
    asked.map(({ count }) => count),
    Array(8).fill(2),
  )
  asked[0]!.answer()
  await settled()
  assert.equal(asked[8]!.count, 8)
  for (const { answer } of asked.slice(1)) answer()
  assert.deepEqual(
    (await Promise.all(calls)).map(({ outcome }) => outcome).sort((a, b) => Number(a) - Number(b)),
    Array.from({ length: 24 }, (_, at) => BigInt(at + 1)),
  )
})

test('ids with a gap between them are asked for again where they have to follow one another', async () => {
  const run = (first: bigint, count: number) => {
    const made = new Run()
    made.set(first, count, 1)
    return made
  }
  const replies = [
    [run(1n, 2), run(7n, 1)],
    [run(8n, 1), run(9n, 2)],
  ]
  const options = { clock: new FakeClock(), timeoutMs: 8000 }
  const source = new RequestSource({ ...options, ask: async () => replies.shift()! })
  assert.deepEqual(
    (await source.draw(3, { contiguous: true })).map(({ first, count }) => [first, count]),
    [
      [8n, 1],
      [9n, 2],
    ],
  )
  let asked = 0
  const gaps = new RequestSource({
    ...options,
    async ask() {
      asked++
      return [run(1n, 2), run(7n, 1)]
    },
  })
  await assert.rejects(gaps.draw(3, { contiguous: true }), { code: 'UNAVAILABLE' })
  assert.equal(asked, 5)
  assert.equal((await gaps.draw(3, {})).length, 2)
})

test('no call waits longer than its time, also when it had to wait until it was sent', async () => {
  const { clock, call, source } = open()
  const calls = []
  for (let turn = 0; turn < 400; turn++) {
    calls.push(call())
    await clock.pass(50)
  }
  await clock.pass(20_000)
  for (const { outcome, tookMs } of await Promise.all(calls)) {
    assert.equal(outcome, 'UNAVAILABLE')
    assert.ok(tookMs <= 8000 && tookMs >= 7000, `${tookMs} ms`)
  }
  assert.equal(source.stats().waiting, 0)
})

test('a request has the time that is left to its oldest call', async () => {
  const { clock, asked, call } = open()
  for (let turn = 0; turn < 8; turn++) {
    void call()
    await settled()
  }
  await clock.pass(100)
  const older = call()
  const younger = call()
  await clock.pass(1100)
  const muchYounger = call()
  asked[0]!.answer()
  await settled()
  assert.deepEqual([asked[8]!.count, asked[8]!.timeoutMs], [2, 6900])
  asked[1]!.answer()
  await settled()
  assert.deepEqual([asked[9]!.count, asked[9]!.timeoutMs], [1, 8000])
  asked[8]!.answer()
  asked[9]!.answer()
  assert.equal((await older).tookMs, 1100)
  assert.equal((await younger).tookMs, 1100)
  assert.equal((await muchYounger).tookMs, 0)
})
