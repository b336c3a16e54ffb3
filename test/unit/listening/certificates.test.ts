import assert from 'node:assert/strict'
import { once } from 'node:events'
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { connect, createServer, type TLSSocket } from 'node:tls'
import { hasCode } from '../../../src/base/errors.ts'
import type { LogEvent } from '../../../src/base/events.ts'
import { type CertificateOptions, Certificates } from '../../../src/listening/certificates.ts'
import { type CertificateFiles, makeCertificates, rsaKey } from '../../launch/certificates.ts'
import { temporaryFolder } from '../../launch/places.ts'
import { FakeClock } from '../fake-clock.ts'
import { defaultSuites } from './open-certificates.ts'

const folder = temporaryFolder({ after })
let first: CertificateFiles
let second: CertificateFiles
before(async () => {
  first = await makeCertificates(folder, 'first')
  second = await makeCertificates(folder, 'second')
})

/** Certificates in files of their own, and a server that shows them. */
async function start(t: TestContext, options: Partial<CertificateOptions> = {}) {
  const files = temporaryFolder(t)
  const cert = join(files, 'cert.pem')
  const key = join(files, 'key.pem')
  const put = ({ cert: from, key: keyFrom }: CertificateFiles) => {
    copyFileSync(from, cert)
    copyFileSync(keyFrom, key)
  }
  put(first)
  const clock = new FakeClock(Date.now() * 1000)
  const events: LogEvent[] = []
  const certificates = await Certificates.open({
    cert,
    key,
    ca: first.ca,
    clientAuth: 'off',
    suites: defaultSuites,
    handshakeTimeoutMs: 3_600_000,
    clock,
    onEvent: (event) => void events.push(event),
    ...options,
  })
  t.after(() => certificates.close())
  const server = createServer(certificates.serverOptions, (socket) => {
    socket.on('error', () => {}).pipe(socket)
  })
  certificates.attach(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => void server.close())
  const { port } = server.address() as AddressInfo
  /** A connection, and the name in the certificate that it was shown. */
  const visit = async () => {
    const socket = connect({ port, host: '127.0.0.1', ca: readFileSync(first.ca) })
    t.after(() => void socket.destroy())
    // The server has finished the handshake too.
    await echo(socket)
    return { socket, name: socket.getPeerCertificate().subject.CN }
  }
  /** As long as it takes until a change is read, with the reading itself. */
  const poll = async (times = 2) => {
    for (let polls = 0; polls < times; polls++) {
      await clock.pass(2000)
      while (clock.timers === 0) await clock.pass(0)
    }
  }
  return { certificates, clock, cert, key, put, events, visit, poll, port }
}

async function echo(socket: TLSSocket): Promise<string> {
  socket.write('still here')
  const [bytes] = (await once(socket, 'data')) as [Buffer]
  return bytes.toString()
}

