/** Runs and leases under the quotas of namespaces, and in transactions, on a real server. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type FahaoServer, startFahao } from '../launch/fahao.ts'
import { RawClient } from '../launch/raw-client.ts'
import { type RawReply, ReplyError } from '../launch/raw-reply.ts'

/** The word of an error, or 'ok'. */
function outcomeOf(reply: RawReply): string {
  return reply instanceof ReplyError ? reply.text.split(' ', 1)[0]! : 'ok'
}

function fieldsOf(reply: RawReply): Readonly<Record<string, RawReply>> {
  assert.ok(Array.isArray(reply), outcomeOf(reply))
  return Object.fromEntries(
    reply.flatMap((name, index) => (index % 2 === 0 ? [[String(name), reply[index + 1]]] : [])),
  )
}

async function started(t: { after: (callback: () => Promise<void>) => void }) {
  const server = await startFahao(t, { engine: 'memory:' })
  const client = await RawClient.connect(server.resp, t)
  for (const [name, kind] of Object.entries({ order: 'sequence', user: 'segment', event: 'snowflake' }))
    assert.equal(await client.command('ID.CREATE', `shop:${name}`, 'KIND', kind), 'OK')
  const outcome = async (...words: string[]) => outcomeOf(await client.command(...words))
  return { server, client, outcome }
}

async function post(server: FahaoServer, path: string): Promise<number> {
  return (await fetch(`${server.http}/v1/generators/${path}`, { method: 'POST' })).status
}

describe('the quotas of a namespace', { timeout: 60_000 }, () => {
  test('count the ids of runs and of leased ranges as those of ID.NEXT', async (t) => {
    const { server, client, outcome } = await started(t)
    await client.command('ID.NAMESPACE', 'SET', 'shop', 'MATCH', 'shop:*', 'DAILY', '100')
    assert.equal(await outcome('ID.RUNS', 'shop:order', '30'), 'ok')
    assert.equal(await outcome('ID.RUNS', 'shop:event', '10'), 'ok')
    const { lease, ranges } = fieldsOf(await client.command('ID.LEASE', 'shop:user', 'COUNT', '30'))
    assert.equal(await outcome('ID.NEXT', 'shop:order', 'COUNT', '10'), 'ok')
    for (const words of [
      ['ID.RUNS', 'shop:order', '21'],
      ['ID.LEASE', 'shop:user', 'COUNT', '21'],
      ['ID.NEXT', 'shop:order', 'COUNT', '21'],
    ])
      assert.equal(await outcome(...words), 'QUOTA', words.join(' '))
    for (const words of [
      ['ID.RUNS', 'shop:order', '101'],
      ['ID.LEASE', 'shop:user', 'COUNT', '101'],
    ])
      assert.equal(await outcome(...words), 'LIMIT', words.join(' '))
    const [[start]] = ranges as unknown as [[Buffer]]
    const returned = ['ID.RETURN', 'shop:user', String(lease), 'FROM', String(start)]
    assert.equal(await client.command(...returned), 1n)
    assert.equal(await outcome('ID.RUNS', 'shop:order', '21'), 'QUOTA', 'a return is not credited')
    assert.equal(await post(server, 'shop%3Aorder/runs?count=21'), 429)
    assert.equal(await post(server, 'shop%3Auser/leases?count=21'), 429)
    assert.equal(await post(server, 'shop%3Auser/leases?count=10'), 200)
    assert.equal(await post(server, 'shop%3Aorder/runs?count=10'), 200)
    for (const words of [
      ['ID.RUNS', 'shop:order', '1'],
      ['ID.LEASE', 'shop:user', 'COUNT', '1'],
      ['INCR', 'shop:order'],
    ])
      assert.equal(await outcome(...words), 'QUOTA', words.join(' '))
    const shown = fieldsOf(await client.command('ID.NAMESPACE', 'GET', 'shop'))
    assert.equal(shown.issued, 100n)
    await client.command('ID.NAMESPACE', 'DROP', 'shop')
    const next = fieldsOf(await client.command('ID.LEASE', 'shop:user', 'COUNT', '1'))
    assert.deepEqual(
      (next.ranges as unknown as [[Buffer]])[0].map(String),
      ['11', '12'],
      'no refused request has reserved anything',
    )
  })

  test('limit worker ids, not the ids that their holders stamp', async (t) => {
    const { client, outcome } = await started(t)
    await client.command('ID.NAMESPACE', 'SET', 'shop', 'MATCH', 'shop:*', 'DAILY', '1', 'LEASES', '2')
    const lease = ['ID.LEASE', 'shop:event', 'TTL', '900000']
    const first = fieldsOf(await client.command(...lease))
    assert.deepEqual([await outcome(...lease), await outcome(...lease)], ['ok', 'QUOTA'])
    const [token, until] = [String(first.lease), String(first.untilUs)]
    assert.equal(await outcome('ID.RENEW', 'shop:event', token, 'UNTIL', until), 'ok')
    const returned = ['ID.RETURN', 'shop:event', token, 'FROM', String(first.fromUs), 'UNTIL', until]
    assert.equal(await client.command(...returned), 1n)
    assert.equal(await outcome(...lease), 'ok')
    assert.equal(await outcome(...lease), 'QUOTA')
  })
})

