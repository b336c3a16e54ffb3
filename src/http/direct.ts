/**
 * Requests for ids without the life cycle of Fastify, which costs as much as all else of such a request: of the native API, and of
 * Leaf's.
 *
 * Invariants
 *  1. A request is answered here only if the hooks and the handler of its route would answer it with the same status, headers and
 *     body. Any other goes to Fastify, and nothing was issued for it.
 *  2. The checks are those of the route, in its order: the guard, the caller, its permissions, whether this node may issue.
 *  3. An error after ids were asked for is thrown by the handler of the route (`directFailure`), once.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Access } from '../auth/access.ts'
import type { AccessControl } from '../auth/access-control.ts'
import type { Generator } from '../catalogue/catalogue.ts'
import type { SharedDraws } from '../forwarding/shared-draws.ts'
import { Run } from '../ids/run.ts'
import type { Kind } from '../issuing/issuer.ts'
import { certificateName } from '../listening/handshakes.ts'
import { longCheck, turns } from '../listening/turns.ts'
import { type Body, batchBody, type Frame } from './batch.ts'
import { closeEmptyBody } from './bodies.ts'
import type { Guard } from './browser-safety.ts'
import { connectionOf } from './connection.ts'
import { forwardedHeader } from './forwarded.ts'
import type { IssuingNode } from './issuing-node.ts'
import { jsonFrame, jsonType, oneInJson, textInJson } from './native/issued-json.ts'

/** A route whose plain requests are answered here. */
export type DirectRoute = {
  readonly method: 'GET' | 'POST'
  /** As Fastify writes it. */
  readonly route: string
  /** Its groups: the name of the generator, and how many ids are asked for, where that may be told. */
  readonly path: RegExp
  readonly contentType: string
  /** Whether its answer depends on what the client accepts. */
  readonly negotiates: boolean
  /** The kinds of its generators. Default: all. */
  readonly kinds?: readonly Kind[]
  readonly one: (generator: Generator, run: Run) => string
  /** What stands around many ids. Undefined: one at a time. */
  readonly many?: Frame
  /** One id by its text, from the leader of its generator. Undefined: requests are forwarded one by one. */
  readonly shared?: (text: string) => string
}

/** What the hooks of the app have, too. */
export type DirectOptions = {
  readonly routes: readonly DirectRoute[]
  readonly node: IssuingNode & { readonly access: AccessControl; readonly mayIssue: () => unknown }
  readonly guard: Guard
  /** The headers of each answer, as names and values in turn. */
  readonly headers: readonly string[]
  /** Called for each request that a user may send. */
  readonly onUser: (request: IncomingMessage) => void
  /** Draws at the leaders of generators; undefined: there is no cluster, or nodes reach each other by HTTP alone. */
  readonly draws: SharedDraws | undefined
  /** Whether the server stops: Fastify then ends each connection with its answer. */
  readonly isClosing: () => boolean
}

/** `POST /v1/generators/{name}/next` */
export const nextDirectly: DirectRoute = {
  method: 'POST',
  route: '/v1/generators/:name/next',
  path: /^\/v1\/generators\/([\w.:~%{}-]+)\/next(?:\?count=([1-9]\d{0,2}))?$/,
  contentType: jsonType,
  negotiates: true,
  one: oneInJson,
  many: jsonFrame,
  shared: textInJson,
}
const command = 'id.next'

/** The errors of requests that have gone to Fastify. */
const failures = new WeakMap<IncomingMessage, unknown>()

/** Throws the error with which a request was given to the handler of its route, if there is one. */
export function throwDirectFailure(request: IncomingMessage): void {
  if (!failures.has(request)) return
  const error = failures.get(request)
  failures.delete(request)
  throw error
}

// Shared by all requests: it is read before other code can run.
const run = new Run()

