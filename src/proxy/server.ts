/**
 * The MySQL proxy: accepts connections, enforces their deadlines, stops after the last transaction. `node/admission.ts`
 * decides which connections are accepted.
 */
import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type Server as TlsServer } from 'node:tls'
import { addressText } from '../base/address.ts'
import { type Clock, systemClock, type Timer } from '../base/clock.ts'
import { describe, FahaoError } from '../base/errors.ts'
import { Admission, type ConnectionCounts, noConnections } from '../node/admission.ts'
import type { Certificates } from '../node/certificates.ts'
import { type Handshakes, transportOf } from '../node/handshakes.ts'
import { RequestFigures } from '../node/request-figures.ts'
import { UnreadBudget } from '../node/unread-budget.ts'
import { Connection, type ConnectionHost, type ProxyTotals } from './connection.ts'
import { type GuardEvents, Guards, type Look, lookThrough } from './guards.ts'
import { type FillingTotals, type IdMaker, IdSupply } from './id-supply.ts'
import { defaultLimits, type ProxyLimits } from './limits.ts'
import { errorPacket } from './protocol.ts'
import type { Upstream } from './socket-pair.ts'
import type { FilledColumn } from './sql/filled-columns.ts'
import type { Filling } from './statement-filler.ts'

/** How to serve. */
export type ProxyOptions = GuardEvents & {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** Connections that the kernel holds until they are accepted. Default: Node's. */
  readonly backlog?: number
  readonly upstream: Upstream
  /** The columns that are filled in, and their ids; undefined: none. */
  readonly filled?: { readonly columns: readonly FilledColumn[]; readonly maker: IdMaker } | undefined
  /** How the tables are looked at. Default: with the user of `upstream`. */
  readonly look?: Look
  readonly limits?: Partial<ProxyLimits>
  /** The certificate for clients; undefined: without TLS. */
  readonly tls?: Certificates | undefined
  /** Default: the machine's. */
  readonly clock?: Clock
  /** Called when the server cannot be reached. */
  readonly onUpstreamError?: (reason: string) => void
  /** Called when a statement was not sent because there was no id for it. */
  readonly onMissingId?: (reason: string) => void
  /** Called when a connection was ended because what was sent on it could not be understood. */
  readonly onLost?: (reason: string) => void
  /** Called with errors that are no client's fault. */
  readonly onError?: (error: unknown) => void
}

/** Figures of a proxy, since it started, and its open connections. */
export type ProxyStats = Readonly<ProxyTotals> &
  Readonly<ConnectionCounts> & {
    readonly requests: RequestFigures
    /** Undefined: no table is filled in. */
    readonly filling: Readonly<FillingTotals> | undefined
  }

const keepAliveMs = 60_000
const sweepMsMax = 1000

/** Listens. Rejects with CONFIG when it cannot, and if two columns are of one table. */
export function startProxy(options: ProxyOptions): Promise<ProxyServer> {
  return new Promise((resolve, reject) => {
    const server = createServer({
      allowHalfOpen: true,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: keepAliveMs,
    })
    const refuse = (error: NodeJS.ErrnoException) => {
      const message = `the MySQL proxy cannot listen on ${options.host}:${options.port}: ${describe(error)}; choose another address`
      reject(new FahaoError('CONFIG', message, { cause: error }))
    }
    server.once('error', refuse)
    server.listen({ port: options.port, host: options.host, backlog: options.backlog }, () => {
      server.off('error', refuse)
      try {
        resolve(new ProxyServer(server, options))
      } catch (error) {
        server.close()
        reject(error)
      }
    })
  })
}

/** A proxy that listens. */
export class ProxyServer {
  /** The port that it listens on. */
  readonly port: number
  /** `host:port`. */
  readonly address: string
  readonly #server: Server
  /** Does not listen: connections are given to it when their clients ask for TLS. */
  readonly #tlsServer: TlsServer | undefined
  readonly #handshakes: Handshakes | undefined
  /** The connections whose clients set TLS up. */
  readonly #securing = new Map<Socket, Connection>()
  readonly #admission: Admission<Connection>
  readonly #host: ConnectionHost
  readonly #options: ProxyOptions
  readonly #counts = noConnections()
  readonly #figures = new RequestFigures()
  readonly #clock: Clock
  readonly #totals: ProxyTotals = { commands: 0, bytesIn: 0, bytesOut: 0, upstreamFailures: 0 }
  /** Aborted by a stop. */
  readonly #stopping = new AbortController()
  #sweep: Timer | undefined
  /** Called when a connection has ended while the proxy closes. */
  #onGone = () => {}
  #closed: Promise<void> | undefined

