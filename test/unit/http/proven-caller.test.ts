/** Requests of one connection with the credentials that it has proven. */
import assert from 'node:assert/strict'
import { Agent as HttpAgent, request as send } from 'node:http'
import { describe, type TestContext, test } from 'node:test'
import { startHttpServer } from '../../../src/http/server.ts'
import { basic, openAccess, setUser } from '../auth/open-access.ts'
import { fakeNode } from './fake-node.ts'

/** A server with the user alice, and what asks it for an id over one connection: the id, or the code of the error. */
async function start(t: TestContext) {
  const access = await openAccess()
  const set = setUser.bind(null, access)
  await set('admin', 'on', '>root', '~*', '+@all')
  await set('alice', 'on', '>secret', '~*', '+@issue')
  let checks = 0
  const login = access.login.bind(access)
  access.login = (...credentials) => {
    checks++
    return login(...credentials)
  }
  const node = { ...fakeNode(), access }
  node.catalogue.add('order', { kind: 'sequence' })
  const server = await startHttpServer({ node, host: '127.0.0.1', port: 0 })
  const agent = new HttpAgent({ keepAlive: true, maxSockets: 1 })
  t.after(() => {
    agent.destroy()
    return server.close(0)
  })
  const next = (authorization: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const path = '/v1/generators/order/next'
      const sent = send({ agent, port: server.port, method: 'POST', path, headers: { authorization } })
      sent.on('error', reject)
      sent.on('response', async (answer) => {
        const { ids, code } = JSON.parse(Buffer.concat(await answer.toArray()).toString())
        resolve(code ?? ids[0])
      })
      sent.end()
    })
  return { access, set, next, checks: () => checks }
}

const alice = basic('alice', 'secret')

describe('credentials that a connection has proven', () => {
  test('are checked once', async (t) => {
    const { next, checks } = await start(t)
    assert.deepEqual([await next(alice), await next(alice), await next(alice)], ['1', '2', '3'])
    assert.equal(checks(), 1)
  })

  test('vouch for no others of the same length', async (t) => {
    const { next } = await start(t)
    assert.equal(await next(alice), '1')
    assert.equal(await next(basic('alice', 'secreT')), 'WRONGPASS')
    assert.equal(await next(basic('alicf', 'secret')), 'WRONGPASS')
    assert.equal(await next(alice), '2')
  })

  for (const [what, rules, answer] of [
    ['password', ['resetpass', '>other'], 'WRONGPASS'],
    ['state', ['off'], 'WRONGPASS'],
    ['permissions', ['-@issue'], 'NOPERM'],
    ['names', ['resetkeys', '~user*'], 'NOPERM'],
  ] as const) {
    test(`end with a change of the ${what} of their user`, async (t) => {
      const { set, next } = await start(t)
      assert.equal(await next(alice), '1')
      await set('alice', ...rules)
      assert.equal(await next(alice), answer)
    })
  }

  test('are checked again, and stay, when a password is added', async (t) => {
    const { set, next, checks } = await start(t)
    assert.equal(await next(alice), '1')
    await set('alice', '>second')
    assert.deepEqual([await next(alice), await next(alice)], ['2', '3'])
    assert.equal(checks(), 2)
  })

  test('end when their user is removed, also if it is created again', async (t) => {
    const { access, set, next } = await start(t)
    assert.equal(await next(alice), '1')
    await access.users.remove('alice')
    assert.equal(await next(alice), 'WRONGPASS')
    await set('alice', 'on', '>another', '~*', '+@issue')
    assert.equal(await next(alice), 'WRONGPASS')
  })

  test('end when their token is revoked, or its user is off', async (t) => {
    const { access, set, next } = await start(t)
    const scope = { user: 'alice', label: '', lifetimeMs: undefined, by: 'admin' }
    const tokens = [await access.tokens.create(scope), await access.tokens.create(scope)]
    const [one, other] = tokens.map(({ text }) => `Bearer ${text}`) as [string, string]
    assert.deepEqual([await next(one), await next(one)], ['1', '2'])
    await access.tokens.revoke(tokens[0]!.token.id)
    assert.equal(await next(one), 'WRONGPASS')
    assert.deepEqual([await next(other), await next(other)], ['3', '4'])
    await set('alice', 'off')
    assert.equal(await next(other), 'WRONGPASS')
  })
})
