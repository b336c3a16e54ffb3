/** The HTTP side of a node as a Fastify app: hooks, routes and limits. `server.ts` listens. */
import type { IncomingMessage, RequestListener, ServerOptions } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Socket } from 'node:net'
import fastify, { type FastifyInstance } from 'fastify'
import { type Clock, systemClock } from '../base/clock.ts'
import type { CompatName } from '../config/compat-settings.ts'
import type { Config } from '../config/config-schema.ts'
import { SharedDraws } from '../forwarding/shared-draws.ts'
import type { Certificates } from '../listening/certificates.ts'
import { dialPlain } from '../listening/dial.ts'
import { History } from '../metrics/history.ts'
import type { MetricSet } from '../metrics/metric-set.ts'
import { NodeEvents } from '../metrics/node-events.ts'
import { Metrics, surveyOf } from '../metrics/node-metrics.ts'
import type { TransportSources } from '../metrics/transport-metrics.ts'
import type { FahaoNode } from '../node/node.ts'
import { advanceOperation } from '../operations/advance.ts'
import { auditOperation } from '../operations/audit.ts'
import type { Leaders } from '../operations/caller.ts'
import { checkOperation } from '../operations/check.ts'
import { clusterOperations } from '../operations/cluster.ts'
import { decodeOperation } from '../operations/decode.ts'
import { leaseOperations } from '../operations/leases.ts'
import { ledgerOperations } from '../operations/ledger.ts'
import { momentOperations } from '../operations/moments.ts'
import { namespaceOperations } from '../operations/namespaces.ts'
import { tokenOperations } from '../operations/tokens.ts'
import { userOperations } from '../operations/users.ts'
import { workerOperations } from '../operations/worker-ids.ts'
import { type ApiRoute, nameOf, poolOf, refuseParameters } from './api-route.ts'
import { awaitIgnoredBodies, readJsonOnly } from './bodies.ts'
import { makeGuard } from './browser-safety.ts'
import { checkCallers } from './caller.ts'
import { segmentDirectly } from './compat/leaf.ts'
import { answerFailuresAsSpring, mountCompatApis, mountForNodes } from './compat/mount.ts'
import { Connections, connectionOf, HttpRequest, HttpResponse } from './connection.ts'
import { serveConsole } from './console/files.ts'
import { landingRoute } from './console/landing.ts'
import { allowOrigins } from './cors.ts'
import { answerDirectly, type DirectRoute, nextDirectly } from './direct.ts'
import { answerFailures, type HttpLog, sendProblem } from './failures.ts'
import { forwardRequests } from './forward.ts'
import { generatorRoutes } from './native/generators.ts'
import { nextRoute, rangeRoute, runsRoute } from './native/issue.ts'
import { liveRoute } from './native/live.ts'
import { idOf } from './native/live-stream.ts'
import { PeerStreams } from './native/peer-streams.ts'
import { routesOf } from './native/route.ts'
import { healthRoutes } from './ops/health.ts'
import { metricsRoute } from './ops/metrics.ts'
import { openApiRoute } from './ops/openapi.ts'
import { createServer, METHODS } from './plain-http.ts'
import { recording } from './recording.ts'
import { answerRefused, restRefusedCallers } from './refused-callers.ts'
import { noteRoutes, traceRequests } from './traced.ts'
import { type HttpTraffic, noTraffic } from './traffic.ts'
import { isIgnored, isLate, methodRefusal, refusalOf } from './unreadable.ts'

/** The parts of the HTTP side. */
export type HttpOptions = {
  /** The node; its configuration has the limits. */
  readonly node: FahaoNode
  /** The address to bind to; decides which Host headers are accepted. */
  readonly host: string
  /** The certificate to speak TLS with; undefined: without TLS. */
  readonly tls?: Certificates | undefined
  /** Has the leaders of generators issue single ids; undefined: HTTP does that, as all else. */
  readonly leaders?: Leaders | undefined
  /** Further names of this server, for servers bound to a loopback address. */
  readonly names?: readonly string[]
  readonly log?: HttpLog
  /** The figures of the other transports, for /metrics. */
  readonly figures?: TransportSources
  /** Adds further metrics to /metrics. */
  readonly addMetrics?: (metrics: MetricSet) => void
  /** APIs of other generators to serve as well. */
  readonly compat?: readonly CompatName[]
  /** Serves these APIs only, for a port of the replaced service. */
  readonly compatOnly?: boolean
  /** The clock for times of requests, and for rests. Default: the machine's. */
  readonly clock?: Clock
  /** The counters; servers that share them are counted as one. */
  readonly traffic?: HttpTraffic
  /** Called for each request that a user may send, with its connection. */
  readonly onUser?: (socket: Socket) => void
}