/** Answers requests, or has `otherwise` do it. */
export function answerDirectly(options: DirectOptions, otherwise: RequestListener): RequestListener {
  const { routes, node, guard, draws, isClosing, onUser } = options
  const { countMax, meters } = node.server
  const rest = [...options.headers, 'content-length']
  const send = (
    response: ServerResponse,
    { contentType }: DirectRoute,
    body: string,
    encoding: BufferEncoding,
  ) => {
    const length = encoding === 'latin1' ? body.length : Buffer.byteLength(body)
    response.writeHead(200, ['content-type', contentType, ...rest, String(length)])
    response.end(body, encoding)
  }
  const answer = (request: IncomingMessage, response: ServerResponse): boolean => {
    for (const route of routes) {
      const asked = route.path.exec(request.url ?? '')
      if (asked !== null) return answerRoute(route, asked, request, response)
    }
    return false
  }
  function answerRoute(
    route: DirectRoute,
    [, written = '', digits = '1']: RegExpExecArray,
    request: IncomingMessage,
    response: ServerResponse,
  ): boolean {
    const name = written.includes('%') ? decoded(written) : written
    if (name === undefined || isClosing() || !isPlain(request, route)) return false
    const count = Number(digits)
    const caller = callerOf(request, node.access)
    if (caller === undefined || count > countMax || !permits(caller, name) || guard(request) !== undefined) {
      return false
    }
    node.mayIssue()
    const found = node.catalogue.find(name)
    if (found === undefined || route.kinds?.includes(found.kind) === false) return false
    if (caller.user !== '') onUser(request)
    const generator = meters.meter(found, caller.user)
    if (count > 1) return sendMany(request, response, route, generator, count)
    if (generator.take(1, run) === 0) {
      return draws?.areFor(name) === true && sendShared(request, response, route, name, caller)
    }
    closeEmptyBody(request)
    const encoding = generator.definition.format === undefined ? 'latin1' : 'utf8'
    send(response, route, route.one(generator, run), encoding)
    return true
  }
  const fail = (request: IncomingMessage, response: ServerResponse, error: unknown) => {
    failures.set(request, error)
    otherwise(request as never, response as never)
  }
  /** Decimal digits of ids. The whole answer is short enough for one write. */
  function sendMany(
    request: IncomingMessage,
    response: ServerResponse,
    route: DirectRoute,
    generator: Generator,
    count: number,
  ): boolean {
    const { many } = route
    const connection = connectionOf(request)
    if (many === undefined || connection === undefined || generator.writer() !== undefined) return false
    closeEmptyBody(request)
    const sendBody = (body: Body) => send(response, route, body as string, 'latin1')
    generator
      .draw(count, { signal: connection.gone })
      .then((runs) => {
        const body = batchBody(runs, many)
        return body instanceof Promise ? body.then(sendBody) : sendBody(body)
      })
      .catch((error) => fail(request, response, error))
    return true
  }
  function sendShared(
    request: IncomingMessage,
    response: ServerResponse,
    route: DirectRoute,
    name: string,
    caller: Access,
  ): boolean {
    const { shared } = route
    const connection = connectionOf(request)
    if (shared === undefined || connection === undefined) return false
    closeEmptyBody(request)
    draws!.next(name, caller, connection.gone).then(
      (text) => send(response, route, shared(text), 'utf8'),
      (error) => fail(request, response, error),
    )
    return true
  }
  return (request, response) => {
    try {
      if (!answer(request, response)) otherwise(request, response)
    } catch (error) {
      fail(request, response, error)
    }
  }
}

/** The name in a path, as Fastify reads it. */
function decoded(written: string): string | undefined {
  try {
    return decodeURIComponent(written)
  } catch {
    return undefined
  }
}

/** Whether it has no body, and nothing that another answer may follow from. */
function isPlain({ method, headers }: IncomingMessage, route: DirectRoute): boolean {
  return (
    method === route.method &&
    (headers['content-length'] === undefined || headers['content-length'] === '0') &&
    headers['transfer-encoding'] === undefined &&
    headers['content-type'] === undefined &&
    headers.expect === undefined &&
    headers['idempotency-key'] === undefined &&
    headers.origin === undefined &&
    // Only POST is checked by the guard.
    (method === 'POST' || headers['sec-fetch-site'] === undefined) &&
    headers[forwardedHeader] === undefined &&
    !(route.negotiates && headers.accept?.includes('text/'))
  )
}

/** Undefined: who it is has to be found out. */
function callerOf(request: IncomingMessage, access: AccessControl): Access | undefined {
  const { authorization } = request.headers
  if (authorization !== undefined) return connectionOf(request)?.caller?.access(authorization, access)
  return certificateName(request.socket) === undefined ? access.initial : undefined
}

function permits(caller: Access, name: string): boolean {
  if (caller.unrestricted) return true
  if (caller.user === '' || caller.work > longCheck || !caller.allows(command)) return false
  turns.spend(caller.work)
  return caller.reaches(name)
}
