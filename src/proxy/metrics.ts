/** The figures of a proxy as Prometheus's metrics. */
import type { MetricSet, MetricValue } from '../metrics/metric-set.ts'
import type { ProxyStats } from './server.ts'

type Value = (stats: ProxyStats) => number | readonly MetricValue[] | undefined

/** Adds the metrics that only a proxy has. `read`: its figures; undefined: it does not run. */
export function addProxyMetrics(metrics: MetricSet, read: () => ProxyStats | undefined): void {
  const add = (name: string, help: string, labels: string[], value: Value) =>
    metrics.counter(name, help, labels, () => {
      const stats = read()
      return stats && value(stats)
    })
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
    (stats) => stats.upstreamFailures,
  )
  add(
    'fahao_proxy_statements_total',
    'Statements that may write into filled tables, by outcome: filled, passed as they came, refused because no guard stands or the column does not hold the ids, or failed because there was no id.',
    ['outcome'],
    ({ filling }) =>
      filling &&
      (['filled', 'passed', 'refused', 'failed'] as const).map((outcome) => [{ outcome }, filling[outcome]]),
  )
  add('fahao_proxy_ids_total', 'Ids that the MySQL proxy has filled in.', [], ({ filling }) => filling?.ids)
  add(
    'fahao_proxy_questions_total',
    'Questions about sessions that the MySQL proxy has asked the server by itself.',
    [],
    ({ filling }) => filling?.questions,
  )
}
