import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { InjectOptions } from 'fastify'
import { buildHttpApp } from '../../../src/http/app.ts'
import { fakeNode } from './fake-node.ts'

async function start() {
  const node = fakeNode({ metricsSeriesMax: 2 })
  await node.server.meters.namespaces.open()
  const app = buildHttpApp({ node, host: '127.0.0.1' })
  const send = (method: InjectOptions['method'], url: string, payload?: object) =>
    app.inject({ method, url, ...(payload === undefined ? {} : { payload }) } as InjectOptions)
  return { node, send }
}

const shop = '/v1/namespaces/shop'
const options = { match: 'shop:*', owner: 'team-a', idsPerDay: 10 }
const here = { issued: 0, refused: 0, waiting: 0, shareOfDay: 0 }

describe('a namespace over HTTP', () => {
  test('is set, shown, listed and dropped', async () => {
    const { send } = await start()
    const set = await send('PUT', shop, options)
    assert.deepEqual([set.statusCode, set.json()], [200, { name: 'shop', ...options, here }])
    await send('PUT', '/v1/namespaces/all', { match: '*', idsPerSecond: '5' })
    assert.deepEqual((await send('GET', shop)).json(), { name: 'shop', ...options, here })
    const all = { name: 'all', match: '*', idsPerSecond: 5, here: { ...here, shareOfDay: null } }
    assert.deepEqual((await send('GET', '/v1/namespaces')).json(), {
      namespaces: [all, { name: 'shop', ...options, here }],
    })
    assert.equal((await send('DELETE', shop)).statusCode, 204)
    for (const method of ['DELETE', 'GET'] as const) assert.equal((await send(method, shop)).statusCode, 404)
  })

  test('has metrics with its owner, and those that issue least share one series', async () => {
    const { node, send } = await start()
    for (const [name, issued] of [
      ['a', 5],
      ['b', 7],
      ['c', 2],
      ['d', 1],
    ] as const) {
      await send('PUT', `/v1/namespaces/${name}`, { match: name, owner: 'team-a', idsPerDay: 10 })
      node.catalogue.add(name, { kind: 'segment' })
      await send('POST', `/v1/generators/${name}/next?count=${issued}`)
      await send('POST', `/v1/generators/${name}/next?count=10`)
    }
    const lines = (await send('GET', '/metrics')).body.split('\n')
    const series = (metric: string) => lines.filter((line) => line.startsWith(`fahao_namespace_${metric}{`))
    assert.deepEqual(series('issued_ids_total'), [
      'fahao_namespace_issued_ids_total{namespace="b",owner="team-a"} 7',
      'fahao_namespace_issued_ids_total{namespace="a",owner="team-a"} 5',
      'fahao_namespace_issued_ids_total{namespace="(all others)",owner=""} 3',
    ])
    assert.equal(
      series('refused_total')[2],
      'fahao_namespace_refused_total{namespace="(all others)",owner=""} 2',
    )
    assert.equal(series('day_share')[2], 'fahao_namespace_day_share{namespace="(all others)",owner=""} 0.2')
    assert.equal(series('waiting').length, 3)
  })
})
