/**
 * Prometheus metrics. Every figure is read when it is scraped.
 *
 * Invariants
 *  1. The number of series is bounded, for any number of generators.
 *  2. A scrape shows one moment: all series of generators come from the same sample.
 *  3. `close` leaves nothing running.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { z } from 'zod'
import type { Access } from '../../auth/access.ts'
import type { Quota } from '../../auth/quotas.ts'
import type { Generator } from '../../catalogue/catalogue.ts'
import type { Traffic } from '../../commands/context.ts'
import type { ConnectionCounts } from '../../node/admission.ts'
import type { FahaoNode } from '../../node/node.ts'
import type { Operation } from '../operation.ts'
import { generatorMetrics, type Selection, sampleGenerators, seriesOf } from './generator-series.ts'
import { freeWorkers, layoutEnds, layoutWorkers } from './layout-series.ts'
import { namespaceMetrics, namespaceSeries } from './namespace-series.ts'

/** In seconds: a local commit takes a millisecond; the default deadline of a call is five seconds. */
const callBuckets = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10]

/** What a transport counts. */
export type TransportFigures = Readonly<ConnectionCounts> & Pick<Traffic, 'commands'>

/** Reads the figures of each transport, by the name of its protocol; undefined for one that is not served. */
export type TransportSources = Readonly<Record<string, (() => TransportFigures) | undefined>>

/** A labelled value. */
type Value = readonly [labels: Record<string, string>, value: number]
/** Reads a metric: its labelled values, or the value of a metric without labels; undefined: it has none now. */
type Read = () => readonly Value[] | number | undefined

/** The metrics of one node. */
export class Metrics {
  /** For tests and documentation: names, types, help. */
  readonly registry = new Registry()
  readonly #node: FahaoNode
  readonly #transports: TransportSources
  readonly #eventLoop = monitorEventLoopDelay({ resolution: 10 })
  #selection: Selection = { shown: [], others: [] }
  #generators: readonly Generator[] = []
  #quotas: readonly Quota[] = []

  constructor(node: FahaoNode, transports: TransportSources) {
    this.#node = node
    this.#transports = transports
    this.#eventLoop.enable()
    this.#addNode()
    this.#addEngine()
    this.#addAudit()
    this.#addCluster()
    this.#addGenerators()
    this.#addNamespaces()
    this.#addTransports()
    this.#addProcess()
  }

  /** The content type of `render`. */
  get contentType(): string {
    return this.registry.contentType
  }

  /** All metrics in Prometheus's text format, with the names that a caller may know; every collector runs in this call. */
  async render(access: Access): Promise<string> {
    const { catalogue, config, timeline, server } = this.#node
    this.#generators = [...catalogue.inUse()]
    this.#selection = sampleGenerators(this.#generators, access, config.metricsSeriesMax, timeline.nowUs())
    this.#quotas = server.meters.quotas.shownTo(access)
    return this.registry.metrics()
  }

  /** Stops watching the event loop. */
  close(): void {
    this.#eventLoop.disable()
  }

