import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nextTurn } from '../../../src/engine/next-turn.ts'
import { Watchers } from '../../../src/engine/watchers.ts'
import { settled } from '../fake-clock.ts'

test('a watcher is notified of the keys under its prefix, in a later turn, and not after its watch was closed', async () => {
  let emptied = 0
  const watchers = new Watchers(() => emptied++)
  const notified: string[] = []
  const [a, b] = ['a/', 'b/'].map((prefix) =>
    watchers.add(prefix, ({ key }) => notified.push(`${prefix}: ${key}`)),
  )
  for (const key of ['a/1', 'b/1', 'c/1']) watchers.notify({ key, record: undefined })
  assert.deepEqual(notified, [])
  b!.close()
  await settled()
  assert.deepEqual(notified, ['a/: a/1'])
  assert.equal(emptied, 0)
  for (const watch of [a!, a!, b!]) watch.close()
  assert.equal(emptied, 1)
})

test('a watcher is told of many changes that are known at once in several rounds of the event loop, in order', async () => {
  const watchers = new Watchers()
  const told: number[] = []
  watchers.add('a/', ({ key }) => told.push(Number(key.slice(2))))
  const expected = Array.from({ length: 20_000 }, (_, index) => index)
  for (const index of expected) watchers.notify({ key: `a/${index}`, record: undefined })
  let most = 0
  for (let before = 0; told.length < expected.length; before = told.length) {
    await nextTurn()
    most = Math.max(most, told.length - before)
    if (expected.length < 20_500) {
      // Later changes go behind those that wait.
      watchers.notify({ key: `a/${expected.length}`, record: undefined })
      expected.push(expected.length)
    }
  }
  assert.deepEqual(told, expected)
  assert.ok(most <= 500, `${most} at once`)
})
