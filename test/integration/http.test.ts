/** The native HTTP API over real sockets, on a durable store. */
import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { Scope } from '../launch/lifetime.ts'
import { accepts } from '../launch/process.ts'
import { assertDistinct, assertGapless, assertIncreasing, creations, ordered } from './examples.ts'

type Json = Record<string, unknown>
type Generator = {
  name: string
  kind: string
  definition: Json
  incarnation: string
  lastIssued: string | null
}

const scope = new Scope()
let server: FahaoServer
before(async () => {
  server = await startFahao(scope)
})
after(() => scope.end())

function ask(method: string, path: string, body?: unknown): Promise<Response> {
  const init =
    body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  return fetch(`${server.http}${path}`, { method, ...init })
}

/** The JSON of an answer that must have this status. */
async function told<Shape = Json>(
  status: number,
  method: string,
  path: string,
  body?: unknown,
): Promise<Shape> {
  const answer = await ask(method, path, body)
  const text = await answer.text()
  assert.equal(answer.status, status, `${method} ${path}: ${text}`)
  return JSON.parse(text)
}

async function next(name: string, count = 1): Promise<string[]> {
  const { ids } = await told<{ ids: string[] }>(200, 'POST', `/v1/generators/${name}/next?count=${count}`)
  assert.equal(ids.length, count)
  return ids
}

/** The samples of /metrics by name and labels; a line that Prometheus could not read throws. */
async function metrics(): Promise<Map<string, number>> {
  const answer = await ask('GET', '/metrics')
  assert.match(answer.headers.get('content-type')!, /^text\/plain; version=0\.0\.4/)
  const samples = new Map<string, number>()
  const types = new Set<string>()
  for (const line of (await answer.text()).split('\n').filter((text) => text !== '')) {
    const [, about] = /^# (?:HELP|TYPE) (\w+) .+$/.exec(line) ?? []
    if (about) {
      types.add(about)
      continue
    }
    const sample = /^(([a-z_]+)(?:\{\w+="(?:[^"\\]|\\.)*"(?:,\w+="(?:[^"\\]|\\.)*")*\})?) (\S+)$/.exec(line)
    assert.ok(sample, line)
    const family = sample[2]!.replace(/_(?:bucket|sum|count)$/, '')
    assert.ok(types.has(sample[2]!) || types.has(family), line)
    const value = sample[3] === '+Inf' ? Number.POSITIVE_INFINITY : Number(sample[3])
    assert.ok(!Number.isNaN(value) && !samples.has(sample[1]!), line)
    samples.set(sample[1]!, value)
  }
  return samples
}

describe('the life of a generator', () => {
  test('it is made once, confirmed, and refused where it differs', async () => {
    const made = await ask('PUT', '/v1/generators/life', { kind: 'sequence', start: '9007199254740993' })
    assert.deepEqual([made.status, made.headers.get('location')], [201, '/v1/generators/life'])
    const { definition } = (await made.json()) as Generator
    assert.equal(definition.start, '9007199254740993')
    // A definition is accepted as it was shown.
    await told(200, 'PUT', '/v1/generators/life', definition)
    const refused = await told(409, 'PUT', '/v1/generators/life', { kind: 'segment' })
    assert.equal(refused.code, 'EXISTS')
    assert.deepEqual(await next('life', 2), ['9007199254740993', '9007199254740994'])
  })

  test('it is changed, moved forward, and shown', async () => {
    const altered = await told<Generator>(200, 'PATCH', '/v1/generators/life', {
      step: 77,
      floor: '9007199254750000',
    })
    assert.equal(altered.definition.step, 77)
    assert.deepEqual(await next('life'), ['9007199254750000'])
    const shown = await told<Generator & { stats: Json }>(200, 'GET', '/v1/generators/life')
    assert.deepEqual([shown.lastIssued, shown.stats.issued], ['9007199254750000', 1])
  })

  test('dropped and made again, it goes on above everything it has issued', async () => {
    assert.equal((await ask('DELETE', '/v1/generators/life')).status, 204)
    assert.equal((await told(404, 'POST', '/v1/generators/life/next')).code, 'NOGENERATOR')
    assert.equal((await ask('DELETE', '/v1/generators/life')).status, 404)
    await told(201, 'PUT', '/v1/generators/life', { kind: 'segment' })
    assertIncreasing(['9007199254750000', ...(await next('life', 3))])
  })

  test('another kind is another incarnation, above the one before', async () => {
    const before = await told<Generator>(200, 'GET', '/v1/generators/life')
    const altered = await told<Generator>(200, 'PATCH', '/v1/generators/life', {
      kind: 'sequence',
      increment: 10,
    })
    assert.ok(BigInt(altered.incarnation) > BigInt(before.incarnation))
    const ids = await next('life', 3)
    assertIncreasing([before.lastIssued!, ...ids])
    assert.equal(BigInt(ids[2]!) - BigInt(ids[0]!), 20n)
  })

  test('a name may hold whatever percent-encoding can write', async () => {
    const name = 'a/b?c=%25#发号'
    const path = `/v1/generators/${encodeURIComponent(name)}`
    const made = await ask('PUT', path, { kind: 'sequence' })
    assert.equal(made.headers.get('location'), path)
    assert.deepEqual(await next(encodeURIComponent(name)), ['1'])
    const client = await server.connect()
    assert.equal(await client.command('INCR', name), 2n)
    await client.close()
  })
})

