/**
 * The compatible APIs on an app. Each has a scope of its own: bodies are parsed and failures are sent in the form of its
 * clients, which does not affect the native API.
 */
import type {
  FastifyContextConfig,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  onRequestHookHandler,
} from 'fastify'
import type { CompatName } from '../../config/compat-settings.ts'
import { refuseForeignPage } from '../browser-safety.ts'
import { type HttpLog, notFound, type Route, sendProblem } from '../failures.ts'
import type { IssuingNode } from '../issuing-node.ts'
import { answerRefused } from '../refused-callers.ts'
import { type CompatApi, type CompatRoute, parameterOf } from './api.ts'
import { cosidApi } from './cosid.ts'
import { idBuilderApi } from './idbuilder.ts'
import { leafApi } from './leaf.ts'
import { forCaller, isRefusedCaller, SpringFailure, sendSpringFailure } from './spring.ts'
import { tinyidApi } from './tinyid.ts'

type FailureSender = (error: unknown, request: FastifyRequest, reply: FastifyReply) => void

const apis: Readonly<Record<CompatName, (node: IssuingNode) => CompatApi>> = {
  leaf: leafApi,
  idbuilder: idBuilderApi,
  tinyid: tinyidApi,
  cosid: cosidApi,
}

/** Serves the named APIs on `app`; returns their routes. */
export function mountCompatApis(
  app: FastifyInstance,
  node: IssuingNode,
  names: readonly CompatName[],
  log?: HttpLog,
): Route[] {
  const origins = new Set(node.config.httpOrigins)
  return names.flatMap((name) => {
    const user = node.config.compatUser.find(({ api }) => api === name)?.user
    const routes = mountApi(app, node, name, (route) => forClients(route, origins, user), log)
    return routes.flatMap(({ methods, path }) => methods.map((method) => ({ method, path })))
  })
}

/**
 * Serves what other nodes forward to `app` of APIs that have an address of their own: nodes know one address of each other.
 * To anything but a node, these paths do not exist.
 */
export function mountForNodes(
  app: FastifyInstance,
  node: IssuingNode,
  names: readonly CompatName[],
  log?: HttpLog,
): void {
  for (const name of new Set(names)) {
    mountApi(app, node, name, (route) => (route.issues ? forNodes(route, log) : undefined), log)
  }
}

/** Sends every failure of `app` in Spring's form, for a port that has these APIs only. */
export function answerFailuresAsSpring(
  app: FastifyInstance,
  node: IssuingNode,
  routes: readonly Route[],
  log?: HttpLog,
): void {
  const fail = failureSender(node, log)
  app.setErrorHandler(fail)
  app.setNotFoundHandler((request, reply) => {
    const refusal = notFound(routes, request)
    const failure =
      refusal.status === 404 ? new SpringFailure(404, undefined, 'No message available') : refusal
    return fail(failure, request, reply)
  })
}

function failureSender({ timeline }: IssuingNode, log?: HttpLog): FailureSender {
  return (error, request, reply) => {
    const cause = error instanceof SpringFailure ? error.cause : error
    answerRefused(request, reply, cause, () =>
      sendSpringFailure(error, request, reply, timeline.nowUs(), log),
    )
  }
}

/** What is checked before a route. */
type Checks = { readonly config: FastifyContextConfig; readonly onRequest?: onRequestHookHandler }

function forClients(
  { issues, access }: CompatRoute,
  origins: ReadonlySet<string>,
  user: string | undefined,
): Checks {
  // The parameter of RFC 6750, 2.3: clients of the replaced service send no headers.
  const token = (request: FastifyRequest) => parameterOf(request, 'access_token')
  return {
    config: {
      onlyDraws: issues,
      isForwardable: issues,
      access: access === 'open' ? access : { ...access, token, user },
    },
    ...(issues && { onRequest: (request, _, done) => done(refuseForeignPage(request, origins)) }),
  }
}

function forNodes({ access }: CompatRoute, log: HttpLog | undefined): Checks {
  return {
    config: { onlyDraws: true, isForwardable: true, access },
    onRequest(request, reply, done) {
      if (request.access.isForwarded) return done()
      const refusal = notFound([], request)
      answerRefused(request, reply, refusal, () => sendProblem(refusal, request, reply, log))
    },
  }
}

/** Serves the routes of an API for which there are checks; returns all. */
function mountApi(
  app: FastifyInstance,
  node: IssuingNode,
  name: CompatName,
  checksOf: (route: CompatRoute) => Checks | undefined,
  log: HttpLog | undefined,
): readonly CompatRoute[] {
  const { routes, close } = apis[name](node)
  const fail = failureSender(node, log)
  app.register((scope, _, done) => {
    readForms(scope)
    scope.setErrorHandler(fail)
    for (const route of routes) {
      const checks = checksOf(route)
      if (checks !== undefined) mount(scope, route, checks, fail)
    }
    if (close) scope.addHook('onClose', async () => close())
    done()
  })
  return routes
}

function mount(scope: FastifyInstance, route: CompatRoute, checks: Checks, fail: FailureSender): void {
  const { methods, path, handler, failure, describesRefusals = false } = route
  const keepsForm = (error: unknown) => !describesRefusals && isRefusedCaller(error)
  scope.route({
    method: [...methods],
    url: path.replaceAll(/\{(\w+)\}/g, ':$1'),
    handler,
    ...checks,
    ...(failure && {
      errorHandler(error, request, reply) {
        const told = forCaller(error, request)
        return fail(keepsForm(told) ? told : (failure(told) ?? told), request, reply)
      },
    }),
  })
}

/** A form is kept as text, to be read with the query; any other body is ignored, as by a servlet. */
function readForms(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    (_request, body, done) => done(null, body),
  )
  scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, _body, done) => done(null, undefined))
}
