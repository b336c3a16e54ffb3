/** The bodies of requests: JSON where a body is read, and nothing where none is. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { HttpRefusal } from './problem.ts'

const encoded = 'a body must not be compressed or encoded; send the JSON as it is'

/** Bodies are JSON only; an empty one counts as none. */
export function readJsonOnly(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    const { 'content-encoding': encoding = 'identity', 'transfer-encoding': transfer = 'chunked' } =
      request.headers
    if (encoding !== 'identity' || transfer !== 'chunked') done(new HttpRefusal(415, encoded))
    else if (body === '') done(null, undefined)
    else void parse(request, body as string, done)
  })
}

/**
 * GET and HEAD ignore a body, but are carried out only when it has come: if it is cut short or malformed, the request is
 * refused, and must have issued nothing.
 */
export function awaitIgnoredBodies(app: FastifyInstance): void {
  app.addHook('preValidation', (request, _reply, done) => {
    if (!isIgnored(request)) return done()
    request.raw.once('end', done).resume()
  })
}

function isIgnored({ method, headers, raw }: FastifyRequest): boolean {
  if (method !== 'GET' && method !== 'HEAD') return false
  const isAnnounced = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
  return isAnnounced && !raw.readableEnded
}
