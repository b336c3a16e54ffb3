import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Watchers } from '../../../src/engine/watchers.ts'
import { settled } from '../fake-clock.ts'

it('a watcher is notified of the keys under its prefix, in a later turn, and not after its watch was closed', async () => {
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
