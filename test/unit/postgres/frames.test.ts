import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Frames } from '../../../src/postgres/frames.ts'
import { query } from './serve.ts'

test('the memory of a message is given back once the next one has been looked for', () => {
  const frames = new Frames(1_000_000)
  const bytes = query('x'.repeat(500_000))
  for (let at = 0; at < bytes.length; at += 65_536) {
    frames.push(bytes.subarray(at, at + 65_536))
    if (at + 65_536 < bytes.length) assert.equal(frames.next(), false)
  }
  // Exactly the memory that the message needs.
  assert.equal(frames.heldBytes, bytes.length)
  assert.equal(frames.next(), true)
  assert.equal(frames.end - frames.start, 500_001)
  assert.equal(frames.next(), false)
  assert.equal(frames.heldBytes, 0)
})
