/**
 * The bodies of requests: JSON where a body is read, nothing where none is, and nothing of one that is refused. Their
 * length is limited in app.ts (`bodyLimit`).
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { turns } from '../listening/turns.ts'
import { HttpRefusal } from './problem.ts'

/** The time to parse a byte of JSON, as the bytes of a reply that take as long: its values may be nested, or small and many. */
const workBytes = 16

const encoded = 'a body must not be compressed or encoded; send the JSON as it is'

/** More levels than any body has that is accepted. Thousands of them keep the collector of garbage busy. */
const levelsMax = 32
const deep = `a body has at most ${levelsMax} levels of arrays and objects`
const [quote, backslash, bracket, closedBracket, brace, closedBrace, colon] = [34, 92, 91, 93, 123, 125, 58]

/** Bodies are JSON only; an empty one counts as none. */
export function readJsonOnly(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    const { 'content-encoding': encoding = 'identity', 'transfer-encoding': transfer = 'chunked' } =
      request.headers
    if (encoding !== 'identity' || transfer !== 'chunked') done(new HttpRefusal(415, encoded))
    else if (body === '') done(null, undefined)
    else if (isDeep(body as string)) done(new HttpRefusal(400, deep))
    else turns.run(body.length * workBytes, () => void parse(request, body as string, refusingRepeats))

    function refusingRepeats(error: Error | null, value?: unknown): void {
      const repeated = error === null ? repeatedKey(body as string) : undefined
      if (repeated === undefined) return done(error, value)
      done(
        new HttpRefusal(400, `the body gives '${repeated.slice(0, 80)}' twice in one object; give it once`),
      )
    }
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

/** Whether arrays and objects are nested more than `levelsMax` deep. */
function isDeep(json: string): boolean {
  let levels = 0
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at)
    if (code === quote) at = endOfText(json, at)
    else if (code === bracket || code === brace) levels++
    else if (code === closedBracket || code === closedBrace) levels--
    if (levels > levelsMax) return true
  }
  return false
}

/**
 * A key that an object of `json` has twice. Parsers differ in which of its values they take (RFC 8259, 4): what one program
 * has checked and what another one carries out can be two things. `json` is valid.
 */
function repeatedKey(json: string): string | undefined {
  const outer: Set<string>[] = []
  let keys = new Set<string>()
  let text = ''
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at)
    if (code === quote) {
      const start = at
      at = endOfText(json, start)
      text = json.slice(start, at + 1)
    } else if (code === brace) {
      outer.push(keys)
      keys = new Set()
    } else if (code === closedBrace) {
      keys = outer.pop() ?? keys
    } else if (code === colon) {
      // Two texts can be one key: escapes.
      const key: string = text.includes('\\') ? JSON.parse(text) : text.slice(1, -1)
      if (keys.has(key)) return key
      keys.add(key)
    }
  }
  return undefined
}

/** Where the closing quote is, or the end. */
function endOfText(json: string, start: number): number {
  for (let at = start + 1; at < json.length; at++) {
    const code = json.charCodeAt(at)
    if (code === quote) return at
    if (code === backslash) at++
  }
  return json.length
}

/**
 * Has Node emit no end of a body that is empty, which costs a fifth of a short request. Node's option for this,
 * `optimizeEmptyRequests`, leaves out requests with `content-length: 0`, and is for a whole server. Without the method Node
 * emits it.
 */
export function closeEmptyBody(request: IncomingMessage & { _dumpAndCloseReadable?: () => void }): void {
  request._dumpAndCloseReadable?.()
}

/**
 * Has Node's parser skip the bodies in the rest of the bytes that it is parsing: 20 times as fast as with a callback that
 * does nothing. Node has no way to stop a parser in a callback; its `pause` takes effect after the read. Returns what ends
 * it: the next request needs the callback, and so does another connection, since Node uses its parsers again.
 */
export function skipRest(socket: Socket): (() => void) | undefined {
  const { parser } = socket as { parser?: Record<string, unknown> | null }
  const isCallback = ([, value]: [string, unknown]) =>
    typeof value === 'function' && value.name === 'parserOnBody'
  const [key, callback] = Object.entries(parser ?? {}).find(isCallback) ?? []
  if (!parser || key === undefined) return undefined
  parser[key] = null
  const restore = () => {
    parser[key] = callback
  }
  setImmediate(restore)
  return restore
}
