import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { AclLog, type Refusal } from '../../../src/audit/acl-log.ts'

const refusal: Refusal = {
  reason: 'command',
  context: 'toplevel',
  object: 'incr',
  username: 'alice',
  clientInfo: 'id=1',
}

function logAt(startUs: number) {
  const clock = { us: startUs }
  return { clock, log: new AclLog(() => clock.us) }
}

describe('ACL LOG', () => {
  test('counts a refusal with one like it within 60 s, and moves it to the front', () => {
    const { clock, log } = logAt(1_000_000)
    log.add(refusal)
    log.add({ ...refusal, object: 'order', reason: 'key' })
    clock.us += 60_000_000
    log.add({ ...refusal, clientInfo: 'id=2' })
    assert.deepEqual(log.entries(10), [
      { ...refusal, clientInfo: 'id=2', id: 0, count: 2, createdMs: 1000, updatedMs: 61_000 },
      { ...refusal, object: 'order', reason: 'key', id: 1, count: 1, createdMs: 1000, updatedMs: 1000 },
    ])
    clock.us += 60_001_000
    log.add(refusal)
    assert.deepEqual(
      log.entries(10).map(({ id, count }) => [id, count]),
      [
        [2, 1],
        [0, 2],
        [1, 1],
      ],
    )
  })

  test('tells reasons, contexts, objects and users apart', () => {
    const { log } = logAt(0)
    const others = [{ reason: 'auth' }, { context: 'multi' }, { object: 'get' }, { username: 'bob' }] as const
    for (const other of [{}, ...others]) log.add({ ...refusal, ...other })
    assert.equal(log.entries(10).length, 5)
  })

  test('compares with the ten newest entries only, keeps 128, and can be emptied', () => {
    const { log } = logAt(0)
    for (let each = 0; each < 200; each++) log.add({ ...refusal, object: `key${each}` })
    assert.equal(log.entries(1000).length, 128)
    log.add({ ...refusal, object: 'key189' })
    assert.equal(log.entries(1)[0]!.count, 1)
    log.add({ ...refusal, object: 'key191' })
    assert.equal(log.entries(1)[0]!.count, 2)
    assert.equal(log.entries(2).length, 2)
    log.reset()
    assert.deepEqual(log.entries(10), [])
    log.add(refusal)
    assert.ok(log.entries(1)[0]!.id > 200)
  })

  test('keeps a bounded part of long texts', () => {
    const { log } = logAt(0)
    log.add({ ...refusal, username: 'x'.repeat(1e6), object: 'y'.repeat(1e6) })
    const [entry] = log.entries(1)
    assert.equal(entry!.username.length + entry!.object.length, 2048)
  })
})
