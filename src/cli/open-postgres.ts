/** The listener of the PostgreSQL protocol. */
import type { Logger } from 'pino'
import type { Address } from '../base/address.ts'
import { postgresListener } from '../config/postgres-settings.ts'
import type { ListenerTls } from '../listening/listener-tls.ts'
import type { FahaoNode } from '../node/node.ts'
import { type PostgresStats, startPostgresServer } from '../postgres/server.ts'
import { openOperatingNode } from './operating-node.ts'

/** What runs. */
export type OpenPostgres = {
  readonly port: number
  /** For /metrics. */
  readonly figures: () => PostgresStats
  close(deadlineMs: number): Promise<void>
}

/** Listens. Rejects with CONFIG when it cannot. @param nextId the id of a new connection. */
export async function openPostgres(
  node: FahaoNode,
  { host, port }: Address,
  log: Logger,
  tls: ListenerTls,
  nextId: () => number,
): Promise<OpenPostgres> {
  const { config, access } = node
  const operating = openOperatingNode(node, tls.resp)
  const server = await startPostgresServer({
    host,
    port,
    backlog: config.listenBacklog,
    node: operating,
    access,
    version: node.server.version,
    mayIssue: node.mayIssue,
    tls: tls.postgres,
    nextId,
    limits: postgresListener.limits(config),
    onError: (error, session) =>
      log.error({ err: error, client: session?.address }, 'a statement of the PostgreSQL protocol failed'),
  })
  access.listen(() => server.refreshAccess((before) => access.present(before)))
  node.attach({ sessions: () => server.sessions(), traffic: () => server.stats })
  return {
    port: server.port,
    figures: () => server.stats,
    close: (deadlineMs) => server.close(deadlineMs).finally(() => operating.close()),
  }
}