/** On every route: a cache that repeats an answer repeats ids. */
const always = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }

/** Longest name, each of its bytes percent-encoded. */
const parameterCharactersMax = 3 * 256

/** Builds the app. It listens nowhere: `startHttpServer` does, and tests call `inject`. */
export function buildHttpApp(options: HttpOptions): FastifyInstance {
  const { node, log, tls, clock = systemClock } = options
  const { config, mayIssue, tracing } = node
  const traffic = options.traffic ?? noTraffic()
  const connections = new Connections({
    unreadTimeoutMs: config.httpUnreadTimeoutMs,
    unreadTotalMaxBytes: config.httpUnreadTotalMaxBytes,
    // While nothing reads a body, Node holds a buffer of it.
    bodyBytesMax: Math.max(config.httpBodyMaxBytes, 65_536),
    requestTimeoutMs: config.httpRequestTimeoutMs,
    traffic,
    clock,
  })
  const origins = new Set(config.httpOrigins)
  const guard = makeGuard(options.host, options.names, origins)
  const onUser = (request: IncomingMessage) => {
    const connection = connectionOf(request)
    if (connection !== undefined) connection.refusals = undefined
    options.onUser?.(request.socket)
  }
  const draws = options.leaders && new SharedDraws(options.leaders, node, tracing)
  let isClosing = false
  const routes = directRoutes(options)
  const headers = headersOf(origins)
  const direct = (handler: RequestListener) =>
    answerDirectly({ routes, node, guard, draws, headers, onUser, isClosing: () => isClosing }, handler)
  const app = fastify({
    bodyLimit: config.httpBodyMaxBytes,
    // Operations check their own arguments. Fastify's compilers of schemas would be a tenth of what a start loads.
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    routerOptions: { maxParamLength: parameterCharactersMax },
    return503OnClosing: false,
    clientErrorHandler: (error, socket) => {
      if (error.code === 'ECONNRESET') socket.destroy()
      else if (isLate(error)) connections.of(socket).refuseLate(refusalOf(error))
      else if (!isIgnored(error)) connections.of(socket).refuse(refusalOf(error))
    },
    serverFactory: (handler) => {
      const answer = direct(handler)
      const inTurn = connections.inTurn(tracing ? traceRequests(answer, tracing, routes) : answer)
      const ours = serverOptions(config)
      const server = tls
        ? createTlsServer({ ...tls.serverOptions, ...ours }, inTurn)
        : createServer(ours, inTurn)
      // RFC 9110, 10.1.1: an expectation that is not known may be ignored. Node would answer by itself.
      server.on('checkExpectation', inTurn)
      // Without a listener Node would drop the connection, and the answers to the requests before.
      return server.on('connect', ({ method }, connection) => {
        // Node no longer handles the errors of this socket.
        const socket = connection as Socket
        socket.on('error', () => {})
        connections.of(socket).refuseDetached(methodRefusal(method!))
      })
    },
    frameworkErrors: (error, request, reply) =>
      answerRefused(request, reply, error, () => sendProblem(error, request, reply, log)),
  })
  if (tracing) noteRoutes(app)
  restRefusedCallers(app, clock, config.httpUnreadTimeoutMs)
  app.addHook('preClose', (done) => {
    isClosing = true
    done()
  })
  allowOrigins(app, origins)
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(always)
    done(guard(request.raw))
  })
  checkCallers(app, node.access, node.server.audit)
  app.addHook('onRequest', ({ access, raw }, _reply, done) => {
    if (access.user !== '') onUser(raw)
    done()
  })
  // After the body has come, in the callback in which it is answered.
  app.addHook('preHandler', (_request, _reply, done) => {
    mayIssue()
    done()
  })
  // Fastify accepts a few methods, and requires a body of QUERY. All others are refused like these: by path.
  const served = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT']
  const unserved = METHODS.filter((method) => !served.includes(method))
  for (const method of unserved) app.addHttpMethod(method, { hasBody: false, overrideExisting: true })
  readJsonOnly(app)
  awaitIgnoredBodies(app)
  const { cluster } = node.server
  const dial = tls?.dial ?? dialPlain
  if (cluster !== undefined) {
    forwardRequests(app, cluster, config.callTimeoutMs, dial, node.access, systemClock, tracing)
  }
  app.decorate('traffic', traffic)
  const compat = mountCompatApis(app, node, options.compat ?? [], log)
  if (options.compatOnly) {
    answerFailuresAsSpring(app, node, compat, log)
    return app
  }
  const elsewhere = config.compatHttp.map(({ api }) => api).filter((api) => !options.compat?.includes(api))
  if (cluster !== undefined) mountForNodes(app, node, elsewhere, log)
  const peers = cluster && new PeerStreams({ cluster, dial, proving: node.access, clock })
  answerFailures(app, [...mountNative(app, options, traffic, peers), ...compat], log)
  return app
}

