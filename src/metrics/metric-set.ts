/**
 * Prometheus metrics. Each is read when it is scraped. node-metrics.ts makes the text of a node's,
 * cli/metrics-server.ts that of a proxy's without a node.
 */
import {
  Counter,
  Gauge,
  type Metric,
  type MetricObject,
  Registry,
  type RegistryContentType,
} from 'prom-client'
import { type Times, timeBuckets } from '../base/times.ts'

/** A labelled value. */
export type MetricValue = readonly [labels: Record<string, string>, value: number]

/** Reads a metric: its labelled values, or the value of a metric without labels; undefined: it has none now. */
export type ReadMetric = () => readonly MetricValue[] | number | undefined

/** Labelled times. */
export type TimesValue = readonly [labels: Record<string, string>, times: Times]

/** What a scrape may ask for. */
export type MetricsFormat = 'text' | 'openmetrics'

/** The content types of the formats. */
export const metricsTypes = Object.freeze({
  text: Registry.PROMETHEUS_CONTENT_TYPE,
  openmetrics: Registry.OPENMETRICS_CONTENT_TYPE,
})

/** The metrics of one process. */
export class MetricSet {
  readonly registry: Registry<RegistryContentType> = new Registry()

  /** The text of a metric, at the end of which there is a line feed. OpenMetrics describes a counter by its name without `_total`. */
  async text({ name, type }: Pick<MetricObject, 'name' | 'type'>, format: MetricsFormat): Promise<string> {
    const isOpen = format === 'openmetrics'
    // Only histograms have exemplars. Of a counter the registry would change the name for ever.
    const hasExemplars = isOpen && String(type) === 'histogram'
    this.registry.setContentType(metricsTypes[hasExemplars ? 'openmetrics' : 'text'])
    const text = await this.registry.getSingleMetricAsString(name)
    this.registry.setContentType(metricsTypes.text)
    return isOpen ? `${text.replaceAll(/^(# \w+ \w+)_total /gm, '$1 ')}\n` : `${text}\n`
  }

  /** Adds a metric whose value may fall. */
  gauge(name: string, help: string, labelNames: string[], read: ReadMetric): void {
    this.add('gauge', name, help, labelNames, read)
  }

  /** Adds a metric whose value only grows, until the process ends. */
  counter(name: string, help: string, labelNames: string[], read: ReadMetric): void {
    this.add('counter', name, help, labelNames, read)
  }

  /** Adds a histogram of times that are counted elsewhere: one of prom-client takes longer than many a request. */
  times(name: string, help: string, read: () => readonly TimesValue[]): void {
    const get = async () => ({
      ...about,
      values: read().flatMap(([labels, { counts, seconds, exemplars }]) => {
        let count = 0
        const buckets = counts.map((own, index) => {
          count += own
          const le = timeBuckets[index] ?? '+Inf'
          const example = exemplars[index]
          const exemplar = example && {
            labelSet: { trace_id: example.traceId },
            value: example.seconds,
            timestamp: example.unixSeconds,
          }
          return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: count, exemplar }
        })
        return [
          ...buckets,
          { metricName: `${name}_sum`, labels, value: seconds },
          { metricName: `${name}_count`, labels, value: count },
        ]
      }),
    })
    const about = { name, help, type: 'histogram', aggregator: 'sum' }
    // All that the registry asks a metric for.
    this.registry.registerMetric({ ...about, get } as unknown as Metric)
  }

  /** Adds a metric of either type. */
  add(type: 'gauge' | 'counter', name: string, help: string, labelNames: string[], read: ReadMetric): void {
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
