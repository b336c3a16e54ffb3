/** The figures of a proxy as Prometheus's metrics. */
import type { MetricSet, MetricValue } from '../node/metric-set.ts'
import type { ProxyStats } from './server.ts'

/** Adds the metrics that only a proxy has. `read`: its figures; undefined: it does not run. */
export function addProxyMetrics(metrics: MetricSet, read: () => ProxyStats | undefined): void {
  metrics.counter(
    'fahao_proxy_bytes_total',
    'Bytes that the MySQL proxy has relayed, by where they came from: client or server.',
    ['from'],
    () => {
      const stats = read()
      if (stats === undefined) return undefined
      return [
        [{ from: 'client' }, stats.bytesIn],
        [{ from: 'server' }, stats.bytesOut],
      ]
    },
  )
  metrics.counter(
    'fahao_proxy_upstream_failures_total',
    'Connections of clients for which the MySQL server could not be reached.',
    [],
    () => read()?.upstreamFailures,
  )
  metrics.counter(
    'fahao_proxy_statements_total',
    'Statements that may write into filled tables, by outcome: filled, passed as they came, refused because no guard stands or the column does not hold the ids, or failed because there was no id.',
    ['outcome'],
    () => {
      const filling = read()?.filling
      return (
        filling &&
        (['filled', 'unread', 'refused', 'failed'] as const).map(
          (outcome): MetricValue => [
            { outcome: outcome === 'unread' ? 'passed' : outcome },
            filling[outcome],
          ],
        )
      )
    },
  )
  metrics.counter(
    'fahao_proxy_ids_total',
    'Ids that the MySQL proxy has filled in.',
    [],
    () => read()?.filling?.ids,
  )
  metrics.counter(
    'fahao_proxy_questions_total',
    'Questions about sessions that the MySQL proxy has asked the server by itself.',
    [],
    () => read()?.filling?.questions,
  )
}
