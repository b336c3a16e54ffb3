import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Taker, Turns } from '../../../src/node/turns.ts'

test('turns let those go first that have had no share, and one of the others in each turn', async () => {
  const turns = new Turns()
  const taken: string[] = []
  const taker = (name: string, times: number, bytes: number): Taker => ({
    takeTurn() {
      taken.push(name)
      turns.spend(bytes)
      if (--times > 0) turns.wait(this, false)
    },
  })
  turns.wait(taker('a', 3, 100_000), false)
  turns.wait(taker('b', 2, 100_000), false)
  turns.wait(taker('light', 1, 10), true)
  turns.wait(taker('c', 1, 200_000), true)
  turns.wait(taker('d', 1, 10), true)
  while (taken.length < 8) await new Promise((resolve) => setImmediate(resolve))
  assert.equal(taken.join(' '), 'light c a d b a b a')
})