/** A user of its own for an API is a matter of its hooks. */
function directRoutes({ node, compat = [], compatOnly = false }: HttpOptions): DirectRoute[] {
  const hasUser = node.config.compatUser.some(({ api }) => api === 'leaf')
  return [
    ...(compatOnly ? [] : [nextDirectly]),
    ...(compat.includes('leaf') && !hasUser ? [segmentDirectly] : []),
  ]
}

/** The headers of an answer to no page of another origin. */
function headersOf(origins: ReadonlySet<string>): string[] {
  return [...Object.entries(always).flat(), ...(origins.size > 0 ? ['vary', 'origin'] : [])]
}

function noSchemas(): never {
  throw new Error('no route has a schema')
}

/** Everything but the compatible APIs: every operation, in the order of the documentation. */
function mountNative(
  app: FastifyInstance,
  options: HttpOptions,
  traffic: HttpTraffic,
  peers: PeerStreams | undefined,
): ApiRoute[] {
  const { node } = options
  const figures = { ...options.figures, http: () => traffic }
  const survey = surveyOf(node)
  const metrics = new Metrics(node, figures, survey)
  options.addMetrics?.(metrics.set)
  app.addHook('onClose', async () => metrics.close())
  const history = new History({
    catalogue: node.catalogue,
    survey,
    clock: options.clock ?? systemClock,
    timeline: node.timeline,
    errors: () => Object.values(figures).flatMap((read) => read?.().requests.errors ?? []),
  })
  const events = new NodeEvents({
    clock: options.clock ?? systemClock,
    timeline: node.timeline,
    cluster: node.server.cluster,
    id: () => idOf(node),
    health: () => node.health(),
  })
  const live = liveRoute(history, events, node, peers, options.clock ?? systemClock)
  app.addHook('preClose', (done) => {
    live.end()
    done()
  })
  app.addHook('onClose', async () => {
    history.close()
    events.close()
  })
  const console = serveConsole(app)
  const all = () => operations
  const operations: ApiRoute[] = [
    nextRoute(node),
    rangeRoute(node),
    runsRoute(node),
    ...routesOf(
      [decodeOperation, checkOperation, ...momentOperations, ...leaseOperations, ...ledgerOperations],
      node,
    ),
    ...generatorRoutes(node),
    ...routesOf(
      [
        ...workerOperations,
        ...namespaceOperations,
        ...userOperations,
        ...tokenOperations,
        ...clusterOperations,
        advanceOperation,
        auditOperation,
      ],
      node,
    ),
    ...healthRoutes(node),
    metricsRoute(metrics),
    live.route,
    openApiRoute(node.server.version, all),
    ...console.routes,
    landingRoute(node, console.sendPage),
  ]
  for (const operation of operations) mount(app, operation, node)
  return operations
}

function mount(app: FastifyInstance, operation: ApiRoute, node: FahaoNode): void {
  const { method, path, tag, command, query } = operation
  const onlyDraws = tag === 'ids' && method === 'POST'
  const name = path.startsWith('/v1/generators/{name}')
    ? nameOf
    : path.startsWith('/v1/pools/{pool}')
      ? poolOf
      : undefined
  const access = command === 'open' ? command : { command, ...(name && { name }) }
  app.route({
    method,
    url: path.replaceAll(/\{(\w+)\}/g, ':$1'),
    handler: recording(operation, node.server.audit),
    config: { onlyDraws, access, isForwardable: node.access.subjects.forwardable.has(command) },
    ...(method !== 'GET' && query === undefined && { preHandler: refuseParameters }),
  })
}

function serverOptions(config: Config): ServerOptions {
  const requestTimeout = config.httpRequestTimeoutMs
  return {
    IncomingMessage: HttpRequest,
    ServerResponse: HttpResponse,
    maxHeaderSize: config.httpHeaderMaxBytes,
    requestTimeout,
    headersTimeout: requestTimeout,
    // The guard checks it, and answers with a problem.
    requireHostHeader: false,
    connectionsCheckingInterval: Math.min(1000, requestTimeout),
    // Longer than the minute for which proxies usually keep a connection: the side that closes first loses no request.
    keepAliveTimeout: 72_000,
    noDelay: true,
  }
}
