/** The MySQL proxy: accepts connections, and stops after the last transaction. */
import { createServer, type Server } from 'node:net'
import type { Certificates } from '../listening/certificates.ts'
import {
  Listener,
  type ListenerOptions,
  type ListenerStats,
  listen,
  socketOptions,
} from '../listening/listener.ts'
import { Upgrades } from '../listening/upgrades.ts'
import { Connection, type ConnectionHost } from './connection.ts'
import { type FillingTotals, type IdMaker, IdSupply } from './id-supply.ts'
import { type GuardEvents, Guards, guardReader, type ReadGuards } from './known-guards.ts'
import { defaultLimits, type ProxyLimits } from './limits.ts'
import { errorPacket } from './protocol.ts'
import type { Upstream } from './socket-pair.ts'
import type { FilledColumn } from './sql/configured-columns.ts'
import type { Filling } from './statement-filler.ts'

/** How to serve. */
export type ProxyOptions = GuardEvents &
  ListenerOptions & {
    readonly upstream: Upstream
    /** The columns that are filled in, and their ids; undefined: none. */
    readonly filled?: { readonly columns: readonly FilledColumn[]; readonly maker: IdMaker } | undefined
    /** How the tables are looked at. Default: with the user of `upstream`. */
    readonly look?: ReadGuards
    readonly limits?: Partial<ProxyLimits>
    /** The certificate for clients; undefined: without TLS. */
    readonly tls?: Certificates | undefined
    /** Called when the server cannot be reached. */
    readonly onUpstreamError?: (reason: string) => void
    /** Called when a statement was not sent because there was no id for it. */
    readonly onMissingId?: (reason: string) => void
    /** Called when a connection was ended because what was sent on it could not be understood. */
    readonly onLost?: (reason: string) => void
  }

/** Figures of a proxy, since it started, and its open connections. */
export type ProxyStats = ListenerStats & {
  readonly upstreamFailures: number
  /** Undefined: no table is filled in. */
  readonly filling: Readonly<FillingTotals> | undefined
}

/** Listens. Rejects with CONFIG when it cannot, and if two columns are of one table. */
export async function startProxy(options: ProxyOptions): Promise<ProxyServer> {
  const limits = { ...defaultLimits, ...options.limits }
  const filling = fillingOf(options, limits)
  const server = createServer(socketOptions)
  await listen(
    server,
    options,
    (address, reason) => `the MySQL proxy cannot listen on ${address}: ${reason}; choose another address`,
  )
  return new ProxyServer(server, options, limits, filling)
}

function fillingOf(options: ProxyOptions, limits: ProxyLimits): Filling | undefined {
  const { upstream, filled, clock, look = guardReader(upstream), onMissingId, onError } = options
  if (filled === undefined) return undefined
  return {
    guards: new Guards(filled.columns, look, options, clock),
    supply: new IdSupply(filled.maker, limits.idTimeoutMs, onMissingId),
    limits,
    onError: (error) => onError?.(error),
  }
}

/** A proxy that listens. */
export class ProxyServer extends Listener<Connection> {
  /** Undefined without TLS. */
  readonly #upgrades: Upgrades<Connection> | undefined
  readonly #host: ConnectionHost
  readonly #filling: Filling | undefined
  #upstreamFailures = 0
  /** Aborted by a stop. */
  readonly #stopping = new AbortController()

  constructor(server: Server, options: ProxyOptions, limits: ProxyLimits, filling: Filling | undefined) {
    super(server, options, { ...limits, unauthenticatedTimeoutMs: limits.loginTimeoutMs })
    const { upstream, tls, onUpstreamError, onLost } = options
    const upgrades =
      tls && new Upgrades<Connection>(tls, {}, (connection, socket) => connection.secured(socket))
    this.#upgrades = upgrades
    this.#filling = filling
    this.#host = {
      ...this.shared,
      upstream,
      limits,
      filling,
      secureClient: upgrades && ((connection, socket) => upgrades.begin(connection, socket)),
      onLoggedIn: (connection) => this.admission.setPending(connection, false),
      onUpstreamError: (reason) => {
        this.#upstreamFailures++
        onUpstreamError?.(reason)
      },
      onLost: (reason) => onLost?.(reason),
    }
    server.on('connection', (socket) => {
      this.admit(socket, (host) => this.admission.add(new Connection(socket, this.#host), host, true))
    })
  }

  /** Figures as they are now. */
  override get stats(): ProxyStats {
    const filling = this.#filling?.supply.totals
    return { ...super.stats, upstreamFailures: this.#upstreamFailures, filling }
  }

  /**
   * Looks at the guards of all tables, now and every minute, and opens the generators of all columns, so that no INSERT waits
   * for that. Resolves to the generators that give no ids now, and why; to none if the proxy is stopped before.
   */
  async prepareFilling(): Promise<ReadonlyMap<string, string>> {
    const { signal } = this.#stopping
    const filling = this.#filling
    if (filling === undefined) return new Map()
    void filling.guards.start()
    const generators = new Set(filling.guards.columns.all.map(({ generator }) => generator))
    const missing = await filling.supply.open(generators, signal)
    return signal.aborted ? new Map() : missing
  }

  override close(deadlineMs: number): Promise<void> {
    this.#stopping.abort()
    this.#filling?.guards.close()
    return super.close(deadlineMs)
  }

  protected override dropHandshakes(): void {
    this.#upgrades?.drop()
    this.#upgrades?.close()
  }

  protected override get refusal(): Buffer {
    const message = 'Too many connections'
    return errorPacket(0, { registered: 'LIMIT', code: 1040, state: '08004', message }, false)
  }
}
