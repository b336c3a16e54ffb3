import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, test } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { Access, everything } from '../../../src/auth/access.ts'
import { buildHttpApp } from '../../../src/http/app.ts'
import { noTraffic } from '../../../src/http/traffic.ts'
import { WorkerIdCount } from '../../../src/leasing/worker-id-usage.ts'
import { RequestFigures } from '../../../src/listening/request-figures.ts'
import { Metrics } from '../../../src/metrics/node-metrics.ts'
import type { Health } from '../../../src/node/health.ts'
import { addProxyMetrics } from '../../../src/proxy/metrics.ts'
import { type FakeNode, fakeNode } from './fake-node.ts'

const traffic = noTraffic()
const open: FastifyInstance[] = []
afterEach(() => Promise.all(open.splice(0).map((app) => app.close())))

function start({ resp = false, ...settings }: { metricsSeriesMax?: number; resp?: boolean } = {}) {
  const node = fakeNode(settings)
  const app = buildHttpApp({
    node,
    host: '127.0.0.1',
    ...(resp
      ? { figures: { resp: () => ({ ...traffic, connections: 3, connectionsTotal: 10, commands: 99 }) } }
      : {}),
  })
  open.push(app)
  const get = (url: string) => app.inject({ method: 'GET', url })
  const scrape = async () => (await get('/metrics')).body.split('\n')
  return { node, get, scrape, catalogue: node.catalogue }
}

describe('health', () => {
  const table: readonly [state: Health['state'], healthz: number, readyz: number][] = [
    ['ok', 200, 200],
    ['degraded', 200, 200],
    ['down', 200, 503],
    ['stopping', 200, 503],
  ]
  for (const [state, healthz, readyz] of table) {
    test(`while ${state}: alive is ${healthz}, ready is ${readyz}, and both say why`, async () => {
      const { node, get } = start()
      node.healthNow = { state, reason: 'the disk is full', inHandSeconds: 12.5 }
      const answers = [await get('/healthz'), await get('/readyz')]
      assert.deepEqual(
        answers.map(({ statusCode }) => statusCode),
        [healthz, readyz],
      )
      for (const answer of answers) {
        assert.deepEqual(answer.json(), { state, reason: 'the disk is full', inHandSeconds: 12.5 })
        assert.equal(answer.headers['cache-control'], 'no-store')
      }
    })
  }
})

