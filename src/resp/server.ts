/** Serves Redis's protocol on a port: accepts connections, with TLS or without. */
import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type TLSSocket } from 'node:tls'
import { type Access, everything } from '../auth/access.ts'
import type { ClientSession, CommandContext } from '../commands/context.ts'
import type { CommandTable } from '../commands/table.ts'
import type { Certificates } from '../listening/certificates.ts'
import { certificateName, type Handshakes, transportOf } from '../listening/handshakes.ts'
import {
  endsOf,
  type ListenerOptions,
  type ListenerStats,
  listen,
  socketOptions,
  UserListener,
} from '../listening/listener.ts'
import { Connection, type ConnectionHost } from './connection.ts'
import { InPlace, type InPlaceSource } from './in-place.ts'
import { defaultLimits, type RespLimits } from './limits.ts'
import { Output } from './output.ts'
import type { RoundingGuard } from './rounding.ts'

/** How to serve. */
export type RespServerOptions = ListenerOptions & {
  readonly table: CommandTable
  /** The context of a connection's commands; called once for each connection. */
  readonly context: (session: ClientSession) => CommandContext
  readonly limits?: Partial<RespLimits>
  /** Where the ids of generators in use are. Undefined: every request is answered by its handler. */
  readonly generators?: InPlaceSource
  /** The permissions of a connection before AUTH; `unauthenticated`: AUTH must come first. Default: everything. */
  readonly initialAccess?: (certificateName: string | undefined, address: string) => Access
  /** Which clients get no ids past 2^53−1. Default `strict`. */
  readonly roundingGuard?: RoundingGuard
  /** The certificate to speak TLS with; undefined: without TLS. */
  readonly tls?: Certificates | undefined
  /** The id of a new connection, unique in the process. Default: 1, 2, … */
  readonly nextId?: () => number
}

/** Figures of a server, since it started, and its open connections. */
export type RespStats = ListenerStats

/** Listens. Rejects with CONFIG when it cannot. */
export async function startRespServer(options: RespServerOptions): Promise<RespServer> {
  const { tls } = options
  const tlsServer = tls && createTlsServer({ ...socketOptions, ...tls.serverOptions, allowHalfOpen: false })
  const handshakes = tlsServer && tls.attach(tlsServer)
  const server = tlsServer ?? createServer(socketOptions)
  await listen(
    server,
    options,
    (address, reason) => `RESP cannot listen on ${address}: ${reason}; choose another with --resp`,
  )
  return new RespServer(server, options, handshakes)
}

/** A server that listens. */
export class RespServer extends UserListener<Connection> {
  /** Undefined without TLS. */
  readonly #handshakes: Handshakes | undefined
  readonly #host: ConnectionHost
  readonly #options: RespServerOptions
  #newestId = 0

  constructor(server: Server, options: RespServerOptions, handshakes: Handshakes | undefined) {
    const limits = { ...defaultLimits, ...options.limits }
    super(server, options, limits)
    this.#handshakes = handshakes
    this.#options = options
    const { table, context, generators } = options
    const output = new Output()
    const { turns, figures } = this.shared
    const onUnsafe = (ids: number) => figures.failed('UNSAFE', ids)
    this.#host = {
      ...this.shared,
      table,
      context,
      limits,
      inPlace: generators && new InPlace(generators, { output, turns }, onUnsafe),
      userLimits: limits,
      unauthenticatedLimits: {
        inlineMaxBytes: Math.min(limits.inlineMaxBytes, limits.unauthenticatedMaxBytes),
        bulkMaxBytes: Math.min(limits.bulkMaxBytes, limits.unauthenticatedMaxBytes),
        argumentsMax: Math.min(limits.argumentsMax, limits.unauthenticatedArgumentsMax),
        requestMaxBytes: Math.min(limits.requestMaxBytes, 2 * limits.unauthenticatedMaxBytes),
        unauthenticated: true,
      },
      output,
    }
    if (handshakes === undefined) {
      server.on('connection', (socket) => this.admit(socket, (host) => this.#accept(socket, host)))
    } else {
      server.on('connection', (socket) => this.#admitUnsecured(socket))
      server.on('secureConnection', (socket) => this.#acceptSecure(socket))
    }
  }

  protected override get refusal(): string {
    return '-ERR max number of clients reached\r\n'
  }

  protected override dropHandshakes(): void {
    this.#handshakes?.drop()
  }

  #accept(socket: Socket, host: string): void {
    this.#open(socket, (connection, isPending) => this.admission.add(connection, host, isPending))
  }

  /** A connection whose handshake begins. No error can be sent to it. */
  #admitUnsecured(socket: Socket): void {
    const { remoteAddress } = socket
    if (remoteAddress === undefined || this.admission.refusalOf(remoteAddress) !== undefined) {
      return void socket.destroy()
    }
    this.admission.add(socket, remoteAddress, true)
    socket.once('close', () => this.#host.onGone(socket))
  }

  /** A connection whose handshake is finished. */
  #acceptSecure(socket: TLSSocket): void {
    // Not before: a client that ends its side during the handshake is gone.
    socket.allowHalfOpen = true
    this.#open(socket, (connection, isPending) =>
      this.admission.replace(transportOf(socket), connection, isPending),
    )
  }

  #open(socket: Socket, count: (connection: Connection, isPending: boolean) => void): void {
    const { remoteAddress } = socket
    const ends = endsOf(socket)
    if (remoteAddress === undefined || ends === undefined) return void socket.destroy()
    const certificate = certificateName(socket)
    const facts = {
      id: this.#options.nextId?.() ?? ++this.#newestId,
      ...ends,
      startedMonoUs: this.clock.monoUs(),
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
}
