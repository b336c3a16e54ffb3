/**
 * Prometheus metrics. Every figure is read when it is scraped.
 *
 * Invariants
 *  1. The number of series is bounded, for any number of generators.
 *  2. All series of a generator come from one sample.
 *  3. `close` leaves nothing running.
 */
import { Histogram } from 'prom-client'
import type { Access } from '../auth/access.ts'
import type { FahaoNode } from '../node/node.ts'
import type { Quota } from '../quotas/quotas.ts'
import { generatorMetrics } from './generator-series.ts'
import { GeneratorSurvey, type Series } from './generator-survey.ts'
import { freeWorkers, layoutEnds, layoutWorkers } from './layout-series.ts'
import { MetricSet, type MetricsFormat, type MetricValue, type TimesValue } from './metric-set.ts'
import { namespaceMetrics, namespaceSeries } from './namespace-series.ts'
import { addProcessMetrics } from './process-metrics.ts'
import { addTransportMetrics, type TransportSources } from './transport-metrics.ts'

/** In seconds: a local commit takes a millisecond; the default deadline of a call is five seconds. */
const callBuckets = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10]

/** The time to read and write a metric with its series, as the bytes of a reply that take as long. */
const metricWork = 16_384

/** The metrics of one node. */
export class Metrics {
  /** All metrics; those of other parts of the process may be added. */
  readonly set = new MetricSet()
  readonly #node: FahaoNode
  readonly #unwatch: () => void
  /** The scrapes before. */
  #rendered: Promise<unknown> = Promise.resolve()
  /** Scrapes that have not begun, by the permissions of those who wait for them. */
  readonly #waiting = {
    text: new Map<Access, Promise<string>>(),
    openmetrics: new Map<Access, Promise<string>>(),
  }
  readonly #survey: GeneratorSurvey
  /** For the reader of this scrape. */
  #series: readonly Series[] = []
  #quotas: readonly Quota[] = []

  /** @param survey of the generators of this node; others may go on with it too. */
  constructor(node: FahaoNode, transports: TransportSources, survey = surveyOf(node)) {
    this.#node = node
    this.#survey = survey
    this.#addNode()
    this.#addEngine()
    this.#addAudit()
    this.#addCluster()
    this.#addGenerators()
    this.#addNamespaces()
    addTransportMetrics(this.set, transports)
    this.#unwatch = addProcessMetrics(this.set, node.timeline.nowUs())
  }

  /**
   * All metrics in a format of Prometheus, with the names that a caller may know. One scrape follows the other. Requests of a
   * caller that wait get one text: no number of them keeps the scrapes of others waiting.
   */
  render(access: Access, format: MetricsFormat = 'text'): Promise<string> {
    const alike = this.#waiting[format]
    const waiting = alike.get(access)
    if (waiting !== undefined) return waiting
    const rendered = this.#rendered.then(() => {
      alike.delete(access)
      return this.#render(access, format)
    })
    alike.set(access, rendered)
    this.#rendered = rendered.catch(() => {})
    return rendered
  }

  async #render(access: Access, format: MetricsFormat): Promise<string> {
    const { server } = this.#node
    const { registry } = this.set
    await this.#survey.goOn()
    const mayTell = access.reachesAll ? undefined : await this.#reachedBy(access)
    this.#series = this.#survey.series(mayTell)
    this.#quotas = await server.meters.quotas.shownTo(access, server.turns)
    const texts: string[] = []
    for (const metric of registry.getMetricsAsArray()) {
      await server.turns.take(metricWork)
      texts.push(await this.set.text(metric, format))
    }
    return format === 'openmetrics' ? `${texts.join('')}# EOF\n` : texts.join('\n')
  }

  /** Tells which names with series of their own a reader may be told. */
  async #reachedBy(access: Access): Promise<(name: string) => boolean> {
    const reached = new Set<string>()
    for (const name of this.#survey.names) {
      await this.#node.server.turns.take(access.work)
      if (access.reaches(name)) reached.add(name)
    }
    return (name) => reached.has(name)
  }

  /** Stops watching the event loop. */
  close(): void {
    this.#unwatch()
  }

  #addNode(): void {
    const node = this.#node
    const build = { version: node.server.version, engine: node.engine.name, node: process.version }
    this.set.gauge('fahao_build_info', 'What is running: always 1.', Object.keys(build), () => [[build, 1]])
    const inUse = 'Generators in use on this node.'
    this.set.gauge('fahao_generators_in_use', inUse, [], () => this.#survey.found.count)
    const workerId = 'The worker id of this node’s snowflakes; none before the first.'
    this.set.gauge('fahao_worker_id', workerId, [], () => node.workerId)
    const taken =
      'Worker ids of the store that are in use, or not yet free after their node has ended, at the last read; on nodes that have one.'
    this.set.gauge('fahao_worker_ids_taken', taken, [], () =>
      node.workerId === undefined ? undefined : node.server.workerIds.newest()?.taken,
    )
    this.#addLeases()
    const room = 'How many worker ids a layout of snowflakes in use has room for.'
    this.set.gauge('fahao_layout_worker_ids', room, ['layout'], () =>
      layoutWorkers(this.#survey.found.workerLayouts),
    )
    const end = 'How long until the time field of a layout in use is full.'
    this.set.gauge('fahao_layout_exhaustion_seconds', end, ['layout'], () =>
      layoutEnds(this.#survey.found.layouts, node.timeline.nowUs()),
    )
  }

  #addLeases(): void {
    const { server } = this.#node
    const layouts = () => this.#survey.found.workerLayouts
    const count = () => (layouts().size > 0 ? server.workerIds.newest() : undefined)
    const ids =
      'Worker ids of the store at the last read, by state: held by a node, held by a caller, resting; on nodes that use snowflakes.'
    this.set.gauge('fahao_worker_ids', ids, ['state'], () => {
      const { node, caller, resting } = count() ?? {}
      const states = Object.entries({ node, caller, resting })
      return states.flatMap(([state, value]) => (value === undefined ? [] : [[{ state }, value] as const]))
    })
    const free = 'How many worker ids callers can lease now of a layout of snowflakes in use.'
    this.set.gauge('fahao_layout_worker_ids_free', free, ['layout'], () => freeWorkers(layouts(), count()))
    const ranges = () => server.rangeLeases.figures()
    const leased = 'Ranges of segments that callers have leased.'
    this.set.counter('fahao_leased_ranges_total', leased, [], () => ranges().ranges)
    const leasedIds = 'Ids in the ranges that callers have leased.'
    this.set.counter('fahao_leased_ids_total', leasedIds, [], () => ranges().ids)
    const returned = 'Ids of leased ranges that were given back, and can be issued again.'
    this.set.counter('fahao_returned_ids_total', returned, [], () => ranges().returnedIds)
    const refused =
      'Returns of ranges that left a gap: another range had followed, or it was leased elsewhere.'
    this.set.counter('fahao_range_returns_refused_total', refused, [], () => ranges().refused)
  }

  #addEngine(): void {
    const node = this.#node
    this.set.gauge('fahao_engine_up', 'Whether the engine answers: 1 or 0.', [], () =>
      Number(node.engine.status().state === 'up'),
    )
    const regressions = 'How often the engine was found to have forgotten acknowledged writes.'
    this.set.counter('fahao_engine_regressions_total', regressions, [], () => node.regressions)
    const calls = new Histogram({
      name: 'fahao_engine_call_seconds',
      help: 'How long calls of the engine took, by operation and by outcome: ok, or the word of the error.',
      labelNames: ['operation', 'outcome'],
      buckets: callBuckets,
      registers: [this.set.registry],
    })
    node.onEngineCall(({ operation, outcome, seconds }) => calls.observe({ operation, outcome }, seconds))
    const refills = 'How long reserves of generators took, by outcome: ok or failed.'
    this.set.times('fahao_refill_seconds', refills, () =>
      Object.entries(node.catalogue.refillTimes).map(([outcome, each]): TimesValue => [{ outcome }, each]),
    )
    const help =
      'How long the buffered ids of the generator last whose buffer empties first; absent if no generator is used.'
    this.set.gauge('fahao_in_hand_seconds_min', help, [], () => this.#survey.found.inHandSeconds)
  }

  #addAudit(): void {
    const figures = () => this.#node.server.audit.figures
    const written = 'Entries of the audit trail written.'
    this.set.counter('fahao_audit_entries_written_total', written, [], () => figures().written)
    const lost = 'Entries of the audit trail that found no room while the engine did not answer.'
    this.set.counter('fahao_audit_entries_lost_total', lost, [], () => figures().lost)
    const waiting = 'Entries of the audit trail that wait to be written.'
    this.set.gauge('fahao_audit_entries_waiting', waiting, [], () => figures().waiting)
  }

  #addCluster(): void {
    const { membership } = this.#node
    const status = () => membership?.cluster.status()
    const nodes = 'Living nodes of the cluster, as this one sees it.'
    this.set.gauge('fahao_cluster_nodes', nodes, [], () => status()?.nodes.length)
    const versions =
      'Different versions that living nodes run: more than 1 while the cluster is being upgraded.'
    this.set.gauge('fahao_cluster_versions', versions, [], () => status()?.versions.length)
    const self = () => status()?.nodes.find(({ isSelf }) => isSelf)
    this.set.gauge('fahao_cluster_shards_led', 'Shards that this node leads.', [], () => self()?.leads)
    const leaderless = 'Shards without a leader, as this node sees it.'
    this.set.gauge(
      'fahao_cluster_shards_leaderless',
      leaderless,
      [],
      () => status()?.shards.filter(({ nobodyForMs }) => nobodyForMs !== undefined).length,
    )
    const left = 'How long this node may lead without another renewal.'
    this.set.gauge('fahao_cluster_lease_left_seconds', left, [], () => {
      const leftMs = status()?.leaseLeftMs
      return leftMs === undefined ? undefined : leftMs / 1000
    })
    const transitions =
      'What happened in the cluster, as this node sees it, by type; trouble is what was tried again.'
    this.set.counter('fahao_cluster_transitions_total', transitions, ['type'], () =>
      [...(membership?.transitions ?? [])].map(([type, count]): MetricValue => [{ type }, count]),
    )
    const handover = 'Time without ids of a shard because this node handed it over.'
    this.set.counter(
      'fahao_cluster_handover_seconds_total',
      handover,
      [],
      () => membership?.handovers.seconds,
    )
  }

  #addGenerators(): void {
    const about = ['generator', 'kind', 'mode']
    this.set.gauge('fahao_generator_info', 'What a generator is: always 1.', about, () =>
      this.#series.flatMap(({ name, sample }) =>
        sample === undefined
          ? []
          : [[{ generator: name, kind: sample.definition.kind, mode: sample.mode }, 1] as const],
      ),
    )
    for (const [at, { type, name, help }] of generatorMetrics.entries())
      this.set.add(type, name, help, ['generator'], () =>
        this.#series.flatMap(({ name: generator, values }): MetricValue[] => {
          const value = values[at]
          return value === undefined ? [] : [[{ generator }, value]]
        }),
      )
  }

  #addNamespaces(): void {
    const { config, timeline } = this.#node
    for (const metric of namespaceMetrics) {
      this.set.add(metric.type, metric.name, metric.help, ['namespace', 'owner'], () =>
        namespaceSeries(metric, this.#quotas, config.metricsSeriesMax, timeline.nowUs()),
      )
    }
  }
}

/** A survey of the generators of a node. */
export function surveyOf({ catalogue, config, timeline, server }: FahaoNode): GeneratorSurvey {
  return new GeneratorSurvey(config.metricsSeriesMax, { catalogue, timeline, turns: server.turns })
}
