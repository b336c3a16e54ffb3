/** Counts the connections and requests of HTTP servers. */
import type { FastifyInstance } from 'fastify'
import { type ConnectionCounts, noConnections } from '../node/admission.ts'

/** Counters. */
export type HttpTraffic = ConnectionCounts & { commands: number }

/** Counters at 0. */
export function noTraffic(): HttpTraffic {
  return { ...noConnections(), commands: 0 }
}

/** Counts requests where they arrive: nothing per request but one addition. */
export function countRequests({ server }: FastifyInstance, traffic: HttpTraffic): void {
  // Before Fastify's own listener, so that a scrape counts itself.
  server.prependListener('request', () => {
    traffic.commands++
  })
}
