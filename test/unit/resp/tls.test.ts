import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { after, before, describe, type TestContext, test } from 'node:test'
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls'
import type { CertificateOptions } from '../../../src/listening/certificates.ts'
import type { RespServerOptions } from '../../../src/resp/server.ts'
import type { RespSession } from '../../../src/resp/session.ts'
import { type CertificateFiles, makeCertificates } from '../../launch/certificates.ts'
import { temporaryFolder } from '../../launch/places.ts'
import { openCertificates } from '../listening/open-certificates.ts'
import { frame, Peer, serve } from './peer.ts'

/** The first byte of an alert (RFC 8446, 5.1). */
const tlsAlert = 21
const folder = temporaryFolder({ after })
let files: CertificateFiles
let alice: CertificateFiles
before(async () => {
  files = await makeCertificates(folder)
  alice = await makeCertificates(folder, 'alice')
})

async function start(
  t: TestContext,
  options: Partial<CertificateOptions> = {},
  serving: Partial<RespServerOptions> = {},
) {
  const tls = await openCertificates(t, files, options)
  const { server, world } = await serve(t, { tls, ...serving })
  const names = () => [...server.sessions()].map((session) => (session as RespSession).certificateName)
  /** A client that speaks TLS. */
  const peer = async (more: ConnectionOptions = {}) => {
    const socket = connectTls({ port: server.port, host: '127.0.0.1', ca: readFileSync(files.ca), ...more })
    const opened = Peer.over(socket)
    await once(socket, 'secureConnect')
    return opened
  }
  /** A connection that sends no handshake, or a part of one. */
  const raw = async (): Promise<{ socket: Socket; closed: Promise<string> }> => {
    const opened = Peer.over(connect({ port: server.port, host: '127.0.0.1' }))
    await once(opened.socket, 'connect')
    return opened
  }
  return { server, world, names, peer, raw }
}

const pemOf = ({ cert, key }: CertificateFiles) => ({ cert: readFileSync(cert), key: readFileSync(key) })

