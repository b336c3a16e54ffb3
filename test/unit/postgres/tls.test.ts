import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { after, before, describe, type TestContext, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import type { CertificateOptions } from '../../../src/listening/certificates.ts'
import { type CertificateFiles, makeCertificates } from '../../launch/certificates.ts'
import { temporaryFolder } from '../../launch/places.ts'
import { openCertificates } from '../listening/open-certificates.ts'
import { framed, int32, query, RawPostgres, serve, serveOrder, startup } from './serve.ts'

const folder = temporaryFolder({ after })
let files: CertificateFiles
let alice: CertificateFiles
before(async () => {
  files = await makeCertificates(folder)
  alice = await makeCertificates(folder, 'alice')
})

const sslRequest = framed(int32(80877103))
const pemOf = ({ cert, key }: CertificateFiles) => ({ cert: readFileSync(cert), key: readFileSync(key) })

async function start(t: TestContext, options: Partial<CertificateOptions> = {}) {
  const served = await serveOrder(t, { tls: await openCertificates(t, files, options) })
  return { ...served, ca: readFileSync(files.ca) }
}

describe('with a certificate', () => {
  test('a client asks for TLS, and draws', async (t) => {
    const { client, ca, faults, server } = await start(t)
    const connected = await client({ ssl: { ca } })
    assert.equal((await connected.query("SELECT nextval('order')")).rows[0].nextval, '1')
    const { rows } = await connected.query("SELECT nextval('order') FROM generate_series(1, 20000)")
    assert.equal(rows.at(-1).nextval, '20001')
    assert.equal(server.stats.connections, 1)
    await connected.end()
    while (server.stats.connections > 0) await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual(faults, [])
  })

  test('a client may begin with TLS at once', async (t) => {
    const { server, ca } = await start(t)
    const socket = connectTls({ port: server.port, host: '127.0.0.1', ca, ALPNProtocols: ['postgresql'] })
    t.after(() => socket.destroy())
    const client = new RawPostgres(socket)
    await once(socket, 'secureConnect')
    client.send(startup({ user: 'app' }))
    assert.equal((await client.until('Z')).at(-1)!.type, 'Z')
    client.send(query("SELECT nextval('order')"))
    assert.equal(await client.types(), 'TDCZI')
  })

  test('a client without TLS is refused before it sends a password', async (t) => {
    const { client, raw, setUser } = await start(t)
    await setUser('app', '>secret', '~*', '+@all')
    await assert.rejects(client({ password: 'secret' }), { code: '28000', message: /speaks TLS only/ })
    const gssapi = await raw()
    gssapi.send(framed(int32(80877104)))
    assert.equal(await gssapi.byte(), 'N')
    gssapi.send(startup({ user: 'app' }))
    assert.equal((await gssapi.error()).C, '28000')
  })

  test('bytes that come in the clear after the request for TLS are refused', async (t) => {
    const { raw } = await start(t)
    const client = await raw()
    client.send(sslRequest, startup({ user: 'app' }))
    assert.equal(await client.byte(), 'S')
    assert.equal((await client.error()).C, '08P01')
    await client.ended
  })

  test('a handshake that fails costs its connection only', async (t) => {
    const { raw, client, ca, server } = await start(t)
    const broken = await raw()
    broken.send(sslRequest)
    assert.equal(await broken.byte(), 'S')
    broken.send(Buffer.from('nonsense'))
    await broken.ended
    const connected = await client({ ssl: { ca } })
    assert.equal((await connected.query("SELECT nextval('order')")).rows[0].nextval, '1')
    assert.equal(server.stats.connections, 1)
  })

  test('a handshake that does not end is ended, and others may begin one', async (t) => {
    const { raw, server } = await start(t, { handshakeTimeoutMs: 50 })
    for (const bytes of [Buffer.from([0x16, 3, 1, 2]), Buffer.from([0x16])]) {
      const silent = await raw()
      silent.send(sslRequest)
      assert.equal(await silent.byte(), 'S')
      silent.send(bytes)
      await silent.ended
    }
    while (server.stats.connections > 0) await new Promise((resolve) => setImmediate(resolve))
    const direct = await raw()
    direct.send(Buffer.from([0x16]))
    await direct.ended
  })

  test('the user of a valid certificate needs no password, and another user does', async (t) => {
    const { client, ca, setUser } = await start(t, { clientAuth: 'optional' })
    await setUser('admin', '>secret', '~*', '+@all')
    await setUser('alice', '>secret', '~*', '+@issue')
    const ssl = { ca, ...pemOf(alice) }
    const connected = await client({ ssl, user: 'alice' })
    assert.equal((await connected.query("SELECT nextval('order')")).rows[0].nextval, '1')
    await assert.rejects(client({ ssl, user: 'admin', password: 'wrong' }), { code: '28P01' })
    await client({ ssl, user: 'admin', password: 'secret' })
    await assert.rejects(client({ ssl: { ca }, user: 'alice', password: 'wrong' }), { code: '28P01' })
  })

  test('a stop ends connections in the middle of a handshake', async (t) => {
    const { raw, server } = await start(t)
    const client = await raw()
    client.send(sslRequest)
    assert.equal(await client.byte(), 'S')
    await server.close(5000)
    await client.ended
  })
})

test('without a certificate a client goes on in the clear', async (t) => {
  const { raw } = await serve(t)
  const client = await raw()
  client.send(sslRequest)
  assert.equal(await client.byte(), 'N')
  client.send(startup({ user: 'app' }))
  assert.equal((await client.until('Z')).at(-1)!.type, 'Z')
})
