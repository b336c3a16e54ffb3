/**
 * The HTTP server of a node.
 *
 * Invariants
 *  1. Once `close` is called no connection is accepted. The request under way of each connection is answered; one that waits behind
 *     it may be dropped with its connection, and issues nothing then.
 *  2. `close` ends at its deadline, also if clients do not read or send.
 */
import type { Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { Server as TlsServer } from 'node:tls'
import { systemClock, type Timer } from '../base/clock.ts'
import { describe, FahaoError } from '../base/errors.ts'
import { Admission } from '../listening/admission.ts'
import { transportOf } from '../listening/handshakes.ts'
import { buildHttpApp, type HttpOptions } from './app.ts'
import { noTraffic } from './traffic.ts'

const sweepMs = 20

/** Where and how to serve. */
export type HttpServerOptions = HttpOptions & {
  /** 0: any free one. */
  readonly port: number
  /** The setting that chose the address, for messages. Default: http. */
  readonly setting?: string
}

/** A running HTTP server. */
export interface HttpServer {
  /** The port in use. */
  readonly port: number
  /** Stops accepting, answers what is in flight, and after `deadlineMs` cuts off what is left. */
  close(deadlineMs: number): Promise<void>
}

/** Starts serving. Rejects with CONFIG when the address cannot be used. */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { node, host, port, tls, setting = 'http', traffic = noTraffic() } = options
  const { config } = node
  const onUser = (socket: Socket) => admission.setPending(transportOf(socket), false)
  const app = buildHttpApp({ ...options, traffic, onUser })
  const { server } = app
  const handshakes = server instanceof TlsServer ? tls?.attach(server) : undefined
  // Node's own list has no connection that has sent CONNECT.
  const admission = new Admission<Socket>(
    {
      connectionsMax: config.httpConnectionsMax,
      connectionsPerAddressMax: config.httpConnectionsPerAddressMax,
      unauthenticatedConnectionsMax: Number.POSITIVE_INFINITY,
    },
    traffic,
    (socket) => socket.destroy(),
  )
  server.on('connection', (socket) => {
    // Undefined: the client has closed the connection before it was accepted.
    const { remoteAddress } = socket
    if (remoteAddress === undefined || admission.refusalOf(remoteAddress) !== undefined) {
      return void socket.destroy()
    }
    admission.add(socket, remoteAddress, true)
    socket.once('close', () => admission.remove(socket))
  })
  try {
    // For this one name Fastify would open a second socket, which no limit here would reach.
    await app.listen({
      host: host === 'localhost' ? '127.0.0.1' : host,
      port,
      backlog: config.listenBacklog,
    })
  } catch (error) {
    await app.close()
    throw new FahaoError(
      'CONFIG',
      `HTTP cannot listen on ${host}:${port}: ${describe(error)}; choose another with --${setting}`,
      { cause: error },
    )
  }
  let closing: Promise<void> | undefined
  return {
    port: (server.address() as AddressInfo).port,
    close(deadlineMs) {
      const deadline = systemClock.timer(deadlineMs, () => {
        for (const socket of admission.connections) socket.destroy()
      })
      handshakes?.drop()
      const sweeper = sweepIdle(server)
      closing ??= app.close()
      return closing.finally(() => {
        deadline.cancel()
        sweeper.cancel()
      })
    },
  }
}

/**
 * Closes idle connections again and again, until it is cancelled: when a server closes, Node.js closes those that are
 * idle then, and forgets those that become idle later.
 */
function sweepIdle(server: Server): Timer {
  let timer: Timer
  const sweep = () => {
    server.closeIdleConnections()
    timer = systemClock.timer(sweepMs, sweep)
  }
  sweep()
  return { cancel: () => timer.cancel() }
}
