/**
 * The alerts and the dashboard on Debian's Prometheus, which scrapes two nodes of a cluster: each alert fires by a real cause, and
 * each query of the dashboard returns data. The rules look at twenty seconds instead of minutes, and do not wait.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { settled } from '../../launch/cluster.ts'
import { startEtcd } from '../../launch/etcd.ts'
import { type FahaoServer, startFahao } from '../../launch/fahao.ts'
import { freePort } from '../../launch/places.ts'
import { type Prometheus, startPrometheus } from '../../launch/prometheus.ts'
import type { RawClient } from '../../launch/raw-client.ts'

const ops = join(import.meta.dirname, '../../../ops')
const alerts = readFileSync(join(ops, 'prometheus/alerts.yml'), 'utf8')

/** What other causes would take too long for, or other programs; promtool tries them. */
const notTried = [
  'FahaoFilesEnd',
  'FahaoVersionsMixed',
  'FahaoAuditIncomplete',
  'FahaoProxyWithoutIds',
  'FahaoProxyRefuses',
]
/** The panels of what did not happen here. */
const empty = ['Connections closed to keep a limit']

test('every alert fires by a real cause, and every query of the dashboard returns data', {
  timeout: 300_000,
}, async (t) => {
  const etcd = await startEtcd(t)
  const proxyPort = await freePort()
  const cluster = ['--cluster', 'ids', '--shards', '4', '--lease-ttl', '2s']
  const proxy = [
    '--mysql-proxy',
    `127.0.0.1:${proxyPort}`,
    '--upstream',
    `mysql://127.0.0.1:${await freePort()}`,
  ]
  const [one, two] = (await Promise.all(
    [[...cluster, ...proxy], cluster].map((args) =>
      startFahao(t, { engine: etcd.url('ids'), args, readyWithinMs: 60_000 }),
    ),
  )) as [FahaoServer, FahaoServer]
  await settled([one, two])
  const prometheus = await startPrometheus(t, {
    targets: [one, two].map(({ http }) => new URL(http).host),
    rules: alerts.replaceAll(/for: \w+/g, 'for: 0s').replaceAll(/\[\d+[mh]\]/g, '[20s]'),
  })
  const fired = new Fired(prometheus)
  const admin = await one.connect()
  const create = async (...words: string[]) => assert.equal(await admin.command('ID.CREATE', ...words), 'OK')

  await create('ends', 'KIND', 'segment', 'MAX', '100000000', 'STEP', '1000000')
  // 2^26 seconds are 776 days, and one bit has room for two nodes.
  const epoch = new Date(Date.now() - 500 * 86_400_000).toISOString()
  await create('event', 'KIND', 'snowflake', 'LAYOUT', `time:26,node:1,sequence:20;unit=s;epoch=${epoch}`)
  await create('team:a', 'KIND', 'segment')
  await admin.command('ID.NAMESPACE', 'SET', 'team', 'MATCH', 'team:*', 'OWNER', 'team', 'DAILY', '5')
  const slow = Array.from({ length: 8 }, (_, at) => `slow:${at}`)
  for (const name of slow) {
    await create(name, 'KIND', 'segment', 'STEP', '1')
    await admin.command('INCR', name)
  }
  await create('strict', 'KIND', 'sequence')
  await create('fast', 'KIND', 'segment', 'STEP', '1000', 'HORIZON', '2s')
  for (const node of [one, two]) await (await node.connect()).command('ID.NEXT', 'event')

  const load = new Load()
  load.repeat(await one.connect(), 'INCR', 'ends')
  load.repeat(await one.connect(), 'INCR', 'team:a')
  load.repeat(await one.connect(), 'INCR', 'strict')
  load.repeat(await two.connect(), 'INCR', 'strict')
  fired.onLook = () =>
    connect(proxyPort, '127.0.0.1')
      .on('error', () => {})
      .end()
  await fired.all('FahaoGeneratorEnds', 'FahaoLayoutEnds', 'FahaoWorkerIdsEnd', 'FahaoLeasesEnd')
  await fired.all('FahaoQuotaRefuses', 'FahaoProxyWithoutServer')
  const snapshot = await etcd.save()

  // The store stands still for a while.
  const [member] = etcd.members
  member!.freeze()
  const clients = await Promise.all(slow.map(() => one.connect()))
  const late = new Load()
  for (const [at, name] of slow.entries()) late.repeat(clients[at]!, 'INCR', name)
  await fired.until('count_over_time((sum(fahao_waiting) >= 8)[15s:1s]) >= 2')
  late.stop()
  member!.thaw()
  await fired.all('FahaoRefillsSlow', 'FahaoClientsWait')

  load.repeat(clients[0]!, 'INCR', 'fast')

  // A node stands still.
  two.signal('SIGSTOP')
  await fired.all('FahaoDown')
  await fired.until('increase(fahao_cluster_transitions_total{type="declaredDead"}[20s]) > 0')
  two.signal('SIGCONT')
  await fired.all('FahaoStalled', 'FahaoLeasesLapse')

  // The store is away.
  await member!.kill()
  await fired.all(
    'FahaoEngineDown',
    'FahaoEngineCallsFail',
    'FahaoRefillsFail',
    'FahaoRunningDry',
    'FahaoRequestsFail',
    'FahaoNoLeader',
  )

  await fired.all('FahaoRequestsSlow')

  // The store comes back as it was before.
  await etcd.restore(snapshot, { token: 'etcd-cluster' })
  await fired.all('FahaoEngineForgot')
  load.stop()

  const known = [...alerts.matchAll(/- alert: (\w+)/g)].map(([, name]) => name!)
  assert.deepEqual([...fired.names, ...notTried].sort(), known.sort())
  assert.deepEqual(await panelsWithoutData(prometheus), empty)
})

/** The alerts that have fired. */
class Fired {
  readonly names = new Set<string>()
  readonly #prometheus: Prometheus
  /** Called at each look. */
  onLook = () => {}

  constructor(prometheus: Prometheus) {
    this.#prometheus = prometheus
  }

  /** Resolves when all of these have fired. */
  async all(...names: string[]): Promise<void> {
    while (!names.every((name) => this.names.has(name))) await this.#look()
  }

  /** Resolves when the expression has a value. */
  async until(expression: string): Promise<void> {
    while ((await this.#prometheus.query(expression)).length === 0) await this.#look()
  }

  async #look(): Promise<void> {
    await pause(200)
    this.onLook()
    for (const name of await this.#prometheus.firing()) this.names.add(name)
  }
}

/** Requests that follow each other. */
class Load {
  #stopped = false

  repeat(client: RawClient, ...words: string[]): void {
    void this.#repeat(client, words).catch(() => {})
  }

  async #repeat(client: RawClient, words: string[]): Promise<void> {
    while (!this.#stopped) await client.command(...words)
  }

  stop(): void {
    this.#stopped = true
  }
}

type Panel = { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }

/** The panels of which a query had no data in the last five minutes. Rejects where one cannot be understood. */
async function panelsWithoutData(prometheus: Prometheus): Promise<string[]> {
  const { panels } = JSON.parse(readFileSync(join(ops, 'grafana/fahao.json'), 'utf8')) as { panels: Panel[] }
  const without: string[] = []
  for (const { title, targets = [] } of panels)
    for (const { expr } of targets) {
      const expression = expr
        .replaceAll('$job', 'fahao')
        .replaceAll(/\$(instance|generator)/g, '.*')
        .replaceAll('$__rate_interval', '5s')
      if ((await prometheus.range(expression, 300)).length === 0) without.push(title)
    }
  return without
}
