/**
 * The MySQL proxy, alone or beside the listeners of a node.
 *
 * Invariant
 *  1. A stop has a deadline: what is still open is dropped then.
 */
import { readFile } from 'node:fs/promises'
import type { Logger } from 'pino'
import { type Address, addressText } from '../base/address.ts'
import { systemClock } from '../base/clock.ts'
import { describe } from '../base/errors.ts'
import type { Config } from '../config/config-schema.ts'
import { configError } from '../config/config-values.ts'
import { proxyListener, upstreamUrl } from '../config/mysql-proxy-settings.ts'
import { version } from '../installation/version.ts'
import type { Certificates } from '../listening/certificates.ts'
import { openTls } from '../listening/listener-tls.ts'
import type { IdMaker } from '../proxy/id-supply.ts'
import { type ProxyServer, startProxy } from '../proxy/server.ts'
import type { Upstream } from '../proxy/socket-pair.ts'
import { parseFilledColumn } from '../proxy/sql/configured-columns.ts'
import type { SupplyOptions } from './client-supply.ts'
import { openLog } from './log.ts'
import { startMetrics } from './metrics-server.ts'
import { crashOnBugs, onHangUp, stopAsked } from './signals.ts'

/** A warning that recurs is in the log once in this time, in µs. */
const repeatedUs = 10_000_000

/** Relays until a signal stops it; resolves when everything is closed. Rejects if it cannot start. */
export async function runProxy(config: Config): Promise<void> {
  const { mysqlProxy, proxyMetrics } = config
  if (mysqlProxy === undefined)
    throw configError('no address to listen on; give one with --listen, such as 127.0.0.1:3307')
  const log = await openLog(config.logLevel)
  crashOnBugs(log)
  const tls = await openTls(config, ({ level, message }) => log[level](message), onHangUp)
  // Imported here, because a proxy without tables needs no service.
  const maker =
    config.table.length > 0
      ? await (await import('./client-supply.ts')).clientSupply(supplyOptionsOf(config))
      : undefined
  try {
    const proxy = await openProxy(config, mysqlProxy, { log, tls: tls['mysql-proxy'], maker })
    const figures = proxyMetrics && (await startMetrics(proxyMetrics, proxy))
    const stop = stopAsked(log)
    log.info(
      { mysql: proxy.address, metrics: figures?.port, upstream: upstreamUrl.show(config.upstream!) },
      `fahao proxy ${version} is ready`,
    )
    log.info(`${await stop}: stopping`)
    await proxy.close(config.shutdownTimeoutMs)
    figures?.close()
  } finally {
    await maker?.close()
    tls.close()
  }
  log.info('stopped')
}

/** How the service is reached. */
function supplyOptionsOf(config: Config): SupplyOptions {
  const { mysqlProxyUser, proxyTokenFile, proxyCa, proxyCert, proxyKey } = config
  return {
    urls: config.proxyUrl,
    timeoutMs: config.proxyIdTimeoutMs,
    ...(mysqlProxyUser !== undefined && { user: mysqlProxyUser }),
    ...(proxyTokenFile !== undefined && { tokenFile: proxyTokenFile }),
    ...(proxyCa !== undefined && { ca: proxyCa }),
    ...(proxyCert !== undefined && { cert: proxyCert }),
    ...(proxyKey !== undefined && { key: proxyKey }),
  }
}

/** What a proxy needs in addition to its settings. */
export type ProxyParts = {
  readonly log: Logger
  readonly tls: Certificates | undefined
  /** The ids of `table`; undefined: there is none. */
  readonly maker: IdMaker | undefined
}

/** Listens at `address`. Rejects with CONFIG if it cannot. */
export async function openProxy(
  config: Config,
  address: Address,
  { log, tls, maker }: ProxyParts,
): Promise<ProxyServer> {
  const upstream = await upstreamOf(config)
  if (upstream === undefined) throw configError('no upstream; name the MySQL server with --upstream')
  if (config.table.length > 0 && upstream.user === undefined)
    throw configError(
      'upstream has no user: the proxy looks whether the tables refuse rows without an id, with a user of its own; write mysql://USER:PASSWORD@HOST:PORT',
    )
  /** Writes a warning, unless one was written lately. */
  const warning = () => {
    let warnedUs = Number.NEGATIVE_INFINITY
    return (message: string) => {
      const nowUs = systemClock.monoUs()
      if (nowUs - warnedUs < repeatedUs) return
      warnedUs = nowUs
      log.warn(message)
    }
  }
  const [warnOfServer, warnOfLoss, warnOfIds] = [warning(), warning(), warning()]
  if (config.table.length === 0)
    log.warn(
      'the MySQL proxy fills in no ids, because no table is configured; name the columns with table, such as shop.orders.id=order',
    )
  const server = addressText(upstream.address)
  const proxy = await startProxy({
    ...address,
    backlog: config.listenBacklog,
    upstream,
    filled:
      maker && config.table.length > 0 ? { columns: config.table.map(parseFilledColumn), maker } : undefined,
    tls,
    limits: proxyListener.limits(config),
    onUpstreamError: (reason) => warnOfServer(`the MySQL server at ${server} cannot be reached: ${reason}`),
    onMissingId: (reason) =>
      warnOfIds(`an INSERT through the MySQL proxy got no id, and was not sent: ${reason}`),
    onUnguarded: ({ database, table, column }, { missing }) =>
      log.warn(
        `the MySQL proxy fills in no ids of ${database}.${table}.${column}: ${missing.join('; ')}; \`fahao proxy check\` prints the statements that are missing`,
      ),
    onUnseen: (reason) => warnOfServer(`the MySQL proxy cannot look at the tables of ${server}: ${reason}`),
    onLost: (reason) => warnOfLoss(`a connection through the MySQL proxy to ${server} was ended: ${reason}`),
    onError: (error) => log.error({ err: error }, 'a connection of the MySQL proxy failed'),
  })
  void proxy.prepareFilling().then((missing) => {
    for (const [generator, reason] of missing)
      log.warn(
        `the MySQL proxy gets no ids of '${generator}' now, and INSERTs that need them fail: ${reason}`,
      )
  })
  return proxy
}

/** The MySQL server, with the authorities of its certificate. */
export async function upstreamOf({ upstream, upstreamCa }: Config): Promise<Upstream | undefined> {
  return upstream && { ...upstream, ca: upstreamCa === undefined ? undefined : await readCa(upstreamCa) }
}

async function readCa(file: string): Promise<Buffer> {
  try {
    return await readFile(file)
  } catch (error) {
    throw configError(
      `upstream-ca: ${file} cannot be read: ${describe(error)}; name a file that this user may read`,
    )
  }
}
