import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compileFormat } from '../../../src/ids/format.ts'
import { decimalText, type IdText } from '../../../src/ids/id-text.ts'
import { Run, ScatteredRun } from '../../../src/ids/run.ts'

const values = { node: 7, unixUs: Date.UTC(2026, 10, 21, 17, 30, 5, 42) * 1000 }
const around = { head: (length: number) => `<${length}:`, tail: ';\n' }

function runOf(first: bigint, count: number, stride: number): Run {
  const run = new Run()
  run.set(first, count, stride)
  return run
}

/** What `text` writes, and what it leaves alone behind it. */
function written(text: IdText, run: Run, index: number, count: number): string {
  const room = count * (text.bytesMax + 12)
  const bytes = new Uint8Array(room + 50).fill(1)
  const end = text.write(bytes, 25, run, index, count, around)
  assert.ok(end <= 25 + room, 'a text takes at most bytesMax')
  assert.ok(bytes.subarray(0, 25).every((byte) => byte === 1))
  return Buffer.from(bytes.subarray(25, end)).toString()
}

function framed(texts: readonly string[]): string {
  return texts.map((text) => `<${Buffer.byteLength(text)}:${text};\n`).join('')
}

const templates = [
  '{id}',
  'sms_{id}',
  '单号{id}号',
  'c{id:10}',
  '{id:20}x',
  '{id::base16}',
  'x{id:13:base36}',
  '{id::base36}-{node}',
  '{id::base62}',
  '{id:11:base62}9',
  'x{id::crockford}',
  '{id:13:crockford}-',
  '{id}{check:luhn}',
  'a7b9{id}c{check:luhn}d',
  '{node:3}号{id:19}{date:yyyyMMdd}{check:damm}单{date:HHmmss}',
  '{date:yyyyMMdd}"\\{id}{check:damm}',
  '{id:20:group=4}',
  'x{id::base36:group=3}',
  '{id:14:crockford:group=5}{check:mod37-36}',
  '{id::base36:group=4}-{check:mod37-2}',
  'RF{check:mod97}{id::base36}',
  '9号{check:mod97}7{id:19:group=4}号3',
  '{node:3}{check:verhoeff}{id}{date:HHmmss}',
  '{id:26}{check:mod10r}',
  '{id:14:alphabet=ZYXWVUTSRQPONMLKJIHGFEDCBA9876543210}{check:mod97}',
  '{id:63:alphabet=01:group=8}',
  '{id::alphabet=zyx}{check:mod37-36}',
] as const

const edges = [10, 16, 32, 36, 62].flatMap((radix) =>
  Array.from({ length: 20 }, (_, power) => BigInt(radix) ** BigInt(power)).filter((edge) => edge < 2n ** 62n),
)
const firsts = fc.oneof(
  fc.bigInt(0n, 2n ** 62n),
  fc.bigInt(0n, 5000n),
  fc
    .tuple(fc.constantFrom(...edges), fc.bigInt(0n, 3000n))
    .map(([edge, below]) => (edge > below ? edge - below : 0n)),
)
const strides = fc.oneof(fc.constantFrom(1, 2, 10, 4096, 2 ** 20), fc.integer({ min: 1, max: 2 ** 52 }))

test('the text of a run is the text of each id', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...templates),
      firsts,
      strides,
      fc.integer({ min: 1, max: 1200 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (template, from, stride, size, part) => {
        const format = compileFormat(template, { nodeWidth: 2 })
        const first = from % (format.maxId + 1n)
        const fitting = Number((format.maxId - first) / BigInt(stride)) + 1
        const run = runOf(first, Math.min(size, fitting), stride)
        const index = Math.floor(part * (run.count - 1))
        const text = format.texts(values)
        const texts = Array.from({ length: run.count - index }, (_, at) =>
          format.format(run.at(index + at), values),
        )
        assert.equal(written(text, run, index, run.count - index), framed(texts))
        assert.equal(text.text(first), format.format(first, values))
        const escaped = texts.map((each) => JSON.stringify(each).slice(1, -1))
        assert.equal(written(text.inJson(), run, index, run.count - index), framed(escaped))
      },
    ),
    { numRuns: 400 },
  )
})

test('a run in decimal crosses every number of digits', () => {
  for (const run of [runOf(0n, 1200, 1), runOf(5n, 900, 99_991), runOf(2n ** 63n - 3000n, 1000, 3)]) {
    const texts = Array.from({ length: run.count }, (_, at) => String(run.at(at)))
    assert.equal(written(decimalText, run, 0, run.count), framed(texts))
  }
})

test('an id of no order has a text of its own', () => {
  const run = new ScatteredRun(3, (index) => [50n, 7n, 8n][index]!)
  assert.deepEqual(
    [0, 1, 2].map((at) => decimalText.text(run.at(at))),
    ['50', '7', '8'],
  )
})

test('texts are known to be ASCII or not', () => {
  const isAscii = (template: string) => compileFormat(template).texts().isAscii
  assert.deepEqual([isAscii('a{id}b{check:luhn}'), isAscii('é{id}'), isAscii('{id}号')], [true, false, false])
})

test('a run with an id that is too wide for its format is refused', () => {
  const text = compileFormat('c{id:3}').texts()
  assert.equal(written(text, runOf(990n, 10, 1), 0, 10).length, 10 * '<4:c990;\n'.length)
  assert.throws(() => written(text, runOf(990n, 11, 1), 0, 11), { code: 'EXHAUSTED' })
})