describe('in a transaction', { timeout: 60_000 }, () => {
  const queue = async (client: RawClient, ...requests: string[]) => {
    assert.equal(await client.command('MULTI'), 'OK')
    const queued = []
    for (const request of requests) queued.push(outcomeOf(await client.command(...request.split(' '))))
    return queued
  }

  test('runs and leases are queued, and EXEC replies to each', async (t) => {
    const { client } = await started(t)
    const queued = await queue(
      client,
      ...['ID.RUNS shop:order 5', 'ID.LEASE shop:user COUNT 7', 'ID.LEASE shop:event', 'ID.LEASE shop:order'],
      'ID.LEASES MATCH shop:*',
    )
    assert.deepEqual(queued, Array(5).fill('ok'))
    const replies = await client.command('EXEC')
    assert.ok(Array.isArray(replies))
    const [runs, range, worker, strict, listed] = replies
    assert.deepEqual(runs, [['1', '1', 5n]])
    assert.deepEqual(fieldsOf(range!).ranges, [['1', '8']])
    assert.ok(fieldsOf(worker!).untilUs! > fieldsOf(worker!).fromUs!)
    assert.deepEqual([fieldsOf(strict!).kind, fieldsOf(strict!).lease], ['sequence', null])
    assert.equal((listed as RawReply[]).length, 1, 'requests of a transaction run in order')
    assert.equal(await client.command('INCR', 'shop:order'), 6n)
  })

  test('a refusal by a quota stands in its place, and the other requests run', async (t) => {
    const { client, outcome } = await started(t)
    await client.command('ID.NAMESPACE', 'SET', 'shop', 'MATCH', 'shop:*', 'DAILY', '10', 'LEASES', '1')
    await queue(
      client,
      ...['ID.RUNS shop:order 6', 'ID.LEASE shop:user COUNT 5', 'ID.LEASE shop:user COUNT 4'],
      ...['ID.LEASE shop:event', 'ID.LEASE shop:event'],
    )
    const replies = await client.command('EXEC')
    assert.ok(Array.isArray(replies))
    assert.deepEqual(replies.map(outcomeOf), ['ok', 'QUOTA', 'ok', 'ok', 'QUOTA'])
    assert.equal(await outcome('INCR', 'shop:order'), 'QUOTA')
  })

  test('a malformed request ends it, and nothing is issued or leased', async (t) => {
    const { client } = await started(t)
    assert.deepEqual(await queue(client, 'ID.RUNS shop:order 5', 'ID.LEASE shop:event', 'ID.LEASE'), [
      'ok',
      'ok',
      'ERR',
    ])
    assert.equal(outcomeOf(await client.command('EXEC')), 'EXECABORT')
    assert.deepEqual(await client.command('ID.LEASES', 'MATCH', 'shop:*'), [])
    assert.equal(await client.command('INCR', 'shop:order'), 1n)
  })
})
