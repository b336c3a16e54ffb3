/** Users and tokens over HTTP: who may do what, and that a refused request issues nothing. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { InjectOptions } from 'fastify'
import { Passwords } from '../../../src/auth/passwords.ts'
import { buildHttpApp } from '../../../src/http/app.ts'
import { basic, openAccess, setUser } from '../auth/open-access.ts'
import { fakeNode } from './fake-node.ts'

/** One derivation of the usual cost takes longer than all else here. */
const cheap = new Passwords({ ln: 1, r: 1, p: 1 })
const [admin, alice, bob] = [basic('admin', 'root'), basic('alice', 'pw'), basic('bob', 'pw')]

async function start() {
  const access = await openAccess(undefined, { passwords: cheap })
  const node = Object.assign(fakeNode(), { access })
  node.catalogue.add('order', { kind: 'sequence' })
  node.catalogue.add('user', { kind: 'sequence' })
  const set = setUser.bind(null, access)
  await set('admin', 'on', '>root', '~*', '+@all')
  await set('alice', 'on', '>pw', '~order*', '+@issue')
  await set('bob', 'on', '>pw', '~*', '+@all', '-@admin')
  const app = buildHttpApp({ node, host: '127.0.0.1' })
  const send = (
    method: InjectOptions['method'],
    url: string,
    authorization: string | undefined,
    payload?: object,
  ) =>
    app.inject({
      method,
      url,
      headers: { ...(authorization && { authorization }) },
      ...(payload && { payload }),
    } as InjectOptions)
  const create = async (authorization: string, body: object = {}) => {
    const answer = await send('POST', '/v1/tokens', authorization, body)
    assert.equal(answer.statusCode, 201, answer.body)
    return answer.json() as { id: string; token: string; user: string; expires: string | null }
  }
  return { node, access, send, create, set }
}

const next = '/v1/generators/order/next'

