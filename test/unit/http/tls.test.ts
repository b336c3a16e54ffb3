import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { after, before, describe, type TestContext, test } from 'node:test'
import type { Config } from '../../../src/config/config-schema.ts'
import { startHttpServer } from '../../../src/http/server.ts'
import { noTraffic } from '../../../src/http/traffic.ts'
import type { CertificateOptions } from '../../../src/listening/certificates.ts'
import { type CertificateFiles, makeCertificates } from '../../launch/certificates.ts'
import { temporaryFolder } from '../../launch/places.ts'
import { openCertificates } from '../listening/open-certificates.ts'
import { fakeNode } from './fake-node.ts'

const folder = temporaryFolder({ after })
let files: CertificateFiles
before(async () => {
  files = await makeCertificates(folder)
})

async function start(
  t: TestContext,
  options: Partial<CertificateOptions> = {},
  settings: Partial<Config> = {},
) {
  const tls = await openCertificates(t, files, options)
  const node = fakeNode(settings)
  const order = node.catalogue.add('order', { kind: 'sequence' })
  const traffic = noTraffic()
  const server = await startHttpServer({ node, tls, host: '127.0.0.1', port: 0, traffic })
  t.after(() => server.close(0))
  const agent = new Agent({ ca: readFileSync(files.ca), keepAlive: true })
  t.after(() => agent.destroy())
  const ask = async (method: string, path: string): Promise<string> => {
    const sent = request({ port: server.port, host: '127.0.0.1', method, path, agent })
    const [answer] = await Promise.all([once(sent, 'response'), sent.end()])
    return text(answer[0])
  }
  const raw = async () => {
    const socket = connect({ port: server.port, host: '127.0.0.1' })
    socket.on('error', () => {}).resume()
    await once(socket, 'connect')
    return socket
  }
  return { server, order, ask, raw, traffic, tls }
}

describe('HTTP over TLS', () => {
  test('issues, and names itself in its page with https', async (t) => {
    const { ask } = await start(t)
    assert.equal(await ask('POST', '/v1/generators/order/next'), '{"ids":["1"]}\n')
    assert.equal(await ask('POST', '/v1/generators/order/next'), '{"ids":["2"]}\n')
    assert.match(await ask('GET', '/'), /https:\/\/127\.0\.0\.1:\d+\/v1\/generators\/order\/next/)
  })

  test('answers bytes that are no TLS with no answer, and goes on', async (t) => {
    const { raw, ask, order } = await start(t)
    const socket = await raw()
    let answer = ''
    socket.setEncoding('latin1').on('data', (piece: string) => {
      answer += piece
    })
    socket.write('POST /v1/generators/order/next HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n')
    await once(socket, 'close')
    assert.doesNotMatch(answer, /HTTP/)
    assert.equal(order.issued, 0)
    assert.equal(await ask('POST', '/v1/generators/order/next'), '{"ids":["1"]}\n')
  })

  test('counts a connection without a finished handshake until its deadline, and as pending', async (t) => {
    const { raw, traffic } = await start(t, { handshakeTimeoutMs: 300 }, { httpConnectionsMax: 1 })
    const unfinished = await raw()
    while (traffic.connections === 0) await new Promise(setImmediate)
    assert.deepEqual([traffic.connections, traffic.pending], [1, 1])
    await once(unfinished, 'close')
    while (traffic.connections > 0) await new Promise(setImmediate)
  })

  test('lets a new one take the place of a connection without a finished handshake', async (t) => {
    const { raw, ask, traffic } = await start(t, {}, { httpConnectionsMax: 1 })
    const replaced = await raw()
    while (traffic.connections === 0) await new Promise(setImmediate)
    assert.equal(await ask('POST', '/v1/generators/order/next'), '{"ids":["1"]}\n')
    if (!replaced.destroyed) await once(replaced, 'close')
    assert.deepEqual([traffic.connections, traffic.pending], [1, 0])
    assert.deepEqual(traffic.rejected, { limit: 0, address: 0, pending: 1 })
  })

  test('waits for no handshake when it stops', async (t) => {
    const { raw, server } = await start(t)
    const unfinished = await raw()
    await Promise.all([server.close(60_000), once(unfinished, 'close')])
  })
})
