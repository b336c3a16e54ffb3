/** The answers to errors, unknown paths, and methods that a path does not have. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { clientMark, inWordsOf, sayClientCall } from '../base/advice.ts'
import { HttpRefusal, problemOf, problemType, retryAfterSecondsOf, withoutTokens } from './problem.ts'
import { answerRefused } from './refused-callers.ts'
import { countFailure } from './traffic.ts'

/** The log of this server's own faults. A pino logger is one. */
export interface HttpLog {
  error(fields: object, message: string): void
}

/** The header of a 401: RFC 9110, 11.6.1. */
export const challenge = ['Basic realm="fahao", charset="UTF-8"', 'Bearer realm="fahao"']

/** Sends the problem that describes `error`; reports it if it is a fault of this server. */
export function sendProblem(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  log?: HttpLog,
): FastifyReply {
  const isOfClient = request.headers.accept?.includes(clientMark) === true
  const worded = isOfClient ? inWordsOf(sayClientCall, error) : error
  const problem = problemOf(worded, request.url, request.access)
  countFailure(request, error)
  if (problem.status === 500) log?.error({ err: error, path: problem.instance }, 'an HTTP request failed')
  if (error instanceof HttpRefusal) reply.headers(error.headers)
  const retryAfter = retryAfterSecondsOf(error)
  if (retryAfter !== undefined) reply.header('retry-after', String(retryAfter))
  if (problem.status === 401) reply.header('www-authenticate', challenge)
  // Fastify refuses some requests before any hook has run.
  return reply
    .code(problem.status)
    .header('cache-control', 'no-store')
    .header('x-content-type-options', 'nosniff')
    .header('content-type', problemType)
    .send(JSON.stringify(problem))
}

/**
 * Makes every failure of `app` a problem, which is sent when it is due: see `RefusedCallers`. Call it once all routes have
 * been added.
 */
export function answerFailures(app: FastifyInstance, routes: readonly Route[], log?: HttpLog): void {
  app.setErrorHandler((error, request, reply) => {
    answerRefused(request, reply, error, () => sendProblem(error, request, reply, log))
  })
  app.setNotFoundHandler((request, reply) => {
    const refusal = notFound(routes, request)
    answerRefused(request, reply, refusal, () => sendProblem(refusal, request, reply, log))
  })
}

/** A method and a path as OpenAPI writes it: `/v1/generators/{name}`. */
export type Route = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
}

/** The refusal of a request without a route: 405 if the path has other methods, else 404. */
export function notFound(routes: readonly Route[], { method, url }: FastifyRequest): HttpRefusal {
  const path = url.split('?', 1)[0]!
  const methods = routes.filter((route) => pathPattern(route.path).test(path)).map((route) => route.method)
  if (methods.length === 0) {
    const shown = withoutTokens(path).slice(0, 200)
    return new HttpRefusal(404, `there is nothing at ${shown}; GET /docs lists what there is`)
  }
  const allowed = methods.flatMap((allowed) => (allowed === 'GET' ? ['GET', 'HEAD'] : [allowed])).join(', ')
  return new HttpRefusal(405, `${method} is not for this path; use ${allowed}. Nothing was issued`, {
    allow: allowed,
  })
}

/** The patterns of all paths that routes have. */
const pathPatterns = new Map<string, RegExp>()

function pathPattern(path: string): RegExp {
  const known = pathPatterns.get(path)
  if (known !== undefined) return known
  const pattern = new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`)
  pathPatterns.set(path, pattern)
  return pattern
}
