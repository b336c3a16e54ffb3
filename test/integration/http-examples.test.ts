/** The examples of the OpenAPI document: a real node answers each request, in the form that the example of the answer has. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startCluster, viewOf } from '../launch/cluster.ts'
import type { FahaoServer } from '../launch/fahao.ts'
import { Scope } from '../launch/lifetime.ts'

type Content = Readonly<
  Record<string, { readonly example?: unknown; readonly schema: { examples?: unknown[] } }>
>
type Described = {
  readonly operationId: string
  readonly parameters: readonly { readonly in: string; readonly name: string; readonly example?: string }[]
  readonly requestBody?: { readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>
}
type Lease = Readonly<Record<string, unknown>>
type Operation = { readonly method: string; readonly path: string; readonly described: Described }

const login = { authorization: `Basic ${btoa('admin:administrator')}` }
const scope = new Scope()
let server: FahaoServer
let operations: Operation[]
/** Of a lease of each path that names one. */
const leases = new Map<string, Lease>()

before(
  async () => {
    const nodes = await startCluster(scope, [
      ['--shards', '1'],
      ['--shards', '1'],
    ])
    const views = await Promise.all(nodes.map((node) => viewOf(node)))
    // The other one shows a strict generator without figures.
    server = nodes[views.findIndex(({ self, shards }) => self === shards[0]!.leader)]!
    const client = await server.connect()
    assert.equal(await client.command('ACL', 'SETUSER', 'admin', 'on', '>administrator', '~*', '+@all'), 'OK')
    await client.close()
    const { paths } = (await (await fetch(`${server.http}/openapi.json`)).json()) as {
      paths: Record<string, Record<string, Described>>
    }
    operations = Object.entries(paths)
      .flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, described]) => ({
          method: method.toUpperCase(),
          path,
          described,
        })),
      )
      .sort((one, other) => rank(one) - rank(other))
    await send('PUT', '/v1/generators/dropped', { body: { kind: 'sequence' } })
    await send('DELETE', '/v1/generators/dropped')
    await setScene()
    await send('POST', '/v1/generators/order/next')
    for (const path of ['/v1/generators/{name}/leases', '/v1/pools/{pool}/workers'])
      leases.set(
        path,
        (await (await send('POST', pathOf(path), { query: queryOf('POST', path) })).json()) as Lease,
      )
  },
  { timeout: 120_000 },
)
after(() => scope.end())

/** What takes away what others show comes last, and at the very last what stops the issue of ids. */
function rank({ method, path }: Operation): number {
  if (path === '/v1/engine/advance' || path === '/v1/cluster/drain') return 2
  return method === 'DELETE' ? 1 : 0
}

async function send(
  method: string,
  path: string,
  { query = '', body, accept = '*/*' }: { query?: string; body?: unknown; accept?: string } = {},
): Promise<Response> {
  return fetch(`${server.http}${path}${query}`, {
    method,
    headers: { ...login, accept, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(30_000),
  })
}

/** Creates what the examples name. */
async function setScene(): Promise<string> {
  await send('PUT', '/v1/generators/order', { body: { kind: 'sequence' } })
  await send('PUT', '/v1/generators/event', { body: { kind: 'snowflake' } })
  await send('PUT', '/v1/generators/invoice', { body: { kind: 'sequence', ledger: true } })
  await send('PUT', '/v1/users/alice', { body: { rules: ['on', '>secret', '~order*', '+@issue'] } })
  await send('PUT', '/v1/namespaces/shop', { body: { match: 'shop:*', owner: 'team-a', idsPerSecond: 1000 } })
  const { id } = (await (await send('POST', '/v1/tokens', { body: { rules: ['+@issue'] } })).json()) as {
    id: string
  }
  return id
}

const invoices = '/v1/generators/invoice/reservations'
/** A reservation that an example names. */
let reservation: string | undefined

/** Has the ledger of the examples stand as they say. */
async function setLedger(path: string): Promise<void> {
  if (path.includes('{reservation}')) [reservation] = await reserve(1)
  if (path.endsWith('/ledger'))
    for (const each of await reserve(8)) await send('POST', `${invoices}/${each}/confirm`)
  // Nothing may be held.
  if (path.endsWith('/ledger/close')) {
    const { lines } = (await (await send('GET', '/v1/generators/invoice/ledger')).json()) as {
      lines: { number: string; state: string }[]
    }
    for (const { number, state } of lines)
      if (state === 'held') await send('POST', `${invoices}/${number}/void`, { query: '?reason=none' })
  }
}

async function reserve(count: number): Promise<string[]> {
  const answer = await send('POST', invoices, { query: `?ref=doc&count=${count}` })
  const { reservations } = (await answer.json()) as { reservations: { reservation: string }[] }
  return reservations.map((each) => each.reservation)
}

function describedAt(method: string, path: string): Described {
  return operations.find((each) => each.method === method && each.path === path)!.described
}

/** The path with what the examples name. A token and a lease have ids that no example can know. */
function pathOf(path: string, token = ''): string {
  const { parameters } = operations.find((each) => each.path === path)!.described
  const lease = leases.get(path.replace('/{lease}', ''))?.lease
  const known: Readonly<Record<string, unknown>> = { lease, id: token, reservation }
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const { example } = parameters.find((each) => each.in === 'path' && each.name === name)!
    assert.ok(example, `${path} has an example of ${name}`)
    return encodeURIComponent(String(known[name] ?? example))
  })
}

