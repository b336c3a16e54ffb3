/** The spans of requests by HTTP, by the names that OpenTelemetry has for them. */
import type { IncomingMessage, RequestListener } from 'node:http'
import type { FastifyInstance } from 'fastify'
import type { Tracing } from '../installation/tracing.ts'
import type { DirectRoute } from './direct.ts'

/** Scrapes and checks, which come all the time, and streams, which last for hours, have no span. */
const untraced: ReadonlySet<string> = new Set(['/metrics', '/healthz', '/readyz', '/v1/live'])

/** The routes of requests that Fastify has found. */
const routes = new WeakMap<IncomingMessage, string>()

/** Has each request answered in a span. @param direct the routes without Fastify. */
export function traceRequests(
  handler: RequestListener,
  tracing: Tracing,
  direct: readonly DirectRoute[],
): RequestListener {
  return (request, response) => {
    const { method = '', url = '' } = request
    const [path = ''] = url.split('?', 1)
    if (untraced.has(path)) return handler(request, response)
    const attributes = {
      'http.request.method': method,
      'url.path': path,
      'url.scheme': 'encrypted' in request.socket ? 'https' : 'http',
      'network.protocol.version': request.httpVersion,
    }
    const traced = tracing.begin(method, attributes, request.headers)
    response.once('close', () => {
      const { statusCode, writableFinished } = response
      const route = routes.get(request) ?? direct.find((each) => each.path.test(url))?.route
      const isOurs = statusCode >= 500
      const error = !writableFinished
        ? { type: 'ABORTED', isOurs: false }
        : statusCode >= 400
          ? { type: String(statusCode), isOurs }
          : undefined
      traced.end(error, route && `${method} ${route}`, {
        ...(route !== undefined && { 'http.route': route }),
        ...(writableFinished && { 'http.response.status_code': statusCode }),
      })
    })
    traced.within(() => handler(request, response))
  }
}

/** Notes the routes of requests. */
export function noteRoutes(app: FastifyInstance): void {
  app.addHook('onRequest', ({ raw, routeOptions }, _reply, done) => {
    if (routeOptions.url !== undefined) routes.set(raw, routeOptions.url)
    done()
  })
}
