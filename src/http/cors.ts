/**
 * CORS: lets web pages of the origins in `http-origins` read answers, and send what a browser asks about first. No cookies
 * or other credentials of the browser are accepted: a page gives its token in a header.
 */
import type { FastifyInstance, FastifyReply } from 'fastify'

const methods = 'GET, HEAD, POST, PUT, PATCH, DELETE'
const requestHeaders = 'accept, authorization, content-type, idempotency-key'
/** The headers of an answer that a page may read, in addition to those that CORS always shows. */
const answerHeaders = 'fahao-error, location, retry-after, www-authenticate'
/** How long a browser may remember the answer to a preflight. */
const maxAgeSeconds = 600

/** Serves pages of `origins` across origins. Call it before any other hook: a preflight has no credentials. */
export function allowOrigins(app: FastifyInstance, origins: ReadonlySet<string>): void {
  if (origins.size === 0) return
  app.addHook('onRequest', (request, reply, done) => {
    const { origin, 'access-control-request-method': wanted } = request.headers
    reply.header('vary', 'origin')
    if (origin === undefined || !origins.has(origin)) return done()
    reply.headers({
      'access-control-allow-origin': origin,
      'access-control-expose-headers': answerHeaders,
    })
    if (request.method !== 'OPTIONS' || wanted === undefined) return done()
    // Answered here: the hooks that follow are not called.
    sendPreflight(reply)
  })
}

function sendPreflight(reply: FastifyReply): void {
  void reply
    .code(204)
    .headers({
      vary: 'origin, access-control-request-method, access-control-request-headers',
      'access-control-allow-methods': methods,
      'access-control-allow-headers': requestHeaders,
      'access-control-max-age': String(maxAgeSeconds),
      'cache-control': 'no-store',
    })
    .send()
}
