/**
 * A node with its transports, from start to stop.
 *
 * Invariants
 *  1. The node is up before a transport listens, and closes after the last transport: every accepted request can be
 *     served and answered.
 *  2. When a step of the start fails, everything that was opened before is closed.
 *  3. A stop has a deadline. What is still open then ends with the process.
 */
import { executionAsyncResource } from 'node:async_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Logger } from 'pino'
import { type Address, addressText } from '../base/address.ts'
import { systemClock } from '../base/clock.ts'
import { MeteredCatalogue } from '../catalogue/metered-catalogue.ts'
import { createCommands } from '../commands/all.ts'
import type { CompatName } from '../config/compat-settings.ts'
import type { Config } from '../config/config-schema.ts'
import { configError, isLoopback } from '../config/config-values.ts'
import { respListener } from '../config/resp-settings.ts'
import { Forwarder } from '../forwarding/forwarder.ts'
import { type HttpServerOptions, startHttpServer } from '../http/server.ts'
import { noTraffic } from '../http/traffic.ts'
import { version } from '../installation/version.ts'
import type { Certificates } from '../listening/certificates.ts'
import { dialPlain } from '../listening/dial.ts'
import { openTls } from '../listening/listener-tls.ts'
import type { FahaoNode } from '../node/node.ts'
import { startNode } from '../node/start.ts'
import { clusterCommands, type RespForwarder, RespTransport } from '../resp/forward.ts'
import { type RespServer, startRespServer } from '../resp/server.ts'
import { tracedCommands } from '../resp/traced.ts'
import { descriptorAdvice } from './file-descriptors.ts'
import { firstIdSteps, httpUrl } from './first-id.ts'
import { openLog } from './log.ts'
import { openOperatingNode } from './operating-node.ts'
import { missingUsers, protect } from './protected-mode.ts'
import { crashOnBugs, onHangUp, stopAsked, stopTimeoutMs } from './signals.ts'
import { fields, print } from './terminal.ts'

type Listener = { readonly port: number; close(deadlineMs: number): Promise<void> }

/**
 * By how many percent the heap grows between two collections of the old generation. V8's own choice can be as little as
 * some ten percent, which the buffers of received requests fill several times a second: each collection then stops the
 * process for 2 to 12 ms. V8 counts those buffers, though its short collections of the young generation free them.
 */
const heapGrowingPercent = 100

/** Serves until a signal stops it; resolves when everything is closed. Rejects if it cannot start. */
export async function runServer(config: Config): Promise<void> {
  const { resp: respAddress, http: httpAddress, postgres: postgresAddress, compatHttp } = config
  if (!respAddress && !httpAddress && !postgresAddress && !config.mysqlProxy && compatHttp.length === 0) {
    throw configError(
      'nothing to serve: resp, http, postgres and mysql-proxy are all off; give one of them an address',
    )
  }
  if (config.http === undefined && config.compat.length > 0) {
    throw configError(
      'compat is served where http is, which is off; give http an address, or the API one with --compat-http',
    )
  }
  keepTickShape()
  // V8 reads it after each collection, so it may be set while the process runs.
  setFlagsFromString(`--heap-growing-percent=${heapGrowingPercent}`)
  const log = await openLog(config.logLevel)
  crashOnBugs(log)
  const tls = await openTls(config, ({ level, message }) => log[level](message), onHangUp)
  const node = await startNode(config, {
    onEvent: ({ level, message, fields = {} }) => log[level](fields, message),
  })
  // Until here a signal ends the process at once, which does no harm: no request has been served.
  const stop = stopAsked(log)
  if (config.mysqlProxy === undefined && config.table.length > 0)
    log.warn('no MySQL proxy fills in the tables that are configured; give mysql-proxy an address')
  const listeners: Listener[] = []
  try {
    await protect(node, process.env, process.stdout.isTTY)
    const forwarder = respForwarder(node, tls.resp)
    let newestId = 0
    const nextId = () => ++newestId
    // Imported here: a server without these listeners starts sooner. What takes the longest to start is first: the others answer
    // when it does.
    const postgres =
      config.postgres &&
      (await (await import('./open-postgres.ts')).openPostgres(node, config.postgres, log, tls, nextId))
    if (postgres) listeners.push(postgres)
    const resp = config.resp && (await openResp(node, config.resp, log, forwarder, tls.resp, nextId))
    if (resp)
      listeners.push({ port: resp.port, close: (ms) => resp.close(ms).finally(() => forwarder?.close()) })
    const mysql =
      config.mysqlProxy &&
      (await (await import('./open-node-proxy.ts')).openNodeProxy(node, config.mysqlProxy, log, tls, nextId))
    if (mysql) listeners.push(mysql)
    const shared = httpOptions(node, log, tls.http)
    const own = {
      compat: config.compat,
      figures: { resp: resp && (() => resp.stats), postgres: postgres?.figures, mysql: mysql?.figures },
      ...(mysql && { addMetrics: mysql.addMetrics }),
    }
    const http = config.http && (await openHttp(node, { ...shared, ...config.http, ...own }, tls.resp))
    if (http) listeners.push(http)
    for (const { api, address } of config.compatHttp) {
      const compat = { compat: [api], compatOnly: true, setting: 'compat-http' }
      const listener = await startHttpServer({ ...shared, ...address, ...compat })
      listeners.push(listener)
      sayCompat(node, log, api, { ...address, port: listener.port })
    }
    await Promise.race([node.membership?.join(), stop])
    const bound = {
      resp: at(config.resp, resp),
      http: at(config.http, http),
      postgres: at(config.postgres, postgres),
      mysql: at(config.mysqlProxy, mysql),
    }
    await sayReady(node, log, bound, process.stdout.isTTY)
    giveBackMemoryOfStart()
    log.info(`${await stop}: stopping`)
  } finally {
    await close(node, listeners, log)
    tls.close()
  }
  log.info('stopped')
}

