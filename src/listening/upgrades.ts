/**
 * Connections whose clients ask for TLS once they are connected, as in PostgreSQL's and MySQL's protocols. The server that
 * carries out their handshakes listens nowhere: sockets are given to it.
 */
import type { Socket } from 'node:net'
import { createServer, type Server, type TLSSocket, type TlsOptions } from 'node:tls'
import type { Certificates } from './certificates.ts'
import { type Handshakes, transportOf } from './handshakes.ts'

/** The connections of one listener that set TLS up. */
export class Upgrades<Connection> {
  readonly #server: Server
  readonly #handshakes: Handshakes
  readonly #begun = new Map<Socket, Connection>()

  /** @param secured is called when a handshake is finished. */
  constructor(
    certificates: Certificates,
    options: TlsOptions,
    secured: (connection: Connection, socket: TLSSocket) => void,
  ) {
    this.#server = createServer({ ...certificates.serverOptions, ...options })
    this.#handshakes = certificates.attach(this.#server)
    this.#server.on('secureConnection', (socket) => {
      const connection = this.#begun.get(transportOf(socket))
      if (connection === undefined) return void socket.destroy()
      // Not before: a client that ends its side during the handshake is gone.
      socket.allowHalfOpen = true
      secured(connection, socket)
    })
  }

  /** Begins the handshake of a connection. */
  begin(connection: Connection, socket: Socket): void {
    this.#begun.set(socket, connection)
    socket.once('close', () => this.#begun.delete(socket))
    this.#server.emit('connection', socket)
  }

  /** Ends the connections whose handshakes are not finished. */
  drop(): void {
    this.#handshakes.drop()
  }

  /** Takes no more connections. */
  close(): void {
    this.#server.close()
  }
}