describe('metrics', () => {
  test('show what each generator does', async () => {
    const { catalogue, scrape } = start()
    const order = catalogue.add('order', { kind: 'sequence', max: '1000' })
    order.next = 101n
    order.figures = { ratePerSecond: 10, refillSeconds: 0.25, waits: 4, drySeconds: 1.5, inHandSeconds: 60 }
    const lines = await scrape()
    for (const line of [
      'fahao_generator_info{generator="order",kind="sequence",mode="local"} 1',
      'fahao_issued_ids_total{generator="order"} 100',
      'fahao_issued_ids_per_second{generator="order"} 10',
      'fahao_refills_failing{generator="order"} 0',
      'fahao_waits_total{generator="order"} 4',
      'fahao_dry_seconds_total{generator="order"} 1.5',
      'fahao_in_hand_ids{generator="order"} 1000',
      'fahao_in_hand_seconds{generator="order"} 60',
      'fahao_engine_up 1',
      'fahao_generators_in_use 1',
    ]) {
      assert.ok(lines.includes(line), line)
    }
  })

  test('show how long ids last: counters by their rate, clocks by their layout', async () => {
    const { catalogue, scrape } = start()
    const order = catalogue.add('order', { kind: 'sequence', max: '1000' })
    order.next = 101n
    order.figures = { ratePerSecond: 10 }
    catalogue.add('idle', { kind: 'sequence' })
    catalogue.add('event', { kind: 'snowflake', layout: 'js53' })
    const lines = await scrape()
    const value = (start: string) =>
      Number(
        lines
          .find((line) => line.startsWith(start))
          ?.split(' ')
          .at(-1),
      )
    assert.ok(Math.abs(value('fahao_exhaustion_seconds{generator="order"}') - 90) < 1)
    const untilEnd = (Date.UTC(2094, 8, 7, 15, 47, 35, 552) - Date.UTC(2026, 10, 1)) / 1000
    assert.ok(Math.abs(value('fahao_exhaustion_seconds{generator="event"}') - untilEnd) < 1)
    assert.ok(Math.abs(value('fahao_layout_exhaustion_seconds{layout="js53"}') - untilEnd) < 1)
    assert.equal(value('fahao_exhaustion_seconds{generator="idle"}'), Number.NaN)
  })

  test('show how many worker ids are in use, and how many each layout of snowflakes has room for', async () => {
    const { node, catalogue, scrape } = start()
    catalogue.add('event', { kind: 'snowflake' })
    catalogue.add('stamp', { kind: 'timestamp' })
    const held = { holder: 'a test', generator: undefined, user: undefined, fromUs: undefined, untilUs: 1 }
    node.server.workerIds.newest = () =>
      new WorkerIdCount([
        { ...held, worker: 0, by: 'node', state: 'held' },
        { ...held, worker: 16, by: 'caller', state: 'held' },
        { ...held, worker: 17, by: 'caller', state: 'held' },
        { ...held, worker: 18, by: 'caller', state: 'resting' },
      ])
    const lines = await scrape()
    assert.ok(lines.includes('fahao_worker_ids_taken 4'))
    assert.deepEqual(
      lines.filter((line) => line.startsWith('fahao_worker_ids{')),
      ['node', 'caller', 'resting'].map(
        (state, index) => `fahao_worker_ids{state="${state}"} ${[1, 2, 1][index]}`,
      ),
    )
    assert.ok(
      lines.includes('fahao_layout_worker_ids_free{layout="twitter"} 1005'),
      'of 1008 that nodes leave',
    )
    const rooms = lines.filter((line) => line.startsWith('fahao_layout_worker_ids{'))
    assert.deepEqual(rooms, ['fahao_layout_worker_ids{layout="twitter"} 1024'])
  })

  test('show the ranges that callers have leased, and what came back of them', async () => {
    const { node, catalogue, scrape } = start()
    const order = catalogue.add('order', { kind: 'segment' })
    const { rangeLeases } = node.server
    const first = await rangeLeases.lease(order, { ids: 30 })
    const newest = await rangeLeases.lease(order, { ids: 10 })
    await rangeLeases.giveBack('order', first.lease, first.start)
    await rangeLeases.giveBack('order', newest.lease, newest.start + 4n)
    const lines = await scrape()
    const figure = (name: string) => Number(lines.find((line) => line.startsWith(`${name} `))?.split(' ')[1])
    assert.equal(figure('fahao_leased_ranges_total'), 2)
    assert.equal(figure('fahao_leased_ids_total'), 40)
    assert.equal(figure('fahao_returned_ids_total'), 6)
    assert.equal(figure('fahao_range_returns_refused_total'), 1)
  })

  test('escape names, so that none can forge a line', async () => {
    const { catalogue, scrape } = start()
    catalogue.add('a"}1\\b', { kind: 'segment' })
    assert.ok((await scrape()).includes('fahao_issued_ids_total{generator="a\\"}1\\\\b"} 0'))
  })

  test('bound the number of series: the busiest have their own, the others one', async () => {
    const { catalogue, scrape } = start({ metricsSeriesMax: 2 })
    for (const [name, issued, inHandSeconds] of [
      ['a', 5, 10],
      ['b', 50, 20],
      ['c', 7, 30],
      ['d', 500, 40],
    ] as const) {
      const generator = catalogue.add(name, { kind: 'segment' })
      generator.next += BigInt(issued)
      generator.figures = { inHandSeconds }
    }
    const lines = await scrape()
    const series = (metric: string) => lines.filter((line) => line.startsWith(`${metric}{`)).sort()
    assert.deepEqual(series('fahao_issued_ids_total'), [
      'fahao_issued_ids_total{generator="(all others)"} 12',
      'fahao_issued_ids_total{generator="b"} 50',
      'fahao_issued_ids_total{generator="d"} 500',
    ])
    assert.deepEqual(series('fahao_in_hand_seconds'), [
      'fahao_in_hand_seconds{generator="(all others)"} 10',
      'fahao_in_hand_seconds{generator="b"} 20',
      'fahao_in_hand_seconds{generator="d"} 40',
    ])
    assert.equal(series('fahao_generator_info').length, 2)
    assert.ok(lines.includes('fahao_generators_in_use 4'))
  })

  test('have only the counts of a generator that has left memory', async () => {
    const { catalogue, scrape } = start()
    catalogue.add('order', { kind: 'sequence' })
    await scrape()
    catalogue.generators.clear()
    const lines = (await scrape()).filter((line) => line.includes('order'))
    assert.ok(lines.length > 0 && lines.every((line) => /^\w+_total\{/.test(line)), lines.join('\n'))
  })

  test('count what RESP counts, where there is RESP', async () => {
    const lines = await start({ resp: true }).scrape()
    assert.ok(lines.includes('fahao_connections{protocol="resp"} 3'))
    assert.ok(lines.includes('fahao_connections_total{protocol="resp"} 10'))
    assert.ok(lines.includes('fahao_requests_total{protocol="resp"} 99'))
    assert.ok(!(await start().scrape()).some((line) => line.includes('resp')))
  })

  test('leave out a value that does not exist', async () => {
    const { node, scrape } = start()
    node.server.workerIds.newest = () => undefined
    for (let scrapes = 0; scrapes < 2; scrapes++)
      assert.deepEqual(
        (await scrape()).filter((line) => /^fahao_(in_hand_seconds_min|worker_ids_taken) /.test(line)),
        [],
      )
  })

  test('show the engine: calls by operation and outcome, losses, and how long ids last without it', async () => {
    const node = fakeNode()
    const metrics = new Metrics(node, { http: () => traffic })
    const listeners = node.engineListeners
    const call = { operation: 'reserve', seconds: 0.02, error: undefined } as const
    for (const listener of listeners) listener({ ...call, outcome: 'ok' })
    for (const listener of listeners) listener({ ...call, outcome: 'UNAVAILABLE' })
    node.catalogue.refillTimes.ok.add(20_000, 2)
    node.regressions = 2
    const figures = { ratePerSecond: 1, inHandSeconds: 612.5 }
    node.catalogue.add('order', { kind: 'sequence' }).figures = figures
    node.catalogue.add('used', { kind: 'sequence' }).figures = { ...figures, inHandSeconds: 700 }
    node.catalogue.add('idle', { kind: 'sequence' }).figures = { inHandSeconds: 0 }
    const lines = (await metrics.render(everything)).split('\n')
    metrics.close()
    for (const line of [
      'fahao_engine_call_seconds_bucket{le="0.005",operation="reserve",outcome="ok"} 0',
      'fahao_engine_call_seconds_bucket{le="0.025",operation="reserve",outcome="ok"} 1',
      'fahao_engine_call_seconds_count{operation="reserve",outcome="UNAVAILABLE"} 1',
      'fahao_refill_seconds_bucket{outcome="ok",le="0.025"} 2',
      'fahao_refill_seconds_count{outcome="failed"} 0',
      'fahao_engine_regressions_total 2',
      'fahao_in_hand_seconds_min 612.5',
    ]) {
      assert.ok(lines.includes(line), line)
    }
  })

  test('show the cluster: the shards with and without a leader, the lease, and the events', async () => {
    const shard = { nobodyForMs: undefined }
    const membership = {
      cluster: {
        status: () => ({
          nodes: [
            { isSelf: false, leads: 1 },
            { isSelf: true, leads: 2 },
          ],
          versions: ['1', '2'],
          shards: [shard, shard, shard, { nobodyForMs: 12 }],
          leaseLeftMs: 2500,
        }),
      },
      transitions: new Map([['won', 3]]),
      handovers: { count: 2, seconds: 0.04 },
    }
    const node = { ...fakeNode(), membership } as unknown as FakeNode
    const metrics = new Metrics(node, { http: () => traffic })
    const lines = (await metrics.render(everything)).split('\n')
    metrics.close()
    for (const line of [
      'fahao_cluster_nodes 2',
      'fahao_cluster_versions 2',
      'fahao_cluster_shards_led 2',
      'fahao_cluster_shards_leaderless 1',
      'fahao_cluster_lease_left_seconds 2.5',
      'fahao_cluster_transitions_total{type="won"} 3',
      'fahao_cluster_handover_seconds_total 0.04',
    ]) {
      assert.ok(lines.includes(line), line)
    }
  })

  test('show how long requests of a protocol took, and its errors', async () => {
    const requests = new RequestFigures()
    requests.took(300, 2)
    requests.failed('DRY', 3)
    requests.took(20_000_000)
    const metrics = new Metrics(fakeNode(), { resp: () => ({ ...traffic, requests }) })
    const lines = (await metrics.set.registry.metrics()).split('\n')
    metrics.close()
    for (const line of [
      '# TYPE fahao_request_seconds histogram',
      'fahao_request_seconds_bucket{protocol="resp",outcome="ok",le="0.00025"} 0',
      'fahao_request_seconds_bucket{protocol="resp",outcome="ok",le="0.0005"} 2',
      'fahao_request_seconds_bucket{protocol="resp",outcome="ok",le="+Inf"} 2',
      'fahao_request_seconds_bucket{protocol="resp",outcome="failed",le="10"} 0',
      'fahao_request_seconds_bucket{protocol="resp",outcome="failed",le="+Inf"} 1',
      'fahao_request_seconds_sum{protocol="resp",outcome="failed"} 20',
      'fahao_request_seconds_count{protocol="resp",outcome="failed"} 1',
      'fahao_errors_total{protocol="resp",code="DRY"} 3',
    ]) {
      assert.ok(lines.includes(line), line)
    }
  })

  test('are written once for all requests of a caller that wait: others wait for no more', async () => {
    const node = fakeNode()
    const metrics = new Metrics(node, { http: () => traffic })
    let written = 0
    metrics.set.gauge('times_written', 'How often this was read.', [], () => ++written)
    const narrow = new Access('narrow', new Set(['http|metrics']), ['n:*'])
    const flood = Array.from({ length: 100 }, () => metrics.render(narrow))
    await metrics.render(everything)
    metrics.close()
    assert.equal(new Set(await Promise.all(flood)).size, 1)
    assert.equal(written, 2)
  })

  test('are those of docs/reference/metrics.md, with type and meaning', async () => {
    const path = join(import.meta.dirname, '../../../docs/reference/metrics.md')
    const documented = [...readFileSync(path, 'utf8').matchAll(/^\| `(\w+)` \| (\w+) \| (.*) \|$/gm)]
    const metrics = new Metrics(fakeNode(), { http: () => traffic })
    addProxyMetrics(metrics.set, () => undefined)
    const real = metrics.set.registry.getMetricsAsArray().map(({ name, type, help }) => [name, type, help])
    metrics.close()
    assert.deepEqual(
      documented.map(([, name, type, help]) => [name, type, help]),
      real.map(([name, type, help]) => [name, String(type), help]),
    )
  })
})
