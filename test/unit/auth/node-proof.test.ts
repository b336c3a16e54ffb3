/** How nodes prove themselves to each other. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AccessControl } from '../../../src/auth/access-control.ts'
import { NodeProof } from '../../../src/auth/node-proof.ts'
import { readRules } from '../../../src/auth/user.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import { subjects } from './open-access.ts'
import { Trail } from './trail.ts'

async function node(store: MemoryStore, id: string): Promise<AccessControl> {
  const engine = new MemoryEngine(store)
  return AccessControl.open({
    engine,
    clock: systemClock,
    nowUs: () => systemClock.wallUs(),
    subjects,
    newId: () => crypto.randomUUID(),
    graceMs: 60_000,
    audit: new Trail().audit,
    onEvent: () => {},
    proof: await NodeProof.open(engine, () => id),
  })
}

test('a proof stands for one user on one node', async () => {
  const store = new MemoryStore()
  const [a, b] = await Promise.all([node(store, 'a'), node(store, 'b')])
  const admin = readRules(['on', '>pw', '~*', '+@all'], subjects, a.passwords)
  await a.users.set('admin', admin)
  await a.users.set('alice', readRules(['on', '>pw', '~order', '+@issue'], subjects, a.passwords))
  const proof = a.proofFor('alice', 'b')
  const access = await b.login('alice', proof, '10.0.0.1')
  assert.deepEqual([access.user, access.isForwarded, access.reaches('any')], ['alice', true, true])
  for (const login of [() => a.login('alice', proof, '1.1.1.1'), () => b.login('admin', proof, '1.1.1.1')]) {
    await assert.rejects(login(), /invalid username-password pair/)
  }
  const foreign = (await node(new MemoryStore(), 'x')).proofFor('alice', 'b')
  await assert.rejects(b.login('alice', foreign, '1.1.1.1'), /invalid username-password pair/)
})

test('nodes that start at once have one secret', async () => {
  const store = new MemoryStore()
  const nodes = await Promise.all(['a', 'b', 'c'].map((id) => node(store, id)))
  assert.equal(new Set(nodes.map((each) => each.proofFor('u', 'n'))).size, 1)
})

test('connections of a forwarded user end when the user is removed', async () => {
  const store = new MemoryStore()
  const [a, b] = await Promise.all([node(store, 'a'), node(store, 'b')])
  await a.users.set('admin', readRules(['on', '>pw', '~*', '+@all'], subjects, a.passwords))
  await a.users.set('alice', readRules(['on', '>pw'], subjects, a.passwords))
  const access = await b.login('alice', a.proofFor('alice', 'b'), '10.0.0.1')
  await new Promise((resolve) => setImmediate(resolve))
  const present = b.present(access)
  assert.deepEqual([present?.user, present?.isForwarded], ['alice', true])
  await b.users.remove('alice')
  assert.equal(b.present(access), undefined)
})

test('a proof permits nothing of administration, and nothing to a user that was removed or is off', async () => {
  const store = new MemoryStore()
  const [a, b] = await Promise.all([node(store, 'a'), node(store, 'b')])
  await b.users.set('admin', readRules(['on', '>pw', '~*', '+@all'], subjects, a.passwords))
  const proof = a.proofFor('admin', 'b')
  const access = await b.login('admin', proof, '10.0.0.1')
  const commands = ['incr', 'id.create', 'client|setinfo', 'acl|setuser', 'http|tokens', 'http|advance']
  assert.deepEqual(
    commands.map((command) => access.allows(command)),
    [true, true, true, false, false, false],
  )
  await b.users.set('alice', readRules(['on', '>pw'], subjects, a.passwords))
  const login = () => b.login('alice', a.proofFor('alice', 'b'), '10.0.0.1')
  assert.equal((await login()).user, 'alice')
  await b.users.set('alice', readRules(['off'], subjects, a.passwords))
  await assert.rejects(login(), /user is disabled/)
  await b.users.remove('alice')
  await assert.rejects(login(), /user is disabled/)
})
