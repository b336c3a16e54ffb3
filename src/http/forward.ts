/**
 * Any node will do: a request for a generator that is led elsewhere is sent on to its leader.
 *
 * Invariants
 *  1. A request that was sent on is answered here or not at all: it never goes on from here.
 *  2. A request is sent a second time only when the first node said that it does not lead, or when its answer got lost
 *     and it only draws ids, which are a gap then. Any other one whose answer got lost is told UNKNOWN.
 *  3. Whatever happens a request is settled `timeoutMs` after it was sent at the latest, wherever it waits.
 */
import { Agent, type ClientRequest, type IncomingMessage, request as sendRequest } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'
import { addressOf } from '../base/address.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import { describe, FahaoError } from '../base/errors.ts'
import { Moved, type MovedDetails } from '../base/moved.ts'
import type { ClusterView } from '../commands/context.ts'
import { AnswerLost, answerHere, sendToLeader, Unreachable } from '../commands/forward.ts'
import { goneSignal } from './gone-signal.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route does nothing but draw ids. */
    onlyDraws?: boolean
  }
}

/** Says that another node has sent the request on. */
const mark = 'fahao-forwarded'
/** What the leader should know of the request, and the client of the answer. */
const requestHeaders = ['accept', 'authorization', 'content-type'] as const
const answerHeaders = ['cache-control', 'content-type', 'fahao-error', 'location', 'retry-after'] as const
const socketsMax = 256

/**
 * Has requests that `app`'s handlers refuse as MOVED answered by the leader, within `timeoutMs` each time one is sent
 * on. Call it before any route is added.
 */
export function forwardMoved(
  app: FastifyInstance,
  cluster: ClusterView,
  timeoutMs: number,
  clock: Clock = systemClock,
): void {
  const agent = new Agent({ keepAlive: true, maxSockets: socketsMax })
  const way: Way = { agent, clock, timeoutMs, underWay: new Map() }
  const unfollow = cluster.listen({
    onDead({ http }) {
      for (const end of way.underWay.get(http ?? '') ?? []) end('it was declared dead')
    },
  })
  app.addHook('onClose', async () => {
    unfollow()
    agent.destroy()
  })
  app.addHook('onRoute', (route) => {
    const handler = route.handler
    const onlyDraws = route.config?.onlyDraws === true
    const hop = (error: unknown, request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
      if (!(error instanceof Moved)) throw error
      if (request.headers[mark] !== undefined) {
        return answerHere(cluster, error.details, () => handler.call(app, request, reply))
      }
      return sendToLeader<unknown>(cluster, error.details, {
        onlyDraws,
        send: (details) => sendOn(way, details, request, reply),
        isNotLed: (answer) => answer instanceof Answer && answer.isNotLed,
        answerHere: () => handler.call(app, request, reply),
      }).then((answer) => (answer instanceof Answer ? answer.send(reply) : answer))
    }
    route.handler = hopping(handler, hop)
  })
}

function hopping(
  handler: RouteHandlerMethod,
  hop: (error: unknown, request: FastifyRequest, reply: FastifyReply) => Promise<unknown>,
): RouteHandlerMethod {
  return function (request, reply) {
    try {
      const answer: unknown = handler.call(this, request, reply)
      return answer instanceof Promise ? answer.catch((error) => hop(error, request, reply)) : answer
    } catch (error) {
      return hop(error, request, reply)
    }
  }
}

type Way = {
  readonly agent: Agent
  readonly clock: Clock
  readonly timeoutMs: number
  /** What ends the requests that wait for an answer, by the address of the node that owes it. */
  readonly underWay: Map<string, Set<End>>
}

/** Settles a request that has not been answered. */
type End = (reason: unknown) => void

/** What the leader has answered. */
class Answer {
  readonly #head: IncomingMessage
  readonly #body: Buffer

  constructor(head: IncomingMessage, body: Buffer) {
    this.#head = head
    this.#body = body
  }

