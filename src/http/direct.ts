/**
 * `POST /v1/generators/{name}/next` without the life cycle of Fastify, which costs as much as all else of such a request.
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
import { certificateName } from '../listening/handshakes.ts'
import { longCheck, turns } from '../listening/turns.ts'
import { type Body, batchBody } from './batch.ts'
import { closeEmptyBody } from './bodies.ts'
import type { Guard } from './browser-safety.ts'
import { connectionOf } from './connection.ts'
import { forwardedHeader } from './forwarded.ts'
import type { IssuingNode } from './issuing-node.ts'
import { jsonFrame, jsonType, oneInJson, textInJson } from './native/issued-json.ts'

/** What the hooks of the app have, too. */
export type DirectOptions = {
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

const path = /^\/v1\/generators\/([\w.:~%{}-]+)\/next(?:\?count=([1-9]\d{0,2}))?$/
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
  const { node, guard, draws, isClosing, onUser } = options
  const { countMax, meters } = node.server
  const head = ['content-type', jsonType, ...options.headers, 'content-length', '']
  const send = (response: ServerResponse, body: string, encoding: BufferEncoding) => {
    head[head.length - 1] = String(encoding === 'latin1' ? body.length : Buffer.byteLength(body))
    response.writeHead(200, head)
    response.end(body, encoding)
  }
  const answer = (request: IncomingMessage, response: ServerResponse): boolean => {
    const [, written, digits = '1'] = path.exec(request.url ?? '') ?? []
    const name = written?.includes('%') ? decoded(written) : written
    if (name === undefined || isClosing() || !isPlain(request)) return false
    const count = Number(digits)
    const caller = callerOf(request, node.access)
    if (caller === undefined || count > countMax || !permits(caller, name) || guard(request) !== undefined) {
      return false
    }
    node.mayIssue()
    const found = node.catalogue.find(name)
    if (found === undefined) return false
    if (caller.user !== '') onUser(request)
    const generator = meters.meter(found, caller.user)
    if (count > 1) return sendMany(request, response, generator, count)
    if (generator.take(1, run) === 0)
      return draws?.areFor(name) === true && sendShared(request, response, name, caller)
    closeEmptyBody(request)
    send(response, oneInJson(generator, run), generator.definition.format === undefined ? 'latin1' : 'utf8')
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
    generator: Generator,
    count: number,
  ): boolean {
    const connection = connectionOf(request)
    if (connection === undefined || generator.writer() !== undefined) return false
    closeEmptyBody(request)
    const sendBody = (body: Body) => send(response, body as string, 'latin1')
    generator
      .draw(count, { signal: connection.gone })
      .then((runs) => {
        const body = batchBody(runs, jsonFrame)
        return body instanceof Promise ? body.then(sendBody) : sendBody(body)
      })
      .catch((error) => fail(request, response, error))
    return true
  }
  function sendShared(
    request: IncomingMessage,
    response: ServerResponse,
    name: string,
    caller: Access,
  ): boolean {
    const connection = connectionOf(request)
    if (connection === undefined) return false
    closeEmptyBody(request)
    draws!.next(name, caller, connection.gone).then(
      (text) => send(response, textInJson(text), 'utf8'),
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
function isPlain({ method, headers }: IncomingMessage): boolean {
  const { accept } = headers
  return (
    method === 'POST' &&
    (headers['content-length'] === undefined || headers['content-length'] === '0') &&
    headers['transfer-encoding'] === undefined &&
    headers['content-type'] === undefined &&
    headers.expect === undefined &&
    headers.origin === undefined &&
    headers[forwardedHeader] === undefined &&
    !accept?.includes('text/')
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
