/**
 * Serves PostgreSQL's protocol on a port: accepts connections, sets TLS up, enforces deadlines, stops after the last reply.
 * `node/admission.ts` decides which connections are accepted.
 */
import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type TLSSocket, type Server as TlsServer } from 'node:tls'
import { type Access, unauthenticated } from '../auth/access.ts'
import type { AccessControl } from '../auth/access-control.ts'
import { addressText } from '../base/address.ts'
import { type Clock, systemClock, type Timer } from '../base/clock.ts'
import { describe, FahaoError } from '../base/errors.ts'
import type { ClientSession, Traffic } from '../commands/context.ts'
import type { InProcess } from '../commands/in-process.ts'
import { Admission, type ConnectionCounts, noConnections } from '../node/admission.ts'
import type { Certificates } from '../node/certificates.ts'
import { certificateName, type Handshakes, transportOf } from '../node/handshakes.ts'
import { RequestFigures } from '../node/request-figures.ts'
import { turns } from '../node/turns.ts'
import { UnreadBudget } from '../node/unread-budget.ts'
import { CancelKeys } from './cancel-keys.ts'
import { Connection, type ConnectionHost } from './connection.ts'
import type { Totals } from './host.ts'
import { defaultLimits, type PostgresLimits } from './limits.ts'
import { Output } from './output.ts'
import { loadParser } from './parser.ts'
import { type QueryLimits, QueryQueue } from './query-queue.ts'
import { writeError } from './replies.ts'
import { SqlError } from './sql-error.ts'
import { StatementCache } from './statement-cache.ts'

/** How to serve. */
export type PostgresServerOptions = {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** Connections that the kernel holds until they are accepted. Default: Node's. */
  readonly backlog?: number
  readonly inProcess: InProcess
  readonly access: AccessControl
  /** Fahao's version. */
  readonly version: string
  readonly limits?: Partial<PostgresLimits>
  /** What queries of catalogues may use. */
  readonly queryLimits?: Partial<QueryLimits>
  /** Called before statements are carried out, in every callback: see `FahaoNode.mayIssue`. */
  readonly mayIssue?: (() => boolean) | undefined
  /** The certificate to speak TLS with; undefined: without TLS. */
  readonly tls?: Certificates | undefined
  /** The id of a new connection, unique in the process. */
  readonly nextId: () => number
  /** Default: the machine's. */
  readonly clock?: Clock
  /** Called with errors that are no client's fault. */
  readonly onError?: (error: unknown, session?: ClientSession) => void
}

/** Figures of a server, since it started, and its open connections. */
export type PostgresStats = Traffic & Readonly<ConnectionCounts> & { readonly requests: RequestFigures }

const keepAliveMs = 60_000
const sweepMsMax = 1000
const socketOptions = {
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: keepAliveMs,
  allowHalfOpen: true,
}
/** What clients of PostgreSQL offer in the handshake. https://www.postgresql.org/docs/17/protocol-flow.html */
const alpn = 'postgresql'

/** Listens. Rejects with CONFIG when it cannot. */
export async function startPostgresServer(options: PostgresServerOptions): Promise<PostgresServer> {
  await loadParser()
  return new Promise((resolve, reject) => {
    const server = createServer(socketOptions)
    const refuse = (error: NodeJS.ErrnoException) => {
      const message = `the PostgreSQL protocol cannot be served on ${options.host}:${options.port}: ${describe(error)}; choose another address with --postgres`
      reject(new FahaoError('CONFIG', message, { cause: error }))
    }
    server.once('error', refuse)
    server.listen({ port: options.port, host: options.host, backlog: options.backlog }, () => {
      server.off('error', refuse)
      resolve(new PostgresServer(server, options))
    })
  })
}

/** A server that listens. */
export class PostgresServer {
  /** The port that it listens on. */
  readonly port: number
  /** `host:port`. */
  readonly address: string
  readonly #server: Server
  /** Listens nowhere: sockets come to it when their clients ask for TLS. */
  readonly #tls: { readonly server: TlsServer; readonly handshakes: Handshakes } | undefined
  /** Connections whose sockets are in `#tls` until their handshakes are finished. */
  readonly #upgrading = new Map<Socket, Connection>()
  readonly #admission: Admission<Connection>
  readonly #host: ConnectionHost
  readonly #options: PostgresServerOptions
  readonly #totals: Totals = { commands: 0, bytesIn: 0, bytesOut: 0 }
  readonly #figures = new RequestFigures()
  readonly #queries: QueryQueue
  readonly #clock: Clock
  readonly #corked: Connection[] = []
  readonly #counts = noConnections()
  #sweep: Timer | undefined
  /** Called when a connection has ended while the server closes. */
  #onGone = () => {}
  #closed: Promise<void> | undefined