describe('RESP over TLS', () => {
  test('answers in order, small requests and large pipelines', async (t) => {
    const { server, peer } = await start(t)
    const client = await peer()
    await client.ask(frame('ECHO', 'a') + frame('PING'), '$1\r\na\r\n+OK\r\n')
    const text = 'x'.repeat(1000)
    await client.ask(frame('ECHO', text).repeat(1000), `$1000\r\n${text}\r\n`.repeat(1000))
    assert.equal(server.stats.connections, 1)
  })

  test('answers what came before the end of the input', async (t) => {
    const { peer, world } = await start(t)
    const client = await peer()
    client.socket.end(frame('PING') + frame('WAIT'))
    await world.release('done')
    assert.equal(await client.closed, '+OK\r\n$4\r\ndone\r\n')
  })

  test('holds few replies for a client that does not read, and drops it in time', async (t) => {
    const limits = { unreadMaxBytes: 100_000, unreadTimeoutMs: 300 }
    const { server, peer, world } = await start(t, {}, { limits })
    const client = await peer()
    client.socket.pause()
    const request = frame('ECHO', 'x'.repeat(1000)).repeat(1000)
    let most = 0
    const watch = setInterval(() => {
      for (const session of server.sessions()) most = Math.max(most, session.unreadBytes)
    })
    t.after(() => clearInterval(watch))
    for (let times = 0; times < 30; times++) client.send(request)
    while (server.stats.connections === 0 || most === 0) await new Promise(setImmediate)
    while (server.stats.connections > 0) await new Promise(setImmediate)
    assert.ok(most < 300_000, `${most} bytes were held`)
    assert.deepEqual(world.errors, [])
  })

  test('refuses versions before TLS 1.2', async (t) => {
    const { peer } = await start(t)
    await assert.rejects(peer({ minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' }))
    await (await peer({ maxVersion: 'TLSv1.2' })).ask(frame('PING'), '+OK\r\n')
  })

  test('answers bytes that are no TLS with nothing that a client could take for a reply', async (t) => {
    const { server, world, raw, peer } = await start(t)
    for (const bytes of [frame('PING'), 'PING\r\n', 'GET / HTTP/1.1\r\n\r\n', '\x16\x03\x01\xff\xff\xff']) {
      const { socket, closed } = await raw()
      socket.write(bytes, 'latin1')
      socket.end()
      const answer = await closed
      assert.ok(answer === '' || answer.charCodeAt(0) === tlsAlert, answer)
    }
    assert.deepEqual([world.ran, world.errors, server.stats.commands], [[], [], 0])
    await (await peer()).ask(frame('PING'), '+OK\r\n')
  })
})

test('a port without TLS answers a TLS handshake with an error, at once', async (t) => {
  const { server } = await serve(t)
  const socket = connectTls({ port: server.port, host: '127.0.0.1' })
  const [error] = (await once(socket, 'error')) as [NodeJS.ErrnoException]
  assert.equal(error.code, 'ERR_SSL_WRONG_VERSION_NUMBER')
  const peer = await Peer.to(server)
  peer.send('\x16\x03\x01')
  assert.equal(await peer.closed, '-ERR Protocol error: this port does not speak TLS\r\n')
})

describe('a handshake', () => {
  test('has a deadline, also while bytes arrive', async (t) => {
    const { server, raw } = await start(t, { handshakeTimeoutMs: 150 })
    const silent = await raw()
    const slow = await raw()
    // A record of 512 bytes, one of them at a time.
    slow.socket.write(Buffer.from([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]))
    const drip = setInterval(() => slow.socket.write('x'), 20)
    t.after(() => clearInterval(drip))
    assert.deepEqual(await Promise.all([silent.closed, slow.closed]), ['', ''])
    while (server.stats.connections > 0) await new Promise(setImmediate)
  })

  test('that is not finished counts as a connection, and gives way to a new one', async (t) => {
    const { server, raw, peer } = await start(t, {}, { limits: { connectionsMax: 2 } })
    const unfinished = await raw()
    const first = await peer()
    await first.ask(frame('PING'), '+OK\r\n')
    assert.deepEqual([server.stats.connections, server.stats.pending], [2, 1])
    const second = await peer()
    await second.ask(frame('PING'), '+OK\r\n')
    assert.equal(await unfinished.closed, '')
    assert.deepEqual([server.stats.connections, server.stats.pending], [2, 0])
    assert.equal(await (await raw()).closed, '')
    await assert.rejects(peer())
    assert.deepEqual(server.stats.rejected, { limit: 2, address: 0, pending: 1 })
    assert.equal(server.stats.connectionsTotal, 3)
    await first.ask(frame('PING'), '+OK\r\n')
    first.socket.destroy()
    while (server.stats.connections > 1) await new Promise(setImmediate)
    await (await peer()).ask(frame('PING'), '+OK\r\n')
  })

  test('ends at once when its client has gone', async (t) => {
    const { server, raw } = await start(t)
    const { socket } = await raw()
    while (server.stats.pending === 0) await new Promise(setImmediate)
    socket.destroy()
    while (server.stats.connections > 0) await new Promise(setImmediate)
  })

  test('that is not finished does not delay a stop', async (t) => {
    const { server, raw } = await start(t)
    const { closed } = await raw()
    await server.close(60_000)
    assert.equal(await closed, '')
  })
})

describe('a certificate of a client', () => {
  test('gives the connection its name, also when the session is resumed', async (t) => {
    const { peer, names } = await start(t, { clientAuth: 'optional' })
    for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
      const client = await peer({ ...pemOf(alice), maxVersion })
      await client.ask(frame('PING'), '+OK\r\n')
      assert.deepEqual(names(), ['alice'])
      const session = (client.socket as TLSSocket).getSession()
      client.socket.destroy()
      while (names().length > 0) await new Promise(setImmediate)
      const again = await peer({ session, maxVersion })
      assert.ok((again.socket as TLSSocket).isSessionReused())
      await again.ask(frame('PING'), '+OK\r\n')
      assert.deepEqual(names(), ['alice'])
      again.socket.destroy()
      while (names().length > 0) await new Promise(setImmediate)
    }
  })

  test('is not needed where it is optional, and is refused where it is not valid', async (t) => {
    const { peer, names } = await start(t, { clientAuth: 'optional' })
    const client = await peer()
    await client.ask(frame('PING'), '+OK\r\n')
    assert.deepEqual(names(), [undefined])
    const mallory = await makeCertificates(temporaryFolder(t), 'alice')
    const refused = await peer(pemOf(mallory))
    refused.send(frame('PING'))
    assert.equal(await refused.closed, '')
  })

  test('is required where that is set', async (t) => {
    const { peer, world } = await start(t, { clientAuth: 'required' })
    const foreign = await makeCertificates(temporaryFolder(t), 'alice')
    for (const presented of [{}, pemOf(foreign)]) {
      const refused = await peer(presented)
      refused.send(frame('PING'))
      assert.equal(await refused.closed, '')
    }
    assert.deepEqual(world.ran, [])
    await (await peer(pemOf(alice))).ask(frame('PING'), '+OK\r\n')
  })

  test('is not asked for, and gives no name, unless that is set', async (t) => {
    const { peer, names } = await start(t)
    await (await peer(pemOf(alice))).ask(frame('PING'), '+OK\r\n')
    assert.deepEqual(names(), [undefined])
  })
})
