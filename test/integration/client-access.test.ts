/** fahao-client at a cluster with TLS and users: every node that it is sent to gets the same TLS and login. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, type TestContext, test } from 'node:test'
import { setDefaultCACertificates } from 'node:tls'
import type { ClientEvent } from '../../client/src/events.ts'
import { type ClientOptions, connect } from '../../client/src/index.ts'
import { type CertificateFiles, makeCertificates } from '../launch/certificates.ts'
import { settled } from '../launch/cluster.ts'
import { startEtcd } from '../launch/etcd.ts'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { Scope } from '../launch/lifetime.ts'
import { temporaryFolder } from '../launch/places.ts'
import type { RawClient } from '../launch/raw-client.ts'

const scope = new Scope()
const names = Array.from({ length: 12 }, (_, at) => `order:${at}`)
const admin = { authorization: `Basic ${btoa('admin:secret')}` }
let files: CertificateFiles
/** Neither forwards RESP, so both answer MOVED. */
let nodes: readonly FahaoServer[]
let token: string

/** The login of a user with characters that URLs and Basic credentials escape. */
const password = { username: 'alice', password: 'p:ss wörd' }

/** A connection of a user; it waits until the node knows that user. */
async function loggedIn(node: FahaoServer, user: string, secret: string): Promise<RawClient> {
  for (;;) {
    const client = await node.connect()
    if ((await client.command('AUTH', user, secret)) === 'OK') return client
    await client.close()
  }
}

before(async () => {
  files = await makeCertificates(temporaryFolder(scope))
  const ca = readFileSync(files.ca, 'utf8')
  // fetch takes no other authority.
  setDefaultCACertificates([ca])
  const etcd = await startEtcd(scope)
  const start = () => startFahao(scope, { engine: etcd.url('ids'), tls: files, args: ['--cluster', 'test'] })
  nodes = await Promise.all([start(), start()])
  await settled(nodes)
  // The first user ends the connections without a login.
  const first = await nodes[0]!.connect()
  assert.equal(await first.command('ACL', 'SETUSER', 'admin', 'on', '>secret', '~*', '+@all'), 'OK')
  const root = await loggedIn(nodes[0]!, 'admin', 'secret')
  const rules = ['~order:*', '~user', '~event', '~pool', '+@issue']
  assert.equal(await root.command('ACL', 'SETUSER', 'alice', 'on', `>${password.password}`, ...rules), 'OK')
  for (const [name, kind] of [
    ...names.map((name) => [name, 'sequence'] as const),
    ['user', 'segment'],
    ['event', 'snowflake'],
    ['secret', 'segment'],
  ] as const) {
    const url = `${nodes[0]!.http}/v1/generators/${name}`
    const headers = { ...admin, 'content-type': 'application/json' }
    const made = await fetch(url, { method: 'PUT', headers, body: JSON.stringify({ kind }) })
    assert.ok(made.ok, await made.text())
  }
  const created = await fetch(`${nodes[0]!.http}/v1/tokens`, {
    method: 'POST',
    headers: { ...admin, 'content-type': 'application/json' },
    body: JSON.stringify({ user: 'alice' }),
  })
  token = ((await created.json()) as { token: string }).token
  for (const node of nodes) await loggedIn(node, password.username, password.password)
})
after(() => scope.end())

const tls = () => ({ ca: readFileSync(files.ca) })
const urlsOf = { RESP: () => [`rediss://127.0.0.1:${nodes[0]!.resp}`], HTTP: () => [nodes[0]!.http] }

/** A client that knows one node only, and what failed on its way. */
async function connected(t: TestContext, protocol: 'RESP' | 'HTTP', options: ClientOptions) {
  const events: ClientEvent[] = []
  const client = await connect(urlsOf[protocol](), {
    ...(protocol === 'RESP' && { tls: tls() }),
    // A call that were repeated until its time is over would not end.
    timeoutMs: 3_600_000,
    onEvent: (event) => void events.push(event),
    ...options,
  })
  t.after(() => client.close())
  return { client, events }
}

