/** What refused requests and failed logins leave in ACL LOG and in the audit trail. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createCommands } from '../../../src/commands/all.ts'
import { RawClient } from '../../launch/raw-client.ts'
import { ReplyError } from '../../launch/raw-reply.ts'
import { Trail } from '../audit/trail.ts'
import { openAccess, setUser } from '../auth/open-access.ts'
import { Desk } from '../commands/desk.ts'
import { serve } from './peer.ts'

async function start(t: TestContext) {
  const { audit, ...trail } = withTexts(new Trail())
  const access = await openAccess(undefined, { audit })
  const desk = new Desk()
  const set = setUser.bind(null, access)
  await set('admin', 'on', '>secret', '~*', '+@all')
  await set('alice', 'on', '>pw', '~a*', '+incr')
  const { server } = await serve(t, {
    table: createCommands(),
    context: (session) => ({
      session,
      catalogue: desk.catalogue,
      server: Object.assign(desk.server, { access, audit }),
    }),
    initialAccess: () => access.initial,
  })
  const client = await RawClient.connect(server.port, t)
  /** The reply; the line of an error. */
  const ask = async (line: string): Promise<unknown> => {
    const reply = await client.command(...line.split(' '))
    return reply instanceof ReplyError ? reply.text : reply
  }
  const asks = async (line: string, reply: RegExp) => assert.match(String(await ask(line)), reply)
  return { ask, asks, trail, audit }
}

function withTexts(trail: Trail) {
  return { audit: trail.audit, texts: () => trail.texts(), stored: () => trail.stored() }
}

test('failed logins are in ACL LOG and in the audit trail, without names that no user has', async (t) => {
  const { asks, trail, audit } = await start(t)
  await asks('AUTH alice wrong', /WRONGPASS/)
  await asks('AUTH hunter2 hunter2', /WRONGPASS/)
  await asks('HELLO 3 AUTH alice wrong', /WRONGPASS/)
  await asks('AUTH alice pw', /OK/)
  assert.deepEqual(
    audit.aclLog
      .entries(10)
      .map(({ reason, context, object, username }) => [reason, context, object, username]),
    [
      ['auth', 'toplevel', 'HELLO', 'alice'],
      ['auth', 'toplevel', 'AUTH', '(unknown)'],
      ['auth', 'toplevel', 'AUTH', 'alice'],
    ],
  )
  assert.match(audit.aclLog.entries(1)[0]!.clientInfo, /^id=\d+ addr=127\.0\.0\.1:/)
  assert.deepEqual((await trail.texts()).sort(), [
    'login  by alice',
    'login-failed  by ',
    'login-failed  by alice',
  ])
  assert.doesNotMatch(JSON.stringify(await trail.stored()), /hunter2|wrong|pw/)
})

test('a request that the permissions refuse is in ACL LOG and in the audit trail, with its command or its key', async (t) => {
  const { asks, trail, audit } = await start(t)
  await asks('AUTH alice pw', /OK/)
  await asks('GET apple', /NOPERM/)
  await asks('INCR banana', /NOPERM/)
  await asks('INCR banana', /NOPERM/)
  await asks('MULTI', /OK/)
  await asks('DEL apple', /NOPERM/)
  assert.deepEqual(
    audit.aclLog.entries(10).map(({ reason, context, object, count }) => [reason, context, object, count]),
    [
      ['command', 'multi', 'del', 1],
      ['key', 'toplevel', 'banana', 2],
      ['command', 'toplevel', 'get', 1],
    ],
  )
  const denied = (await trail.stored()).filter(({ event }) => event === 'denied')
  assert.deepEqual(
    denied.map(({ object, user, detail }) => [object, user, detail]),
    [
      ['del', 'alice', undefined],
      ['incr', 'alice', 'banana'],
      ['get', 'alice', undefined],
    ],
  )
})

