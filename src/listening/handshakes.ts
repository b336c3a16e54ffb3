/**
 * The connections of a TLS server until their handshakes are finished, and what the handshakes have shown.
 *
 * Invariants
 *  1. A connection is dropped if its handshake is not finished by its deadline, also while bytes arrive.
 *  2. A handshake that fails ends its own connection only. Its client gets no bytes other than an alert of TLS.
 *  3. A client that presents a certificate is served only if the certificate is valid.
 *  4. `certificateName` is the name of a valid certificate.
 */
import type { Socket } from 'node:net'
import type { Server, TLSSocket } from 'node:tls'
import type { Clock, Timer } from '../base/clock.ts'

const transports = new WeakMap<Socket, Socket>()
const names = new WeakMap<Socket, string>()

/** The connection without TLS under a connection of a server; the connection itself if it has no TLS. */
export function transportOf(socket: Socket): Socket {
  return transports.get(socket) ?? socket
}

/** The common name (CN) of the certificate that the client of a connection has presented; undefined without one. */
export function certificateName(socket: Socket): string | undefined {
  return names.get(socket)
}

type Handshake = { readonly socket: Socket; readonly deadline: Timer }

/** The handshakes of one server. */
export class Handshakes {
  /** The connections without a finished handshake, by the addresses of their ends. */
  readonly #unfinished = new Map<string, Handshake>()

  constructor(server: Server, clock: Clock, timeoutMs: number) {
    server.prependListener('connection', (socket: Socket) => this.#begin(socket, clock, timeoutMs))
    // Before any other listener, so that those find the name.
    server.prependListener('secureConnection', (socket) => this.#finish(socket))
    server.on('tlsClientError', (_error, socket) => void socket.destroy())
  }

  /** Drops all connections without a finished handshake. */
  drop(): void {
    for (const { socket } of this.#unfinished.values()) socket.destroy()
  }

  #begin(socket: Socket, clock: Clock, timeoutMs: number): void {
    const ends = endsOf(socket)
    const deadline = clock.timer(timeoutMs, () => void socket.destroy())
    this.#unfinished.set(ends, { socket, deadline })
    socket.once('close', () => {
      if (this.#unfinished.get(ends)?.socket === socket) this.#end(ends)
    })
  }

  #end(ends: string): void {
    this.#unfinished.get(ends)?.deadline.cancel()
    this.#unfinished.delete(ends)
  }

  #finish(socket: TLSSocket): void {
    const ends = endsOf(socket)
    const transport = this.#unfinished.get(ends)?.socket
    // The connection has ended meanwhile.
    if (transport === undefined) return void socket.destroy()
    this.#end(ends)
    transports.set(socket, transport)
    const subject = socket.getPeerCertificate()?.subject as { CN?: string | string[] } | undefined
    if (subject === undefined) return
    if (!socket.authorized) socket.destroy()
    else if (typeof subject.CN === 'string') names.set(socket, subject.CN)
  }
}

/** The addresses of both ends: they stay the same when Node makes another socket of a connection after its handshake. */
function endsOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`
}
