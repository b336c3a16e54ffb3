import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { FahaoError } from '../../../src/base/errors.ts'
import { exitCodeOf, exitCodes, Unreachable, UsageError } from '../../../src/cli/exit-codes.ts'
import { ask, generatorPath } from '../../../src/cli/server-api.ts'
import { createCommands } from '../../../src/commands/all.ts'
import type { CommandContext } from '../../../src/commands/context.ts'
import { startRespServer } from '../../../src/resp/server.ts'
import { makeCertificates } from '../../launch/certificates.ts'
import { freePort, temporaryFolder } from '../../launch/places.ts'

async function serving(
  t: TestContext,
  status: number,
  body: string,
): Promise<{ url: string; seen: string[] }> {
  const seen: string[] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const part of request) text += part
    seen.push(`${request.method} ${request.url} ${text}`.trim())
    response.writeHead(status).end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
}

test('names, queries and bodies arrive unchanged', async (t) => {
  const { url, seen } = await serving(t, 200, '{"a":1}')
  const path = generatorPath('a/b:ü?', '/next')
  const answer = await ask({ url: `${url}/` }, 'POST', path, { query: { count: '2', match: undefined } })
  await ask({ url: `${url}/behind` }, 'PUT', '/v1/x', { body: { kind: 'segment' } })
  assert.deepEqual(answer, { a: 1 })
  assert.deepEqual(seen, [
    'POST /v1/generators/a%2Fb%3A%C3%BC%3F/next?count=2',
    'PUT /behind/v1/x {"kind":"segment"}',
  ])
})

test('a problem of the server becomes its error, and its exit code', async (t) => {
  const problem = (code: string) => JSON.stringify({ code, detail: 'do this', retryable: true })
  const failing = async (code: string) => {
    const { url } = await serving(t, 503, problem(code))
    return ask({ url }, 'GET', '/').catch((error: unknown) => error)
  }
  const dry = await failing('DRY')
  assert.ok(dry instanceof FahaoError)
  assert.deepEqual([dry.code, dry.message, exitCodeOf(dry)], ['DRY', 'do this', exitCodes.retryable.code])
  const away = await failing('UNAVAILABLE')
  assert.match(
    (away as Error).message,
    /^do this; the server runs, .*: see http:\/\/127\.0\.0\.1:\d+\/readyz$/,
  )
  assert.equal(exitCodeOf(await failing('NOGENERATOR')), exitCodes.failed.code)
  assert.equal(exitCodeOf(await failing('OF-A-LATER-VERSION')), exitCodes.failed.code)
})

test('an answer without a body is undefined', async (t) => {
  const { url } = await serving(t, 204, '')
  assert.equal(await ask({ url }, 'DELETE', '/'), undefined)
})

test('no server and a foreign server are unreachable, and the error says what to do', async (t) => {
  const unused = `http://127.0.0.1:${await freePort()}`
  await assert.rejects(ask({ url: unused }, 'GET', '/'), (error: Error) => {
    assert.match(error.message, /no server answers at .*ECONNREFUSED.*fahao serve.*--url/)
    return exitCodeOf(error) === exitCodes.unreachable.code
  })
  for (const [status, body] of [
    [200, '<html>'],
    [502, '<html>'],
    [404, '{"message":"not found"}'],
  ] as const) {
    const { url } = await serving(t, status, body)
    await assert.rejects(ask({ url }, 'GET', '/'), Unreachable)
  }
})

test('a RESP port is distinguished from an unreachable or broken server', async (t) => {
  const resp = await startRespServer({
    host: '127.0.0.1',
    port: 0,
    table: createCommands(),
    context: (session) => ({ session }) as CommandContext,
  })
  t.after(() => resp.close(0))
  const url = `http://127.0.0.1:${resp.port}`
  await assert.rejects(ask({ url }, 'GET', '/'), (error: Error) => {
    assert.match(error.message, new RegExp(`^${url} looks like a RESP port; --url wants the HTTP one`))
    return exitCodeOf(error) === exitCodes.unreachable.code
  })
  const broken = createServer((request) => request.socket.destroy())
  await new Promise<void>((resolve) => broken.listen(0, '127.0.0.1', resolve))
  t.after(() => broken.close())
  const { port } = broken.address() as AddressInfo
  await assert.rejects(ask({ url: `http://127.0.0.1:${port}` }, 'GET', '/'), /no server answers .*ECONNRESET/)
})

test('a server that speaks TLS is asked with its authority, and each failure says what to do', async (t) => {
  const files = await makeCertificates(temporaryFolder(t))
  const [key, cert, ca] = [files.key, files.cert, files.ca].map((file) => readFileSync(file))
  const names: string[] = []
  const server = createTlsServer({ key, cert, ca, requestCert: true, rejectUnauthorized: false })
  server.on('request', (request, response) => {
    names.push((request.socket as TLSSocket).getPeerCertificate().subject?.CN?.toString() ?? '')
    response.end('{"a":1}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  const url = `https://127.0.0.1:${port}`
  assert.deepEqual(await ask({ url, ca: files.ca }, 'GET', '/'), { a: 1 })
  assert.deepEqual(await ask({ url, ...files }, 'GET', '/'), { a: 1 })
  assert.deepEqual(names, ['', 'fahao'])
  const { url: plain } = await serving(t, 200, '{}')
  const foreign = await makeCertificates(temporaryFolder(t))
  for (const [options, message] of [
    [{ url }, /its certificate cannot be verified \(\w+\): name the authority that signed it with --ca$/],
    [{ url, ca: foreign.ca }, /its certificate cannot be verified/],
    [{ url: `http://127.0.0.1:${port}` }, /it speaks TLS: write https:\/\/$/],
    [{ url: plain.replace('http', 'https') }, /it does not speak TLS: write http:\/\/$/],
  ] as const) {
    await assert.rejects(ask(options, 'GET', '/'), (error: Error) => {
      assert.match(error.message, message)
      return exitCodeOf(error) === exitCodes.unreachable.code
    })
  }
  const strict = createTlsServer({ key, cert, ca, requestCert: true })
  await new Promise<void>((resolve) => strict.listen(0, '127.0.0.1', resolve))
  t.after(() => void strict.close())
  const strictUrl = `https://127.0.0.1:${(strict.address() as AddressInfo).port}`
  await assert.rejects(ask({ url: strictUrl, ca: files.ca }, 'GET', '/'), /wants a certificate .* --cert/)
  for (const options of [{ ca: '/nowhere' }, { cert: files.cert }]) {
    await assert.rejects(ask({ url, ...options }, 'GET', '/'), UsageError)
  }
})

test('an invalid URL is a usage error', async () => {
  for (const url of ['127.0.0.1:7380', 'redis://127.0.0.1', '']) {
    await assert.rejects(ask({ url }, 'GET', '/'), UsageError)
  }
})
