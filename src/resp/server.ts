/**
 * Serves Redis's protocol on a port: accepts connections, enforces their deadlines, stops after the last reply.
 * `node/admission.ts` decides which connections are accepted.
 */
import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type TLSSocket } from 'node:tls'
import { type Access, everything } from '../auth/access.ts'
import { addressText } from '../base/address.ts'
import { type Clock, systemClock, type Timer } from '../base/clock.ts'
import { describe, FahaoError } from '../base/errors.ts'
import type { ClientSession, CommandContext, Traffic } from '../commands/context.ts'
import type { CommandTable } from '../commands/table.ts'
import { Admission, type ConnectionCounts, noConnections } from '../node/admission.ts'
import type { Certificates } from '../node/certificates.ts'
import { certificateName, type Handshakes, transportOf } from '../node/handshakes.ts'
import { RequestFigures } from '../node/request-figures.ts'
import { turns } from '../node/turns.ts'
import { UnreadBudget } from '../node/unread-budget.ts'
import { Connection, type ConnectionHost } from './connection.ts'
import { defaultLimits, type RespLimits } from './limits.ts'
import { Output } from './output.ts'
import { RequestCache } from './request-cache.ts'
import type { Totals } from './request-host.ts'
import type { RoundingGuard } from './rounding.ts'

/** How to serve. */
export type RespServerOptions = {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** Connections that the kernel holds until they are accepted. Default: Node's. */
  readonly backlog?: number
  readonly table: CommandTable
  /** The context of a connection's commands; called once for each connection. */
  readonly context: (session: ClientSession) => CommandContext
  readonly limits?: Partial<RespLimits>
  /** The permissions of a connection before AUTH; `unauthenticated`: AUTH must come first. Default: everything. */
  readonly initialAccess?: (certificateName: string | undefined, address: string) => Access
  /** Which clients get no ids past 2^53−1. Default `strict`. */
  readonly roundingGuard?: RoundingGuard
  /** Called before requests are carried out, in every callback: see `FahaoNode.mayIssue`. */
  readonly mayIssue?: (() => boolean) | undefined
  /** The certificate to speak TLS with; undefined: without TLS. */
  readonly tls?: Certificates | undefined
  /** The id of a new connection, unique in the process. Default: 1, 2, … */
  readonly nextId?: () => number
  /** Default: the machine's. */
  readonly clock?: Clock
  /** Called with errors that are no client's fault. */
  readonly onError?: (error: unknown, session?: ClientSession) => void
}

/** Figures of a server, since it started, and its open connections. */
export type RespStats = Traffic & Readonly<ConnectionCounts> & { readonly requests: RequestFigures }

const keepAliveMs = 60_000
const sweepMsMax = 1000
const socketOptions = {
  // Commands that came before the peer's end are answered.
  allowHalfOpen: true,
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: keepAliveMs,
}

/** Listens. Rejects with CONFIG when it cannot. */
export function startRespServer(options: RespServerOptions): Promise<RespServer> {
  return new Promise((resolve, reject) => {
    const { tls } = options
    const tlsServer = tls && createTlsServer({ ...socketOptions, ...tls.serverOptions, allowHalfOpen: false })
    const handshakes = tlsServer && tls.attach(tlsServer)
    const server = tlsServer ?? createServer(socketOptions)
    const refuse = (error: NodeJS.ErrnoException) => {
      const message = `RESP cannot listen on ${options.host}:${options.port}: ${describe(error)}; choose another with --resp`
      reject(new FahaoError('CONFIG', message, { cause: error }))
    }
    server.once('error', refuse)
    server.listen({ port: options.port, host: options.host, backlog: options.backlog }, () => {
      server.off('error', refuse)
      resolve(new RespServer(server, options, handshakes))
    })
  })
}

/** A server that listens. */
export class RespServer {
  /** The port that it listens on. */
  readonly port: number
  /** `host:port`. */
  readonly address: string
  readonly #server: Server
  /** Undefined without TLS. */
  readonly #handshakes: Handshakes | undefined
  /** With TLS, connections without a finished handshake are in it as sockets. They are pending. */
  readonly #admission: Admission<Connection | Socket>
  readonly #host: ConnectionHost
  readonly #options: RespServerOptions
  readonly #totals: Totals = { commands: 0, bytesIn: 0, bytesOut: 0 }
  readonly #corked: Connection[] = []
  readonly #counts = noConnections()
  #newestId = 0
  #sweep: Timer | undefined
  readonly #figures = new RequestFigures()
  readonly #clock: Clock
  /** Called when a connection has ended while the server closes. */
  #onGone = () => {}
  #closed: Promise<void> | undefined

