import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compareBytes } from '../../../src/base/byte-order.ts'

test('the order of names is the order of their UTF-8 bytes', () => {
  const text = fc.string({ unit: 'binary' })
  fc.assert(
    fc.property(text, text, (a, b) => {
      const wanted = Buffer.compare(Buffer.from(a), Buffer.from(b))
      assert.equal(Math.sign(compareBytes(a, b)), wanted)
    }),
  )
  assert.ok(compareBytes('\u{10000}', '\uffff') > 0)
})
