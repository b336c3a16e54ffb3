/** Counts the connections and requests of HTTP servers. */
import type { FastifyInstance } from 'fastify'
import type { TransportFigures } from './ops/metrics.ts'

/** Counters. */
export type HttpTraffic = { -readonly [Figure in keyof TransportFigures]: TransportFigures[Figure] }

/** Counters at 0. */
export function noTraffic(): HttpTraffic {
  return { connections: 0, connectionsTotal: 0, connectionsRejected: 0, commands: 0 }
}

/** Counts connections and requests where they arrive: nothing per request but one addition. */
export function countTraffic({ server }: FastifyInstance, traffic: HttpTraffic): void {
  // Before Fastify's own listener, so that a scrape counts itself.
  server.prependListener('request', () => {
    traffic.commands++
  })
  server.on('connection', (socket) => {
    traffic.connections++
    traffic.connectionsTotal++
    socket.once('close', () => {
      traffic.connections--
    })
  })
  server.on('drop', () => {
    traffic.connectionsRejected++
  })
}