describe('ids', () => {
  before(async () => {
    const client = await server.connect()
    for (const creation of creations) assert.equal(await client.command(...creation), 'OK')
    await client.close()
  })

  test('come as strings of JSON, from every kind, and never twice', async () => {
    for (const [, name] of creations as [string, string][]) {
      const answers = await Promise.all(Array.from({ length: 50 }, (_, at) => next(name, 1 + (at % 7))))
      assertDistinct(answers.flat())
      for (const id of answers.flat()) assert.equal(typeof id, 'string')
    }
  })

  test('come as lines of text to those who would rather have that', async () => {
    const headers = { accept: 'text/plain' }
    const one = await fetch(`${server.http}/v1/generators/sms/next`, { method: 'POST', headers })
    assert.match(one.headers.get('content-type')!, /^text\/plain; charset=utf-8$/)
    assert.match(await one.text(), /^sms_\d+\n$/)
    const many = await fetch(`${server.http}/v1/generators/event/next?count=1000`, {
      method: 'POST',
      headers,
    })
    const lines = (await many.text()).trimEnd().split('\n')
    assert.equal(lines.length, 1000)
    assertIncreasing(lines)
  })

  test('come as ranges with as many ids as requested, and no id twice', async () => {
    for (const name of ['order', 'user']) {
      const [first] = await next(name)
      const answer = await told<{ ranges: { start: string; end: string }[] }>(
        200,
        'POST',
        `/v1/generators/${name}/range?count=5000`,
      )
      const [last] = await next(name)
      const held = answer.ranges.map(({ start, end }) => BigInt(end) - BigInt(start))
      assert.equal(
        held.reduce((sum, each) => sum + each, 0n),
        5000n,
      )
      assertIncreasing([first!, answer.ranges[0]!.start, answer.ranges.at(-1)!.end])
      assert.ok(BigInt(last!) >= BigInt(answer.ranges.at(-1)!.end))
    }
  })

  test('come as runs of every ordered kind, with as many ids as requested', async () => {
    for (const name of creations.map(([, name]) => name!).filter((name) => ordered.includes(name))) {
      type Answer = { runs: { first: string; stride: string; count: number }[] }
      const { runs } = await told<Answer>(200, 'POST', `/v1/generators/${name}/runs?count=5000`)
      const ids = runs.flatMap(({ first, stride, count }) =>
        Array.from({ length: count }, (_, at) => String(BigInt(first) + BigInt(stride) * BigInt(at))),
      )
      assert.equal(ids.length, 5000)
      const [next] = (await told<Answer>(200, 'POST', `/v1/generators/${name}/runs`)).runs
      assertIncreasing([...ids, next!.first])
    }
  })

  test('are taken apart by their generator or by a layout', async () => {
    const since = Date.now()
    const [event] = await next('event')
    const own = await told(200, 'GET', `/v1/decode?id=${event}&generator=event`)
    assert.deepEqual([own.id, own.kind, own.node], [event, 'snowflake', '0'])
    assert.ok(Math.abs(Number(own.unixMs) - since) < 60_000)
    assert.equal((await told(200, 'GET', `/v1/decode?id=${event}&layout=twitter`)).unixMs, own.unixMs)
    const [coupon] = await next('coupon')
    const { id } = await told(200, 'GET', `/v1/decode?id=${coupon}&generator=coupon`)
    assert.match(coupon!, new RegExp(`^coupon_0*${id}\\d$`))
  })

  test('are the same line of ids whether asked for over HTTP or RESP', async (t: TestContext) => {
    await told(201, 'PUT', '/v1/generators/both', { kind: 'sequence' })
    const client = await server.connect()
    t.after(() => client.close())
    const http = Array.from({ length: 200 }, () => next('both'))
    for (let sent = 0; sent < 200; sent++) client.sendCommand('INCR', 'both')
    const resp = (await client.readMany(200)) as bigint[]
    assertIncreasing(resp)
    assertGapless([...resp, ...(await Promise.all(http)).flat()], 1n)
  })
})