const kept: object[] = []

/**
 * Keeps one of the objects that Node makes for the calls of `process.nextTick`. While there is none of them, V8 may collect what it knows
 * of their shape, which its code for `nextTick` relies on. A call then takes up to 1 µs in place of 0.1, until the process
 * ends. A request over RESP has one such call, and a request over HTTP has several.
 */
function keepTickShape(): void {
  process.nextTick(() => kept.push(executionAsyncResource()))
}

/**
 * Has V8 collect what the start has left, a tenth of the memory in use. Without requests it begins no collection by itself. It
 * gives its function for this to new contexts only.
 */
function giveBackMemoryOfStart(): void {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')({ type: 'major', execution: 'async' })
  setFlagsFromString('--no-expose-gc')
}

async function openResp(
  node: FahaoNode,
  { host, port }: Address,
  log: Logger,
  forwarder: RespForwarder | undefined,
  tls: Certificates | undefined,
  nextId: () => number,
): Promise<RespServer> {
  const { config, catalogue, server, access, tracing } = node
  const table = forwarder ? clusterCommands(createCommands(), forwarder) : createCommands()
  const resp = await startRespServer({
    host,
    port,
    backlog: config.listenBacklog,
    nextId,
    table: tracing ? tracedCommands(table, tracing) : table,
    context: (session) => ({
      session,
      catalogue: new MeteredCatalogue(catalogue, server.meters, () => session.access.user),
      server,
    }),
    initialAccess: (certificateName, address) => access.initialOf(certificateName, { address, door: 'resp' }),
    mayIssue: node.mayIssue,
    generators: { names: node.names, meters: server.meters, incrByMax: server.incrByMax },
    tls,
    roundingGuard: config.roundingGuard,
    limits: respListener.limits(config),
    onError: (error, session) => log.error({ err: error, client: session?.address }, 'a RESP request failed'),
  })
  access.listen(() => resp.refreshAccess((before) => access.present(before)))
  node.attach({ respPort: resp.port, sessions: () => resp.sessions(), traffic: () => resp.stats })
  return resp
}

/** Nodes of a cluster that serve RESP ask each other by it for single ids. */
async function openHttp(
  node: FahaoNode,
  options: HttpServerOptions,
  tls: Certificates | undefined,
): Promise<Listener> {
  const { leaders, close } = openOperatingNode(node, tls)
  const http = await startHttpServer({ ...options, leaders: node.config.resp && leaders }).catch((error) => {
    close()
    throw error
  })
  return { port: http.port, close: (ms) => http.close(ms).finally(close) }
}

/** Undefined on a node without a cluster. */
function respForwarder(
  { config, access, tracing, server: { cluster } }: FahaoNode,
  tls: Certificates | undefined,
): RespForwarder | undefined {
  const transport = new RespTransport(systemClock, config.callTimeoutMs, tls?.dial ?? dialPlain, access)
  return cluster && new Forwarder(cluster, transport, config.forward, tracing)
}

