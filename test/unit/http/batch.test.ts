import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { formattedTexts, frameOf, plainBatch } from '../../../src/http/batch.ts'
import { Run } from '../../../src/ids/run.ts'

function runOf(first: bigint, count: number, stride: number): Run {
  const run = new Run()
  run.set(first, count, stride)
  return run
}

test('a batch is the ids of its runs with the separator between any two, whatever its size', async () => {
  const run = fc.record({
    first: fc.bigInt({ min: 0n, max: 2n ** 62n }),
    count: fc.integer({ min: 1, max: 1500 }),
    stride: fc.constantFrom(1, 3, 4096, 2 ** 40),
  })
  const frames = fc.constantFrom(['{"ids":["', '","', '"]}\n'], ['', '\n', '\n'], ['', ',', ''])
  await fc.assert(
    fc.asyncProperty(fc.array(run, { minLength: 1, maxLength: 4 }), frames, async (runs, [a, b, c]) => {
      const ids = runs.flatMap(({ first, count, stride }) =>
        Array.from({ length: count }, (_, at) => first + BigInt(at) * BigInt(stride)),
      )
      const body = await plainBatch(
        runs.map(({ first, count, stride }) => runOf(first, count, stride)),
        frameOf(a!, b!, c!),
      )
      assert.equal(body.toString(), `${a}${ids.join(b)}${c}`)
    }),
    { numRuns: 60 },
  )
})

test('large batches that are asked for together share the turns of the event loop', async () => {
  let turns = 0
  const count = () => {
    turns++
    timer = setImmediate(count)
  }
  let timer = setImmediate(count)
  const frame = frameOf('', ',', '')
  await Promise.all(Array.from({ length: 20 }, () => plainBatch([runOf(1n, 100_000, 1)], frame)))
  const plain = turns
  const texts = await formattedTexts([runOf(1n, 20_000, 1)], (id) => `sms_${id}`)
  clearImmediate(timer)
  assert.ok(plain >= 15, `${plain} turns`)
  assert.ok(turns - plain >= 15, `${turns - plain} turns`)
  assert.deepEqual([texts.length, texts.at(-1)], [20_000, 'sms_20000'])
})