  constructor(server: Server, options: ProxyOptions) {
    const bound = server.address()
    if (bound === null || typeof bound === 'string') throw new Error('a listening TCP server has a port')
    this.port = bound.port
    this.address = addressText({ host: bound.address, port: bound.port })
    this.#server = server
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
      (connection) => connection.drop(),
    )
    this.#host = this.#makeHost(limits)
    if (options.tls) {
      this.#tlsServer = createTlsServer(options.tls.serverOptions)
      this.#handshakes = options.tls.attach(this.#tlsServer)
      this.#tlsServer.on('secureConnection', (socket) => {
        socket.allowHalfOpen = true
        this.#securing.get(transportOf(socket))?.secured(socket)
      })
    }
    server.on('connection', (socket) => this.#accept(socket))
    server.on('error', (error) => options.onError?.(error))
    this.#sweepSoon()
  }

  /** Figures as they are now. */
  get stats(): ProxyStats {
    return {
      ...this.#counts,
      ...this.#totals,
      requests: this.#figures,
      filling: this.#host.filling?.supply.totals,
    }
  }

  /**
   * Opens the generators of all columns, so that no INSERT waits for that. Resolves to the generators that give no ids now,
   * and why; to none if the proxy is stopped before.
   */
  async openGenerators(): Promise<ReadonlyMap<string, string>> {
    const { signal } = this.#stopping
    const { filling } = this.#host
    if (filling === undefined) return new Map()
    void filling.guards.start()
    const generators = new Set(filling.guards.columns.all.map(({ generator }) => generator))
    const missing = await filling.supply.open(generators, signal)
    return signal.aborted ? new Map() : missing
  }

  /**
   * Accepts no more connections, and ends each that has no command under way and no transaction; the others after these.
   * Connections that have not ended after `deadlineMs` are dropped. Resolves when none is left.
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
    for (const connection of [...this.#admission.connections]) connection.finish()
    this.#stopping.abort()
    this.#host.filling?.guards.close()
    this.#handshakes?.drop()
    this.#tlsServer?.close()
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
    this.#admission.add(new Connection(socket, this.#host), remoteAddress, true)
  }

  #reject(socket: Socket): void {
    const message = 'Too many connections'
    socket.on('error', () => {})
    socket.end(errorPacket(0, { registered: 'LIMIT', code: 1040, state: '08004', message }, false))
    socket.destroySoon()
  }

  #makeHost(limits: ProxyLimits): ConnectionHost {
    const { upstream, filled, tls, onUpstreamError, onLost, onError } = this.#options
    return {
      upstream,
      limits,
      totals: this.#totals,
      figures: this.#figures,
      clock: this.#clock,
      unread: new UnreadBudget(limits, this.#clock),
      filling: filled && this.#makeFilling(filled, limits),
      secureClient: tls && ((connection, socket) => this.#secure(connection, socket)),
      onLoggedIn: (connection) => this.#admission.setPending(connection, false),
      onGone: (connection) => {
        this.#admission.remove(connection)
        this.#onGone()
      },
      onUpstreamError: (reason) => {
        this.#totals.upstreamFailures++
        onUpstreamError?.(reason)
      },
      onLost: (reason) => onLost?.(reason),
      onError: (error) => onError?.(error),
    }
  }

  #makeFilling({ columns, maker }: NonNullable<ProxyOptions['filled']>, limits: ProxyLimits): Filling {
    const { upstream, look = lookThrough(upstream), onMissingId } = this.#options
    const guards = new Guards(columns, look, this.#options, this.#clock)
    return { guards, supply: new IdSupply(maker, limits.idTimeoutMs, onMissingId) }
  }

  #secure(connection: Connection, socket: Socket): void {
    this.#securing.set(socket, connection)
    socket.once('close', () => this.#securing.delete(socket))
    this.#tlsServer!.emit('connection', socket)
  }

  /** One timer for every deadline of every connection. */
  #sweepSoon(): void {
    const { lingerMs, unreadTimeoutMs, loginTimeoutMs, idleTimeoutMs } = this.#host.limits
    const shortestMs = Math.min(lingerMs, unreadTimeoutMs, loginTimeoutMs, idleTimeoutMs || sweepMsMax)
    this.#sweep = this.#clock.timer(Math.min(sweepMsMax, Math.max(10, shortestMs / 4)), () => {
      const nowUs = this.#clock.monoUs()
      this.#host.unread.sweep(nowUs)
      for (const connection of [...this.#admission.connections])
        if (connection.isOverdue(nowUs)) connection.drop()
      this.#sweepSoon()
    })
  }
}
