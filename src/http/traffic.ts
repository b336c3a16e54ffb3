/** Counts the connections, the requests and the errors of HTTP servers. */
import type { FastifyRequest } from 'fastify'
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
export function countAnswer({ requests }: HttpTraffic, answer: Answer, nowUs: number): void {
  if (answer.receivedUs === undefined) return
  requests.ended(outcomeOfStatus(answer.statusCode), nowUs - answer.receivedUs)
}

/** Counts a request that is answered with an error: one without a code of its own has ERR. */
export function countFailure({ server }: FastifyRequest, error: unknown): void {
  const code: ErrorCode = error instanceof FahaoError ? error.code : 'ERR'
  server.traffic?.requests.failed(code)
}
