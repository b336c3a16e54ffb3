import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Turns } from '../../../src/http/turns.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))

test('work goes on at once while a turn has units left, and costs no promise', async () => {
  const turns = new Turns(10)
  assert.equal(turns.take(4), undefined)
  assert.equal(turns.take(100), undefined)
  assert.ok(turns.take(1) instanceof Promise)
  const later = new Turns(10)
  assert.equal(later.take(10), undefined)
  await turn()
  await turn()
  assert.equal(later.take(10), undefined)
})

test('what a turn has no units for is done in later turns, in order, a budget in each', async () => {
  const turns = new Turns(10)
  assert.equal(turns.take(10), undefined)
  const done: number[][] = []
  let now: number[] = []
  const asked = [5, 5, 1, 20, 2].map(async (units, index) => {
    await turns.take(units)
    now.push(index)
  })
  for (; done.flat().length < asked.length; now = []) {
    await turn()
    if (now.length > 0) done.push(now)
  }
  assert.deepEqual(done, [[0, 1], [2, 3], [4]])
})