for (const protocol of ['RESP', 'HTTP'] as const)
  describe(`over ${protocol} with TLS`, () => {
    const logins = {
      'a password': () => password,
      'a token': () => (protocol === 'RESP' ? { username: 'alice', token } : { token }),
    }
    for (const [title, login] of Object.entries(logins))
      test(`a login by ${title} is sent to every leader, and ids of every kind come`, async (t) => {
        const { client, events } = await connected(t, protocol, login())
        for (const name of [...names, 'user', 'event']) {
          const generator = await client.generator(name)
          const first = await generator.next()
          assert.ok((await generator.next()) > first, name)
        }
        assert.equal((await client.leaseWorker('pool')).validForMs() > 0, true)
        assert.deepEqual(events, [])
      })

    test('a wrong password, a wrong token and none are errors at once', async (t) => {
      for (const [options, code] of [
        [{ username: 'alice', password: 'wrong' }, 'WRONGPASS'],
        [{ username: 'alice', token: `${token}x` }, 'WRONGPASS'],
        [{ username: 'unknown', password: 'secret' }, 'WRONGPASS'],
        [{}, 'NOAUTH'],
      ] as const) {
        await assert.rejects(connected(t, protocol, options), { code })
        const { client, events } = await connected(t, protocol, { ...options, lazyConnect: true })
        await assert.rejects(client.generator('user'), { code })
        await assert.rejects(client.leaseWorker('pool'), { code })
        assert.deepEqual(events, [])
      }
    })

    test('a user that may not even ask who it is connects, and issues', async (t) => {
      const root = await loggedIn(nodes[0]!, 'admin', 'secret')
      const user = `narrow-${protocol}`
      assert.equal(
        await root.command('ACL', 'SETUSER', user, 'on', '>secret', '~user', '-@all', '+@issue'),
        'OK',
      )
      const { client } = await connected(t, protocol, { username: user, password: 'secret' })
      assert.ok(await (await client.generator('user')).next())
    })

    test('what the user may not do is NOPERM at once', async (t) => {
      const { client, events } = await connected(t, protocol, password)
      await assert.rejects(client.generator('secret'), { code: 'NOPERM' })
      await assert.rejects(client.leaseWorker('other'), { code: 'NOPERM' })
      assert.deepEqual(events, [])
    })

    test('a user that is switched off keeps what it has, and then gets the error of its login', async (t) => {
      const root = await loggedIn(nodes[0]!, 'admin', 'secret')
      const user = `gone-${protocol}`
      assert.equal(await root.command('ACL', 'SETUSER', user, 'on', '>secret', '~user', '+@issue'), 'OK')
      const { client } = await connected(t, protocol, { username: user, password: 'secret' })
      const generator = await client.generator('user')
      await generator.next()
      assert.equal(await root.command('ACL', 'SETUSER', user, 'off'), 'OK')
      assert.ok(await generator.next())
      await assert.rejects(generator.nextBatch(10_000), { code: 'WRONGPASS' })
      assert.ok(await generator.next())
    })
  })

test('logins in a URL are those of all nodes, and their characters are unescaped', async (t) => {
  for (const [protocol, [url]] of [
    ['RESP', urlsOf.RESP()],
    ['HTTP', urlsOf.HTTP()],
  ] as const) {
    const login = `alice:${encodeURIComponent(password.password)}@`
    const client = await connect(url!.replace('//', `//${login}`), protocol === 'RESP' ? { tls: tls() } : {})
    t.after(() => client.close())
    for (const name of names) await (await client.generator(name)).next()
  }
})

test('a node whose certificate is by another authority is not trusted, and the error says so', async (t) => {
  const other = await makeCertificates(temporaryFolder(t))
  const options = { ...password, tls: { ca: readFileSync(other.ca) } }
  await assert.rejects(connect(urlsOf.RESP(), options), { code: 'UNAVAILABLE', message: /certificate/ })
})