  constructor(server: Server, options: RespServerOptions, handshakes: Handshakes | undefined) {
    const bound = server.address()
    if (bound === null || typeof bound === 'string') throw new Error('a listening TCP server has a port')
    this.port = bound.port
    this.address = addressText({ host: bound.address, port: bound.port })
    this.#server = server
    this.#handshakes = handshakes
    this.#options = options
    this.#clock = options.clock ?? systemClock
    const limits = { ...defaultLimits, ...options.limits }
    this.#admission = new Admission(
      {
        connectionsMax: limits.connectionsMax,
        perAddressMax: limits.connectionsPerAddressMax,
        pendingMax: limits.unauthenticatedConnectionsMax,
      },
      this.#counts,
      (connection) => void (connection instanceof Connection ? connection.drop() : connection.destroy()),
    )
    this.#host = this.#makeHost(limits)
    if (handshakes === undefined) {
      server.on('connection', (socket) => this.#accept(socket))
    } else {
      server.on('connection', (socket) => this.#admit(socket))
      server.on('secureConnection', (socket) => this.#acceptSecure(socket))
    }
    server.on('error', (error) => options.onError?.(error))
    this.#sweepSoon()
  }

  get #connections(): Connection[] {
    return [...this.#admission.connections].filter((each) => each instanceof Connection)
  }

  /** The sessions of the open connections. */
  *sessions(): Iterable<ClientSession> {
    for (const connection of this.#connections) yield connection.session
  }

  /**
   * Gives every connection the present permissions of its user. `present` returns undefined for a user that may not
   * connect any more: its connections end.
   */
  refreshAccess(present: (access: Access) => Access | undefined): void {
    for (const connection of [...this.#connections]) connection.refreshAccess(present)
  }

  /** Figures as they are now. */
  get stats(): RespStats {
    const { commands, bytesIn, bytesOut } = this.#totals
    return {
      ...this.#counts,
      connectionsRejected: this.#counts.rejected.limit + this.#counts.rejected.address,
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
      for (const connection of this.#connections) connection.drop()
    })
    for (const connection of this.#connections) connection.finish()
    this.#handshakes?.drop()
    this.#onGone()
    await Promise.all([ended, unbound])
    deadline.cancel()
    this.#sweep?.cancel()
  }

  #accept(socket: Socket): void {
    const { remoteAddress } = socket
    // The client has closed the connection before it was accepted.
    if (remoteAddress === undefined) return void socket.destroy()
    if (this.#admission.refusalOf(remoteAddress) !== undefined) return this.#reject(socket)
    this.#open(socket, (connection, isPending) => this.#admission.add(connection, remoteAddress, isPending))
  }

  /** A connection whose handshake begins. No error can be sent to it. */
  #admit(socket: Socket): void {
    const { remoteAddress } = socket
    if (remoteAddress === undefined || this.#admission.refusalOf(remoteAddress) !== undefined) {
      return void socket.destroy()
    }
    this.#admission.add(socket, remoteAddress, true)
    socket.once('close', () => this.#forget(socket))
  }

  /** A connection whose handshake is finished. */
  #acceptSecure(socket: TLSSocket): void {
    // Not before: a client that ends its side during the handshake is gone.
    socket.allowHalfOpen = true
    this.#open(socket, (connection, isPending) =>
      this.#admission.replace(transportOf(socket), connection, isPending),
    )
  }

  #open(socket: Socket, count: (connection: Connection, isPending: boolean) => void): void {
    const { remoteAddress, remotePort, localAddress, localPort } = socket
    if (remoteAddress === undefined || localAddress === undefined) return void socket.destroy()
    const certificate = certificateName(socket)
    const facts = {
      id: this.#options.nextId?.() ?? ++this.#newestId,
      address: addressText({ host: remoteAddress, port: remotePort! }),
      localAddress: addressText({ host: localAddress, port: localPort! }),
      startedMonoUs: this.#clock.monoUs(),
      certificateName: certificate,
      access: this.#options.initialAccess?.(certificate, remoteAddress) ?? everything,
      roundingGuard: this.#options.roundingGuard ?? 'strict',
      transactionLimits: this.#host.limits,
    }
    try {
      count(new Connection(socket, facts, this.#host), facts.access.user === '')
    } catch (error) {
      socket.on('error', () => {})
      socket.destroy()
      this.#host.onError(error)
    }
  }

  #forget(connection: Connection | Socket): void {
    this.#admission.remove(connection)
    this.#onGone()
  }

  #reject(socket: Socket): void {
    socket.on('error', () => {})
    socket.end('-ERR max number of clients reached\r\n')
    socket.destroySoon()
  }

  #makeHost(limits: RespLimits): ConnectionHost {
    const { table, context, mayIssue, onError } = this.#options
    return {
      table,
      context,
      clock: this.#clock,
      limits,
      mayIssue,
      cache: new RequestCache(),
      userLimits: limits,
      unauthenticatedLimits: {
        inlineBytesMax: Math.min(limits.inlineBytesMax, limits.unauthenticatedBytesMax),
        bulkBytesMax: Math.min(limits.bulkBytesMax, limits.unauthenticatedBytesMax),
        argumentsMax: Math.min(limits.argumentsMax, limits.unauthenticatedArgumentsMax),
        requestBytesMax: Math.min(limits.requestBytesMax, 2 * limits.unauthenticatedBytesMax),
        unauthenticated: true,
      },
      output: new Output(),
      turns,
      totals: this.#totals,
      figures: this.#figures,
      unread: new UnreadBudget(limits, this.#clock),
      admission: this.#admission,
      onError: (error, session) => onError?.(error, session),
      uncorkSoon: (connection) => {
        if (this.#corked.push(connection) === 1) setImmediate(this.#uncork)
      },
      onGone: (connection) => this.#forget(connection),
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
      for (const connection of this.#connections) if (connection.isOverdue(nowUs)) connection.drop()
      this.#sweepSoon()
    })
  }
}
