/** No answer may be kept by a cache: it would give one id to many callers. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { InjectOptions } from 'fastify'
import { startHttpServer } from '../../../src/http/server.ts'
import { serve } from './compat/serve.ts'
import { fakeNode } from './fake-node.ts'

const compatible = [
  '/api/segment/get/order',
  '/api/snowflake/get/any',
  '/decodeSnowflakeId?snowflakeId=5',
  '/cache',
  '/db',
  '/id-builder/increase-seq-id?code=order',
  '/id-builder/increase-seq-id-str?code=text',
  '/tinyid/id/nextId?bizType=order&token=open-0123456789ab',
  '/tinyid/id/nextIdSimple?bizType=order&token=open-0123456789ab&batchSize=3',
  '/tinyid/id/nextSegmentIdSimple?bizType=order&token=open-0123456789ab',
]
const refused: readonly InjectOptions[] = [
  { method: 'GET', url: '/nope' },
  { method: 'GET', url: '/%' },
  { method: 'OPTIONS', url: '/api/segment/get/order' },
  { method: 'GET', url: '/api/segment/get/unknown' },
  { method: 'GET', url: '/tinyid/id/nextId?bizType=order&token=wrong' },
  { method: 'POST', url: '/v1/generators/order/next?count=0' },
  { method: 'POST', url: '/v1/generators/order/next', headers: { host: 'evil.example' } },
  { method: 'POST', url: '/v1/generators/order/next', payload: '{', headers: { 'content-type': 'a/b' } },
]

test('every route, one that is added later, and every refusal forbid to store the answer', async (t) => {
  const generators = { order: { kind: 'segment' }, text: { kind: 'segment', format: 't{id}' } } as const
  const flags = { 'tinyid-tokens': 'open-0123456789ab=order' }
  const { app } = await serve(t, generators, { flags })
  app.get('/later', async () => 'later')
  const { paths } = (await app.inject('/openapi.json')).json() as { paths: Record<string, object> }
  const native = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => ({
      method,
      url: path.replaceAll(/\{\w+\}/g, 'order') + (path === '/v1/live' ? '?ticks=0' : ''),
    })),
  )
  assert.ok(native.length > 15)
  // Drops come last.
  const last = native.filter(({ method }) => method === 'delete')
  const sound = ['/later', ...compatible].flatMap((url) => [
    { method: 'GET', url },
    { method: 'HEAD', url },
  ])
  for (const request of [...sound, ...refused, ...native.filter((one) => !last.includes(one)), ...last]) {
    const { headers, statusCode } = await app.inject(request as InjectOptions)
    assert.equal(headers['cache-control'], 'no-store', `${request.method} ${request.url}`)
    if (sound.includes(request as (typeof sound)[0])) assert.equal(statusCode, 200, request.url as string)
  }
})

test('so do the answers to what is no request, or an odd one', async (t) => {
  const server = await startHttpServer({ node: fakeNode(), host: '127.0.0.1', port: 0 })
  t.after(() => server.close(0))
  const next = 'POST /v1/generators/order/next HTTP/1.1\r\n'
  for (const [sent, status] of [
    ['INCR order\r\n', 400],
    [`${next}connection: close\r\n\r\n`, 400],
    [`${next}host: localhost\r\nexpect: miracles\r\nconnection: close\r\n\r\n`, 404],
    [`${next}x: ${'y'.repeat(20_000)}\r\n\r\n`, 431],
  ] as const) {
    const answer = await exchange(t, server.port, sent)
    assert.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `), sent.slice(0, 60))
    assert.match(answer, /^cache-control: no-store\r$/m, sent.slice(0, 60))
    assert.match(answer, /^content-type: application\/problem\+json/m)
  }
})

async function exchange(t: TestContext, port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1').setEncoding('latin1')
  t.after(() => socket.destroy())
  let text = ''
  socket.on('data', (piece) => {
    text += piece
  })
  socket.write(bytes)
  await once(socket, 'close')
  return text
}
