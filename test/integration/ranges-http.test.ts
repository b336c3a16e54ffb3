/** Ranges of a segment for callers over HTTP: leased, used beside draws, given back, and dropped at their deadline. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { connect } from '../../client/src/index.ts'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { Scope } from '../launch/lifetime.ts'

type Lease = { readonly lease: string; readonly ranges: [string, string][]; readonly ttlMs: number }

describe('ranges that callers lease over HTTP', () => {
  const scope = new Scope()
  const servers: FahaoServer[] = []

  before(async () => {
    const first = await startFahao(scope)
    servers.push(first, await startFahao(scope, { engine: first.engine }))
  })
  after(() => scope.end())

  const send = async (method: string, path: string, server = servers[0]!) => {
    const answer = await fetch(`${server.http}/v1/generators/${path}`, { method })
    return { status: answer.status, body: (await answer.json()) as { detail?: string } }
  }
  const lease = async (name: string, query: string, server?: FahaoServer) => {
    const { status, body } = await send('POST', `${name}/leases?${query}`, server)
    assert.equal(status, 200, JSON.stringify(body))
    const [[start, end]] = (body as unknown as Lease).ranges as [[string, string]]
    return { ...(body as unknown as Lease), start: BigInt(start), end: BigInt(end) }
  }
  const giveBack = async (name: string, token: string, from: bigint, server?: FahaoServer) =>
    (await send('DELETE', `${name}/leases/${token}?from=${from}`, server)).body
  const create = async (name: string, more: object = {}) => {
    const body = JSON.stringify({ kind: 'segment', ...more })
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(`${servers[0]!.http}/v1/generators/${name}`, { method: 'PUT', body, headers })
    assert.equal(answer.status, 201, await answer.text())
  }

  test('share no id with each other, or with what the servers issue', async () => {
    await create('order', { step: 10 })
    const used = new Set<bigint>()
    const use = (id: bigint) => {
      assert.ok(!used.has(id), `${id} is used twice`)
      used.add(id)
    }
    for (let round = 0; round < 10; round++) {
      const server = servers[round % 2]!
      const range = await lease('order', 'count=30', server)
      assert.equal(range.end - range.start, 30n)
      const from = range.start + BigInt(3 * round)
      for (let id = range.start; id < from; id++) use(id)
      if (round % 3 === 0) await giveBack('order', range.lease, from, server)
      for (const each of servers) {
        const { body } = await send('POST', 'order/next?count=7', each)
        for (const id of (body as { ids: string[] }).ids) use(BigInt(id))
      }
    }
  })

  test('go back once, to the node that leased them, while no other range has followed', async () => {
    await create('quiet')
    const first = await lease('quiet', 'count=100')
    const from = first.start + 40n
    assert.deepEqual(await giveBack('quiet', first.lease, from, servers[1]), { returned: false })
    assert.deepEqual(await giveBack('quiet', first.lease, from), { returned: true })
    assert.deepEqual(await giveBack('quiet', first.lease, from), { returned: false }, 'a second time')
    const second = await lease('quiet', 'count=10')
    assert.equal(second.start, from, 'what went back is leased again')
    const third = await lease('quiet', 'count=10')
    assert.deepEqual(await giveBack('quiet', second.lease, second.start), { returned: false })
    const { status, body } = await send('DELETE', `quiet/leases/${third.lease}?from=${third.end + 1n}`)
    assert.equal(status, 400)
    assert.match(body.detail ?? '', /^FROM is the first unused raw value of the range: from \d+ to \d+/)
    assert.deepEqual(await giveBack('quiet', third.lease, third.end), { returned: false }, 'nothing is left')
  })

  test('have the deadline that was asked for, within its limits', async () => {
    await create('limited')
    assert.equal((await lease('limited', 'ttl=5s')).ttlMs, 5000)
    assert.equal((await lease('limited', '')).ttlMs, 600_000)
    for (const ttl of ['999ms', '25h']) {
      const { status, body } = await send('POST', `limited/leases?ttl=${ttl}`)
      assert.deepEqual([status, body.detail], [400, 'TTL must be from 1000 to 86400000 ms'])
    }
  })

  test('are used up to their deadline by a client, which then follows an alteration', async (t) => {
    await create('altered')
    const client = await connect(servers[1]!.http, { horizonMs: 500 })
    t.after(() => client.close())
    const generator = await client.generator('altered')
    const before = await generator.nextText()
    assert.match(before, /^\d+$/)
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(`${servers[0]!.http}/v1/generators/altered`, {
      method: 'PATCH',
      body: JSON.stringify({ format: 'n{id}' }),
      headers,
    })
    assert.equal(answer.status, 200, await answer.text())
    let text = before
    while (!text.startsWith('n')) text = await generator.nextText()
    assert.ok(BigInt(text.slice(1)) > BigInt(before))
  })
})