describe('certificates', () => {
  test('that have changed are for new connections, and open ones go on', async (t) => {
    const { put, visit, poll, events } = await start(t)
    const before = await visit()
    assert.equal(before.name, 'first')
    put(second)
    await poll()
    assert.equal((await visit()).name, 'second')
    assert.equal(await echo(before.socket), 'still here')
    assert.match(events[0]!.message, /^new connections get the certificate that is valid until /)
    assert.deepEqual(
      events.map(({ level }) => level),
      ['info'],
    )
  })

  test('that cannot be used change nothing, are reported once, and are replaced by the next ones', async (t) => {
    const { put, cert, key, visit, poll, events } = await start(t)
    writeFileSync(cert, 'half a certific')
    await poll()
    assert.equal((await visit()).name, 'first')
    copyFileSync(second.cert, cert)
    await poll()
    assert.equal((await visit()).name, 'first')
    rmSync(key)
    await poll()
    await poll()
    assert.equal((await visit()).name, 'first')
    assert.deepEqual(
      events.map(({ level }) => level),
      ['error', 'error', 'error'],
    )
    const messages = events.map(({ message }) => message)
    assert.match(messages[0]!, /^tls-cert: .*no certificate in PEM.* The certificate before stays in use$/)
    assert.match(messages[1]!, /^tls-key: .*does not belong to the certificate/)
    assert.match(messages[2]!, /^tls-key: .*ENOENT/)
    put(second)
    await poll()
    assert.equal((await visit()).name, 'second')
  })

  test('are not read while they still change', async (t) => {
    const { poll, cert, key, visit, events } = await start(t)
    copyFileSync(second.cert, cert)
    await poll(1)
    copyFileSync(second.key, key)
    await poll()
    assert.equal((await visit()).name, 'second')
    assert.deepEqual(
      events.map(({ level }) => level),
      ['info'],
    )
  })

  test('are read at once when that is asked for', async (t) => {
    const { certificates, put, visit } = await start(t)
    put(second)
    await certificates.reload()
    assert.equal((await visit()).name, 'second')
  })

  test('that have expired are a warning', async (t) => {
    const { events } = await start(t, { clock: new FakeClock((Date.now() + 3 * 86_400_000) * 1000) })
    assert.equal(events[0]!.level, 'warn')
    assert.match(events[0]!.message, /has expired on .*; clients refuse it/)
  })

  test('that cannot be used from the start are errors that say what to do', async (t) => {
    const foreign = await makeCertificates(temporaryFolder(t), 'foreign')
    for (const [files, message] of [
      [
        { cert: '/nowhere/cert.pem' },
        /^tls-cert: \/nowhere\/cert\.pem cannot be read: .*ENOENT.*; name a file/,
      ],
      [{ key: foreign.key }, /^tls-key: .* does not belong to .*; give its own key$/],
      [{ key: first.cert }, /^tls-key: .* contains no private key without a password in PEM; name a file/],
      [{ cert: first.key }, /^tls-cert: .* contains no certificate in PEM/],
      [{ ca: first.key }, /^tls-ca: .* contains no certificate in PEM/],
    ] as const) {
      await assert.rejects(start(t, files), (error: Error) => {
        assert.match(error.message, message)
        return hasCode(error, 'CONFIG')
      })
    }
  })
})

describe('a connection to another node', () => {
  test('is by TLS, to a node whose certificate is for its host and by the authority', async (t) => {
    const { certificates, port } = await start(t)
    const socket = certificates.dial({ host: 'localhost', port }) as TLSSocket
    t.after(() => void socket.destroy())
    assert.equal(await echo(socket), 'still here')
    const foreign = await makeCertificates(temporaryFolder(t), 'foreign')
    const distrusting = (await start(t, { ca: foreign.ca })).certificates.dial({ host: '127.0.0.1', port })
    const [error] = (await once(distrusting, 'error')) as [NodeJS.ErrnoException]
    assert.equal(error.code, 'SELF_SIGNED_CERT_IN_CHAIN')
  })

  test('asks for suites with forward secrecy, or for those that are set', async (t) => {
    const { ca, cert, key } = await makeCertificates(temporaryFolder(t), 'rsa', rsaKey)
    const ciphers = 'AES128-GCM-SHA256'
    const pair = { cert: readFileSync(cert), key: readFileSync(key) }
    const old = createServer({ ...pair, maxVersion: 'TLSv1.2', ciphers }, (socket) => {
      socket.on('error', () => {}).pipe(socket)
    })
    old.listen(0, '127.0.0.1')
    await once(old, 'listening')
    t.after(() => void old.close())
    const { port } = old.address() as AddressInfo
    const { certificates } = await start(t, { ca })
    const [error] = (await once(certificates.dial({ host: '127.0.0.1', port }), 'error')) as [Error]
    assert.match(error.message, /handshake failure/)
    const set = await start(t, { ca, suites: { protocols: ['TLSv1.2'], ciphers } })
    const socket = set.certificates.dial({ host: '127.0.0.1', port }) as TLSSocket
    t.after(() => void socket.destroy())
    assert.equal(await echo(socket), 'still here')
  })
})
