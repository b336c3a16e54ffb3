/** Counts the connections, the requests and the errors of HTTP servers. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Clock } from '../base/clock.ts'
import { type ErrorCode, FahaoError } from '../base/errors.ts'
import { type ConnectionCounts, noConnections } from '../listening/admission.ts'
import { RequestFigures } from '../listening/request-figures.ts'

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

/** Counts requests where they arrive, and how long it takes until their answers have left this process. */
export function countRequests(app: FastifyInstance, traffic: HttpTraffic, clock: Clock): void {
  app.decorate('traffic', traffic)
  // Before Fastify's own listener, so that a scrape counts itself.
  app.server.prependListener('request', (_request, response) => {
    traffic.commands++
    const startedUs = clock.monoUs()
    response.once('finish', () => traffic.requests.took(clock.monoUs() - startedUs))
  })
}

/** Counts a request that is answered with an error: one without a code of its own has ERR. */
export function countFailure({ server }: FastifyRequest, error: unknown): void {
  const code: ErrorCode = error instanceof FahaoError ? error.code : 'ERR'
  server.traffic?.requests.failed(code)
}