  /** Whether it says that it does not lead: as a problem has it, or in the header of a compatible API. */
  get isNotLed(): boolean {
    const { statusCode = 0, headers } = this.#head
    if (statusCode < 500) return false
    const told = headers['fahao-error']
    if (told !== undefined) return String(told).startsWith('CLUSTERDOWN')
    return this.#body.includes('"code":"CLUSTERDOWN"')
  }

  send(reply: FastifyReply): FastifyReply {
    reply.code(this.#head.statusCode!)
    for (const name of answerHeaders) {
      const value = this.#head.headers[name]
      if (value !== undefined) reply.header(name, value)
    }
    return reply.send(this.#body.length === 0 ? undefined : this.#body)
  }
}

async function sendOn(
  way: Way,
  { http }: MovedDetails,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Answer> {
  if (http === undefined) {
    throw new FahaoError('UNAVAILABLE', 'the leader of this generator serves no HTTP; retry')
  }
  return ask(way, http, request, goneSignal(reply))
}

function ask(way: Way, leader: string, request: FastifyRequest, signal: AbortSignal): Promise<Answer> {
  const { agent, clock, timeoutMs } = way
  const { host, port } = addressOf(leader)
  const body = bodyOf(request)
  return new Promise((resolve, reject) => {
    const { method, url: path } = request
    const headers = headersFor(request, body)
    const sent = sendRequest({ agent, host, port, method, path, headers, signal })
    const connected = watchConnection(sent)
    const settle = () => {
      deadline.cancel()
      forget()
    }
    // While it waits for a connection the agent tells of nothing that happens to it, not even that it was destroyed.
    const end: End = (reason) => {
      settle()
      // Nothing is repeated, and no other leader waited for, for a client that has gone.
      if (signal.aborted) reject(unanswered(leader, describe(reason)))
      else reject(reason instanceof FahaoError ? reason : failure(leader, connected(), reason))
      sent.destroy()
    }
    const forget = remember(way, leader, end)
    const deadline = clock.timer(timeoutMs, () => {
      const reason = sent.socket
        ? `no answer for ${timeoutMs} ms`
        : `no connection became free for ${timeoutMs} ms`
      end(connected() ? unanswered(leader, reason) : reason)
    })
    sent.on('error', end)
    sent.on('response', (head) => {
      const chunks: Buffer[] = []
      head.on('data', (chunk: Buffer) => chunks.push(chunk))
      head.on('end', () => {
        settle()
        resolve(new Answer(head, Buffer.concat(chunks)))
      })
      head.on('error', end)
    })
    sent.end(body)
  })
}

/** Lists a request among those under way; returns what takes it off again. */
function remember({ underWay }: Way, leader: string, end: End): () => void {
  const ofLeader = underWay.get(leader) ?? new Set()
  underWay.set(leader, ofLeader.add(end))
  return () => {
    if (ofLeader.delete(end) && ofLeader.size === 0) underWay.delete(leader)
  }
}

function headersFor(request: FastifyRequest, body: string): Record<string, string | number> {
  const headers: Record<string, string | number> = {
    [mark]: '1',
    'content-length': Buffer.byteLength(body),
  }
  for (const name of requestHeaders) {
    const value = request.headers[name]
    if (value !== undefined) headers[name] = value
  }
  return headers
}

/** Whether the leader may have seen the request. */
function watchConnection(sent: ClientRequest): () => boolean {
  let connected = false
  const onConnect = () => {
    connected = true
  }
  sent.on('socket', (socket) => {
    if (socket.connecting) socket.once('connect', onConnect)
    else onConnect()
  })
  return () => connected
}

/** No other try follows: the leader may still be about to answer, or no client waits for it. */
function unanswered(leader: string, reason: string): FahaoError {
  return new FahaoError('UNKNOWN', `the leader at ${leader} did not answer (${reason}); retry`)
}

function failure(leader: string, connected: boolean, error: unknown): FahaoError {
  const reason = describe(error)
  return connected ? new AnswerLost(leader, reason) : new Unreachable(leader, reason)
}

/** The body as it was read here: the leader reads the same. */
function bodyOf({ body }: FastifyRequest): string {
  if (body === undefined || body === null) return ''
  return typeof body === 'string' ? body : JSON.stringify(body)
}
