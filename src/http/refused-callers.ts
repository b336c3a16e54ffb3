/**
 * What callers without a valid login cost once they are refused: how fast they get their answers, and how much of their
 * bodies is read.
 *
 * Invariants
 *  1. A request that is not refused, and one of a caller with a valid login, never waits here.
 *  2. Of a connection, 16 refusals are answered at once (see `Refusals`), and each later one after a rest, until it sends a
 *     request with a valid login: a proxy sends requests of many clients over one connection.
 *  3. The longer the more connections rest: all of them together get `answersPerSecond` at most.
 *  4. A refused request with a body of more than `shortBodyBytes`, or of unknown length, is the last of its connection. Its
 *     body is not read, and its answer waits.
 *  5. Nothing rests once the server stops.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Clock, systemClock, type Timer } from '../base/clock.ts'
import { Refusals } from '../listening/refusals.ts'
import { restMs, restsAfter, unauthenticatedRestMs } from '../listening/turns.ts'
import { connectionOf, type HttpConnection } from './connection.ts'
import { endGently } from './unreadable.ts'

declare module 'fastify' {
  interface FastifyInstance {
    readonly refusedCallers: RefusedCallers
  }
}

const shortBodyBytes = 4096
const answersPerSecond = 1000

/** The refused callers of one app. */
class RefusedCallers {
  readonly #clock: Clock
  readonly #unreadTimeoutMs: number
  readonly #resting = new Map<() => void, Timer>()
  #stops = false

  constructor(clock: Clock, unreadTimeoutMs: number) {
    this.#clock = clock
    this.#unreadTimeoutMs = unreadTimeoutMs
  }

  /** Calls `send` with the answer to a request that `error` has refused: at once, or after a rest. */
  answer(request: FastifyRequest, reply: FastifyReply, error: unknown, send: () => void): void {
    const connection = connectionOf(request.raw)
    const isUnknown = isUnauthenticated(request)
    const hasLongBody = isUnknown && leavesLongBody(request)
    if (hasLongBody) reply.header('connection', 'close')
    // Fastify closes a connection whose body is too long.
    if (connection !== undefined && !request.raw.complete && reply.getHeader('connection') === 'close') {
      this.#endAfterAnswer(connection)
    }
    const delayMs = isUnknown && connection !== undefined ? this.#restOf(connection, hasLongBody) : 0
    if (delayMs === 0 || this.#stops) return afterRest(error, send)
    const sendLater = () => {
      this.#resting.delete(sendLater)
      send()
    }
    this.#resting.set(sendLater, this.#clock.timer(delayMs, sendLater))
  }

  /** Sends all answers that wait, and lets none wait from then on. */
  stop(): void {
    this.#stops = true
    for (const [sendNow, timer] of this.#resting) {
      timer.cancel()
      sendNow()
    }
  }

  #restOf(connection: HttpConnection, hasLongBody: boolean): number {
    connection.refusals ??= new Refusals(1)
    const rest = connection.refusals.takeRest()
    connection.refusals.count()
    if (rest === 0 && !hasLongBody) return 0
    return Math.max(unauthenticatedRestMs, (this.#resting.size * 1000) / answersPerSecond)
  }

  /**
   * Node closes the connection with the answer. The kernel then resets it if bytes of the body come still, and a client may
   * lose the answer: RFC 9112, 9.6.
   */
  #endAfterAnswer(connection: HttpConnection): void {
    const { socket } = connection
    connection.stop()
    socket.destroySoon = () => endGently(socket, this.#unreadTimeoutMs)
  }
}

/** Has refused callers of `app` rest. */
export function restRefusedCallers(app: FastifyInstance, clock: Clock, unreadTimeoutMs: number): void {
  const callers = new RefusedCallers(clock, unreadTimeoutMs)
  app.decorate('refusedCallers', callers)
  app.addHook('preClose', (done) => {
    callers.stop()
    done()
  })
}

/** Calls `send` with the answer to a refused request when it is due: see `RefusedCallers.answer`. */
export function answerRefused(
  request: FastifyRequest,
  reply: FastifyReply,
  error: unknown,
  send: () => void,
): void {
  request.server.refusedCallers.answer(request, reply, error, send)
}

/** Calls `send` with the answer to an error: after `restMs` if a quota has refused the request, else at once. */
export function afterRest(error: unknown, send: () => void): void {
  if (restsAfter(error)) systemClock.timer(restMs, send)
  else send()
}

/** Undefined: the request was refused before its caller was looked at. */
function isUnauthenticated({ access }: { access?: FastifyRequest['access'] | undefined }): boolean {
  return access === undefined || access.user === ''
}

function leavesLongBody({ raw, headers }: FastifyRequest): boolean {
  if (raw.complete) return false
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > shortBodyBytes
}