/** The options that all HTTP servers of this process share. */
function httpOptions(
  node: FahaoNode,
  log: Logger,
  tls: Certificates | undefined,
): Omit<HttpServerOptions, 'host' | 'port'> {
  return {
    node,
    tls,
    names: namesOf(node.config),
    traffic: noTraffic(),
    log,
  }
}

/** Other nodes forward requests to the announced host, so it is accepted wherever names are checked. */
function namesOf(config: Config): readonly string[] {
  const { httpNames, http, announceHttp } = config
  const checked = httpNames.length > 0 || (http !== undefined && isLoopback(http))
  return checked && announceHttp !== undefined ? [...httpNames, announceHttp.host] : httpNames
}

function sayCompat({ config, access }: FahaoNode, log: Logger, api: CompatName, address: Address): void {
  log.info(`${api}'s API is served at ${httpUrl(address, config)}`)
  if (!isLoopback(address) && access.initial.unrestricted)
    log.warn(`${api}'s API is open to other machines, and there is no login`)
}

/** The address with the port that was bound: port 0 binds any free one. */
function at(address: Address | undefined, listener: Listener | undefined): Address | undefined {
  return address && listener && { host: address.host, port: listener.port }
}

async function sayReady(
  node: FahaoNode,
  log: Logger,
  listeners: Readonly<Record<'resp' | 'http' | 'postgres' | 'mysql', Address | undefined>>,
  forPeople: boolean,
): Promise<void> {
  for (const name of ['resp', 'http', 'postgres'] as const) {
    const address = listeners[name]
    if (address && !isLoopback(address) && node.access.initial.unrestricted)
      log.warn(`${name} is open to other machines, and there is no login`)
  }
  for (const sentence of missingUsers(node)) log.warn(sentence)
  if (node.engine.name === 'memory')
    log.warn('memory: forgets every generator and what it has issued when this process stops')
  const advice = descriptorAdvice(node.config)
  if (advice !== undefined) log.warn(advice)
  const ownership = await node.engine.ownership()
  if (ownership.state === 'other') {
    log.warn(`${ownership.holder} owns this store: strict kinds are served there, and here once it is gone`)
  }
  const steps = await firstIdSteps(node, listeners, node.config, {
    strict: ownership.state !== 'other',
    clustered: node.server.cluster !== undefined && !node.config.forward,
  })
  const facts = {
    engine: node.engine.location,
    resp: listeners.resp && addressText(listeners.resp),
    http: listeners.http && httpUrl(listeners.http, node.config),
    postgres: listeners.postgres && addressText(listeners.postgres),
    mysql: listeners.mysql && addressText(listeners.mysql),
  }
  if (!forPeople)
    return log.info({ ...facts, try: steps.map(({ line }) => line) }, `fahao ${version} is ready`)
  log.info(`fahao ${version} is ready`)
  const places = [
    ['ids are kept in', facts.engine],
    ['to stop it', 'Ctrl-C'],
  ] as const
  print('', ...fields([...steps.map(({ what, line }) => [what, line] as const), ...places]), '')
}

async function close(node: FahaoNode, listeners: readonly Listener[], log: Logger): Promise<void> {
  const { shutdownTimeoutMs, callTimeoutMs } = node.config
  const watchdog = systemClock.timer(stopTimeoutMs(node.config), () => endWithoutStore(log))
  // Passwords that wait to be checked would have the stop wait for all of them.
  node.access.stopLogins()
  // First, while the listeners can still redirect clients to the new leaders.
  await node.membership?.leave()
  await Promise.all(listeners.map((listener) => listener.close(shutdownTimeoutMs)))
  const closingUs = systemClock.monoUs()
  await node.close()
  watchdog.cancel()
  // The engine's thread still waits for the disk, and a normal exit would wait for the thread.
  if (systemClock.monoUs() - closingUs >= callTimeoutMs * 1000) endWithoutStore(log)
}

/** Every other exit joins the thread that writes the store, and so waits for a disk that does not answer. */
function endWithoutStore(log: Logger): void {
  log.error('the stop took too long: buffered ids stay unused, and no id repeats')
  process.kill(process.pid, 'SIGKILL')
}
