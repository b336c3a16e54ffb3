import assert from 'node:assert/strict'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import fc from 'fast-check'
import { batchBody, type Frame } from '../../../src/http/batch.ts'
import { compileFormat } from '../../../src/ids/format.ts'
import type { IdText } from '../../../src/ids/id-text.ts'
import { Run, ScatteredRun } from '../../../src/ids/run.ts'

function runOf(first: bigint, count: number, stride: number): Run {
  if (stride === 0) return new ScatteredRun(count, (index) => first + BigInt((index * 7919) % count))
  const run = new Run()
  run.set(first, count, stride)
  return run
}

async function read(runs: Run[], frame: Frame, text?: IdText): Promise<string> {
  const body = await batchBody(runs, frame, text)
  if (typeof body === 'string') return body
  let whole = ''
  for await (const part of body) whole += part as string
  return whole
}

const turn = () => new Promise((resolve) => setImmediate(resolve))
const frames: Frame[] = [
  { head: '{"ids":["', separator: '","', tail: '"]}\n' },
  { head: '', separator: '\n', tail: '\n' },
  { head: '', separator: ',', tail: '' },
]

test('a batch of any size is the ids of its runs, with the separator between any two', async () => {
  const run = fc.record({
    first: fc.bigInt({ min: 0n, max: 2n ** 62n }),
    count: fc.integer({ min: 1, max: 5000 }),
    stride: fc.constantFrom(0, 1, 3, 4096, 2 ** 40),
  })
  const templates = fc.constantFrom(undefined, '单_{id}', 'c{id:19}{check:luhn}', `${'long-'.repeat(40)}{id}`)
  await fc.assert(
    fc.asyncProperty(
      fc.array(run, { minLength: 1, maxLength: 4 }),
      fc.constantFrom(...frames),
      templates,
      async (specs, frame, template) => {
        const runs = specs.map(({ first, count, stride }) => runOf(first, count, stride))
        const ids = runs.flatMap((run) => Array.from({ length: run.count }, (_, at) => run.at(at)))
        const format = template === undefined ? undefined : compileFormat(template)
        const texts = ids.map((id) => format?.format(id) ?? String(id))
        const expected = `${frame.head}${texts.join(frame.separator)}${frame.tail}`
        assert.equal(await read(runs, frame, format?.texts()), expected)
      },
    ),
    { numRuns: 60 },
  )
})

test('a small batch is a text, and a large one is made no faster than it is read', async () => {
  await turn()
  let made = 0
  assert.equal(typeof (await batchBody([runOf(1n, 500, 1)], frames[0]!)), 'string')
  const counted = new ScatteredRun(100_000, (index) => BigInt(index + made++ * 0))
  made = 0
  const body = await batchBody([counted], frames[0]!)
  assert.ok(typeof body !== 'string')
  for (let turns = 0; turns < 20; turns++) await turn()
  assert.ok(made < 2000, `${made} ids are made before anything is read`)
  await buffer(body.map((part: string) => Buffer.from(part)))
  assert.equal(made, 100_000)
})

test('large batches share the turns of the event loop: a turn makes a few parts of them all', async () => {
  let made = 0
  let most = 0
  let before = 0
  const look = () => {
    most = Math.max(most, made - before)
    before = made
    timer = setImmediate(look)
  }
  await turn()
  let timer = setImmediate(look)
  const run = new ScatteredRun(5000, (index) => BigInt(index + made++ * 0))
  made = 0
  await Promise.all(Array.from({ length: 20 }, () => read([run], frames[1]!)))
  clearImmediate(timer)
  most = Math.max(most, made - before)
  assert.equal(made, 100_000)
  assert.ok(most <= 3 * 1024, `${most} ids are made in one turn`)
})

test('what a format refuses is an error of the request at first, and the end of the answer later', async () => {
  await turn()
  for (const template of ['{id:1}', '{id:4}']) {
    const text = compileFormat(template).texts()
    await assert.rejects(async () => read([runOf(1n, 100_000, 1)], frames[1]!, text), /wider than its format/)
  }
})
