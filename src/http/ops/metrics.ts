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
import type { Generator } from '../../catalogue/catalogue.ts'
import type { FahaoNode } from '../../node/node.ts'
import type { Operation } from '../operation.ts'
import { generatorMetrics, type Selection, sampleGenerators, seriesOf } from './generator-series.ts'
import { layoutEnds, layoutWorkers } from './layout-series.ts'

/** The default of `seriesMax`. */
const defaultSeriesMax = 200
/** In seconds: a local commit takes a millisecond, a deadline five seconds. */
const callBuckets = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10]

/** What a transport counts. */
export type TransportFigures = {
  /** Open now. */
  readonly connections: number
  readonly connectionsTotal: number
  /** Closed at once because of the limit. */
  readonly connectionsRejected: number
  /** Commands or requests received. */
  readonly commands: number
}

/** The sources of the figures. */
export type MetricsSource = {
  readonly node: FahaoNode
  readonly http: () => TransportFigures
  readonly resp?: () => TransportFigures
  readonly seriesMax?: number
}

/** A labelled value. */
type Value = readonly [labels: Record<string, string>, value: number]

/** The metrics of one node. */
export class Metrics {
  /** For tests and documentation: names, types, help. */
  readonly registry = new Registry()
  readonly #source: MetricsSource
  readonly #eventLoop = monitorEventLoopDelay({ resolution: 10 })
  #selection: Selection = { shown: [], others: [] }
  #generators: readonly Generator[] = []

  constructor(source: MetricsSource) {
    this.#source = source
    this.#eventLoop.enable()
    this.#addNode()
    this.#addEngine()
    this.#addCluster()
    this.#addGenerators()
    this.#addTransports()
    this.#addProcess()
  }

  /** The content type of `render`. */
  get contentType(): string {
    return this.registry.contentType
  }

  /** All metrics in Prometheus's text format. */
  async render(): Promise<string> {
    const { node, seriesMax = defaultSeriesMax } = this.#source
    this.#generators = [...node.catalogue.inUse()]
    this.#selection = sampleGenerators(this.#generators, seriesMax, node.timeline.nowUs())
    return this.registry.metrics()
  }

  /** Stops watching the event loop. */
  close(): void {
    this.#eventLoop.disable()
  }

