/** Serves PostgreSQL's protocol on a port: accepts connections, and sets TLS up for those that ask for it. */
import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type TLSSocket, type Server as TlsServer } from 'node:tls'
import { unauthenticated } from '../auth/access.ts'
import type { AccessControl } from '../auth/access-control.ts'
import type { InProcess } from '../commands/in-process.ts'
import { certificateName, transportOf } from '../listening/handshakes.ts'
import {
  endsOf,
  type ListenerOptions,
  type ListenerStats,
  listen,
  socketOptions,
  UserListener,
} from '../listening/listener.ts'
import type { Certificates } from '../node/certificates.ts'
import { CancelKeys } from './cancel-keys.ts'
import { Connection, type ConnectionHost } from './connection.ts'
import { defaultLimits, type PostgresLimits } from './limits.ts'
import { Output } from './output.ts'
import { loadParser } from './parser.ts'
import { type QueryLimits, QueryQueue } from './query-queue.ts'
import { writeError } from './replies.ts'
import { SqlError } from './sql-error.ts'
import { StatementCache } from './statement-cache.ts'

/** How to serve. */
export type PostgresServerOptions = ListenerOptions & {
  readonly inProcess: InProcess
  readonly access: AccessControl
  /** Fahao's version. */
  readonly version: string
  readonly limits?: Partial<PostgresLimits>
  /** What queries of system catalogs may use. */
  readonly queryLimits?: Partial<QueryLimits>
  /** The certificate to speak TLS with; undefined: without TLS. */
  readonly tls?: Certificates | undefined
  /** The id of a new connection, unique in the process. */
  readonly nextId: () => number
}

/** Figures of a server, since it started, and its open connections. */
export type PostgresStats = ListenerStats

/** What clients of PostgreSQL offer in the handshake. https://www.postgresql.org/docs/17/protocol-flow.html */
const alpn = 'postgresql'

/** Listens. Rejects with CONFIG when it cannot. */
export async function startPostgresServer(options: PostgresServerOptions): Promise<PostgresServer> {
  await loadParser()
  const server = createServer(socketOptions)
  const refusal = (address: string, reason: string) =>
    `the PostgreSQL protocol cannot be served on ${address}: ${reason}; choose another address with --postgres`
  await listen(server, options, refusal)
  return new PostgresServer(server, options)
}

/** A server that listens. */
export class PostgresServer extends UserListener<Connection> {
  /** Listens nowhere: sockets come to it when their clients ask for TLS. */
  readonly #tls: TlsServer | undefined
  /** Connections whose sockets are in `#tls` until their handshakes are finished. */
  readonly #upgrading = new Map<Socket, Connection>()
  readonly #host: ConnectionHost
  readonly #nextId: () => number
  readonly #queries: QueryQueue

  constructor(server: Server, options: PostgresServerOptions) {
    const limits = { ...defaultLimits, ...options.limits }
    super(server, options, limits)
    const { inProcess, access, version, nextId, queryLimits, tls } = options
    this.#nextId = nextId
    this.#queries = new QueryQueue(queryLimits)
    this.#tls = tls && this.#openTls(tls)
    this.#host = {
      ...this.shared,
      limits,
      inProcess,
      access,
      version,
      unauthenticated,
      hasTls: tls !== undefined,
      cancelKeys: new CancelKeys(),
      cache: new StatementCache(),
      queries: this.#queries,
      output: new Output(),
      upgrade: (connection, socket) => {
        this.#upgrading.set(socket, connection)
        socket.once('close', () => this.#upgrading.delete(socket))
        this.#tls!.emit('connection', socket)
      },
    }
    server.on('connection', (socket) => this.#accept(socket))
  }

  override async close(deadlineMs: number): Promise<void> {
    await super.close(deadlineMs)
    this.#queries.close()
    this.#tls?.close()
  }

  protected override dropHandshakes(): void {
    for (const socket of this.#upgrading.keys()) socket.destroy()
  }

  #openTls(certificates: Certificates): TlsServer {
    const server = createTlsServer({ ...certificates.serverOptions, ALPNProtocols: [alpn] })
    certificates.attach(server)
    server.on('secureConnection', (socket: TLSSocket) => {
      const transport = transportOf(socket)
      const connection = this.#upgrading.get(transport)
      this.#upgrading.delete(transport)
      if (connection === undefined) return void socket.destroy()
      socket.allowHalfOpen = true
      connection.secure(socket, certificateName(socket))
    })
    return server
  }

  #accept(socket: Socket): void {
    const { remoteAddress } = socket
    const ends = endsOf(socket)
    if (remoteAddress === undefined || ends === undefined) return void socket.destroy()
    if (this.admission.refusalOf(remoteAddress) !== undefined) return reject(socket)
    const facts = { id: this.#nextId(), ...ends }
    this.admission.add(new Connection(socket, facts, this.#host), remoteAddress, true)
  }
}

function reject(socket: Socket): void {
  socket.on('error', () => {})
  const output = new Output()
  writeError(output, new SqlError('53300', 'sorry, too many clients already'), 'FATAL')
  socket.end(output.take(), 'latin1')
  socket.destroySoon()
}
