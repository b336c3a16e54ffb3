/** What a proof of a node is worth, also to a reader of the connection between nodes. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { AccessControl } from '../../../src/auth/access-control.ts'
import { NodeProof, type Purpose, purposeOfHttp, respPurpose } from '../../../src/auth/node-proof.ts'
import { UsedNumbers } from '../../../src/auth/used-numbers.ts'
import { MemoryEngine, MemoryStore } from '../../../src/engine/memory/engine.ts'
import { FakeClock } from '../fake-clock.ts'
import { openAccess, setUser } from './open-access.ts'

const draw = { method: 'POST', path: '/v1/generators/order/next', contentType: undefined, digest: '' }
const drawing = purposeOfHttp({ ...draw, client: '10.0.0.9' })
const refused = { code: 'WRONGPASS' }

/** The nodes a and b of one store, with the users admin and alice. */
async function nodes() {
  const store = new MemoryStore()
  const clock = new FakeClock()
  const open = async (id: string, engine = new MemoryEngine(store)) =>
    openAccess(engine, { clock, proof: await NodeProof.open(engine, () => id) })
  const [a, b] = [await open('a'), await open('b')]
  const set = async (user: string, ...rules: string[]) => {
    await setUser(a, user, ...rules)
    for (let turns = 0; turns < 4; turns++) await new Promise(setImmediate)
  }
  await set('admin', 'on', '>pw', '~*', '+@all')
  await set('alice', 'on', '>pw', '~order*', '+@issue')
  return { store, clock, open, a, b, set }
}

/** A login on RESP with what stands for a password there. */
const login = (node: AccessControl, user: string, proof: string) =>
  node.login(user, proof, '10.0.0.1', 'resp')
const take = (node: AccessControl, user: string, proof: string, purpose: Purpose) =>
  node.loginByProof(user, proof, purpose, '10.0.0.1')