/** The query of an example; moments of a lease are those of the real one. */
function queryOf(method: string, path: string): string {
  const lease = path.includes('{lease}') ? leases.get(path.replace('/{lease}', '')) : undefined
  const moments: Readonly<Record<string, unknown>> = { until: lease?.untilUs, from: lease?.fromUs }
  const query = new URLSearchParams()
  for (const { in: where, name, example } of describedAt(method, path).parameters)
    if (where === 'query' && example !== undefined) query.set(name, String(moments[name] ?? example))
  return query.size === 0 ? '' : `?${query}`
}

describe('the examples of the OpenAPI document', { timeout: 120_000 }, () => {
  test('are answered by a real node as they say', async (t) => {
    assert.ok(operations.length > 35)
    for (const operation of operations)
      for (const type of typesOf(operation.described))
        await t.test(`${operation.method} ${operation.path} ${type ?? ''}`, () => tryExample(operation, type))
  })
})

/** Sends the request of an example; `type`: of the answer. */
async function tryExample({ method, path, described }: Operation, type: string | undefined): Promise<void> {
  const { requestBody, responses } = described
  const token = await setScene()
  await setLedger(path)
  const body = requestBody?.content['application/json']?.example
  assert.equal(body === undefined, requestBody === undefined, 'its body has an example')
  const answer = await send(method, pathOf(path, token), {
    query: queryOf(method, path),
    body,
    ...(type !== undefined && { accept: type }),
  })
  const text = await answer.text()
  assert.ok(answer.ok, `${answer.status} ${text.slice(0, 300)}`)
  const content = responses[answer.status]?.content
  if (type === undefined) return assert.equal(content, undefined)
  assert.ok(answer.headers.get('content-type')!.startsWith(type))
  const { example, schema } = content![type]!
  if (type === 'application/json') assertForm(example, JSON.parse(text), 'answer')
  else assertLines(String(schema.examples?.[0]), text)
  // A renewal moves the end of the lease, and a claim of the same owner begins another.
  if (/\/(?:leases|workers)(?:\/{lease})?$/.test(path) && method.startsWith('P'))
    leases.set(path.replace('/{lease}', ''), JSON.parse(text))
}

/** The types of content of an operation's answers; undefined: they have none. */
function typesOf({ responses }: Described): readonly (string | undefined)[] {
  const types = Object.entries(responses).flatMap(([status, { content = {} }]) =>
    status.startsWith('2') ? Object.keys(content) : [],
  )
  return types.length === 0 ? [undefined] : [...new Set(types)]
}

/**
 * The same members of the same types; lists by one that is like their first, and those of numbers, and notes, may be empty; maps of generators by
 * those of the example. `null` stands for any number or text, `{}` for any object.
 */
function assertForm(example: unknown, answer: unknown, what: string): void {
  assert.notEqual(example, undefined, `${what} has an example`)
  if (Array.isArray(example)) {
    assert.ok(Array.isArray(answer), what)
    const mayBeEmpty = typeof example[0] === 'number' || what.endsWith('.notes')
    if (answer.length === 0 && mayBeEmpty) return
    assert.equal(answer.length > 0, example.length > 0, `${what}: empty, or not`)
    if (answer.length > 0 && !answer.some((each) => hasForm(example[0], each)))
      assertForm(example[0], answer[0], `${what}[0]`)
  } else if (typeof example === 'object' && example !== null) {
    assert.ok(typeof answer === 'object' && answer !== null && !Array.isArray(answer), what)
    const [wanted, found] = [example as Record<string, unknown>, answer as Record<string, unknown>]
    if (Object.keys(wanted).length === 0) return
    const isMap = what.endsWith('.generators')
    if (!isMap) assert.deepEqual(Object.keys(found).sort(), Object.keys(wanted).sort(), what)
    for (const name of Object.keys(wanted)) assertForm(wanted[name], found[name], `${what}.${name}`)
  } else if (example !== null && answer !== null) {
    assert.equal(typeof answer, typeof example, what)
    if (typeof example === 'string') assert.equal(/^\d+$/.test(String(answer)), /^\d+$/.test(example), what)
  }
}

function hasForm(example: unknown, answer: unknown): boolean {
  try {
    assertForm(example, answer, '')
    return true
  } catch {
    return false
  }
}

/** Lines of JSON by their form; each other line of the example is in the answer, whatever its numbers are. */
function assertLines(example: string, answer: string): void {
  const linesOf = (text: string) => text.split('\n').filter((line) => line !== '')
  if (example.startsWith('{'))
    for (const line of linesOf(example)) {
      const wanted = JSON.parse(line) as object & { type: string }
      const isLike = ({ events, ...found }: { type: string; events?: unknown }) =>
        found.type === wanted.type && hasForm(wanted, 'events' in wanted ? { ...found, events } : found)
      // Another node may tell of other generators, and a tick of events.
      assert.ok(
        linesOf(answer).some((each) => isLike(JSON.parse(each))),
        `no line is like ${line}: ${answer.slice(0, 1000)}`,
      )
    }
  else {
    const found = new Set(linesOf(answer).map((line) => line.replaceAll(/\d+/g, '#')))
    for (const line of linesOf(example)) assert.ok(found.has(line.replaceAll(/\d+/g, '#')), line)
  }
}