describe('a token over HTTP', () => {
  test('is created by its user, issues ids as Bearer, and ends when it is revoked', async () => {
    const { node, send, create } = await start()
    const { id, token, user } = await create(alice, { label: 'build', rules: ['+id.next'] })
    assert.equal(user, 'alice')
    const bearer = `Bearer ${token}`
    assert.deepEqual((await send('POST', next, bearer)).json(), { ids: ['1'] })
    assert.equal((await send('POST', '/v1/generators/user/next', bearer)).json().code, 'NOPERM')
    assert.equal((await send('POST', '/v1/generators/order/range', bearer)).json().code, 'NOPERM')
    const listed = (await send('GET', '/v1/tokens', alice)).json().tokens
    assert.deepEqual(
      listed.map((each: Record<string, unknown>) => [each.id, each.label, each.valid]),
      [[id, 'build', true]],
    )
    assert.equal(JSON.stringify(listed).includes(token.slice(-43)), false)
    assert.equal((await send('DELETE', `/v1/tokens/${id}`, alice)).statusCode, 204)
    const refused = await send('POST', next, bearer)
    assert.deepEqual([refused.statusCode, refused.json().code], [401, 'WRONGPASS'])
    assert.match(String(refused.headers['www-authenticate']), /Basic .*Bearer /)
    assert.equal(node.catalogue.issued, 1)
    const objects = (await node.trail.stored()).map(({ event, object }) => `${event} ${object}`)
    assert.deepEqual(objects.filter((text) => text.startsWith('token')).sort(), [
      `token-created ${id} of alice`,
      `token-revoked ${id}`,
    ])
  })

  test('of another user is seen, made and revoked by an administrator only', async () => {
    const { send, create } = await start()
    const { id } = await create(admin, { user: 'alice', expires: 'never' })
    assert.equal((await send('POST', '/v1/tokens', bob, { user: 'alice' })).json().code, 'NOPERM')
    assert.deepEqual((await send('GET', '/v1/tokens', bob)).json(), { tokens: [] })
    assert.equal((await send('DELETE', `/v1/tokens/${id}`, bob)).statusCode, 404)
    assert.equal((await send('GET', '/v1/tokens?user=alice', admin)).json().tokens[0].expires, null)
    assert.equal((await send('DELETE', `/v1/tokens/${id}`, admin)).statusCode, 204)
  })

  test('costs others no time: lists look at those of the caller, in turns, and so does the search for room', async (t) => {
    const { node, send, create } = await start()
    const { id } = await create(alice)
    for (let count = 0; count < 9; count++) await create(bob)
    const work = t.mock.method(node.server.turns, 'take', async () => {})
    // The survey of generators, once a second, takes turns of 64 KiB and of nothing.
    const workOf = () =>
      work.mock.calls
        .map(({ arguments: [bytes] }) => bytes)
        .filter((bytes) => bytes !== 65_536 && bytes !== 0)
    const listed = (await send('GET', '/v1/tokens', alice)).json().tokens
    assert.deepEqual(
      listed.map((each: { id: string }) => each.id),
      [id],
    )
    const [one = 0] = workOf()
    assert.ok(one > 0)
    await send('GET', '/v1/tokens?user=bob', alice)
    await send('GET', '/v1/tokens?user=bob', admin)
    await send('GET', '/v1/tokens', admin)
    await create(bob)
    assert.deepEqual(workOf(), [one, one, 9 * one, 10 * one, 10 * one])
  })

  test('and a password that do not permit a request are refused with the rule that would', async () => {
    const { send, create } = await start()
    const { token } = await create(alice, { rules: ['+id.next'] })
    const user = '/v1/generators/user/next'
    for (const [authorization, url, detail] of [
      [alice, user, /access a key; an administrator can permit it to alice by the rule ~user$/],
      [alice, '/v1/decode?id=1&generator=user', /'id.decode' command; .* to alice by the rule \+id.decode$/],
      [bob, '/v1/tokens', /'http\|tokens' command; .* to bob by the rule \+http\|tokens$/],
      [
        `Bearer ${token}`,
        user,
        /key; the rules of the token and those of its user must both permit it: ~user$/,
      ],
      [
        undefined,
        user,
        /^Authentication required: send an Authorization header: Basic .* Bearer with a token$/,
      ],
    ] as const) {
      const body = url === '/v1/tokens' ? { user: 'alice' } : undefined
      const answer = await send(url.startsWith('/v1/decode') ? 'GET' : 'POST', url, authorization, body)
      assert.equal(answer.statusCode, authorization === undefined ? 401 : 403)
      assert.match(answer.json().detail, detail)
    }
  })

  test('sees and ends itself, and no other token of its user without a rule that says so', async () => {
    const { send, create } = await start()
    const kept = await create(alice)
    const idsSeenBy = async (authorization: string) =>
      (await send('GET', '/v1/tokens', authorization)).json().tokens.map(({ id }: { id: string }) => id)
    const revoke = async (authorization: string, id: string) =>
      (await send('DELETE', `/v1/tokens/${id}`, authorization)).statusCode
    for (const rules of [[], ['~order:eu:*'], ['+@all'], ['+@connection', '+@issue']]) {
      const narrow = await create(alice, { rules })
      const bearer = `Bearer ${narrow.token}`
      assert.deepEqual(await idsSeenBy(bearer), [narrow.id])
      assert.equal(await revoke(bearer, kept.id), 404)
      assert.equal(await revoke(bearer, narrow.id), 204)
    }
    const keeper = await create(alice, { rules: ['~none', '+http|own-tokens'] })
    const bearer = `Bearer ${keeper.token}`
    assert.deepEqual((await idsSeenBy(bearer)).sort(), [keeper.id, kept.id].sort())
    assert.equal(await revoke(bearer, kept.id), 204)
    assert.equal((await send('POST', '/v1/tokens', bearer, {})).statusCode, 403)
  })

  test('makes no token, unless it may make those of all users', async () => {
    const { send, create } = await start()
    const own = await create(bob)
    const refused = await send('POST', '/v1/tokens', `Bearer ${own.token}`, {})
    assert.deepEqual([refused.statusCode, refused.json().code], [403, 'NOPERM'])
    const narrow = await create(admin, { rules: ['+@all', '-@admin'] })
    assert.equal((await send('POST', '/v1/tokens', `Bearer ${narrow.token}`, {})).statusCode, 403)
    const wide = await create(admin)
    assert.equal((await create(`Bearer ${wide.token}`, { user: 'alice' })).user, 'alice')
  })

  test('is refused with a sentence if a member is wrong', async () => {
    const { send } = await start()
    for (const [body, detail] of [
      [{ expires: '0s' }, /from 1s to 3650d, or never/],
      [{ expires: 'soon' }, /a duration such as/],
      [{ rules: ['>pw'] }, /rule 1 is no rule of a token/],
      [{ rules: ['+nosuch'] }, /Unknown command or category/],
      [{ name: 'x' }, /unknown member 'name'/],
    ] as const) {
      const answer = await send('POST', '/v1/tokens', alice, body)
      assert.equal(answer.statusCode, 400)
      assert.match(answer.json().detail, detail)
    }
  })
})

test('users over HTTP are set by rules, shown without their passwords, and removed', async () => {
  const { send, create } = await start()
  const rules = ['on', '>secret', '~shop:*', '+@issue']
  const carol = { name: 'carol', enabled: true, nopass: false, passwords: 1, patterns: ['shop:*'] }
  const commands = ['-@all', '+@connection', '+@issue']
  const set = await send('PUT', '/v1/users/carol', admin, { rules })
  assert.deepEqual([set.statusCode, set.json()], [200, { ...carol, commands }])
  assert.deepEqual((await send('GET', '/v1/users/carol', admin)).json(), { ...carol, commands })
  const { users } = (await send('GET', '/v1/users', admin)).json()
  assert.deepEqual(
    users.map(({ name }: { name: string }) => name),
    ['admin', 'alice', 'bob', 'carol'],
  )
  const { token } = await create(basic('carol', 'secret'))
  assert.equal((await send('DELETE', '/v1/users/carol', admin)).statusCode, 204)
  assert.equal((await send('DELETE', '/v1/users/carol', admin)).statusCode, 404)
  assert.equal((await send('GET', '/v1/tokens', `Bearer ${token}`)).json().code, 'WRONGPASS')
  assert.equal((await send('PUT', '/v1/users/carol', bob, { rules })).json().code, 'NOPERM')
})