describe('a proof of a node', () => {
  test('permits what its user may do, as far as nodes forward it', async () => {
    const { a, b } = await nodes()
    const alice = await login(b, 'alice', a.proofFor('alice', 'b', respPurpose))
    assert.deepEqual(
      [alice.user, alice.isForwarded, alice.reaches('order:1'), alice.reaches('other')],
      ['alice', true, true, false],
    )
    const may = (commands: string[], access = alice) => commands.map((command) => access.allows(command))
    assert.deepEqual(may(['incr', 'id.next', 'client|setinfo', 'id.drop', 'id.create']), [
      true,
      true,
      true,
      false,
      false,
    ])
    const admin = await login(b, 'admin', a.proofFor('admin', 'b', respPurpose))
    assert.deepEqual(may(['incr', 'id.drop', 'id.create', 'id.info'], admin), [true, true, true, true])
    const never = [
      'acl|setuser',
      'acl|list',
      'keys',
      'id.list',
      'id.namespace|set',
      'config|get',
      'client|kill',
    ]
    const overHttp = ['http|tokens', 'http|own-tokens', 'http|advance', 'http|audit', 'http|cluster-move']
    for (const command of [...never, ...overHttp]) assert.equal(admin.allows(command), false, command)
    assert.equal(admin.unrestricted, false)
  })

  test('is taken once', async () => {
    const { a, b } = await nodes()
    const [connection, request] = [a.proofFor('admin', 'b', respPurpose), a.proofFor('admin', 'b', drawing)]
    assert.equal((await login(b, 'admin', connection)).user, 'admin')
    assert.equal((await take(b, 'admin', request, drawing)).user, 'admin')
    await assert.rejects(login(b, 'admin', connection), refused)
    await assert.rejects(take(b, 'admin', request, drawing), refused)
  })

  test('is for one user, one door and one request', async () => {
    const { a, b, open } = await nodes()
    const connection = a.proofFor('alice', 'b', respPurpose)
    const request = a.proofFor('alice', 'b', drawing)
    await assert.rejects(login(b, 'admin', connection), refused)
    await assert.rejects(take(b, 'alice', connection, drawing), refused)
    await assert.rejects(login(b, 'alice', request), refused)
    for (const change of [
      { method: 'DELETE' },
      { path: '/v1/generators/other/next' },
      { path: `${draw.path}?count=1000` },
      { contentType: 'text/plain' },
      { digest: 'of another body' },
      { client: '10.0.0.8' },
    ]) {
      const another = purposeOfHttp({ ...draw, client: '10.0.0.9', ...change })
      await assert.rejects(take(b, 'alice', request, another), refused)
    }
    const foreign = await open('x', new MemoryEngine(new MemoryStore()))
    await assert.rejects(login(b, 'alice', foreign.proofFor('alice', 'b', respPurpose)), refused)
    // None of these attempts has used it up.
    assert.equal((await take(b, 'alice', request, drawing)).user, 'alice')
  })

  test('is no password: not as Basic credentials, and not for PostgreSQL', async () => {
    const { a, b } = await nodes()
    for (const door of ['http', 'postgres'])
      for (const purpose of [respPurpose, drawing]) {
        const proof = a.proofFor('admin', 'b', purpose)
        await assert.rejects(b.login('admin', proof, '10.0.0.1', door), refused)
      }
  })

  test('makes the sender look up the leader again if it is for another node', async () => {
    const { a, b } = await nodes()
    await assert.rejects(login(b, 'alice', a.proofFor('alice', 'b-before', respPurpose)), {
      code: 'CLUSTERDOWN',
    })
  })

  test('is void once its user has changed or was removed, except for the moment that a change takes to spread', async () => {
    for (const change of [['resetpass', '>another'], ['-@issue'], undefined]) {
      const { a, b, clock, set } = await nodes()
      const late = () => login(b, 'alice', before.pop() ?? '')
      const before = [1, 2, 3].map(() => a.proofFor('alice', 'b', respPurpose))
      if (change === undefined) {
        await a.users.remove('alice')
        for (let turns = 0; turns < 4; turns++) await new Promise(setImmediate)
        await assert.rejects(late(), refused)
      } else {
        await set('alice', ...change)
        const access = await late()
        assert.equal(access.allows('incr'), change[0] !== '-@issue')
      }
      await clock.pass(5000)
      await assert.rejects(late(), { code: 'CLUSTERDOWN' })
    }
  })

  test('has a user that the receiver does not know yet looked up', async () => {
    const { store, open, a, set } = await nodes()
    const engine = new MemoryEngine(store)
    Object.assign(engine, { watch: async () => ({ close() {} }) })
    const late = await open('late', engine)
    await set('carol', 'on', '>pw', '~*', '+@issue')
    await set('alice', '~other')
    assert.equal(late.users.access('carol'), undefined)
    const carol = await login(late, 'carol', a.proofFor('carol', 'late', respPurpose))
    const alice = await login(late, 'alice', a.proofFor('alice', 'late', respPurpose))
    assert.deepEqual([carol.user, alice.reaches('other')], ['carol', true])
  })

  test('permits nothing to a user that is off', async () => {
    const { a, b, set } = await nodes()
    await set('alice', 'off')
    await assert.rejects(login(b, 'alice', a.proofFor('alice', 'b', respPurpose)), refused)
  })

  test('follows its user on connections that are open: to fewer permissions, and to the end', async () => {
    const { a, b, set } = await nodes()
    const access = await login(b, 'alice', a.proofFor('alice', 'b', respPurpose))
    await set('alice', 'resetkeys', '~other')
    const present = b.present(access)
    assert.deepEqual(
      [present?.isForwarded, present?.reaches('order'), present?.reaches('other')],
      [true, false, true],
    )
    await b.users.remove('alice')
    assert.equal(b.present(access), undefined)
  })

  test('of nodes that start at once is made from one secret', async () => {
    const store = new MemoryStore()
    const proofs = await Promise.all(
      ['a', 'b', 'c'].map((id) => NodeProof.open(new MemoryEngine(store), () => id)),
    )
    const made = proofs[0]!.make('c', { user: 'u', revision: 3 }, respPurpose)
    assert.equal(proofs[2]!.take(made, 'u', respPurpose), 3)
  })
})

test('the numbers of a sender are taken once, in any order, within the newest 65,536', () => {
  const used = new UsedNumbers()
  for (const number of [3, 1, 70_000, 2, 69_999, 4465]) {
    assert.equal(used.take('a', number), number !== 2, String(number))
    assert.equal(used.take('a', number), false, String(number))
  }
  assert.equal(used.take('a', 4464), false)
  for (const number of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])
    assert.equal(used.take('a', number), false)
  assert.equal(used.take('b', 2), true)
})
