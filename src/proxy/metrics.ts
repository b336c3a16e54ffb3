/** The figures of a proxy as Prometheus's metrics. Every figure is read when it is scraped. */
import { Counter, type Registry } from 'prom-client'
import type { ProxyStats } from './server.ts'

type Value = readonly [labels: Record<string, string>, value: number]

/** Adds the metrics that only a proxy has. `read`: its figures; undefined: it does not run. */
export function addProxyMetrics(registry: Registry, read: () => ProxyStats | undefined): void {
  const add = (name: string, help: string, labelNames: string[], values: (stats: ProxyStats) => Value[]) => {
    const metric = new Counter({
      name,
      help,
      labelNames,
      registers: [registry],
      collect() {
        metric.reset()
        if (labelNames.length === 0) metric.remove()
        const stats = read()
        for (const [labels, value] of stats ? values(stats) : []) metric.inc(labels, value)
      },
    })
  }
  const ofFilling = (name: string, help: string, figure: 'ids' | 'questions') =>
    add(name, help, [], ({ filling }) => (filling ? [[{}, filling[figure]]] : []))
  add(
    'fahao_proxy_bytes_total',
    'Bytes that the MySQL proxy has relayed, by where they came from: client or server.',
    ['from'],
    ({ bytesIn, bytesOut }) => [
      [{ from: 'client' }, bytesIn],
      [{ from: 'server' }, bytesOut],
    ],
  )
  add(
    'fahao_proxy_upstream_failures_total',
    'Connections of clients for which the MySQL server could not be reached.',
    [],
    ({ upstreamFailures }) => [[{}, upstreamFailures]],
  )
  add(
    'fahao_proxy_statements_total',
    'Statements into filled tables, by outcome: filled, refused because of their form or because the column does not hold the ids, or failed because there was no id.',
    ['outcome'],
    ({ filling }) =>
      filling
        ? (['filled', 'refused', 'failed'] as const).map((outcome) => [{ outcome }, filling[outcome]])
        : [],
  )
  ofFilling('fahao_proxy_ids_total', 'Ids that the MySQL proxy has filled in.', 'ids')
  ofFilling(
    'fahao_proxy_questions_total',
    'Questions about sessions and tables that the MySQL proxy has asked the server by itself.',
    'questions',
  )
}
