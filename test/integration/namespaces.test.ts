/** Namespaces on a real server: over RESP, HTTP and the command line, on open connections, for users. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { encodeCommand, RawClient } from '../launch/raw-client.ts'
import { ReplyError } from '../launch/raw-reply.ts'

async function send(server: FahaoServer, method: string, path: string, body?: object, user?: string) {
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  if (user !== undefined) headers.authorization = `Basic ${btoa(user)}`
  const answer = await fetch(server.http + path, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: answer.status, retryAfter: answer.headers.get('retry-after'), text: await answer.text() }
}

/** The error of a request, or 'ok'. */
async function outcome(client: RawClient, ...words: string[]): Promise<string> {
  const reply = await client.command(...words)
  return reply instanceof ReplyError ? reply.text.split(' ', 1)[0]! : 'ok'
}

describe('namespaces', { timeout: 60_000 }, () => {
  test('limit pipelines on open connections from the moment of their change, and a refused connection rests', async (t) => {
    const server = await startFahao(t, { engine: 'memory:' })
    const [client, admin] = [await RawClient.connect(server.resp, t), await RawClient.connect(server.resp, t)]
    await admin.command('ID.CREATE', 'shop:order', 'KIND', 'sequence')
    for (let each = 1; each <= 3; each++)
      assert.equal(await client.command('INCR', 'shop:order'), BigInt(each))
    const set = await send(server, 'PUT', '/v1/namespaces/shop', {
      match: 'shop:*',
      owner: 'team-a',
      idsPerDay: 5,
    })
    assert.equal(set.status, 200)
    client.send(Buffer.concat(Array<Uint8Array>(400).fill(encodeCommand(['INCR', 'shop:order']))))
    const replies = []
    for (let each = 0; each < 400; each++) replies.push(await client.read())
    assert.deepEqual(replies.slice(0, 5), [4n, 5n, 6n, 7n, 8n])
    for (const reply of replies.slice(5)) {
      assert.ok(reply instanceof ReplyError)
      assert.match(reply.text, /^QUOTA namespace 'shop' of team-a may issue 5 ids a day on this node/)
    }
    const shown = JSON.parse((await send(server, 'GET', '/v1/namespaces/shop')).text)
    assert.deepEqual(shown.here, { issued: 5, refused: 395, waiting: 0, shareOfDay: 1 })

    // The refused connection rests, so that a loop of refused requests takes no time from others.
    const startedMs = performance.now()
    for (let each = 0; each < 5; each++) assert.equal(await outcome(client, 'INCR', 'shop:order'), 'QUOTA')
    assert.ok(performance.now() - startedMs > 60, `5 refusals took ${performance.now() - startedMs} ms`)

    const http = await send(server, 'POST', '/v1/generators/shop%3Aorder/next')
    assert.equal(http.status, 429)
    assert.ok(Number(http.retryAfter) > 0)
    await admin.command('ID.NAMESPACE', 'DROP', 'shop')
    assert.equal(await client.command('INCR', 'shop:order'), 9n, 'no refused request has used up an id')
  })

  test('count the requests of a user, over RESP and HTTP together', async (t) => {
    const server = await startFahao(t, { engine: 'memory:' })
    const first = await RawClient.connect(server.resp, t)
    await first.command('ID.CREATE', 'order', 'KIND', 'segment')
    await first.command('ID.NAMESPACE', 'SET', 'alice', 'MATCH', '*', 'USER', 'alice', 'DAILY', '3')
    await first.command('ACL', 'SETUSER', 'admin', 'on', '>secret', '~*', '+@all')
    // From the first user on, connections have to authenticate.
    const [alice, admin] = [await RawClient.connect(server.resp, t), await RawClient.connect(server.resp, t)]
    await admin.command('AUTH', 'admin', 'secret')
    await admin.command('ACL', 'SETUSER', 'alice', 'on', '>secret', '~*', '+@all')
    assert.equal(await outcome(alice, 'AUTH', 'alice', 'secret'), 'ok')
    assert.equal(await outcome(alice, 'INCR', 'order'), 'ok')
    const next = () => send(server, 'POST', '/v1/generators/order/next', undefined, 'alice:secret')
    const range = () => send(server, 'POST', '/v1/generators/order/range?count=2', undefined, 'alice:secret')
    assert.equal((await next()).status, 200)
    assert.equal((await range()).status, 429)
    assert.equal((await next()).status, 200)
    assert.equal((await next()).status, 429)
    assert.equal(await outcome(alice, 'ID.NEXT', 'order'), 'QUOTA')
    assert.equal(await outcome(admin, 'INCR', 'order'), 'ok')
  })

  test('hold on another node of the store once it shows them, while each node counts by itself', async (t) => {
    const first = await startFahao(t)
    const second = await startFahao(t, { engine: first.engine })
    const [here, there] = [await RawClient.connect(first.resp, t), await RawClient.connect(second.resp, t)]
    await here.command('ID.CREATE', 'order', 'KIND', 'segment')
    assert.equal(await outcome(there, 'INCR', 'order'), 'ok')
    await here.command('ID.NAMESPACE', 'SET', 'all', 'MATCH', '*', 'DAILY', '2')
    while ((await there.command('ID.NAMESPACE', 'GET', 'all')) === null) await pause(20)
    for (const client of [here, there])
      assert.deepEqual(
        [
          await outcome(client, 'INCR', 'order'),
          await outcome(client, 'INCR', 'order'),
          await outcome(client, 'INCR', 'order'),
        ],
        ['ok', 'ok', 'QUOTA'],
      )
  })
})
