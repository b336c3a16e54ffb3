/**
 * A port on which the connections of one protocol are served: which of them are open, their figures and deadlines, and a stop
 * after the last reply. `admission.ts` decides which connections are accepted.
 */
import { type Server, Socket } from 'node:net'
import type { Access } from '../auth/access.ts'
import { addressText } from '../base/address.ts'
import { type Clock, systemClock, type Timer } from '../base/clock.ts'
import { describe, FahaoError } from '../base/errors.ts'
import type { Session, Traffic } from '../operations/session.ts'
import { Admission, type AdmissionLimits, type ConnectionCounts, noConnections } from './admission.ts'
import { RequestFigures } from './request-figures.ts'
import { turns } from './turns.ts'
import { UnreadBudget, type UnreadLimits } from './unread-budget.ts'

/** A connection through a listener. */
export interface AcceptedConnection {
  /** Ends the connection once what has been received is answered: the server stops. */
  shutDown(): void
  /** Ends the connection if one of its deadlines has passed. */
  sweep(nowUs: number): void
  /** Ends the connection at once. */
  drop(): void
}

/** A connection of a user. */
export interface UserConnection extends AcceptedConnection {
  readonly session: Session
  /** Takes the present permissions of its user; undefined: it may not connect any more. */
  refreshAccess(present: (access: Access) => Access | undefined): void
  /** Sends the writes of this turn. */
  uncork(): void
}

/** Limits of a listener. */
export type ListenerLimits = AdmissionLimits &
  UnreadLimits & {
    /** How long a connection may take to log in, in ms. */
    readonly unauthenticatedTimeoutMs: number
    /** After how many ms without a byte from its client a connection is closed; Infinity: never. */
    readonly idleTimeoutMs: number
    /** How long the client may take to close its end after this server has closed its own, in ms. */
    readonly lingerMs: number
  }

/** How a listener is opened. */
export type ListenerOptions = {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** Connections that the kernel holds until they are accepted. Default: Node's. */
  readonly backlog?: number
  /** Default: the machine's. */
  readonly clock?: Clock
  /** Called before what clients ask for is carried out, in every callback: see `FahaoNode.mayIssue`. Default: it may. */
  readonly mayIssue?: () => boolean
  /** Called with errors that are no client's fault. */
  readonly onError?: (error: unknown, session?: Session) => void
}

/** Sums over all connections. */
export type Totals = {
  commands: number
  bytesIn: number
  bytesOut: number
}

/** Figures of a listener, since it was opened, and its open connections. */
export type ListenerStats = Traffic & Readonly<ConnectionCounts> & { readonly requests: RequestFigures }

const keepAliveMs = 60_000
/** Between two looks at the deadlines: a quarter of the shortest, in these bounds. */
const sweepMsMin = 10
const sweepMsMax = 1000
/** How sockets are set up. */
export const socketOptions = Object.freeze({
  // What came before the peer's end is answered.
  allowHalfOpen: true,
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: keepAliveMs,
})

/** Listens. Rejects with CONFIG when it cannot. @param refusal the sentence about an address, and what to do. */
export function listen(
  server: Server,
  { host, port, backlog }: ListenerOptions,
  refusal: (address: string, reason: string) => string,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const refuse = (error: NodeJS.ErrnoException) =>
      reject(new FahaoError('CONFIG', refusal(`${host}:${port}`, describe(error)), { cause: error }))
    server.once('error', refuse)
    server.listen({ port, host, backlog }, () => {
      server.off('error', refuse)
      resolve()
    })
  })
}

/** A listener that is open. */
export abstract class Listener<Connection extends AcceptedConnection> {
  /** The port that it listens on. */
  readonly port: number
  /** `host:port`. */
  readonly address: string
  protected readonly clock: Clock
  /** Connections without a finished handshake may be in it as sockets. They are pending. */
  protected readonly admission: Admission<Connection | Socket>
  readonly #server: Server
  readonly #limits: ListenerLimits
  readonly #options: ListenerOptions
  readonly #totals: Totals = { commands: 0, bytesIn: 0, bytesOut: 0 }
  readonly #figures = new RequestFigures()
  readonly #counts = noConnections()
  readonly #unread: UnreadBudget
  readonly #corked: Pick<UserConnection, 'uncork'>[] = []
  #sweep: Timer | undefined
  /** Called when a connection has ended while the listener closes. */
  #onGone = () => {}
  #closed: Promise<void> | undefined

