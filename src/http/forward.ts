/**
 * Forwarding over HTTP: any node answers a request, also for a generator of another leader.
 *
 * Invariants
 *  1. A forwarded request carries a header with the address of the client, and the user of the client with a proof of this
 *     node instead of the client's credentials.
 *  2. Every request is settled, at the latest `timeoutMs` after it was sent, also while it waits for a connection.
 *  3. A request of a client that has gone is not sent again.
 */
import type { ClientRequest, IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import type { Proving } from '../auth/node-proof.ts'
import { addressOf } from '../base/address.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import { describe } from '../base/errors.ts'
import { Forwarder, type ForwardTransport, NoReply, type NoReplyState } from '../forwarding/forwarder.ts'
import type { Tracing } from '../installation/tracing.ts'
import { type Dial, readyEvent } from '../listening/dial.ts'
import type { ClusterView } from '../operations/context.ts'
import { disconnectSignal } from './connection.ts'
import { forwardedHeader, passOn } from './forwarded.ts'
import { Agent, request as sendRequest } from './plain-http.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route does nothing but draw ids. */
    onlyDraws?: boolean
  }
}

/** The headers of the leader that reach the client. */
const answerHeaders = ['cache-control', 'content-type', 'fahao-error', 'location', 'retry-after'] as const
const socketsMax = 256

/**
 * Has the leader answer requests that the handlers of `app` refuse as MOVED, on routes that are forwardable. Call it before
 * any route is added. `timeoutMs`: how long one answer may take. `dial` connects to other nodes.
 */
export function forwardRequests(
  app: FastifyInstance,
  cluster: ClusterView,
  timeoutMs: number,
  dial: Dial,
  proving: Proving,
  clock: Clock = systemClock,
  tracing?: Tracing,
): void {
  const transport = new HttpTransport(timeoutMs, dial, proving, clock, tracing)
  const forwarder = new Forwarder(cluster, transport, true, tracing)
  app.addHook('onClose', async () => forwarder.close())
  app.addHook('onRoute', (route) => {
    const { handler, config } = route
    if (!config?.isForwardable) return
    const onlyDraws = config.onlyDraws === true
    route.handler = (request, reply) => forwarder.handle({ handler, request, reply, onlyDraws })
  })
}

/** A request of a client, and what carries it out on this node. */
type HttpRequest = {
  readonly handler: RouteHandlerMethod
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly onlyDraws: boolean
}

/** The answer of another node. */
type NodeAnswer = { readonly head: IncomingMessage; readonly body: Buffer }

/** Rejects a request that has not been answered. `state`: if it was sent; default: `lost`. */
type Reject = (reason: unknown, state?: NoReplyState) => void

class HttpTransport implements ForwardTransport<HttpRequest, NodeAnswer, unknown> {
  readonly protocol = 'http'
  readonly #agent = new Agent({ keepAlive: true, maxSockets: socketsMax })
  readonly #timeoutMs: number
  readonly #proving: Proving
  readonly #clock: Clock
  readonly #tracing: Tracing | undefined
  /** The requests without an answer, by address. */
  readonly #pending = new Map<string, Set<Reject>>()

  constructor(timeoutMs: number, dial: Dial, proving: Proving, clock: Clock, tracing?: Tracing) {
    this.#tracing = tracing
    this.#proving = proving
    this.#agent.createConnection = ({ host, port }) => dial({ host: host!, port: Number(port) })
    this.#timeoutMs = timeoutMs
    this.#clock = clock
  }

  handle({ handler, request, reply }: HttpRequest): unknown {
    return handler.call(request.server, request, reply)
  }

  onlyDraws({ onlyDraws }: HttpRequest): boolean {
    return onlyDraws
  }

  isForwarded({ request }: HttpRequest): boolean {
    return request.headers[forwardedHeader] !== undefined
  }

  /** CLUSTERDOWN as a problem, or in the header of a compatible API. */
  isNotLed({ head: { statusCode = 0, headers }, body }: NodeAnswer): boolean {
    if (statusCode < 500) return false
    const error = headers['fahao-error']
    return error === undefined
      ? body.includes('"code":"CLUSTERDOWN"')
      : String(error).startsWith('CLUSTERDOWN')
  }

  deliver({ reply }: HttpRequest, { head, body }: NodeAnswer): FastifyReply {
    reply.code(head.statusCode!)
    for (const name of answerHeaders) {
      const value = head.headers[name]
      if (value !== undefined) reply.header(name, value)
    }
    return reply.send(body.length === 0 ? undefined : body)
  }

  abandon(address: string, reason: string): void {
    for (const fail of this.#pending.get(address) ?? []) fail(reason)
  }

  close(): void {
    this.#agent.destroy()
  }

  send({ request, reply }: HttpRequest, address: string, nodeId: string): Promise<NodeAnswer> {
    const { path, headers, body } = passOn(request, nodeId, this.#proving)
    this.#tracing?.carry(headers)
    const signal = disconnectSignal(reply)
    return new Promise((resolve, reject) => {
      const sent = sendRequest({
        ...addressOf(address),
        agent: this.#agent,
        method: request.method,
        path,
        headers,
        signal,
      })
      const isConnected = watchConnection(sent)
      const settle = () => {
        deadline.cancel()
        forget()
      }
      // The agent reports nothing about a request that waits for a connection, not even that it was destroyed.
      const fail: Reject = (reason, ifSent = 'lost') => {
        settle()
        const state = signal.aborted ? 'late' : isConnected() ? ifSent : 'unsent'
        reject(new NoReply(state, address, describe(reason)))
        sent.destroy()
      }
      const forget = this.#remember(address, fail)
      const deadline = this.#clock.timer(this.#timeoutMs, () => {
        const missing = sent.socket ? 'no answer for' : 'no connection became free for'
        fail(`${missing} ${this.#timeoutMs} ms`, 'late')
      })
      sent.on('error', (error) => fail(error))
      sent.on('response', (head) => {
        const chunks: Buffer[] = []
        head.on('data', (chunk: Buffer) => chunks.push(chunk))
        head.on('end', () => {
          settle()
          resolve({ head, body: Buffer.concat(chunks) })
        })
        head.on('error', (error) => fail(error))
      })
      sent.end(body)
    })
  }

  /** Adds a request to those without an answer; returns what removes it. */
  #remember(address: string, fail: Reject): () => void {
    const requests = this.#pending.get(address) ?? new Set()
    this.#pending.set(address, requests.add(fail))
    return () => {
      if (requests.delete(fail) && requests.size === 0) this.#pending.delete(address)
    }
  }
}

/** Whether the leader may have received the request. */
function watchConnection(sent: ClientRequest): () => boolean {
  let connected = false
  const onConnect = () => {
    connected = true
  }
  sent.on('socket', (socket) => {
    if (socket.connecting) socket.once(readyEvent(socket), onConnect)
    else onConnect()
  })
  return () => connected
}
