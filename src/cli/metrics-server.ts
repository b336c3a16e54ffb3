/** /metrics and /healthz of a MySQL proxy without a node. */
import type { Address } from '../base/address.ts'
import { systemClock } from '../base/clock.ts'
import { describe } from '../base/errors.ts'
import { configError } from '../config/config-values.ts'
import { createServer } from '../http/plain-http.ts'
import { MetricSet } from '../metrics/metric-set.ts'
import { addProcessMetrics } from '../metrics/process-metrics.ts'
import { addTransportMetrics } from '../metrics/transport-metrics.ts'
import { addProxyMetrics } from '../proxy/metrics.ts'
import type { ProxyServer } from '../proxy/server.ts'

/** What runs. */
export type MetricsServer = { readonly port: number; close(): void }

/** Listens. Rejects with CONFIG when it cannot. */
export async function startMetrics({ host, port }: Address, proxy: ProxyServer): Promise<MetricsServer> {
  const metrics = new MetricSet()
  const { registry } = metrics
  addTransportMetrics(metrics, { mysql: () => proxy.stats })
  addProxyMetrics(metrics, () => proxy.stats)
  const server = createServer({ requestTimeout: 5000, headersTimeout: 5000 }, (request, response) => {
    const path = request.url?.split('?')[0]
    if (request.method !== 'GET' && request.method !== 'HEAD') response.writeHead(405).end()
    else if (path === '/healthz') response.end('ok\n')
    else if (path !== '/metrics') response.writeHead(404).end()
    else
      registry.metrics().then(
        (text) => response.setHeader('content-type', registry.contentType).end(text),
        () => response.writeHead(500).end(),
      )
  })
  server.maxConnections = 100
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => {
      reject(
        configError(`metrics cannot listen on ${host}:${port}: ${describe(error)}; choose another address`),
      )
    })
    server.listen({ host, port }, resolve)
  })
  const unwatch = addProcessMetrics(metrics, systemClock.wallUs())
  const bound = server.address()
  return {
    port: typeof bound === 'object' && bound !== null ? bound.port : port,
    close() {
      unwatch()
      server.close()
      server.closeAllConnections()
    },
  }
}
