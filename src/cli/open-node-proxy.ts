/** The MySQL proxy beside the listeners of a node. */
import type { Logger } from 'pino'
import type { Address } from '../base/address.ts'
import type { ListenerTls } from '../listening/listener-tls.ts'
import type { MetricSet } from '../metrics/metric-set.ts'
import type { FahaoNode } from '../node/node.ts'
import { addProxyMetrics } from '../proxy/metrics.ts'
import type { ProxyStats } from '../proxy/server.ts'
import { nodeSupply } from './node-supply.ts'
import { openProxy } from './proxy-server.ts'

/** What runs. */
export type NodeProxy = {
  readonly port: number
  readonly figures: () => ProxyStats
  /** Adds its metrics. */
  readonly addMetrics: (metrics: MetricSet) => void
  close(deadlineMs: number): Promise<void>
}

/** Listens. Rejects with CONFIG when it cannot. @param nextId the id of a new session. */
export async function openNodeProxy(
  node: FahaoNode,
  address: Address,
  log: Logger,
  tls: ListenerTls,
  nextId: () => number,
): Promise<NodeProxy> {
  const { config } = node
  const supply = nodeSupply(node, address, tls.resp, nextId())
  try {
    const proxy = await openProxy(config, address, { log, tls: tls['mysql-proxy'], maker: supply })
    const figures = () => proxy.stats
    return {
      port: proxy.port,
      figures,
      addMetrics: (metrics) => addProxyMetrics(metrics, figures),
      close: (deadlineMs) => proxy.close(deadlineMs).finally(() => supply.close()),
    }
  } catch (error) {
    supply.close()
    throw error
  }
}