  constructor(server: Server, options: ListenerOptions, limits: ListenerLimits) {
    const bound = server.address()
    if (bound === null || typeof bound === 'string') throw new Error('a listening TCP server has a port')
    this.port = bound.port
    this.address = addressText({ host: bound.address, port: bound.port })
    this.clock = options.clock ?? systemClock
    this.#server = server
    this.#options = options
    this.#limits = limits
    this.#unread = new UnreadBudget(limits, this.clock)
    this.admission = new Admission(
      limits,
      this.#counts,
      (each) => void (each instanceof Socket ? each.destroy() : each.drop()),
    )
    server.on('error', (error) => options.onError?.(error))
    this.#sweepSoon()
  }

  /** Figures as they are now. */
  get stats(): ListenerStats {
    const { limit, address } = this.#counts.rejected
    return {
      ...this.#counts,
      connectionsRejected: limit + address,
      ...this.#totals,
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
        if (this.admission.size === 0) resolve()
      }
    })
    const unbound = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    const deadline = systemClock.timer(deadlineMs, () => {
      for (const connection of this.connections) connection.drop()
    })
    for (const connection of this.connections) connection.shutDown()
    this.dropHandshakes()
    this.#onGone()
    await Promise.all([ended, unbound])
    deadline.cancel()
    this.#sweep?.cancel()
  }

  /** Ends the connections whose handshakes are not finished. */
  protected abstract dropHandshakes(): void

  /** What a client gets for whose connection there is no room. */
  protected abstract readonly refusal: Buffer | string

  /** Opens a connection if there is room for it; else refuses it. */
  protected admit(socket: Socket, open: (host: string) => void): void {
    const { remoteAddress } = socket
    // The client has closed the connection before it was accepted.
    if (remoteAddress === undefined) return void socket.destroy()
    if (this.admission.refusalOf(remoteAddress) === undefined) return open(remoteAddress)
    socket.on('error', () => {})
    socket.end(this.refusal, 'latin1')
    socket.destroySoon()
  }

  /** A copy: connections end while they are told. */
  protected get connections(): Connection[] {
    return [...this.admission.connections].filter((each): each is Connection => !(each instanceof Socket))
  }

  /** What the connections of every listener share. */
  protected get shared() {
    const { onError, mayIssue = () => true } = this.#options
    return {
      clock: this.clock,
      mayIssue,
      turns,
      totals: this.#totals,
      figures: this.#figures,
      unread: this.#unread,
      admission: this.admission,
      onError: (error: unknown, session?: Session) => onError?.(error, session),
      uncorkSoon: (connection: Pick<UserConnection, 'uncork'>) => {
        if (this.#corked.push(connection) === 1) setImmediate(this.#uncork)
      },
      onGone: (connection: Connection | Socket) => {
        this.admission.remove(connection)
        this.#onGone()
      },
    }
  }

  #uncork = () => {
    for (const connection of this.#corked.splice(0)) connection.uncork()
  }

  /** Starts the one timer for all deadlines of all connections. */
  #sweepSoon(): void {
    const { lingerMs, unreadTimeoutMs, unauthenticatedTimeoutMs, idleTimeoutMs } = this.#limits
    const times = [lingerMs, unreadTimeoutMs, unauthenticatedTimeoutMs, idleTimeoutMs]
    this.#sweep = this.clock.timer(Math.min(sweepMsMax, Math.max(sweepMsMin, Math.min(...times) / 4)), () => {
      const nowUs = this.clock.monoUs()
      this.#unread.sweep(nowUs)
      for (const connection of this.connections) connection.sweep(nowUs)
      this.#sweepSoon()
    })
  }
}

/** A listener whose connections have users. */
export abstract class UserListener<Connection extends UserConnection> extends Listener<Connection> {
  /** The sessions of the open connections. */
  *sessions(): Iterable<Connection['session']> {
    for (const connection of this.connections) yield connection.session
  }

  /**
   * Gives every connection the present permissions of its user. `present` returns undefined for a user that may not
   * connect any more: its connections end.
   */
  refreshAccess(present: (access: Access) => Access | undefined): void {
    for (const connection of this.connections) connection.refreshAccess(present)
  }
}

/** The addresses of the ends of a connection; undefined: its client has closed it already. */
export function endsOf(socket: Socket): { address: string; localAddress: string } | undefined {
  const { remoteAddress, remotePort, localAddress, localPort } = socket
  if (remoteAddress === undefined || localAddress === undefined) return undefined
  return {
    address: addressText({ host: remoteAddress, port: remotePort! }),
    localAddress: addressText({ host: localAddress, port: localPort! }),
  }
}
