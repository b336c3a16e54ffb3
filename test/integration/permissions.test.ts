/**
 * Every command over RESP and every operation over HTTP, asked without a login, with the wrong category, the wrong pattern,
 * and the right permissions: a refused request changes nothing and uses up no id. What is expected follows from the
 * permission and the keys of the records, and from the lists here.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { inspect } from 'node:util'
import { readRules } from '../../src/auth/user.ts'
import { createCommands } from '../../src/commands/all.ts'
import { loadConfig } from '../../src/config/load-config.ts'
import { listAll } from '../../src/engine/pages.ts'
import { type HttpServer, startHttpServer } from '../../src/http/server.ts'
import type { FahaoNode } from '../../src/node/node.ts'
import { startNode } from '../../src/node/start.ts'
import { type RespServer, startRespServer } from '../../src/resp/server.ts'
import { RawClient } from '../launch/raw-client.ts'
import { type RawReply, ReplyError } from '../launch/raw-reply.ts'
import { commandRows, compatRows, type HttpRow, operationRows } from '../unit/docs/permissions.ts'
import { FakeClock } from '../unit/fake-clock.ts'

const permissions = ['issue', 'read', 'check', 'manage', 'admin', 'connection'] as const
const withoutLogin = ['auth', 'hello', 'reset', 'quit']
/** Operations that only HTTP has. */
const httpOnly: Readonly<Record<string, (typeof permissions)[number]>> = {
  'http|metrics': 'read',
  'http|live': 'read',
  'http|cluster': 'read',
  'http|cluster-move': 'admin',
  'http|advance': 'admin',
  'http|audit': 'admin',
  'http|tokens': 'admin',
  'http|own-tokens': 'connection',
}
const kinds = {
  target: 'sequence',
  'target:clock': 'snowflake',
  segments: 'segment',
  flake: 'snowflake',
  hidden: 'sequence',
} as const

type User = { readonly name: string; readonly rules: readonly string[] }
/** Has one permission only, or all but one, or patterns that do not match. */
const users: readonly User[] = [
  ...permissions.map((each) => ({ name: `only-${each}`, rules: ['-@all', `+@${each}`, '~*'] })),
  ...permissions.map((each) => ({ name: `not-${each}`, rules: ['+@all', `-@${each}`, '~*'] })),
  { name: 'elsewhere', rules: ['+@all', '~other*'] },
  { name: 'right', rules: ['+@all', '~target*'] },
]

type Outcome = 'NOAUTH' | 'NOPERM command' | 'NOPERM key' | 'passes'

const clock = new FakeClock()
let node: FahaoNode
let resp: RespServer
let http: HttpServer

before(async () => {
  const { config } = loadConfig({
    flags: {
      engine: 'memory:',
      resp: 'off',
      http: 'off',
      compat: ['leaf', 'idbuilder', 'tinyid', 'cosid'] as never,
    },
  })
  // Nothing changes by time: what a request does not do stays as it is.
  node = await startNode(config, { clock })
  const { catalogue, server, access } = node
  const setUser = (name: string, ...rules: string[]) =>
    access.users.set(name, readRules(['on', 'nopass', ...rules], access.subjects, access.passwords))
  await setUser('root', '~*', '+@all')
  for (const { name, rules } of users) await setUser(name, ...rules)
  resp = await startRespServer({
    host: '127.0.0.1',
    port: 0,
    table: createCommands(),
    context: (session) => ({ session, catalogue, server }),
    initialAccess: (certificate) => access.initialOf(certificate),
    onError: (error) => assert.fail(String(error)),
  })
  access.users.listen(() => resp.refreshAccess((earlier) => access.present(earlier)))
  http = await startHttpServer({ node, host: '127.0.0.1', port: 0, compat: config.compat })
  await restore()
})
after(async () => {
  await resp.close(0)
  await http.close(0)
  await node.close()
})

/** Creates what an allowed request has dropped. */
async function restore(): Promise<void> {
  for (const [name, kind] of Object.entries(kinds)) {
    if (await node.catalogue.exists(name)) continue
    await node.catalogue.create(name, { kind })
    await (await node.catalogue.open(name)).draw(1)
  }
}

/** What a refused request must not change. The audit trail has the refusal. */
async function state(): Promise<unknown> {
  const records = (await listAll(node.engine, '')).filter(({ key }) => !key.startsWith('audit/'))
  const issued = [...node.catalogue.inUse()].map((each) => [
    each.name,
    each.lastIssued(),
    each.stats().issued,
  ])
  return { records: records.map(({ key, value }) => `${key} ${value}`), issued }
}

/** The reply to one request on a connection of its own. */
async function ask(user: string | undefined, words: readonly string[]): Promise<RawReply> {
  const client = await RawClient.connect(resp.port)
  try {
    if (user !== undefined) assert.equal(await client.command('AUTH', user, 'any'), 'OK')
    return await client.command(...words)
  } finally {
    await client.close()
  }
}

