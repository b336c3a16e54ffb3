/** Prometheus metrics, each of which is read when it is scraped. */
import { Counter, Gauge, Registry } from 'prom-client'

/** A labelled value. */
export type MetricValue = readonly [labels: Record<string, string>, value: number]

/** Reads a metric: its labelled values, or the value of a metric without labels; undefined: it has none now. */
export type ReadMetric = () => readonly MetricValue[] | number | undefined

/** The metrics of one process. */
export class MetricSet {
  readonly registry = new Registry()

  /** Adds a metric whose value may fall. */
  gauge(name: string, help: string, labelNames: string[], read: ReadMetric): void {
    this.add('gauge', name, help, labelNames, read)
  }

  /** Adds a metric whose value only grows, until the process ends. */
  counter(name: string, help: string, labelNames: string[], read: ReadMetric): void {
    this.add('counter', name, help, labelNames, read)
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
