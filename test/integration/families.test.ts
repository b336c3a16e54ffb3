/** A family on a real server, and in the library: over HTTP, for users, in namespaces, and in metrics. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { temporaryFolder } from '../launch/places.ts'
import { startProcess } from '../launch/process.ts'
import { RawClient } from '../launch/raw-client.ts'
import { ReplyError } from '../launch/raw-reply.ts'

async function ask({ http }: FahaoServer, method: string, path: string, body?: object) {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${http}/v1/${path}`, {
    method,
    headers,
    ...(body && { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  return { status: answer.status, text }
}

/** The error of a request, or its answer. */
async function outcome(client: RawClient, ...words: string[]): Promise<unknown> {
  const reply = await client.command(...words)
  return reply instanceof ReplyError ? reply.text.split(' ', 1)[0] : reply
}

async function withFamily(t: TestContext): Promise<{ server: FahaoServer; client: RawClient }> {
  const server = await startFahao(t, { args: ['--log-level', 'warn'] })
  const made = await ask(server, 'PUT', 'generators/room:*', { kind: 'sequence', family: true })
  assert.equal(made.status, 201, made.text)
  return { server, client: await RawClient.connect(server.resp, t) }
}

test('a name of a family is asked over HTTP as it is over RESP, and each sees the ids of the other', async (t) => {
  const { server, client } = await withFamily(t)
  const next = (path: string) => ask(server, 'POST', `generators/${path}`)
  assert.match((await next('room:1/next')).text, /"1"/)
  assert.equal(await outcome(client, 'INCR', 'room:1'), 2n)
  const ids = (await next('room:1/next?count=3')).text
  for (const id of [3, 4, 5]) assert.match(ids, new RegExp(`"${id}"`))
  assert.equal((await next('room:2/range?count=4')).status, 200)
  assert.equal(await outcome(client, 'INCR', 'room:2'), 5n)
  assert.equal((await ask(server, 'GET', 'generators/room:1')).status, 200)
  assert.notEqual((await ask(server, 'DELETE', 'generators/room:1')).status, 200)
  assert.equal(await outcome(client, 'INCR', 'room:1'), 6n)
  const lease = await ask(server, 'POST', 'generators/room:1/leases', { count: 5 })
  assert.ok(lease.status >= 400, lease.text)
})

test('the patterns of users and namespaces apply to names of a family, and not to the family alone', async (t) => {
  const { client, server } = await withFamily(t)
  assert.equal(await outcome(client, 'ID.NAMESPACE', 'SET', 'team', 'MATCH', 'room:t*', 'DAILY', '5'), 'OK')
  assert.deepEqual(
    [await outcome(client, 'INCRBY', 'room:t1', '3'), await outcome(client, 'INCR', 'room:t1')],
    [3n, 4n],
  )
  assert.deepEqual(
    [await outcome(client, 'INCR', 'room:t2'), await outcome(client, 'INCR', 'room:t3')],
    [1n, 'QUOTA'],
  )
  assert.equal(await outcome(client, 'INCR', 'room:t1'), 'QUOTA')
  assert.equal(await outcome(client, 'INCR', 'room:1'), 1n)
  await client.command('ACL', 'SETUSER', 'admin', 'on', '>secret', '~*', '+@all')
  const admin = await RawClient.connect(server.resp, t)
  await admin.command('AUTH', 'admin', 'secret')
  await admin.command('ACL', 'SETUSER', 'ann', 'on', '>secret', '~room:a*', '+incr', '+get', '+auth')
  const ann = await RawClient.connect(server.resp, t)
  await ann.command('AUTH', 'ann', 'secret')
  for (let time = 1; time <= 3; time++) {
    assert.equal(await outcome(ann, 'INCR', 'room:a1'), BigInt(time))
    assert.equal(await outcome(ann, 'INCR', 'room:1'), 'NOPERM')
  }
  assert.equal(await outcome(ann, 'INCR', 'room:*'), 'NOPERM')
  assert.equal(await outcome(admin, 'INCR', 'room:1'), 2n)
  await admin.command('ACL', 'SETUSER', 'ann', 'resetkeys')
  assert.equal(await outcome(ann, 'INCR', 'room:a1'), 'NOPERM')
})

test('metrics and lists have the family, with what its names have issued, and none of its names', async (t) => {
  const { client, server } = await withFamily(t)
  for (let name = 0; name < 50; name++) await client.command('INCRBY', `room:${name}`, '2')
  const metrics = await (await fetch(`${server.http}/metrics`)).text()
  assert.deepEqual(
    [...metrics.matchAll(/^fahao_issued_ids_total\{(.*)\} (\d+)$/gm)].map(([, labels, value]) => [
      /room:\*/.test(labels!),
      value,
    ]),
    [[true, '100']],
  )
  assert.deepEqual(await client.command('SCAN', '0'), ['0', ['room:*']])
  assert.equal(await outcome(client, 'DBSIZE'), 1n)
  assert.deepEqual(
    [await outcome(client, 'EXISTS', 'room:7', 'room:none'), await outcome(client, 'TYPE', 'room:none')],
    [2n, 'string'],
  )
  assert.deepEqual(
    [await outcome(client, 'GET', 'room:7'), await outcome(client, 'GET', 'room:none')],
    ['2', null],
  )
})

test('the library opens a family, and its names, which go on above their ids in the next process', async (t) => {
  const library = pathToFileURL(join(import.meta.dirname, '..', '..', 'dist', 'index.js')).href
  const engine = `sqlite:${join(temporaryFolder(t), 'ids.db')}`
  const run = async () => {
    const code = `
      import { openFahao } from '${library}'
      const fahao = await openFahao({ engine: '${engine}' })
      await fahao.open('room:*', { kind: 'sequence', family: true })
      const rooms = [await fahao.open('room:{a}1'), await fahao.open('room:{a}2')]
      const ids = []
      for (const count of [1, 2, 3]) for (const room of rooms) ids.push(Number(await room.next()))
      console.log(JSON.stringify(ids))
      await fahao.close()`
    const running = await startProcess(t, {
      command: process.execPath,
      args: ['--input-type=module', '--eval', code],
      readyWhen: { line: /^\[/ },
    })
    await running.exited
    return JSON.parse(running.output()) as number[]
  }
  assert.deepEqual(await run(), [1, 1, 2, 2, 3, 3])
  assert.deepEqual(await run(), [4, 4, 5, 5, 6, 6])
})
