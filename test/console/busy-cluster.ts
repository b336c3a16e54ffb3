/** A cluster of three with users, generators of every kind, and callers that draw from them: what screenshots show and trials ask about. */
import assert from 'node:assert/strict'
import { startEtcd } from '../launch/etcd.ts'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { atEnd, type Lifetime } from '../launch/lifetime.ts'

/** The password of `admin`, and of the others their names. */
export const password = 'administrator'
const authorization = { authorization: `Basic ${btoa(`admin:${password}`)}` }
const roundMs = 250

/** Generators, and how many ids callers draw from each of them in a round. */
const drawn: readonly (readonly [name: string, definition: object, count: number])[] = [
  ['order', { kind: 'sequence' }, 20],
  ['invoice', { kind: 'sequence', format: 'INV-{date:yyyy}-{id:8}', max: 99_999_999 }, 5],
  ['voucher', { kind: 'sequence', max: 999_999, format: '{id:6}{check:luhn}', start: 400_000 }, 2],
  ['ticket', { kind: 'sequence', max: 2_147_483_647, start: 2_140_000_000 }, 8],
  ['ledger', { kind: 'timestamp' }, 10],
  ['event', { kind: 'snowflake' }, 200],
  ['trace', { kind: 'snowflake', layout: 'sonyflake' }, 5],
  ['shop:cart', { kind: 'segment', format: 'cart_{id}' }, 60],
  ['shop:parcel', { kind: 'segment', step: 500, format: '{id:10:crockford}' }, 15],
  ['shop:coupon', { kind: 'segment', within: 'shuffled', format: 'coupon_{id:8}' }, 3],
  ['crm:contact', { kind: 'segment' }, 12],
  ['crm:说明', { kind: 'segment' }, 1],
]

/** The nodes, and what trials do to them. */
export type BusyCluster = {
  readonly nodes: readonly FahaoServer[]
  /** Kills one of them; its callers go on with the others. */
  readonly loseNode: (node: FahaoServer) => Promise<void>
}

/** Asks a node as its administrator; resolves to its answer, or to its error. */
export async function askAsAdmin(
  node: FahaoServer,
  method: string,
  path: string,
  body?: object,
): Promise<Response> {
  return await fetch(`${node.http}${path}`, {
    method,
    headers: { ...authorization, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(10_000),
  })
}

/** Starts it, with the callers. */
export async function startBusyCluster(lifetime: Lifetime): Promise<BusyCluster> {
  const etcd = await startEtcd(lifetime)
  const nodes = await Promise.all(
    [0, 1, 2].map(() =>
      startFahao(lifetime, {
        engine: etcd.url('ids'),
        args: ['--cluster', 'shop'],
        env: { FAHAO_ADMIN_PASSWORD: password },
        readyWithinMs: 60_000,
      }),
    ),
  )
  await prepare(nodes)
  const lost = new Set<FahaoServer>()
  keepDrawing(lifetime, () => nodes.filter((node) => !lost.has(node)))
  const loseNode = async (node: FahaoServer) => {
    lost.add(node)
    await node.kill('SIGKILL')
  }
  return { nodes, loseNode }
}

async function prepare(nodes: readonly FahaoServer[]): Promise<void> {
  const [first] = nodes as [FahaoServer]
  const ask = async (method: string, path: string, body?: object) => {
    const response = await askAsAdmin(first, method, path, body)
    assert.ok(response.ok, `${method} ${path}: ${response.status} ${await response.text()}`)
  }
  for (const [name, definition] of drawn)
    await ask('PUT', `/v1/generators/${encodeURIComponent(name)}`, definition)
  await ask('PUT', '/v1/generators/locker', { kind: 'sequence', max: 40 })
  await ask('POST', '/v1/generators/locker/next?count=40')
  await ask('PUT', '/v1/namespaces/shop', {
    match: 'shop:*',
    owner: 'team-a',
    idsPerSecond: 2000,
    idsPerDay: 20_000,
  })
  await ask('PUT', '/v1/namespaces/crm', { match: 'crm:*', owner: 'team-b', idsPerDay: 900, generators: 10 })
  await ask('PUT', '/v1/users/team-a', { rules: ['on', '>team-a', '~shop:*', '+@read', '+@issue'] })
  await ask('PUT', '/v1/users/reader', { rules: ['on', '>reader', '~*', '+@read'] })
  await ask('PUT', '/v1/users/gone', { rules: ['off', '>gone', '~*', '+@read'] })
  await ask('POST', '/v1/tokens', { label: 'shop in production', user: 'team-a' })
  await ask('POST', '/v1/tokens', { label: 'dashboards', user: 'reader', expires: '90d' })
  for (const holder of ['mail-1', 'mail-2', 'search-7'])
    await ask('POST', `/v1/generators/event/leases?ttl=10m&holder=${holder}`)
  for (const owner of ['host-17', 'host-18'])
    await ask('POST', `/v1/pools/payments/workers?owner=${owner}&ttl=10m&size=32`)
  await ask('PUT', '/v1/generators/legacy', { kind: 'segment', format: 'old_{id}' })
  await ask('PATCH', '/v1/generators/legacy', { floor: '50000', horizon: '20m' })
  await ask('PUT', '/v1/generators/mistake', { kind: 'segment' })
  await ask('DELETE', '/v1/generators/mistake')
  // What is refused at the login is part of the audit trail.
  await fetch(`${first.http}/v1/whoami`, { headers: { authorization: `Basic ${btoa('admin:guess')}` } })
}

/** Callers of every generator, at every node, and some that ask for what does not exist or is used up. */
function keepDrawing(lifetime: Lifetime, nodes: () => readonly FahaoServer[]): void {
  const ended = new AbortController()
  let round = 0
  const draw = (node: FahaoServer, name: string, count: number) =>
    fetch(`${node.http}/v1/generators/${encodeURIComponent(name)}/next?count=${count}`, {
      method: 'POST',
      headers: authorization,
      signal: ended.signal,
    }).then(
      (answer) => answer.arrayBuffer(),
      // A node that was lost meanwhile: the next round asks the others.
      () => undefined,
    )
  const turn = async () => {
    round++
    for (const [index, [name, , count]] of drawn.entries()) {
      const all = nodes()
      const swing = 1 + 0.5 * Math.sin((round + 10 * index) / 40)
      await draw(all[(round + index) % all.length]!, name, Math.max(1, Math.round(count * swing)))
    }
    if (round % 8 === 0) await draw(nodes()[0]!, 'ordre', 1)
    if (round % 20 === 0) await draw(nodes()[0]!, 'locker', 1)
  }
  const work = (async () => {
    while (!ended.signal.aborted) {
      const pause = new Promise((resolve) => setTimeout(resolve, roundMs))
      await turn()
      await pause
    }
  })()
  atEnd(lifetime, async () => {
    ended.abort()
    await work
  })
}
