import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { LogEvent } from '../../../src/base/events.ts'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import { Namespaces } from '../../../src/quotas/namespaces.ts'
import { FaultyEngine } from '../../conformance/faulty-engine.ts'
import { settled } from '../fake-clock.ts'

const shop = { match: 'shop:*', owner: 'team-a', idsPerSecond: 1000 }

async function refusal(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => assert.fail('it was accepted'),
    ({ code, message }) => `${code} ${message}`,
  )
}

describe('namespaces', () => {
  test('are known to every node that shares the store', async () => {
    const store = new MemoryStore()
    const [one, other] = [
      await new Namespaces(new MemoryEngine(store)).open(),
      await new Namespaces(new MemoryEngine(store)).open(),
    ]
    const before = other.revision
    await one.set('shop', shop)
    assert.deepEqual(one.get('shop'), { name: 'shop', ...shop })
    await settled()
    assert.deepEqual(other.all, one.all)
    assert.ok(other.revision > before)
    assert.equal(await other.drop('shop'), true)
    assert.equal(await other.drop('shop'), false)
    await settled()
    assert.deepEqual(one.all, [])
    const later = await new Namespaces(new MemoryEngine(store)).open()
    assert.deepEqual(later.all, [])
  })

  test('take values as text too, and are replaced as a whole', async () => {
    const namespaces = await new Namespaces(new MemoryEngine(new MemoryStore())).open()
    await namespaces.set('shop', { ...shop, idsPerSecond: '1000' })
    assert.equal(namespaces.get('shop').idsPerSecond, 1000)
    await namespaces.set('shop', { match: 'shop:*', idsPerDay: 5 })
    assert.deepEqual(namespaces.get('shop'), { name: 'shop', match: 'shop:*', idsPerDay: 5 })
  })

  test('know which users they name', async () => {
    const namespaces = await new Namespaces(new MemoryEngine(new MemoryStore())).open()
    await namespaces.set('alice', { match: '*', user: 'alice' })
    assert.equal(namespaces.hasUser('alice'), true)
    assert.equal(namespaces.hasUser('bob'), false)
  })

  test('stay in force while the engine is away, and a change is refused', async () => {
    const engine = new FaultyEngine(new MemoryEngine(new MemoryStore()))
    const namespaces = await new Namespaces(engine).open()
    await namespaces.set('shop', shop)
    engine.always('any', 'unavailable')
    assert.equal(namespaces.get('shop').idsPerSecond, 1000)
    assert.match(await refusal(namespaces.set('shop', { match: '*' })), /^UNAVAILABLE /)
    assert.equal(namespaces.get('shop').match, 'shop:*')
  })

  test('refuse what is wrong with a sentence', async () => {
    const namespaces = await new Namespaces(new MemoryEngine(new MemoryStore())).open()
    const set = (input: unknown, name = 'shop') => refusal(namespaces.set(name, input))
    assert.match(await set({}), /^ERR MATCH \(match\) must be text of 1 to 512 bytes/)
    assert.match(
      await set({ match: '*', idsPerSecond: 0 }),
      /^ERR RATE \(idsPerSecond\) must be a whole number from 1 to/,
    )
    assert.match(
      await set({ match: '*', idsPerDay: '1e3' }),
      /^ERR DAILY \(idsPerDay\) must be a whole number/,
    )
    assert.match(await set({ match: '*', owner: 'a\nb' }), /^ERR OWNER \(owner\) must be text/)
    assert.match(await set({ match: '*', rate: 5 }), /^ERR Unrecognized key: "rate"/)
    assert.match(await set({ match: '*' }, 'a/b'), /^ERR the name of a namespace has 1 to 64 bytes/)
    assert.match(
      await set({ match: '*', user: 'alice', generators: 5 }),
      /^ERR .* leave out USER \(user\) or GENERATORS \(generators\)$/,
    )
    assert.throws(() => namespaces.get('shop'), { code: 'ERR' })
  })

  for (const name of ['sh\u200bop', 'shop\u202e', 'cafe\u0301']) {
    test(`get no new name ${JSON.stringify(name)}, which looks like another, and keep one that exists`, async () => {
      const store = new MemoryStore()
      const namespaces = await new Namespaces(new MemoryEngine(store)).open()
      await assert.rejects(namespaces.set(name, shop), /the name of a new namespace (cannot|must)/)
      await namespaces.set('old', shop)
      const record = store.records.get('namespaces/old')!
      store.records.set(`namespaces/${name}`, { ...record, key: `namespaces/${name}` })
      const later = await new Namespaces(new MemoryEngine(store)).open()
      assert.equal(later.get(name).idsPerSecond, 1000)
      assert.equal((await later.set(name, { match: '*' })).match, '*')
      assert.equal(await later.drop(name), true)
      await assert.rejects(later.set(name, shop), /the name of a new namespace/)
    })
  }

  test('report a record that cannot be read, and keep the others', async () => {
    const engine = new MemoryEngine(new MemoryStore())
    await engine.write('namespaces/bad', '{"match":7}', undefined)
    await engine.write('namespaces/good', '{"match":"*"}', undefined)
    const events: LogEvent[] = []
    const namespaces = await new Namespaces(engine, (event) => events.push(event)).open()
    assert.deepEqual(namespaces.all, [{ name: 'good', match: '*' }])
    assert.match(events[0]!.message, /'bad' cannot be read/)
  })
})
