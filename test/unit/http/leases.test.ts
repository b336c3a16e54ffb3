import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { InjectOptions } from 'fastify'
import { buildHttpApp } from '../../../src/http/app.ts'
import { fakeNode } from './fake-node.ts'

function start() {
  const node = fakeNode()
  node.catalogue.add('event/a', { kind: 'snowflake' })
  node.catalogue.add('order', { kind: 'sequence' })
  const app = buildHttpApp({ node, host: '127.0.0.1' })
  return (method: InjectOptions['method'], url: string) => app.inject({ method, url } as InjectOptions)
}

const leases = '/v1/generators/event%2Fa/leases'
const nowUs = Date.UTC(2026, 10, 1) * 1000

describe('a worker lease over HTTP', () => {
  test('is taken, renewed, listed and given back', async () => {
    const send = start()
    const taken = await send('POST', `${leases}?ttl=5s&holder=mail`)
    const { lease, worker, definition, ...span } = taken.json()
    assert.deepEqual(
      [taken.statusCode, span],
      [
        200,
        {
          kind: 'snowflake',
          incarnation: '1',
          nowUs,
          drawnMax: 1_000_000_000_000,
          fromUs: nowUs,
          untilUs: nowUs + 5_000_000,
        },
      ],
    )
    assert.equal(definition.kind, 'snowflake')
    const renewed = await send('PATCH', `${leases}/${lease}?until=${span.untilUs}&ttl=1m`)
    assert.equal(renewed.json().untilUs, nowUs + 60_000_000)
    const held = { worker, by: 'caller', holder: 'mail', generator: 'event/a', user: 'default' }
    assert.deepEqual((await send('GET', '/v1/leases?match=ev*&limit=1')).json(), {
      workers: [{ ...held, fromUs: nowUs, untilUs: nowUs + 60_000_000, state: 'held' }],
      next: null,
    })
    const { lease: second, worker: higher, untilUs } = (await send('POST', leases)).json()
    const page = async (after = '') => {
      const { workers, next } = (await send('GET', `/v1/leases?match=ev*&limit=1${after}`)).json()
      return [workers.map((each: { worker: number }) => each.worker), next]
    }
    const [low, high] = [worker, higher].sort((a, b) => a - b)
    assert.deepEqual(await page(), [[low], low])
    assert.deepEqual(await page(`&after=${low}`), [[high], null])
    await send('DELETE', `${leases}/${second}?from=${nowUs}&until=${untilUs}`)
    const [, note] = (await send('GET', '/v1/generators/event%2Fa')).json().notes
    assert.equal(
      note,
      'callers hold 1 worker ids of its layout, 1 of them leased for it, and can lease 1007 more',
    )
    const stale = await send('PATCH', `${leases}/${lease}?until=${span.untilUs}`)
    assert.deepEqual([stale.statusCode, stale.json().code], [409, 'NOLEASE'])
    const rest = `${leases}/${lease}?from=${nowUs + 1}&until`
    assert.deepEqual((await send('DELETE', `${rest}=${span.untilUs}`)).json(), { returned: false })
    assert.deepEqual((await send('DELETE', `${rest}=${nowUs + 60_000_000}`)).json(), { returned: true })
    assert.deepEqual((await send('DELETE', `${leases}/x?from=0`)).json(), { returned: false })
  })

  test('is null where the kind leases nothing, by a POST without parameters too', async () => {
    const send = start()
    const answer = await send('POST', '/v1/generators/order/leases')
    assert.deepEqual([answer.statusCode, answer.json().lease, answer.json().kind], [200, null, 'sequence'])
  })

  test('answers with a sentence where a parameter is wrong', async () => {
    const send = start()
    for (const [method, path, detail] of [
      ['POST', `${leases}?ttl=soon`, /'ttl': must be a duration such as 250ms/],
      ['POST', `${leases}?ttl=1ms`, /TTL must be from 1000 to 900000 ms/],
      ['POST', `${leases}?count=0`, /'count': must be a whole number from 1/],
      ['PATCH', `${leases}/x`, /'until': must be Unix time in µs/],
      ['PATCH', `${leases}/x?until=1e3`, /'until': must be Unix time in µs/],
      ['DELETE', `${leases}/x?from=-1`, /'from': must be a whole number/],
      ['DELETE', `${leases}/x?from=1&until=-1`, /'until': must be Unix time in µs/],
      ['DELETE', `${leases}/1-1-${'0'.repeat(32)}?from=1`, /the return of a worker lease needs UNTIL/],
      ['DELETE', `${leases}/x?from=1&until=1`, /UNTIL is for worker leases, and this lease is none/],
      ['GET', '/v1/leases?limit=1001', /'limit': must be a whole number from 1 to 1000/],
    ] as const) {
      const { statusCode, json } = await send(method, path)
      assert.equal(statusCode, 400, path)
      assert.match(json().detail, detail)
    }
  })
})
