import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Turns, turnBytesMax } from '../../../src/node/turns.ts'

test('a turn is not over for what the turns before it have spent', async () => {
  const turns = new Turns()
  for (let each = 0; each < 10; each++) {
    turns.spend(turnBytesMax * 0.45)
    assert.equal(turns.over, false, `turn ${each}`)
    await nextTurn()
  }
})

test('a turn is over once it has spent all that it may, and the next one begins anew', async () => {
  const turns = new Turns()
  turns.spend(turnBytesMax)
  assert.equal(turns.over, true)
  await nextTurn()
  assert.equal(turns.over, false)
})