  constructor(server: Server, options: PostgresServerOptions) {
    const bound = server.address()
    if (bound === null || typeof bound === 'string') throw new Error('a listening TCP server has a port')
    this.port = bound.port
    this.address = addressText({ host: bound.address, port: bound.port })
    this.#server = server
    this.#options = options
    this.#queries = new QueryQueue(options.queryLimits)
    this.#clock = options.clock ?? systemClock
    this.#tls = options.tls && this.#openTls(options.tls)
    const limits = { ...defaultLimits, ...options.limits }
    this.#admission = new Admission(limits, this.#counts, (connection) => connection.drop())
    this.#host = this.#makeHost(limits)
    server.on('connection', (socket) => this.#accept(socket))
    server.on('error', (error) => options.onError?.(error))
    this.#sweepSoon()
  }

  /** The sessions of the open connections. */
  *sessions(): Iterable<ClientSession> {
    for (const connection of this.#admission.connections) yield connection.session
  }

  /**
   * Gives every connection the present permissions of its user. `present` returns undefined for a user that may not
   * connect any more: its connections end.
   */
  refreshAccess(present: (access: Access) => Access | undefined): void {
    for (const connection of [...this.#admission.connections]) connection.refreshAccess(present)
  }

  /** Figures as they are now. */
  get stats(): PostgresStats {
    const { commands, bytesIn, bytesOut } = this.#totals
    const { limit, address } = this.#counts.rejected
    return {
      ...this.#counts,
      connectionsRejected: limit + address,
      commands,
      bytesIn,
      bytesOut,
      requests: this.#figures,
    }
  }

  /**
   * Accepts no more connections, answers what has been received, and closes. Connections that have not ended after
   * `deadlineMs` are dropped. Resolves when none is left.
   */
  close(deadlineMs: number): Promise<void> {
    this.#closed ??= this.#shutDown(deadlineMs)
    return this.#closed
  }

  async #shutDown(deadlineMs: number): Promise<void> {
    const ended = new Promise<void>((resolve) => {
      this.#onGone = () => {
        if (this.#admission.size === 0) resolve()
      }
    })
    const unbound = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    const deadline = systemClock.timer(deadlineMs, () => {
      for (const connection of [...this.#admission.connections]) connection.drop()
    })
    for (const connection of [...this.#admission.connections]) connection.shutDown()
    for (const socket of this.#upgrading.keys()) socket.destroy()
    this.#onGone()
    await Promise.all([ended, unbound])
    deadline.cancel()
    this.#queries.close()
    this.#sweep?.cancel()
    this.#tls?.server.close()
  }

  #openTls(certificates: Certificates) {
    const server = createTlsServer({ ...certificates.serverOptions, ALPNProtocols: [alpn] })
    const handshakes = certificates.attach(server)
    server.on('secureConnection', (socket: TLSSocket) => {
      const transport = transportOf(socket)
      const connection = this.#upgrading.get(transport)
      this.#upgrading.delete(transport)
      if (connection === undefined) return void socket.destroy()
      socket.allowHalfOpen = true
      connection.secure(socket, certificateName(socket))
    })
    return { server, handshakes }
  }

  #accept(socket: Socket): void {
    const { remoteAddress, remotePort, localAddress, localPort } = socket
    // The client has closed the connection before it was accepted.
    if (remoteAddress === undefined || localAddress === undefined) return void socket.destroy()
    if (this.#admission.refusalOf(remoteAddress) !== undefined) return this.#reject(socket)
    const facts = {
      id: this.#options.nextId(),
      address: addressText({ host: remoteAddress, port: remotePort! }),
      localAddress: addressText({ host: localAddress, port: localPort! }),
    }
    this.#admission.add(new Connection(socket, facts, this.#host), remoteAddress, true)
  }

  #reject(socket: Socket): void {
    socket.on('error', () => {})
    const output = new Output()
    writeError(output, new SqlError('53300', 'sorry, too many clients already'), 'FATAL')
    socket.end(output.take(), 'latin1')
    socket.destroySoon()
  }

  #makeHost(limits: PostgresLimits): ConnectionHost {
    const { inProcess, access, version, mayIssue, onError } = this.#options
    return {
      clock: this.#clock,
      figures: this.#figures,
      limits,
      inProcess,
      access,
      version,
      unauthenticated,
      mayIssue,
      hasTls: this.#tls !== undefined,
      cancelKeys: new CancelKeys(),
      cache: new StatementCache(),
      queries: this.#queries,
      output: new Output(),
      turns,
      totals: this.#totals,
      unread: new UnreadBudget(limits, this.#clock),
      admission: this.#admission,
      onError: (error, session) => onError?.(error, session),
      upgrade: (connection, socket) => {
        this.#upgrading.set(socket, connection)
        socket.once('close', () => this.#upgrading.delete(socket))
        this.#tls!.server.emit('connection', socket)
      },
      uncorkSoon: (connection) => {
        if (this.#corked.push(connection) === 1) setImmediate(this.#uncork)
      },
      onGone: (connection) => {
        this.#admission.remove(connection)
        this.#onGone()
      },
    }
  }

  #uncork = () => {
    for (const connection of this.#corked.splice(0)) connection.uncork()
  }

  /** One timer for every deadline of every connection. */
  #sweepSoon(): void {
    const { lingerMs, unreadTimeoutMs, unauthenticatedTimeoutMs, idleTimeoutMs } = this.#host.limits
    const shortestMs = Math.min(
      lingerMs,
      unreadTimeoutMs,
      unauthenticatedTimeoutMs,
      idleTimeoutMs || sweepMsMax,
    )
    this.#sweep = this.#clock.timer(Math.min(sweepMsMax, Math.max(10, shortestMs / 4)), () => {
      const nowUs = this.#clock.monoUs()
      this.#host.unread.sweep(nowUs)
      for (const connection of [...this.#admission.connections]) connection.sweep(nowUs)
      this.#sweepSoon()
    })
  }
}
