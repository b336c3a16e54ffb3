/** An etcd whose database has reached its quota. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startEtcd } from '../../../launch/etcd.ts'
import { openStore } from './stores.ts'

describe('an etcd at its quota', { timeout: 60_000 }, () => {
  test('has carried out no write that rejected with UNAVAILABLE', async (t) => {
    const cluster = await startEtcd(t, { quotaBytes: 1_000_000 })
    const engine = await openStore(t, cluster.url('full'), { callTimeoutMs: 20_000 })
    const value = 'x'.repeat(30_000)
    const outcomes = new Map<string, string>()
    const attempt = (key: string) =>
      engine.write(key, value, undefined).then(
        () => outcomes.set(key, 'written'),
        ({ code, message }) => {
          assert.match(message, /database space exceeded/)
          outcomes.set(key, code)
        },
      )
    await Promise.all(Array.from({ length: 100 }, (_, number) => attempt(`k${number}`)))
    const there = new Set((await engine.list('k')).map(({ key }) => key))
    const keysOf = (code: string) => [...outcomes].filter(([, each]) => each === code).map(([key]) => key)
    assert.ok(keysOf('written').every((key) => there.has(key)))
    assert.deepEqual(
      keysOf('UNAVAILABLE').filter((key) => there.has(key)),
      [],
    )
    // etcd carries out some of the writes that it refuses, depending on their timing: all of them are unknown.
    assert.ok(keysOf('UNKNOWN').length > 0)
    assert.equal((await engine.counter('a')).version, 0n)
  })
})
