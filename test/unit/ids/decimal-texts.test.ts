import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { DecimalTexts } from '../../../src/ids/decimal-texts.ts'
import { Run } from '../../../src/ids/run.ts'

const run = new Run()

function textOf(texts: DecimalTexts, id: bigint): string {
  run.setOne(id)
  return texts.of(run.hi, run.lo)
}

const near = fc.array(fc.integer({ min: 1, max: 1500 }), { minLength: 1, maxLength: 60 })
const starts = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 63n - 100_000n }),
  // Around each power of ten, and where the low half of an id overflows.
  fc
    .tuple(fc.integer({ min: 0, max: 18 }), fc.bigInt({ min: 0n, max: 3000n }))
    .map(([power, below]) => 10n ** BigInt(power) + 1500n - below)
    .map((id) => (id < 0n ? 0n : id)),
  fc
    .tuple(fc.bigInt({ min: 1n, max: 2n ** 30n }), fc.bigInt({ min: 0n, max: 3000n }))
    .map(([hi, below]) => hi * 2n ** 32n + 1500n - below),
)

test('texts of ids are those that a bigint has, however far apart the ids are', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(starts, near), { minLength: 1, maxLength: 5 }), (parts) => {
      const texts = new DecimalTexts()
      for (const [start, steps] of parts) {
        let id = start
        for (const step of [0, 1, 1, ...steps]) {
          id += BigInt(step)
          assert.equal(textOf(texts, id), String(id))
        }
      }
    }),
  )
})

test('texts of many ids in a row are right, with all numbers of digits and both halves', () => {
  const texts = new DecimalTexts()
  for (const start of [0n, 99_000n, 2n ** 32n - 2500n, 2n ** 53n - 2500n, 2n ** 62n]) {
    for (let id = start; id < start + 5000n; id++) assert.equal(textOf(texts, id), String(id))
  }
})