describe('what there is', () => {
  test('is listed page by page, in the order of names, and by pattern', async () => {
    const names = Array.from({ length: 25 }, (_, at) => `page:${String(at).padStart(2, '0')}`)
    await Promise.all(
      names.map((name) =>
        told(201, 'PUT', `/v1/generators/${encodeURIComponent(name)}`, { kind: 'segment' }),
      ),
    )
    const found: string[] = []
    let after: string | null = ''
    for (let pages = 0; after !== null; pages++) {
      assert.ok(pages < 10)
      const query: string = after === '' ? '' : `&after=${encodeURIComponent(after)}`
      const page = await told<{ generators: Generator[]; next: string | null }>(
        200,
        'GET',
        `/v1/generators?match=page:*&limit=7${query}`,
      )
      assert.ok(page.generators.length <= 7)
      found.push(...page.generators.map(({ name }) => name))
      after = page.next
    }
    assert.deepEqual(found, names)
  })

  test('is what the OpenAPI document says: each of its operations answers, with a status that it names', async () => {
    type Operation = {
      operationId: string
      responses: Json
      requestBody?: { content: Record<string, { example: unknown }> }
    }
    const document = await told<{ openapi: string; paths: Record<string, Record<string, Operation>> }>(
      200,
      'GET',
      '/openapi.json',
    )
    assert.equal(document.openapi, '3.1.0')
    const seen: string[] = []
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const [method, operation] of Object.entries(methods)) {
        // A generator of its own, so that none of the others is dropped.
        const query = { '/v1/decode': '?id=1', '/v1/live': '?ticks=1' }[path] ?? ''
        const url = path.replace('{name}', 'documented') + query
        const body = operation.requestBody?.content['application/json']?.example
        const answer = await ask(
          method.toUpperCase(),
          url,
          path === '/v1/engine/advance' ? { by: '1' } : body,
        )
        await answer.text()
        assert.ok(String(answer.status) in operation.responses, `${method} ${path}: ${answer.status}`)
        seen.push(`${method} ${path}`)
      }
    }
    for (const method of ['get', 'put', 'patch', 'delete'])
      assert.ok(seen.includes(`${method} /v1/generators/{name}`))
    for (const path of ['/', '/docs', '/metrics', '/healthz', '/readyz'])
      assert.ok(seen.includes(`get ${path}`))
  })

  test('is counted by metrics that Prometheus can read', async () => {
    await told(201, 'PUT', '/v1/generators/measured', { kind: 'sequence' })
    await next('measured', 41)
    const before = await metrics()
    assert.equal(before.get('fahao_issued_ids_total{generator="measured"}'), 41)
    await next('measured')
    const after = await metrics()
    assert.equal(after.get('fahao_issued_ids_total{generator="measured"}'), 42)
    const requests = 'fahao_requests_total{protocol="http"}'
    assert.equal(after.get(requests)! - before.get(requests)!, 2)
    assert.equal(after.get('fahao_engine_up'), 1)
    assert.ok(after.get('fahao_in_hand_ids{generator="measured"}')! > 0)
  })
})

test('after a stop all of it is there, and a sequence goes on without a gap; after a kill above', async () => {
  await told(201, 'PUT', '/v1/generators/kept', { kind: 'sequence' })
  await next('kept', 10)
  const [event] = await next('event')
  const list = await (await ask('GET', '/v1/generators?limit=1000')).json()
  await server.restart()
  assert.deepEqual(await (await ask('GET', '/v1/generators?limit=1000')).json(), list)
  assert.deepEqual(await next('kept'), ['11'])
  await server.kill()
  await server.restart()
  assertIncreasing(['11', ...(await next('kept', 2))])
  assertIncreasing([event!, ...(await next('event', 2))])
})

test('readyz is 200 while it serves, and the port is closed once it has stopped', async (t) => {
  assert.equal((await told(200, 'GET', '/readyz')).state, 'ok')
  assert.equal((await told(200, 'GET', '/healthz')).state, 'ok')
  // What was answered before the stop is not given again after it, by whatever way it was asked for.
  const client = await server.connect()
  t.after(() => client.close())
  const id = (await client.command('INCR', 'order')) as bigint
  assert.deepEqual(await server.kill('SIGTERM'), { code: 0, signal: null })
  await client.closed
  assert.ok(!(await accepts(Number(new URL(server.http).port))))
  await server.restart()
  assert.deepEqual(await next('order'), [String(id + 1n)])
})
