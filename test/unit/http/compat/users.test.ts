/** The compatible APIs of a server with users: credentials in the URL, in a header, or of the whole API. */
import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { setUser } from '../../auth/open-access.ts'
import { serve } from './serve.ts'

const paths = {
  leaf: '/api/segment/get/order',
  idbuilder: '/id-builder/increase-seq-id?code=order',
  tinyid: '/tinyid/id/nextId?bizType=order',
} as const

async function start(t: TestContext, flags: Record<string, string> = {}) {
  const served = await serve(t, { order: { kind: 'sequence' }, user: { kind: 'sequence' } }, { flags })
  const { access } = served.node
  const set = setUser.bind(null, access)
  await set('admin', 'on', 'nopass', '~*', '+@all')
  await set('alice', 'on', '~order', '+id.next')
  const request = { user: 'alice', label: '', lifetimeMs: 60_000, by: 'admin' }
  const { token, text } = await access.tokens.create(request)
  return { ...served, access, set, id: token.id, token: text }
}

const join = (path: string, parameter: string) => `${path}${path.includes('?') ? '&' : '?'}${parameter}`

describe('a server with users', () => {
  test('refuses a compatible request without credentials in its own form, and issues nothing', async (t) => {
    const { ask, app, node } = await start(t)
    for (const path of [paths.leaf, paths.idbuilder, '/cache', '/db', '/decodeSnowflakeId?snowflakeId=1']) {
      const { statusCode, headers, body } = await app.inject({ method: 'GET', url: path })
      assert.equal(statusCode, 401, path)
      assert.match(
        JSON.parse(body).message,
        /^NOAUTH .* add a token to the query of the URL, as access_token, or /,
      )
      assert.match(String(headers['www-authenticate']), /Bearer/)
    }
    assert.match((await ask(paths.tinyid))[2], /"code":5,"message":"token is error"/)
    assert.equal(node.catalogue.find('order')?.stats().issued ?? 0, 0)
  })

  test('takes a token in the URL or a header', async (t) => {
    const { ask, token } = await start(t)
    const headers = { authorization: `Bearer ${token}` }
    assert.equal((await ask(join(paths.leaf, `access_token=${token}`)))[2], '1')
    assert.equal((await ask(paths.leaf, { headers }))[2], '2')
    assert.equal((await ask(join(paths.idbuilder, `access_token=${token}`)))[2], '3')
    assert.equal((await ask(join(paths.tinyid, `token=${token}`)))[2], '{"data":[4],"code":200,"message":""}')
    const [status, , body] = await ask(`/api/segment/get/user?access_token=${token}`)
    assert.deepEqual([status, /NOPERM/.test(body)], [403, true])
    assert.match((await ask(`/tinyid/id/nextId?bizType=user&token=${token}`))[2], /token is error/)
  })

  test('refuses a token that was revoked, and shows none in its errors', async (t) => {
    const { ask, access, id, token, faults } = await start(t)
    await access.tokens.revoke(id)
    for (const path of [paths.leaf, paths.idbuilder, '/v1/generators?x=1', '/nothing']) {
      const answer = await ask(join(path, `access%5Ftoken=${token}`))
      assert.ok(answer[0] === 401 || answer[0] === 404, `${path}: ${answer}`)
      assert.equal(answer[2].includes(token.slice(-43)), false, answer[2])
    }
    assert.match((await ask(join(paths.tinyid, `token=${token}`)))[2], /token is error/)
    assert.deepEqual(faults, [])
  })

  test('takes requests without credentials as those of the user of compat-user, while it is on', async (t) => {
    const { ask, set, token } = await start(t, { 'compat-user': 'leaf=alice tinyid=alice' })
    assert.equal((await ask(paths.leaf))[2], '1')
    assert.equal((await ask(paths.tinyid))[2], '{"data":[2],"code":200,"message":""}')
    assert.equal((await ask('/api/segment/get/user'))[0], 403)
    assert.equal((await ask(paths.idbuilder))[0], 401)
    assert.equal((await ask(join(paths.leaf, `access_token=${token}x`)))[0], 401)
    await set('alice', 'off')
    assert.equal((await ask(paths.leaf))[0], 401)
    assert.match((await ask(paths.tinyid))[2], /token is error/)
  })

  test('gives ids of the snowflake that all keys share to users that may name it, and creates it for no other', async (t) => {
    const { ask, set, token, node } = await start(t)
    const path = join('/api/snowflake/get/order', `access_token=${token}`)
    assert.equal((await ask(path))[0], 403)
    assert.equal(await node.catalogue.exists('snowflake'), false)
    await set('alice', '~snowflake')
    assert.match((await ask(path))[2], /^\d+$/)
    await set('alice', 'resetkeys', '~order')
    const [status, , body] = await ask(path)
    assert.deepEqual([status, /NOPERM/.test(body)], [403, true])
  })

  test('records each request that the permissions refuse once, with the generator', async (t) => {
    const { ask, app, token, node } = await start(t)
    const { mock } = t.mock.method(node.server.audit, 'record')
    const refused = [
      [paths.leaf.replace('order', 'user'), 'access_token', 'user'],
      ['/api/snowflake/get/order', 'access_token', 'snowflake'],
      [paths.tinyid.replace('order', 'user'), 'token', 'user'],
      [`${paths.tinyid.replace('order', 'user')}&batchSize=2`, 'token', 'user'],
    ] as const
    for (const [path, parameter, name] of refused) {
      mock.resetCalls()
      await ask(join(path, `${parameter}=${token}`))
      const recorded = mock.calls.map(({ arguments: [occurrence] }) => occurrence)
      const { event, user, object, detail } = recorded[0]!
      assert.deepEqual(
        [recorded.length, event, user, object, detail],
        [1, 'denied', 'alice', 'id.next', name],
        path,
      )
    }
    mock.resetCalls()
    await app.inject({ method: 'GET', url: paths.leaf })
    await ask(paths.tinyid)
    assert.equal(mock.callCount(), 0)
    await ask(join(paths.tinyid, 'token=other'))
    assert.deepEqual(
      mock.calls.map(({ arguments: [{ event, user, detail }] }) => [event, user, detail]),
      [['login-failed', undefined, 'tinyid token']],
    )
  })
})