  #addNode(): void {
    const { node } = this.#source
    const build = { version: node.server.version, engine: node.engine.name, node: process.version }
    this.#gauge('fahao_build_info', 'What is running: always 1.', Object.keys(build), () => [[build, 1]])
    this.#gauge('fahao_generators_in_use', 'Generators in use on this node.', [], () => [
      [{}, this.#generators.length],
    ])
    this.#gauge(
      'fahao_worker_id',
      'The worker id of this node’s snowflakes; none before the first.',
      [],
      () => (node.workerId === undefined ? [] : [[{}, node.workerId]]),
    )
    this.#gauge(
      'fahao_worker_ids_taken',
      'Worker ids of the store that are in use, or not yet free after their node has ended, at the last read; on nodes that have one.',
      [],
      () => {
        const taken = node.workerId === undefined ? undefined : node.workerIdsTaken()
        return taken === undefined ? [] : [[{}, taken]]
      },
    )
    this.#gauge(
      'fahao_layout_worker_ids',
      'How many worker ids a layout of snowflakes in use has room for.',
      ['layout'],
      () => layoutWorkers(this.#generators).map(({ layout, workers }) => [{ layout }, workers]),
    )
    const help = 'How long until the time field of a layout in use is full.'
    this.#gauge('fahao_layout_exhaustion_seconds', help, ['layout'], () =>
      layoutEnds(this.#generators, node.timeline.nowUs()).map(({ layout, seconds }) => [{ layout }, seconds]),
    )
  }

  #addEngine(): void {
    const { node } = this.#source
    this.#gauge('fahao_engine_up', 'Whether the engine answers: 1 or 0.', [], () => [
      [{}, node.engine.status().state === 'up' ? 1 : 0],
    ])
    this.#counter(
      'fahao_engine_regressions_total',
      'How often the engine was found to have forgotten acknowledged writes.',
      [],
      () => [[{}, node.regressions]],
    )
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
    this.#gauge('fahao_in_hand_seconds_min', help, [], () => {
      const { inHandSeconds } = node.health()
      return inHandSeconds === undefined ? [] : [[{}, inHandSeconds]]
    })
  }

  #addCluster(): void {
    const { membership } = this.#source.node
    const status = () => membership?.cluster.status()
    const one = (value: number | undefined): Value[] => (value === undefined ? [] : [[{}, value]])
    this.#gauge('fahao_cluster_nodes', 'Living nodes of the cluster, as this one sees it.', [], () =>
      one(status()?.nodes.length),
    )
    this.#gauge('fahao_cluster_shards_led', 'Shards that this node leads.', [], () =>
      one(status()?.nodes.find(({ isSelf }) => isSelf)?.leads),
    )
    const leaderless = 'Shards without a leader, as this node sees it.'
    this.#gauge('fahao_cluster_shards_leaderless', leaderless, [], () =>
      one(status()?.shards.filter(({ nobodyForMs }) => nobodyForMs !== undefined).length),
    )
    const left = 'How long this node may lead without another renewal.'
    this.#gauge('fahao_cluster_lease_left_seconds', left, [], () => {
      const leftMs = status()?.leaseLeftMs
      return one(leftMs === undefined ? undefined : leftMs / 1000)
    })
    const transitions =
      'What happened in the cluster, as this node sees it, by type; trouble is what was tried again.'
    this.#counter('fahao_cluster_transitions_total', transitions, ['type'], () =>
      [...(membership?.transitions ?? [])].map(([type, count]): Value => [{ type }, count]),
    )
    const handover = 'Time without ids of a shard because this node handed it over.'
    this.#counter('fahao_cluster_handover_seconds_total', handover, [], () =>
      one(membership?.handovers.seconds),
    )
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
      const values = () =>
        seriesOf(metric, this.#selection).map(({ generator, value }): Value => [{ generator }, value])
      if (metric.type === 'counter') this.#counter(metric.name, metric.help, ['generator'], values)
      else this.#gauge(metric.name, metric.help, ['generator'], values)
    }
  }

  #addTransports(): void {
    const { http, resp } = this.#source
    const figures = { ...(resp === undefined ? {} : { resp }), http }
    const all = (figure: keyof TransportFigures) => () =>
      Object.entries(figures).map(([protocol, read]): Value => [{ protocol }, read()[figure]])
    this.#gauge('fahao_connections', 'Open connections.', ['protocol'], all('connections'))
    const labels = ['protocol']
    this.#counter('fahao_connections_total', 'Connections accepted.', labels, all('connectionsTotal'))
    const rejected = 'Connections closed at once because of the limit.'
    this.#counter('fahao_connections_rejected_total', rejected, labels, all('connectionsRejected'))
    this.#counter('fahao_requests_total', 'Commands and requests received.', labels, all('commands'))
  }

  #addProcess(): void {
    const { timeline } = this.#source.node
    const started = timeline.nowUs() / 1_000_000 - process.uptime()
    this.#gauge('process_start_time_seconds', 'Start of the process, Unix time.', [], () => [[{}, started]])
    this.#counter('process_cpu_seconds_total', 'CPU time used, user and system.', [], () => {
      const { user, system } = process.cpuUsage()
      return [[{}, (user + system) / 1_000_000]]
    })
    this.#gauge('process_resident_memory_bytes', 'Memory held.', [], () => [[{}, process.memoryUsage.rss()]])
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

  #gauge(name: string, help: string, labelNames: string[], read: () => readonly Value[]): void {
    const collect = function (this: Gauge) {
      this.reset()
      for (const [labels, value] of read()) this.set(labels, value)
    }
    new Gauge({ name, help, labelNames, registers: [this.registry], collect })
  }

  #counter(name: string, help: string, labelNames: string[], read: () => readonly Value[]): void {
    const collect = function (this: Counter) {
      this.reset()
      for (const [labels, value] of read()) this.inc(labels, value)
    }
    new Counter({ name, help, labelNames, registers: [this.registry], collect })
  }
}

/** `GET /metrics` */
export function metricsOperation(metrics: Metrics): Operation {
  return {
    id: 'metrics',
    method: 'GET',
    path: '/metrics',
    tag: 'server',
    summary: 'Metrics in Prometheus’s text format.',
    answers: { 200: { description: 'All metrics.', content: { 'text/plain': z.string() } } },
    errors: [],
    example: {},
    async handler(_, reply) {
      reply.header('content-type', metrics.contentType)
      return metrics.render()
    },
  }
}
