/** Counts the connections, the requests and the errors of HTTP servers. */
import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import type { Clock } from '../base/clock.ts'
import { type ErrorCode, FahaoError } from '../base/errors.ts'
import { type ConnectionCounts, noConnections } from '../listening/admission.ts'
import { outcomeOfStatus, RequestFigures } from '../listening/request-figures.ts'

/** Counters. */
export type HttpTraffic = ConnectionCounts & { commands: number; readonly requests: RequestFigures }

declare module 'fastify' {
  interface FastifyInstance {
    /** Undefined on an app that counts nothing. */
    readonly traffic?: HttpTraffic
  }
}

/** Counters at 0. */
export function noTraffic(): HttpTraffic {
  return { ...noConnections(), commands: 0, requests: new RequestFigures() }
}

/** An answer, and when its request came, in monotonic µs; undefined: its time says nothing. */
type Answer = { readonly statusCode: number; readonly receivedUs: number | undefined }

/** Counts a request whose answer has left. */
export function countAnswer(
  { requests }: HttpTraffic,
  { headers }: Pick<IncomingMessage, 'headers'>,
  { statusCode, receivedUs }: Answer,
  clock: Clock,
): void {
  if (receivedUs === undefined) return
  const outcome = outcomeOfStatus(statusCode)
  const us = clock.monoUs() - receivedUs
  requests.ended(outcome, us)
  const traceId = headers.traceparent === undefined ? undefined : traceIdOf(String(headers.traceparent))
  if (traceId !== undefined) requests.times[outcome].example(us, traceId, clock.wallUs())
}

/** The trace that a header of W3C Trace Context names, if it is recorded: `00-TRACE-PARENT-FLAGS` in hexadecimal digits. */
function traceIdOf(traceparent: string): string | undefined {
  const [, version, traceId, flags = ''] =
    /^([\da-f]{2})-([\da-f]{32})-[\da-f]{16}-([\da-f]{2})(?:-|$)/.exec(traceparent) ?? []
  const isRecorded = (Number.parseInt(flags, 16) & 1) === 1
  return isRecorded && version !== 'ff' && !/^0*$/.test(traceId!) ? traceId : undefined
}

/** Counts a request that is answered with an error: one without a code of its own has ERR. */
export function countFailure({ server }: FastifyRequest, error: unknown): void {
  const code: ErrorCode = error instanceof FahaoError ? error.code : 'ERR'
  server.traffic?.requests.failed(code)
}
