/**
 * Decides which connections of a server may be open. A connection is pending until its client has logged in (RESP), or
 * has sent a request of a user (HTTP): a pending connection costs its client nothing, so a hostile client opens many of them.
 *
 * Invariants
 *  1. At most `connectionsMax` connections are open; at most `unauthenticatedConnectionsMax` of them are pending; and at most
 *     `connectionsPerAddressMax` of them come from one network.
 *  2. A new connection that would exceed the first or the second limit takes the place of the oldest pending connection.
 *     The new connection is refused only if none is pending: pending connections keep no client out.
 *  3. Only a pending connection is dropped here, and never before `unauthenticatedConnectionsMax` newer ones have come, or as
 *     many as are pending when all connections are in use.
 *  4. Each operation takes constant time, however many connections are open.
 */
import { networkOf } from '../base/address.ts'

/** How many connections a server accepts. */
export type AdmissionLimits = {
  readonly connectionsMax: number
  readonly connectionsPerAddressMax: number
  readonly unauthenticatedConnectionsMax: number
}

/**
 * Why a connection was closed. `limit`: all connections were in use. `address`: too many connections of its network.
 * `pending`: it was the oldest pending connection, and a new one took its place.
 */
export type RejectionReason = 'limit' | 'address' | 'pending'

/** Counters of the connections of one or several servers. */
export type ConnectionCounts = {
  /** Open now. */
  connections: number
  connectionsTotal: number
  /** Open now, and pending. */
  pending: number
  readonly rejected: Record<RejectionReason, number>
}

/** Counters at 0. */
export function noConnections(): ConnectionCounts {
  return { connections: 0, connectionsTotal: 0, pending: 0, rejected: { limit: 0, address: 0, pending: 0 } }
}

/** The open connections of one server. */
export class Admission<Connection> {
  readonly #limits: AdmissionLimits
  readonly #counts: ConnectionCounts
  readonly #drop: (connection: Connection) => void
  /** The network of each open connection. */
  readonly #networks = new Map<Connection, string>()
  /** The oldest comes first. */
  readonly #pending = new Set<Connection>()
  /** How many connections each network has. */
  readonly #perNetwork = new Map<string, number>()

  /** @param drop ends a connection at once. */
  constructor(limits: AdmissionLimits, counts: ConnectionCounts, drop: (connection: Connection) => void) {
    this.#limits = limits
    this.#counts = counts
    this.#drop = drop
  }

  /** The open connections. */
  get connections(): Iterable<Connection> {
    return this.#networks.keys()
  }

  /** How many connections are open. */
  get size(): number {
    return this.#networks.size
  }

  /** Why a connection from `host` is refused; undefined: it is not, and there is room for it. */
  refusalOf(host: string): RejectionReason | undefined {
    const reason = this.#reasonAgainst(this.#networkOf(host))
    if (reason !== undefined) this.#counts.rejected[reason]++
    return reason
  }

  /** Counts a connection for which there is room. */
  add(connection: Connection, host: string, isPending: boolean): void {
    const network = this.#networkOf(host)
    this.#networks.set(connection, network)
    this.#count(network, 1)
    this.#counts.connections++
    this.#counts.connectionsTotal++
    if (isPending) this.setPending(connection, true)
  }

  /** Has `next` take the place of `connection`: the same connection as another object. */
  replace(connection: Connection, next: Connection, isPending: boolean): void {
    const network = this.#networks.get(connection)
    // The connection has ended meanwhile.
    if (network === undefined) return this.#drop(next)
    this.setPending(connection, false)
    this.#networks.delete(connection)
    this.#networks.set(next, network)
    if (isPending) this.setPending(next, true)
  }

  /** Has `connection` be pending, as the newest of these, or no longer. */
  setPending(connection: Connection, isPending: boolean): void {
    if (isPending === this.#pending.has(connection) || !this.#networks.has(connection)) return
    this.#counts.pending += isPending ? 1 : -1
    if (!isPending) {
      this.#pending.delete(connection)
      return
    }
    if (this.#pending.size >= this.#limits.unauthenticatedConnectionsMax) this.#dropOldest()
    this.#pending.add(connection)
  }

  /** Forgets a connection that has ended. */
  remove(connection: Connection): void {
    const network = this.#networks.get(connection)
    if (network === undefined) return
    this.setPending(connection, false)
    this.#networks.delete(connection)
    this.#count(network, -1)
    this.#counts.connections--
  }

  #reasonAgainst(network: string): RejectionReason | undefined {
    const { connectionsMax, connectionsPerAddressMax } = this.#limits
    if ((this.#perNetwork.get(network) ?? 0) >= connectionsPerAddressMax) return 'address'
    if (this.#networks.size < connectionsMax) return undefined
    return this.#dropOldest() ? undefined : 'limit'
  }

  #dropOldest(): boolean {
    const [oldest] = this.#pending
    if (oldest === undefined) return false
    this.remove(oldest)
    this.#counts.rejected.pending++
    this.#drop(oldest)
    return true
  }

  /** The network of `host`; '' if no limit per network is set. */
  #networkOf(host: string): string {
    return this.#limits.connectionsPerAddressMax === Number.POSITIVE_INFINITY ? '' : networkOf(host)
  }

  #count(network: string, change: 1 | -1): void {
    const count = (this.#perNetwork.get(network) ?? 0) + change
    if (count === 0) this.#perNetwork.delete(network)
    else this.#perNetwork.set(network, count)
  }
}
