/** Users with passwords, and certificates. */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { type EtcdCluster, startEtcd } from '../../../launch/etcd.ts'
import { mine, openStore, until } from './stores.ts'

const timeout = 60_000

async function withUser(cluster: EtcdCluster): Promise<void> {
  const root = '--user=root:rootpass'
  await cluster.ctl('user', 'add', 'root:rootpass')
  await cluster.ctl('user', 'grant-role', 'root', 'root')
  await cluster.ctl('role', 'add', 'fahao')
  await cluster.ctl('role', 'grant-permission', 'fahao', 'readwrite', '--prefix=true', 'ids/')
  await cluster.ctl('user', 'add', 'fahao:p@ss')
  await cluster.ctl('user', 'grant-role', 'fahao', 'fahao')
  await cluster.ctl('auth', 'enable')
  await cluster.ctl('get', 'x', root)
}

const protectedCluster = await startEtcd({ after })
await withUser(protectedCluster)
const tlsCluster = await startEtcd({ after }, { tls: true })

describe('an etcd with users', { timeout }, () => {
  const cluster = protectedCluster

  test('serves a user with rights under the prefix alone, watches included', async (t) => {
    const engine = await openStore(t, cluster.url('ids', { user: 'fahao:p%40ss' }))
    const told: string[] = []
    await engine.watch('', ({ key }) => told.push(key))
    assert.equal((await engine.reserve('a', mine)).start, 0n)
    await engine.write('k', 'x', undefined)
    await until(() => told.includes('k'))
    assert.equal(await engine.advance(5n), 1)
    assert.doesNotMatch(engine.location, /p%40ss|p@ss/)
  })

  test('refuses other users with a reason, which never contains the password', async (t) => {
    for (const [prefix, user, message] of [
      ['ids', '', /user name is empty/],
      ['ids', 'fahao:wrong', /authentication failed/],
      ['other', 'fahao:p%40ss', /permission denied/],
    ] as const) {
      await assert.rejects(
        openStore(t, cluster.url(prefix, { user })),
        (error: { code?: string; message: string }) => {
          assert.equal(error.code, 'ENGINE')
          assert.match(error.message, message)
          assert.doesNotMatch(error.message, /wrong|p%40ss|p@ss/)
          return true
        },
      )
    }
  })

  test('fetches a new token by itself when a member rejects the old one, as after a restart', async (t) => {
    const engine = await openStore(t, cluster.url('ids', { user: 'fahao:p%40ss' }))
    const told: string[] = []
    await engine.watch('', ({ key }) => told.push(key))
    const before = await engine.reserve('b', mine)
    await cluster.members[0]!.restart()
    assert.equal((await engine.reserve('b', mine)).start, before.end)
    await engine.write('after', 'x', undefined)
    await until(() => told.includes('after'))
  })
})

describe('an etcd without users', { timeout }, () => {
  test('serves a URL with a user as well, and warns that every client has access', async (t) => {
    const cluster = await startEtcd(t)
    const events: { level: string; message: string }[] = []
    const engine = await openStore(t, cluster.url('ids', { user: 'a:b' }), {}, events as never[])
    assert.equal((await engine.reserve('a', mine)).start, 0n)
    assert.ok(events.some(({ level, message }) => level === 'warn' && /no authentication/.test(message)))
  })
})

describe('an etcd that requires certificates', { timeout }, () => {
  const cluster = tlsCluster

  test('serves a client with a certificate', async (t) => {
    const engine = await openStore(t, cluster.url('ids'))
    assert.match(engine.location, /^etcds:\/\/[^?]*$/)
    const told: string[] = []
    await engine.watch('', ({ key }) => told.push(key))
    assert.equal((await engine.reserve('a', mine)).start, 0n)
    await engine.write('k', 'x', undefined)
    await until(() => told.includes('k'))
  })

  test('is not opened without a certificate, nor without TLS, nor if its own certificate is of an unknown authority', async (t) => {
    const { ca, cert, key } = cluster.certificates!
    const host = `//127.0.0.1:${cluster.members[0]!.clientPort}/ids`
    for (const [url, message] of [
      [`etcds:${host}?ca=${ca}`, /alert bad certificate/],
      [`etcd:${host}`, /cannot be reached/],
      [`etcds:${host}?cert=${cert}&key=${key}`, /unable to verify the first certificate/],
    ] as const)
      await assert.rejects(openStore(t, url, { callTimeoutMs: 1000 }), { code: 'ENGINE', message })
  })
})