test('a refused name of ID.DECODE leaves what a refused key does, within a transaction too', async (t) => {
  const { ask, asks, trail, audit } = await start(t)
  await asks('AUTH admin secret', /OK/)
  await asks('ACL SETUSER alice +id.decode', /OK/)
  await asks('AUTH alice pw', /OK/)
  await asks('ID.DECODE 7 banana', /NOPERM No permissions to access a key/)
  await asks('MULTI', /OK/)
  await asks('ID.DECODE 7 banana', /QUEUED/)
  await ask('EXEC')
  assert.deepEqual(
    audit.aclLog
      .entries(10)
      .map(({ reason, context, object, username }) => [reason, context, object, username]),
    [
      ['key', 'multi', 'banana', 'alice'],
      ['key', 'toplevel', 'banana', 'alice'],
    ],
  )
  const denied = (await trail.stored()).filter(({ event }) => event === 'denied')
  assert.deepEqual(
    denied.map(({ object, user, detail }) => [object, user, detail]),
    [['id.decode', 'alice', 'banana']],
  )
})

test('a refused name of ID.BOUNDS and ID.ENCODE leaves what a refused key does', async (t) => {
  const { asks, trail } = await start(t)
  await asks('AUTH admin secret', /OK/)
  await asks('ACL SETUSER alice +id.bounds +id.encode', /OK/)
  await asks('AUTH alice pw', /OK/)
  await asks('ID.BOUNDS banana FROM 1556928000000', /NOPERM No permissions to access a key/)
  await asks('ID.ENCODE banana AT 1556928000000', /NOPERM No permissions to access a key/)
  await asks('ID.ENCODE LAYOUT twitter AT 1556928000000', /1124463648568246272/)
  const denied = (await trail.stored()).filter(({ event }) => event === 'denied')
  assert.deepEqual(denied.map(({ object, detail }) => [object, detail]).sort(), [
    ['id.bounds', 'banana'],
    ['id.encode', 'banana'],
  ])
})

test('a login that the limit of failures refuses lets its connection rest', async (t) => {
  const { ask } = await start(t)
  for (let failures = 0; failures < 10; failures++) await ask('AUTH alice wrong')
  const startedMs = performance.now()
  for (let limited = 0; limited < 8; ) if (/QUOTA/.test(String(await ask('AUTH alice wrong')))) limited++
  const tookMs = performance.now() - startedMs
  assert.ok(tookMs > 100, `8 refusals took ${tookMs} ms`)
})

test('a request before any login leaves nothing', async (t) => {
  const { asks, trail, audit } = await start(t)
  await asks('INCR apple', /NOAUTH/)
  assert.deepEqual([audit.aclLog.entries(10), await trail.stored()], [[], []])
})

test('ACL LOG shows the refusals with the fields of Redis, and forgets them', async (t) => {
  const { ask, asks, trail } = await start(t)
  await asks('AUTH alice wrong', /WRONGPASS/)
  await asks('AUTH admin secret', /OK/)
  await ask('HELLO 3')
  const [entry] = (await ask('ACL LOG')) as Map<string, unknown>[]
  const names = ['count', 'reason', 'context', 'object', 'username', 'age-seconds', 'client-info', 'entry-id']
  assert.deepEqual([...entry!.keys()], [...names, 'timestamp-created', 'timestamp-last-updated'])
  assert.deepEqual([...entry!.values()].slice(0, 6), [1n, 'auth', 'toplevel', 'AUTH', 'alice', '0'])
  assert.deepEqual(await ask('ACL LOG 0'), [])
  await asks('ACL LOG reset', /OK/)
  assert.deepEqual(await ask('ACL LOG 5'), [])
  await asks('ACL LOG five', /ERR value is not an integer/)
  assert.ok((await trail.texts()).includes('log-reset  by admin'))
})

test('a change of a user names the user that made it, who may be removed by it', async (t) => {
  const { asks, trail } = await start(t)
  await asks('AUTH admin secret', /OK/)
  await asks('ACL SETUSER root on >secret2 ~* +@all', /OK/)
  await asks('ACL DELUSER admin nothing', /^1$/)
  const changes = (await trail.stored()).filter(({ event }) => event.startsWith('user'))
  assert.deepEqual(
    changes.map(({ event, object, user, detail }) => [event, object, user, detail]),
    [
      ['user-deleted', 'nothing', 'admin', '1 of 2 existed'],
      ['user-deleted', 'admin', 'admin', '1 of 2 existed'],
      ['user-set', 'root', 'admin', undefined],
    ],
  )
})