  #addNode(): void {
    const node = this.#node
    const build = { version: node.server.version, engine: node.engine.name, node: process.version }
    this.#gauge('fahao_build_info', 'What is running: always 1.', Object.keys(build), () => [[build, 1]])
    const inUse = 'Generators in use on this node.'
    this.#gauge('fahao_generators_in_use', inUse, [], () => this.#generators.length)
    const workerId = 'The worker id of this node’s snowflakes; none before the first.'
    this.#gauge('fahao_worker_id', workerId, [], () => node.workerId)
    const taken =
      'Worker ids of the store that are in use, or not yet free after their node has ended, at the last read; on nodes that have one.'
    this.#gauge('fahao_worker_ids_taken', taken, [], () =>
      node.workerId === undefined ? undefined : node.workerIds()?.taken,
    )
    this.#addLeases()
    const room = 'How many worker ids a layout of snowflakes in use has room for.'
    this.#gauge('fahao_layout_worker_ids', room, ['layout'], () => layoutWorkers(this.#generators))
    const end = 'How long until the time field of a layout in use is full.'
    this.#gauge('fahao_layout_exhaustion_seconds', end, ['layout'], () =>
      layoutEnds(this.#generators, node.timeline.nowUs()),
    )
  }

  #addLeases(): void {
    const { server } = this.#node
    const count = () =>
      this.#generators.some(({ kind }) => kind === 'snowflake') ? this.#node.workerIds() : undefined
    const ids =
      'Worker ids of the store at the last read, by state: held by a node, held by a caller, resting; on nodes that use snowflakes.'
    this.#gauge('fahao_worker_ids', ids, ['state'], () => {
      const { node, caller, resting } = count() ?? {}
      const states = Object.entries({ node, caller, resting })
      return states.flatMap(([state, value]) => (value === undefined ? [] : [[{ state }, value] as const]))
    })
    const free = 'How many worker ids callers can lease now of a layout of snowflakes in use.'
    this.#gauge('fahao_layout_worker_ids_free', free, ['layout'], () =>
      freeWorkers(this.#generators, count()),
    )
    const ranges = () => server.rangeLeases.figures()
    const leased = 'Ranges of segments that callers have leased.'
    this.#counter('fahao_leased_ranges_total', leased, [], () => ranges().ranges)
    const leasedIds = 'Ids in the ranges that callers have leased.'
    this.#counter('fahao_leased_ids_total', leasedIds, [], () => ranges().ids)
    const returned = 'Ids of leased ranges that were given back to the engine.'
    this.#counter('fahao_returned_ids_total', returned, [], () => ranges().returnedIds)
    const refused =
      'Returns of ranges that left a gap: another range had followed, or it was leased elsewhere.'
    this.#counter('fahao_range_returns_refused_total', refused, [], () => ranges().refused)
  }

  #addEngine(): void {
    const node = this.#node
    this.#gauge('fahao_engine_up', 'Whether the engine answers: 1 or 0.', [], () =>
      Number(node.engine.status().state === 'up'),
    )
    const regressions = 'How often the engine was found to have forgotten acknowledged writes.'
    this.#counter('fahao_engine_regressions_total', regressions, [], () => node.regressions)
    const calls = new Histogram({
      name: 'fahao_engine_call_seconds',
      help: 'How long calls of the engine took, by operation and by outcome: ok, or the word of the error.',
      labelNames: ['operation', 'outcome'],
      buckets: callBuckets,
      registers: [this.registry],
    })
    node.onEngineCall(({ operation, outcome, seconds }) => calls.observe({ operation, outcome }, seconds))
    const help =
      'How long the buffered ids of the generator last whose buffer empties first; absent if no generator is used.'
    this.#gauge('fahao_in_hand_seconds_min', help, [], () => node.health().inHandSeconds)
  }

  #addAudit(): void {
    const figures = () => this.#node.server.audit.figures
    const written = 'Entries of the audit trail written.'
    this.#counter('fahao_audit_entries_written_total', written, [], () => figures().written)
    const lost = 'Entries of the audit trail that found no room while the engine did not answer.'
    this.#counter('fahao_audit_entries_lost_total', lost, [], () => figures().lost)
    const waiting = 'Entries of the audit trail that wait to be written.'
    this.#gauge('fahao_audit_entries_waiting', waiting, [], () => figures().waiting)
  }

  #addCluster(): void {
    const { membership } = this.#node
    const status = () => membership?.cluster.status()
    const nodes = 'Living nodes of the cluster, as this one sees it.'
    this.#gauge('fahao_cluster_nodes', nodes, [], () => status()?.nodes.length)
    const self = () => status()?.nodes.find(({ isSelf }) => isSelf)
    this.#gauge('fahao_cluster_shards_led', 'Shards that this node leads.', [], () => self()?.leads)
    const leaderless = 'Shards without a leader, as this node sees it.'
    this.#gauge(
      'fahao_cluster_shards_leaderless',
      leaderless,
      [],
      () => status()?.shards.filter(({ nobodyForMs }) => nobodyForMs !== undefined).length,
    )
    const left = 'How long this node may lead without another renewal.'
    this.#gauge('fahao_cluster_lease_left_seconds', left, [], () => {
      const leftMs = status()?.leaseLeftMs
      return leftMs === undefined ? undefined : leftMs / 1000
    })
    const transitions =
      'What happened in the cluster, as this node sees it, by type; trouble is what was tried again.'
    this.#counter('fahao_cluster_transitions_total', transitions, ['type'], () =>
      [...(membership?.transitions ?? [])].map(([type, count]): Value => [{ type }, count]),
    )
    const handover = 'Time without ids of a shard because this node handed it over.'
    this.#counter('fahao_cluster_handover_seconds_total', handover, [], () => membership?.handovers.seconds)
  }

  #addGenerators(): void {
    const about = ['generator', 'kind', 'mode']
    this.#gauge('fahao_generator_info', 'What a generator is: always 1.', about, () =>
      this.#selection.shown.map(({ generator: { name, kind, mode } }) => [
        { generator: name, kind, mode },
        1,
      ]),
    )
    for (const metric of generatorMetrics) {
      this.#add(metric.type, metric.name, metric.help, ['generator'], () =>
        seriesOf(metric, this.#selection).map(({ generator, value }): Value => [{ generator }, value]),
      )
    }
  }

  #addNamespaces(): void {
    const { config, timeline } = this.#node
    for (const metric of namespaceMetrics) {
      this.#add(metric.type, metric.name, metric.help, ['namespace', 'owner'], () =>
        namespaceSeries(metric, this.#quotas, config.metricsSeriesMax, timeline.nowUs()),
      )
    }
  }

  #addTransports(): void {
    const transports = () =>
      Object.entries(this.#transports).flatMap(([protocol, read]) =>
        read === undefined ? [] : [{ protocol, figures: read() }],
      )
    const all = (figure: Exclude<keyof TransportFigures, 'rejected'>) => () =>
      transports().map(({ protocol, figures }): Value => [{ protocol }, figures[figure]])
    const labels = ['protocol']
    this.#gauge('fahao_connections', 'Open connections.', labels, all('connections'))
    this.#counter('fahao_connections_total', 'Connections accepted.', labels, all('connectionsTotal'))
    const pending = 'Open connections before a login, or without a request of a user (HTTP).'
    this.#gauge('fahao_connections_pending', pending, labels, all('pending'))
    const rejected = 'Connections closed to keep a limit, by reason: limit, address, pending.'
    this.#counter('fahao_connections_rejected_total', rejected, [...labels, 'reason'], () =>
      transports().flatMap(({ protocol, figures }) =>
        Object.entries(figures.rejected).map(([reason, count]): Value => [{ protocol, reason }, count]),
      ),
    )
    this.#counter('fahao_requests_total', 'Commands and requests received.', labels, all('commands'))
  }

  #addProcess(): void {
    const { timeline } = this.#node
    const started = timeline.nowUs() / 1_000_000 - process.uptime()
    this.#gauge('process_start_time_seconds', 'Start of the process, Unix time.', [], () => started)
    this.#counter('process_cpu_seconds_total', 'CPU time used, user and system.', [], () => {
      const { user, system } = process.cpuUsage()
      return (user + system) / 1_000_000
    })
    this.#gauge('process_resident_memory_bytes', 'Memory held.', [], process.memoryUsage.rss)
    const help = 'How late the event loop was since the scrape before: quantiles 0.5, 0.99 and 1.'
    this.#gauge('fahao_event_loop_lag_seconds', help, ['quantile'], () => {
      const values = [0.5, 0.99, 1].map((quantile): Value => {
        const nanoseconds = this.#eventLoop.percentile(quantile * 100)
        return [{ quantile: String(quantile) }, Math.max(0, nanoseconds / 1e9 - 0.01)]
      })
      this.#eventLoop.reset()
      return values
    })
  }

  #gauge(name: string, help: string, labelNames: string[], read: Read): void {
    this.#add('gauge', name, help, labelNames, read)
  }

  #counter(name: string, help: string, labelNames: string[], read: Read): void {
    this.#add('counter', name, help, labelNames, read)
  }

  #add(type: 'gauge' | 'counter', name: string, help: string, labelNames: string[], read: Read): void {
    const collect = (): void => {
      metric.reset()
      // `reset` gives a metric without labels the value 0.
      if (labelNames.length === 0) metric.remove()
      const values = read() ?? []
      for (const [labels, value] of typeof values === 'number' ? [[{}, values] as const] : values)
        metric.inc(labels, value)
    }
    const options = { name, help, labelNames, registers: [this.registry], collect }
    const metric = type === 'gauge' ? new Gauge(options) : new Counter(options)
  }
}

/** `GET /metrics` */
export function metricsOperation(metrics: Metrics): Operation {
  return {
    id: 'metrics',
    method: 'GET',
    path: '/metrics',
    tag: 'server',
    command: 'http|metrics',
    summary: 'Metrics in Prometheus’s text format.',
    notes:
      'Generators that the user may not name are merged with those without series of their own; namespaces of such names are left out.',
    answers: { 200: { description: 'All metrics.', content: { 'text/plain': z.string() } } },
    errors: [],
    example: {},
    async handler({ access }, reply) {
      reply.header('content-type', metrics.contentType)
      return metrics.render(access)
    },
  }
}
