/** /metrics and /healthz of a MySQL proxy without a node. */
import { createServer } from 'node:http'
import { Counter, Gauge, Registry } from 'prom-client'
import type { Address } from '../base/address.ts'
import { describe } from '../base/errors.ts'
import { configError } from '../node/config-values.ts'
import { addProxyMetrics } from '../proxy/metrics.ts'
import type { ProxyServer } from '../proxy/server.ts'

/** What runs. */
export type MetricsServer = { readonly port: number; close(): void }

/** Listens. Rejects with CONFIG when it cannot. */
export async function startMetrics({ host, port }: Address, proxy: ProxyServer): Promise<MetricsServer> {
  const registry = registryOf(proxy)
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
  const bound = server.address()
  return {
    port: typeof bound === 'object' && bound !== null ? bound.port : port,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

/** The metrics that a node has of its transports and its process, by the same names, and those of the proxy. */
function registryOf(proxy: ProxyServer): Registry {
  const registry = new Registry()
  const protocol = 'mysql'
  const of = (
    name: string,
    help: string,
    figure: 'connections' | 'pending' | 'connectionsTotal' | 'commands',
  ) => {
    const Type = name.endsWith('_total') ? Counter : Gauge
    const metric: Counter | Gauge = new Type({
      name,
      help,
      labelNames: ['protocol'],
      registers: [registry],
      collect() {
        metric.reset()
        metric.inc({ protocol }, proxy.stats[figure])
      },
    })
  }
  of('fahao_connections', 'Open connections.', 'connections')
  of('fahao_connections_total', 'Connections accepted.', 'connectionsTotal')
  of('fahao_connections_pending', 'Open connections before a login.', 'pending')
  of('fahao_requests_total', 'Commands received.', 'commands')
  const rejected = new Counter({
    name: 'fahao_connections_rejected_total',
    help: 'Connections closed to keep a limit, by reason: limit, address, pending.',
    labelNames: ['protocol', 'reason'],
    registers: [registry],
    collect() {
      rejected.reset()
      for (const [reason, count] of Object.entries(proxy.stats.rejected))
        rejected.inc({ protocol, reason }, count)
    },
  })
  addProxyMetrics(registry, () => proxy.stats)
  const memory = new Gauge({
    name: 'process_resident_memory_bytes',
    help: 'Memory held.',
    registers: [registry],
    collect() {
      memory.set(process.memoryUsage.rss())
    },
  })
  return registry
}
