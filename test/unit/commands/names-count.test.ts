/** DBSIZE where a count takes long. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Access } from '../../../src/auth/access.ts'
import type { CommandContext } from '../../../src/commands/context.ts'
import { NamesCount } from '../../../src/commands/names-count.ts'
import { FakeClock } from '../fake-clock.ts'

/** A store whose names take `tookMs` to read. */
function counting(tookMs: number) {
  const clock = new FakeClock()
  const store = { names: ['a', 'b'], reads: 0 }
  const page = async () => {
    store.reads++
    await clock.pass(tookMs)
    return { found: store.names.map((name) => ({ name })), next: undefined }
  }
  const contextOf = (patterns: readonly string[], signal = new AbortController().signal) => {
    const session = { access: new Access('', new Set(), patterns), signal }
    const server = { turns: { take: () => Promise.resolve() } }
    return { session, catalogue: { page }, server } as unknown as CommandContext
  }
  return { clock, store, contextOf, count: new NamesCount(clock) }
}

test('DBSIZE is exact while a count is fast', async () => {
  const { store, contextOf, count } = counting(1000)
  const context = contextOf(['*'])
  assert.equal(await count.of(context), 2)
  store.names.push('c')
  assert.equal(await count.of(context), 3)
})

test('a count that took two seconds is answered again for forty, but not with other rights', async () => {
  const { clock, store, contextOf, count } = counting(2000)
  const context = contextOf(['*'])
  assert.equal(await count.of(context), 2)
  store.names.push('c')
  await clock.pass(39_000)
  assert.equal(await count.of(context), 2)
  assert.equal(store.reads, 1)
  assert.equal(await count.of(contextOf(['*'])), 3)
  await clock.pass(2000)
  assert.equal(await count.of(context), 3)
})

test('a client that comes while a slow count is read shares it, unless the count fails', async () => {
  const { clock, store, contextOf, count } = counting(0)
  const client = new AbortController()
  const context = contextOf(['*'], client.signal)
  const { page } = context.catalogue
  const held = Promise.withResolvers<void>()
  let isHeld = true
  context.catalogue.page = async (part) => {
    const waits = isHeld
    isHeld = false
    if (waits) await held.promise
    return page.call(context.catalogue, part)
  }
  const first = count.of(context)
  await clock.pass(1500)
  const second = count.of(context)
  store.names.push('c')
  held.reject(new Error('gone'))
  await assert.rejects(first, /gone/)
  assert.equal(await second, 3)
})
