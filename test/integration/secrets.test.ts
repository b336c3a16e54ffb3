/**
 * Secrets never appear: a real server at the log level `trace` receives passwords, hashes, tokens and keys, right and wrong
 * ones, in the right and the wrong place. What it prints, replies and stores is searched for each of them.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { inspect } from 'node:util'
import { openEngine } from '../../src/engine/open.ts'
import { listAll } from '../../src/engine/pages.ts'
import { engineOptions } from '../conformance/store-under-test.ts'
import { makeCertificates } from '../launch/certificates.ts'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { Scope } from '../launch/lifetime.ts'
import { startMariaDb } from '../launch/mariadb.ts'
import { temporaryFolder } from '../launch/places.ts'
import { runProgram } from '../launch/program.ts'
import type { RawClient } from '../launch/raw-client.ts'
import { type RawReply, ReplyError } from '../launch/raw-reply.ts'

const sha256 = (password: string) => createHash('sha256').update(password).digest('hex')

/** Every secret contains this, so that what is derived from none of them cannot match. */
const mark = 'Zx9'
const secrets = {
  admin: `${mark}-admin-password`,
  alice: `${mark}-alice-password`,
  hashed: `${mark}-hashed-password`,
  wrong: `${mark}-wrong-password`,
  swapped: `${mark}-password-as-name`,
  rule: `${mark}-password-without-sign`,
  bearer: `fahao_${mark}_unknown-token`,
  query: `${mark}-token-in-query`,
  tinyid: `${mark}-tinyid-token`,
  database: `${mark}-database-password`,
} as const

const scope = new Scope()
let fahao: FahaoServer
let engine: string
let ca: string
let caFile: string
let tlsKey: string
/** Everything that left the server, by where it was. */
const seen = new Map<string, string>()
/** The text of a token that the server has made, and the secret in it. */
let token: string
let tokenSecret: string

before(async () => {
  const database = await startMariaDb(scope)
  await database.admin(`
    CREATE DATABASE ids;
    CREATE USER guarded@'127.0.0.1' IDENTIFIED BY '${secrets.database}';
    GRANT ALL PRIVILEGES ON ids.* TO guarded@'127.0.0.1'`)
  engine = `mysql://guarded:${secrets.database}@127.0.0.1:${database.port}/ids`
  const files = await makeCertificates(join(temporaryFolder(scope), 'tls'))
  caFile = files.ca
  ca = readFileSync(caFile, 'utf8')
  tlsKey = readFileSync(files.key, 'utf8').split('\n')[1]!
  fahao = await startFahao(scope, {
    engine,
    env: { FAHAO_ADMIN_PASSWORD: secrets.admin },
    args: [
      ...['--log-level', 'trace', '--cluster', 'one', '--lease-ttl', '3s'],
      ...['--tls-cert', files.cert, '--tls-key', files.key, '--tls-on', 'http'],
      ...['--compat', 'leaf', '--compat', 'tinyid', '--compat', 'idbuilder'],
      ...['--tinyid-tokens', `${secrets.tinyid}=order*`],
      // A client sends all its wrong passwords before the right one.
      ...['--resp-unauthenticated-timeout', '10m'],
    ],
    readyWithinMs: 60_000,
  })
})
after(() => scope.end())

type HttpOptions = {
  readonly method?: string
  readonly authorization?: string
  readonly body?: unknown
  /** Whether the answer is the one that shows a secret. */
  readonly showsSecret?: boolean
}

/** One HTTP request, and its whole answer. */
async function http(path: string, options: HttpOptions = {}) {
  const { method = 'GET', authorization, body, showsSecret = false } = options
  const headers = {
    ...(authorization && { authorization }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
  }
  const url = new URL(path, fahao.http.replace('http:', 'https:'))
  const answer = await new Promise<{ status: number; text: string }>((resolve, reject) => {
    const sent = request(url, { method, headers, ca }, (reply) => {
      const head = `${inspect(reply.headers)}\n`
      text(reply).then((whole) => resolve({ status: reply.statusCode!, text: head + whole }), reject)
    })
    sent.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body))
  })
  if (!showsSecret) seen.set(`${method} ${path.replaceAll(/Zx9[\w-]*/g, '…')} ${seen.size}`, answer.text)
  return answer
}

const basic = (user: string, password: string) => `Basic ${btoa(`${user}:${password}`)}`
const shown = (reply: RawReply) =>
  reply instanceof ReplyError
    ? reply.text
    : inspect(reply, { depth: 9, maxArrayLength: null, maxStringLength: null })

/** One command, its reply noted. */
async function ask(client: RawClient, ...words: string[]): Promise<string> {
  const reply = shown(await client.command(...words))
  seen.set(`${words[0]} ${seen.size}`, reply)
  return reply
}