/** By default of a generator whose name `right` reaches: for Leaf's route of snowflakes, one of these. */
async function send(
  user: string | undefined,
  { method, path, query, body }: HttpRow,
  name = path.includes('/snowflake/') ? 'target:clock' : 'target',
) {
  const fill = (text: string) => text.replaceAll(/\{(?:name|key|pool|lease|namespace)\}/g, name)
  return fetch(`http://127.0.0.1:${http.port}${fill(path)}${fill(query)}`, {
    method,
    headers: {
      // A connection of its own: the server has one wait on which it has refused many requests.
      connection: 'close',
      ...(user && { authorization: user.startsWith('Bearer ') ? user : `Basic ${btoa(`${user}:any`)}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
}

const byName = new Map(commandRows().map(({ name, command }) => [name, command.permission]))

function permissionOf(command: string): (typeof permissions)[number] {
  const permission = httpOnly[command] ?? byName.get(command)
  assert.ok(permission, `${command} is missing in the list of this test`)
  return permission
}

function expected(
  user: string | undefined,
  permission: (typeof permissions)[number],
  { open, names }: { open: boolean; names: boolean },
): Outcome {
  if (open) return 'passes'
  if (user === undefined) return 'NOAUTH'
  const [how, which] = user.split('-')
  if (how === 'only') return which === permission ? 'passes' : 'NOPERM command'
  if (how === 'not') return which === permission ? 'NOPERM command' : 'passes'
  return user === 'elsewhere' && names ? 'NOPERM key' : 'passes'
}

function outcomeOf(message: string): Outcome {
  if (message.includes('NOAUTH')) return 'NOAUTH'
  if (/no permissions to run/.test(message)) return 'NOPERM command'
  return /No permissions to access a key/.test(message) ? 'NOPERM key' : 'passes'
}

describe('permissions', () => {
  const callers = [undefined, ...users.map(({ name }) => name)]

  test('are checked of every command over RESP, and a refused one changes nothing', async () => {
    let cells = 0
    for (const { name, command } of commandRows()) {
      const words = name.split('|')
      while (words.length < Math.abs(command.arity)) words.push('target')
      for (const user of callers) {
        // HELLO without AUTH only answers a client that has authenticated.
        const open = withoutLogin.includes(name) && !(name === 'hello' && user === undefined)
        const facts = { open, names: command.keys !== undefined }
        const wanted = expected(user, command.permission, facts)
        const earlier = wanted === 'passes' ? undefined : await state()
        const reply = await ask(user, words)
        const what = `${words.join(' ')} of ${user ?? 'no user'}`
        assert.equal(outcomeOf(reply instanceof ReplyError ? reply.text : ''), wanted, what)
        if (earlier === undefined) await restore()
        else assert.deepEqual(await state(), earlier, what)
        cells++
      }
    }
    assert.ok(cells > 1000, `${cells}`)
  })

  test('are checked of every operation over HTTP, and a refused one changes nothing', async () => {
    for (const row of [...(await operationRows()), ...compatRows()]) {
      const { command, namesGenerator, path } = row
      const open = command === undefined
      const permission = open ? 'connection' : permissionOf(command)
      for (const user of callers) {
        const wanted = expected(user, permission, { open, names: namesGenerator })
        const what = `${row.method} ${row.path} of ${user ?? 'no user'}`
        const earlier = wanted === 'passes' ? undefined : await state()
        const answer = await send(user, row)
        // The services that the compatible APIs replace have statuses of their own.
        const text = `${await answer.text()} ${answer.headers.get('fahao-error')}`
        assert.equal(answer.ok ? 'passes' : outcomeOf(text), wanted, `${what}: ${answer.status}`)
        if (wanted !== 'passes') assert.ok([401, 403, 500].includes(answer.status), what)
        if (path.startsWith('/v1'))
          assert.equal([401, 403].includes(answer.status), wanted !== 'passes', what)
        if (earlier === undefined) await restore()
        else assert.deepEqual(await state(), earlier, what)
      }
    }
  })

  test('are those of a token while it is valid, and none once it has expired or was revoked', async () => {
    const { users, tokens, subjects, passwords } = node.access
    await users.set('team', readRules(['on', '>secret', '+@all', '~target*'], subjects, passwords))
    const create = (lifetimeMs?: number) =>
      tokens.create({ user: 'team', label: 'test', lifetimeMs, by: 'root', commands: ['+@all', '-@admin'] })
    const valid = await create()
    const revoked = await create()
    await tokens.revoke(revoked.token.id)
    const expired = await create(1)
    await clock.pass(2)
    assert.ok(!tokens.isValid(expired.token))
    const rows = [...(await operationRows()), ...compatRows()].filter(({ command }) => command !== undefined)
    for (const row of rows) {
      for (const { text } of [expired, revoked, { text: `${valid.text.slice(0, -1)}!` }]) {
        const earlier = await state()
        const answer = await send(`Bearer ${text}`, row)
        assert.ok([401, 500].includes(answer.status), row.path)
        assert.match(
          `${await answer.text()} ${answer.headers.get('fahao-error')}`,
          /WRONGPASS|token is unknown/,
        )
        assert.deepEqual(await state(), earlier, row.path)
      }
      const answer = await send(`Bearer ${valid.text}`, row)
      // A token must not make another one, which would outlive it.
      const isAdmin =
        permissionOf(row.command!) === 'admin' || `${row.method} ${row.path}` === 'POST /v1/tokens'
      const text = `${await answer.text()} ${answer.headers.get('fahao-error')}`
      assert.equal(answer.ok ? 'passes' : outcomeOf(text), isAdmin ? 'NOPERM command' : 'passes', row.path)
      await restore()
    }
  })

  test('hide the names of generators that no pattern matches, wherever names are replied', async () => {
    const setNamespace = (name: string, match: string) => node.server.meters.namespaces.set(name, { match })
    // The advance of the store has closed them.
    for (const name of Object.keys(kinds)) await (await node.catalogue.open(name)).draw(1)
    await setNamespace('own', 'target*')
    await setNamespace('foreign', 'hidden*')
    const shown = async (...words: string[]) => {
      const reply = await ask('right', words)
      return reply instanceof ReplyError ? reply.text : inspect(reply, { depth: 9 })
    }
    const listing = [['KEYS', '*'], ['SCAN', '0'], ['ID.LIST'], ['ID.NAMESPACE', 'LIST']]
    for (const words of listing) {
      const reply = await shown(...words)
      assert.match(reply, /target/, words.join(' '))
      assert.doesNotMatch(reply, /hidden|segments|\bflake/, words.join(' '))
    }
    assert.equal(await shown('DBSIZE'), '2n')
    assert.equal(await shown('ID.NAMESPACE', 'GET', 'foreign'), 'null')
    for (const words of [['INFO'], ['CLIENT', 'INFO'], ['COMMAND', 'GETKEYS', 'GET', 'target']]) {
      assert.doesNotMatch(await shown(...words), /hidden/, words.join(' '))
    }
    const get = async (path: string, user: string | undefined = 'right') =>
      (await send(user, { method: 'GET', path, query: '', command: '', namesGenerator: false })).text()
    const live = '/v1/live?ticks=0&generators=target,hidden'
    for (const path of ['/v1/generators', '/metrics', live, '/cache', '/db', '/v1/namespaces']) {
      assert.match(await get(path), /target/, path)
      assert.doesNotMatch(await get(path), /hidden|"flake|"segments/, path)
      assert.match(await get(path, 'only-read'), /hidden/, path)
    }
    for (const path of ['/', '/docs', '/openapi.json', '/healthz', '/readyz']) {
      assert.doesNotMatch(await get(path, undefined), />(hidden|target|segments|flake)</, path)
    }
  })

  test('tell nothing about a generator that no pattern matches: not even whether there is one', async () => {
    const requests = [
      ['GET'],
      ['EXISTS'],
      ['TYPE'],
      ['INCR'],
      ['ID.NEXT'],
      ['ID.INFO'],
      ['ID.DROP'],
      ['DEL', 'target'],
      ['MGET', 'target'],
      ['ID.DECODE', '5'],
      ['ID.CREATE'],
    ]
    const tail: Readonly<Record<string, readonly string[]>> = { 'ID.CREATE': ['KIND', 'sequence'] }
    for (const words of requests) {
      const replies: string[] = []
      for (const name of ['hidden', 'absent']) {
        const reply = await ask('right', [...words, name, ...(tail[words[0]!] ?? [])])
        replies.push(reply instanceof ReplyError ? reply.text : `${reply}`)
      }
      assert.match(replies[0]!, /^NOPERM No permissions to access a key/, words.join(' '))
      assert.equal(replies[0], replies[1])
    }
    const rows = [...(await operationRows()), ...compatRows()].filter(({ namesGenerator }) => namesGenerator)
    const decode = { method: 'GET', path: '/v1/decode', query: '?id=5&generator={name}', command: '' }
    for (const row of [...rows, { ...decode, namesGenerator: true }]) {
      const answers = await Promise.all(['hidden', 'absent'].map((name) => send('right', row, name)))
      const texts = await Promise.all(answers.map((answer) => answer.text()))
      assert.ok(
        answers.every(({ ok }) => !ok),
        row.path,
      )
      const neutral = (text: string) => text.replaceAll(/hidden|absent|"timestamp":\d+/g, '')
      assert.equal(neutral(texts[0]!), neutral(texts[1]!), row.path)
    }
  })

  test('of a new user are those of a connection: no list of the others, and no end of theirs', async () => {
    await ask('root', ['ACL', 'SETUSER', 'newcomer', 'on', 'nopass'])
    for (const words of [
      ['CLIENT', 'LIST'],
      ['CLIENT', 'KILL', 'USER', 'root'],
      ['ACL', 'LIST'],
      ['KEYS', '*'],
    ]) {
      const reply = await ask('newcomer', words)
      assert.ok(reply instanceof ReplyError)
      assert.match(reply.text, /NOPERM User newcomer has no permissions to run/, words.join(' '))
    }
    assert.equal(await ask('newcomer', ['PING']), 'PONG')
  })
})
