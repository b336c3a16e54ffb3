import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Progress, progressText } from '../../../src/cli/progress.ts'
import { FakeClock } from '../fake-clock.ts'

test('progress has what is done, the rate, and the time left where the whole is known', () => {
  assert.equal(progressText('rows', 12_345, 3, 100_000), '12,345 of 100,000 rows, 4,115 per second, 21s left')
  assert.equal(progressText('keys', 500, 2), '500 keys, 250 per second')
  assert.equal(progressText('rows', 0, 2, 10), '0 of 10 rows')
  assert.equal(progressText('rows', 20, 2, 10), '20 of 10 rows, 10 per second, 0ms left')
})

test('progress writes one line over and over on a terminal, four times a second, and takes it away', async () => {
  const clock = new FakeClock()
  const written: string[] = []
  const out = {
    isTTY: true,
    write: (text: string) => written.push(text) > 0,
  } as unknown as typeof process.stderr
  const progress = new Progress('rows', out, clock)
  progress.add(1, 100)
  for (let row = 0; row < 50; row++) progress.add(1, 100)
  assert.deepEqual(written, ['\r1 of 100 rows\x1b[K'])
  await clock.pass(1000)
  progress.add(1, 100)
  progress.end()
  assert.deepEqual(written.slice(1), ['\r52 of 100 rows, 52 per second, 1s left\x1b[K', '\r\x1b[K'])
})

test('progress writes nothing elsewhere', () => {
  const out = {
    isTTY: false,
    write: () => assert.fail('it is no terminal'),
  } as unknown as typeof process.stderr
  const progress = new Progress('rows', out, new FakeClock())
  progress.add(1, 2)
  progress.end()
})