describe('secrets', () => {
  test('are accepted where they belong, and refused where they do not', async () => {
    const admin = await fahao.connect()
    assert.equal(await ask(admin, 'AUTH', 'admin', secrets.admin), "'OK'")
    const rules = ['on', `>${secrets.alice}`, `#${sha256(secrets.hashed)}`, '~order*', '+@all']
    assert.equal(await ask(admin, 'ACL', 'SETUSER', 'alice', ...rules), "'OK'")
    assert.match(await ask(admin, 'ACL', 'SETUSER', 'alice', `>${secrets.alice}`, '+nope'), /^ERR/)
    assert.match(await ask(admin, 'ACL', 'SETUSER', 'alice', `<${secrets.wrong}`), /^ERR/)
    assert.match(await ask(admin, 'ACL', 'SETUSER', 'alice', `>${secrets.wrong.repeat(60)}`), /^ERR/)
    assert.match(await ask(admin, 'ACL', 'SETUSER', 'alice', `#${secrets.wrong}`), /^ERR/)
    const created = await ask(admin, 'ID.CREATE', 'order:hidden', 'KIND', 'segment', 'SCRAMBLE', 'yes')
    assert.equal(created, "'OK'")
    assert.match(await ask(admin, 'ID.NEXT', 'order:hidden'), /\d/)

    const client = await fahao.connect()
    for (const words of [
      ['AUTH', 'alice', secrets.wrong],
      ['AUTH', secrets.wrong],
      ['AUTH', secrets.swapped, 'alice'],
      ['AUTH', 'alice', secrets.alice, secrets.wrong],
      ['HELLO', '3', 'AUTH', 'alice', secrets.wrong],
      ['HELLO', '3', 'AUTH', secrets.swapped, 'alice'],
      ['HELLO', '3', 'AUTH', 'alice', secrets.alice, 'SETNAME'],
      ['HELLO', '9', 'AUTH', 'alice', secrets.alice],
    ]) {
      assert.match(await ask(client, ...words), /^(ERR|WRONGPASS|NOAUTH|NOPROTO)/, words[0])
    }
    assert.equal(await ask(client, 'AUTH', 'alice', secrets.hashed), "'OK'")
    assert.match(await ask(client, 'HELLO', '3', 'AUTH', 'alice', secrets.alice), /fahao|redis/)
    assert.match(await ask(client, 'GET', 'foreign'), /^NOPERM/)

    for (const authorization of [
      basic('alice', secrets.wrong),
      basic(secrets.swapped, 'alice'),
      `Basic ${btoa(secrets.wrong)}`,
      `Bearer ${secrets.bearer}`,
      `Digest ${secrets.wrong}`,
      secrets.wrong,
    ]) {
      const answer = await http('/v1/generators', { authorization })
      assert.ok(answer.status === 401 || answer.status === 429, `${answer.status} ${answer.text}`)
    }
    assert.equal((await http('/v1/generators', { authorization: basic('alice', secrets.alice) })).status, 200)
    const body = { user: 'alice', label: 'build server', rules: ['~order*', '+@issue'] }
    const authorization = basic('admin', secrets.admin)
    const shownOnce = await http('/v1/tokens', { method: 'POST', authorization, body, showsSecret: true })
    token = /fahao_[0-9a-f]{16}_[\w-]{43}/.exec(shownOnce.text)![0]
    tokenSecret = token.slice(-43)
    const next = `/v1/generators/order%3Ahidden/next`
    assert.equal((await http(next, { method: 'POST', authorization: `Bearer ${token}` })).status, 200)
    assert.equal((await http('/v1/audit', { authorization: `Bearer ${token}` })).status, 403)
    assert.equal(await ask(client, 'AUTH', 'alice', token), "'OK'")
    assert.match(await ask(client, 'AUTH', 'admin', token), /^WRONGPASS/)
    assert.match(await ask(client, 'AUTH', token), /^WRONGPASS/)
    for (const path of [
      `/api/segment/get/order?access_token=${token}`,
      `/api/segment/get/foreign?access_token=${token}`,
      `/id-builder/increase-seq-id?code=foreign&access_token=${token}`,
      `/tinyid/id/nextId?bizType=order:hidden&token=${token}`,
      `/tinyid/id/nextId?bizType=foreign&token=${token}`,
      `/v1/generators?access_token=${token}`,
      `/nowhere/${token}`,
      `/api/snowflake/get/order/${token}`,
      `/tinyid/${token}`,
      `/api/segment/get/order?access_token=${secrets.query}`,
      `/id-builder/increase-seq-id?code=order&access_token=${secrets.query}`,
      `/tinyid/id/nextId?bizType=order&token=${secrets.tinyid}`,
      `/tinyid/id/nextId?bizType=foreign&token=${secrets.tinyid}`,
      `/tinyid/id/nextIdSimple?bizType=order&token=${secrets.query}`,
      `/v1/generators?access_token=${secrets.query}`,
    ]) {
      await http(path)
    }
  })

  test('are in no reply and no page that describes the server', async () => {
    const admin = await fahao.connect()
    await ask(admin, 'AUTH', 'admin', secrets.admin)
    for (const words of [
      ['INFO', 'everything'],
      ['CONFIG', 'GET', '*'],
      ['CLIENT', 'LIST'],
      ['CLIENT', 'INFO'],
      ['ACL', 'LOG'],
      ['ACL', 'LIST'],
      ['ACL', 'USERS'],
      ['ACL', 'GETUSER', 'alice'],
      ['ACL', 'WHOAMI'],
      ['COMMAND', 'DOCS'],
      ['CLUSTER', 'NODES'],
      ['CLUSTER', 'SHARDS'],
      ['ID.INFO', 'order:hidden'],
      ['ID.LIST'],
    ]) {
      await ask(admin, ...words)
    }
    const authorization = basic('admin', secrets.admin)
    for (const path of [
      '/',
      '/docs',
      '/openapi.json',
      '/healthz',
      '/readyz',
      '/metrics',
      '/cache',
      '/db',
      '/v1/generators',
      '/v1/generators/order%3Ahidden',
      '/v1/cluster',
      '/v1/namespaces',
      '/v1/audit?limit=1000',
      '/v1/users',
      '/v1/tokens',
    ]) {
      assert.equal((await http(path, { authorization })).status, 200, path)
    }
    const verb = (...words: string[]) => {
      const program = [process.execPath, join(import.meta.dirname, '../../dist/fahao.js'), ...words]
      const server = { FAHAO_URL: fahao.http.replace('http:', 'https:'), NODE_EXTRA_CA_CERTS: caFile }
      return runProgram(program, { env: { ...server, FAHAO_PASSWORD: secrets.admin } })
    }
    const flags = ['--engine', engine, '--tinyid-tokens', `${secrets.tinyid}=order*`]
    seen.set('fahao config', await verb('config', ...flags))
    for (const words of [['audit'], ['audit', '--json'], ['token', 'list'], ['user', 'list']])
      seen.set(`fahao ${words.join(' ')}`, await verb(...words, '--user', 'admin'))
    // Entries are written a moment after the requests that they are about.
    const whole = /token-created .*\n(.*\n)*.*login-failed /
    for (let looks = 0; looks < 50 && !whole.test(seen.get('fahao audit')!); looks++)
      seen.set('fahao audit', await verb('audit', '--user', 'admin'))
    assert.match(seen.get('fahao audit')!, whole)
    const stored = await records()
    const scrambleKeys = [...stored.values()].flatMap((value) => value.match(/"key":"[^"]{16,}"/g) ?? [])
    const nodeSecret = stored.get('auth/node-secret')
    assert.ok(nodeSecret !== undefined && nodeSecret.length > 30)
    await fahao.kill('SIGTERM')
    seen.set('the log', fahao.output())
    assert.match(fahao.output(), /login-failed/)

    const searched = [
      ...Object.values(secrets),
      ...Object.values(secrets).map(sha256),
      ...Object.values(secrets).map((each) => Buffer.from(each).toString('base64').slice(0, -4)),
      tlsKey,
      nodeSecret,
      ...scrambleKeys.map((match) => match.split('"')[3]!),
      tokenSecret,
      sha256(tokenSecret),
    ]
    for (const [where, whole] of seen) {
      for (const secret of searched)
        assert.ok(!whole.includes(secret), `'${secret}' is in ${where}: ${whole}`)
      assert.ok(!whole.includes(mark), `a part of a secret is in ${where}: ${whole}`)
    }
  })

  test('are stored as slow hashes only', async () => {
    const stored = await records()
    assert.ok([...stored.keys()].some((key) => key === 'users/alice'))
    assert.match(stored.get('users/alice')!, /scrypt/)
    for (const [key, value] of stored) {
      for (const secret of [...Object.values(secrets), ...Object.values(secrets).map(sha256), tokenSecret]) {
        assert.ok(!key.includes(secret) && !value.includes(secret), `'${secret}' is in ${key}`)
      }
    }
  })
})

/** Every record of the engine. */
async function records(): Promise<Map<string, string>> {
  const opened = await openEngine(engine, engineOptions())
  try {
    return new Map((await listAll(opened, '')).map(({ key, value }) => [key, value]))
  } finally {
    await opened.close()
  }
}
