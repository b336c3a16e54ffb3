/** The versions and suites of TLS that each listener offers, as `openssl s_client` finds them. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type CertificateFiles, makeCertificates, rsaKey } from '../launch/certificates.ts'
import { startFahao } from '../launch/fahao.ts'
import { Scope } from '../launch/lifetime.ts'
import { freePort, temporaryFolder } from '../launch/places.ts'
import { runProgram } from '../launch/program.ts'

const scope = new Scope()
after(() => scope.end())
let files: CertificateFiles
before(async () => {
  files = await makeCertificates(temporaryFolder(scope), 'fahao', rsaKey)
})

const forwardSecret = ['ECDHE-RSA-AES128-GCM-SHA256', 'ECDHE-RSA-CHACHA20-POLY1305']
const keptByTheKey = ['AES128-GCM-SHA256', 'AES256-SHA256', 'AES128-SHA']
const withoutAead = ['ECDHE-RSA-AES128-SHA256', 'ECDHE-RSA-AES256-SHA']

/** A server, and what asks each of its listeners for a suite of TLS 1.2, or for TLS 1.3: which of these it gets. */
async function start(...args: string[]) {
  const postgres = await freePort()
  const more = ['--postgres', `127.0.0.1:${postgres}`, ...args]
  const server = await startFahao(scope, { engine: 'memory:', tls: files, args: more })
  const listeners = [
    ['resp', server.resp],
    ['http', new URL(server.http).port],
    ['postgres', postgres, '-starttls', 'postgres'],
  ] as const
  const accepts = async (port: string | number, ...wanted: readonly string[]) => {
    const client = ['s_client', '-CAfile', files.ca, '-brief', '-connect', `127.0.0.1:${port}`, ...wanted]
    return runProgram(['openssl', ...client]).then(
      () => true,
      (error: Error) => {
        assert.match(error.message, /alert handshake failure|alert protocol version/)
        return false
      },
    )
  }
  const offered = (suites: readonly string[], port: string | number, ...more: readonly string[]) =>
    Promise.all(suites.map((suite) => accepts(port, '-tls1_2', '-cipher', suite, ...more)))
  return { listeners, accepts, offered }
}

describe('the listeners', () => {
  test('offer suites of TLS 1.2 with forward secrecy and AEAD only, and TLS 1.3', async () => {
    const { listeners, accepts, offered } = await start()
    for (const [name, port, ...more] of listeners) {
      assert.deepEqual(await offered(forwardSecret, port, ...more), [true, true], name)
      assert.deepEqual(await offered(keptByTheKey, port, ...more), [false, false, false], name)
      assert.deepEqual(await offered(withoutAead, port, ...more), [false, false], name)
      assert.equal(await accepts(port, '-tls1_3', ...more), true, name)
    }
  })

  test('offer the versions and suites that are set', async () => {
    const chosen = ['--tls-protocols', 'TLSv1.2', '--tls-ciphers', 'AES128-GCM-SHA256']
    const { listeners, accepts, offered } = await start(...chosen)
    for (const [name, port, ...more] of listeners) {
      assert.deepEqual(await offered(keptByTheKey, port, ...more), [true, false, false], name)
      assert.deepEqual(await offered(forwardSecret, port, ...more), [false, false], name)
      assert.equal(await accepts(port, '-tls1_3', ...more), false, name)
    }
  })

  test('speak no TLS 1.2 where only TLS 1.3 is set', async () => {
    const { listeners, accepts } = await start('--tls-protocols', 'TLSv1.3')
    for (const [name, port, ...more] of listeners) {
      assert.equal(await accepts(port, '-tls1_2', ...more), false, name)
      assert.equal(await accepts(port, '-tls1_3', ...more), true, name)
    }
  })
})
