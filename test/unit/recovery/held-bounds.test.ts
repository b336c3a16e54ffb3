/** What a node has reserved stays below a counter's bound, by whichever call it was reserved. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { generatorKey } from '../../../src/catalogue/stored-generator.ts'
import { MemoryStore, openMemory } from '../../../src/engine/memory/engine.ts'
import { HeldBounds } from '../../../src/recovery/held-bounds.ts'

test('a range that a commit has reserved is remembered', async () => {
  const store = new MemoryStore()
  const engine = await openMemory({ clock: systemClock, callTimeoutMs: 1000, onEvent() {} }, store)
  const held = new HeldBounds()
  const name = generatorKey('order')
  const counter = { name, request: { size: 7n, incarnation: 1n }, version: 0n }
  await held.watching(engine).commit({ records: [], counter })
  store.counters.clear()
  assert.equal(await held.raise(engine), 1)
  assert.equal((await engine.counter(name)).bound, 7n)
})
