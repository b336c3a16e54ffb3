/** Spans of processes that load the SDK of OpenTelemetry, and of the library in one that has it. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { trace } from '@opentelemetry/api'
import { openFahao } from '../../src/index.ts'
import { startCluster, viewOf } from '../launch/cluster.ts'
import { startFahao } from '../launch/fahao.ts'
import { temporaryFolder } from '../launch/places.ts'
import { forgetSdk, registerSdk, type Spanned, spansIn } from '../launch/spans.ts'

const sdk = pathToFileURL(join(import.meta.dirname, '../launch/spans.ts')).href
const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const traceparent = `00-${traceId}-00f067aa0ba902b7-01`

/** What a process needs to write its spans into a file. */
function writing(file: string): Record<string, string> {
  return { NODE_OPTIONS: `--import=${sdk}`, SPANS_FILE: file }
}

/** The spans of a trace, once there are so many, each behind its parents. */
async function traced(file: string, count: number): Promise<string[]> {
  for (;;) {
    const spans = spansIn(file).filter((span) => span.trace === traceId)
    if (spans.length >= count) return spans.map((span) => pathOf(span, spans)).sort()
    await new Promise((resolve) => setImmediate(resolve))
  }
}

function pathOf({ name, kind, parent }: Spanned, spans: readonly Spanned[]): string {
  const above = spans.find(({ id }) => id === parent)
  return `${above === undefined ? '' : `${pathOf(above, spans)} > `}${kind} ${name}`
}

test('a request by HTTP is a part of its trace, with the calls of the store that it waits for', async (t) => {
  const file = join(temporaryFolder(t), 'spans')
  const server = await startFahao(t, { env: writing(file) })
  const json = { 'content-type': 'application/json' }
  const create = { method: 'PUT', headers: json, body: '{"kind":"sequence"}' }
  assert.ok((await fetch(`${server.http}/v1/generators/order`, create)).ok)
  const at = (path: string, init: RequestInit = {}) =>
    fetch(`${server.http}${path}`, { method: 'POST', headers: { traceparent }, ...init })
  assert.equal((await at('/v1/generators/order/next?secret=x')).status, 400)
  assert.equal((await at('/v1/generators/order/next?count=100')).status, 200)
  assert.equal((await at('/v1/generators/order/next')).status, 200)
  for (const path of ['/metrics', '/healthz', '/readyz']) await at(path, { method: 'GET' })
  const route = 'SERVER POST /v1/generators/:name/next'
  const paths = await traced(file, 4)
  assert.deepEqual(new Set(paths), new Set([route, `${route} > CLIENT reserve`]))
  const spans = spansIn(file)
  const requests = spans.filter(({ trace, kind }) => trace === traceId && kind === 'SERVER')
  assert.deepEqual(
    requests.map(({ attributes }) => attributes['http.response.status_code']),
    [400, 200, 200],
  )
  assert.deepEqual(requests[2]!.attributes, {
    'http.request.method': 'POST',
    'url.path': '/v1/generators/order/next',
    'url.scheme': 'http',
    'network.protocol.version': '1.1',
    'http.route': '/v1/generators/:name/next',
    'http.response.status_code': 200,
  })
  const reserve = spans.find(({ trace, name }) => trace === traceId && name === 'reserve')
  assert.deepEqual(reserve!.attributes, {
    'db.system.name': 'sqlite',
    'db.operation.name': 'reserve',
    'fahao.counter': 'generators/order',
  })
  assert.ok(!JSON.stringify(spans).includes('secret'))
})

test('a command of RESP that its handler answers begins a trace, and one that is answered in place has none', async (t) => {
  const file = join(temporaryFolder(t), 'spans')
  const server = await startFahao(t, { env: writing(file), args: ['--auto-create', '*=segment'] })
  const client = await server.connect()
  for (const word of ['INCR', 'INCR', 'INCR']) await client.command(word, 'order')
  await client.command('PING')
  await client.command('ID.INFO', 'order')
  const spans = spansIn(file)
  const requests = spans.filter(({ kind }) => kind === 'SERVER')
  assert.deepEqual(
    requests.map(({ name, parent, attributes }) => [name, parent, attributes['fahao.generator']]),
    [
      ['INCR', undefined, 'order'],
      ['ID.INFO', undefined, 'order'],
    ],
  )
  const calls = spans.filter(({ parent }) => parent === requests[0]!.id).map(({ name }) => name)
  assert.ok(calls.includes('lookUp'), String(calls))
})

test('a request that is forwarded is one trace on both nodes, and one that shares its draw has the wait for it', async (t) => {
  const file = join(temporaryFolder(t), 'spans')
  const flags = ['--shards', '1', '--forward']
  const nodes = await startCluster(t, [flags, flags], writing(file))
  const { self, nodes: known, shards } = await viewOf(nodes[0]!)
  const leads = shards[0]!.leader === self
  assert.equal(known.length, 2)
  const [leader, other] = leads ? nodes : [nodes[1]!, nodes[0]!]
  const name = '/v1/generators/order'
  const create = {
    method: 'PUT',
    body: '{"kind":"sequence"}',
    headers: { 'content-type': 'application/json' },
  }
  assert.ok((await fetch(`${leader!.http}${name}`, create)).ok)
  const ask = (path: string) =>
    fetch(`${other!.http}${name}${path}`, { method: 'POST', headers: { traceparent } })
  // The first one opens the generator.
  assert.ok((await fetch(`${other!.http}${name}/next`, { method: 'POST' })).ok)
  assert.ok((await ask('/next?count=2')).ok)
  const route = 'SERVER POST /v1/generators/:name/next'
  const paths = await traced(file, 3)
  assert.deepEqual(paths.slice(0, 3), [
    route,
    `${route} > CLIENT forward`,
    `${route} > CLIENT forward > ${route}`,
  ])
  assert.ok((await ask('/next')).ok)
  const both = await traced(file, paths.length + 2)
  assert.equal(both.filter((path) => path === `${route} > CLIENT forward`).length, 2)

  const client = await other!.connect()
  assert.equal(await client.command('INCR', 'order'), 5n)
  const spans = spansIn(file)
  const incr = spans.find((span) => span.name === 'INCR')
  const [forward, ...more] = spans.filter(({ parent }) => parent === incr!.id)
  assert.deepEqual(more, [])
  assert.deepEqual([forward!.name, forward!.attributes['network.protocol.name']], ['forward', 'resp'])
  assert.equal(forward!.attributes['server.port'], leader!.resp)
})

test('the library makes spans in the traces of the process that it is in', async (t) => {
  const spans: Spanned[] = []
  registerSdk((span) => spans.push(span))
  t.after(forgetSdk)
  const fahao = await openFahao({ engine: 'memory:' })
  const order = await fahao.open('order', { kind: 'sequence' })
  await trace.getTracer('shop').startActiveSpan('buy', async (span) => {
    assert.equal(await order.next(), 1n)
    span.end()
  })
  await fahao.close()
  const buy = spans.find(({ name }) => name === 'buy')
  const reserve = spans.find(({ name, trace: of }) => name === 'reserve' && of === buy!.trace)
  assert.equal(reserve?.parent, buy!.id)
})
