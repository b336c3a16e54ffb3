/** Limits of the MySQL proxy. */

/** What the connections of a proxy may take. */
export type ProxyLimits = {
  readonly connectionsMax: number
  readonly connectionsPerAddressMax: number
  /** Connections at once that have not logged in. */
  readonly unauthenticatedConnectionsMax: number
  /** How long a login may take, the connection to the server included, in ms. */
  readonly loginTimeoutMs: number
  /** How long a client may leave results unread, in ms. */
  readonly unreadTimeoutMs: number
  /** The most that may be held for all clients together, in bytes. */
  readonly unreadTotalBytesMax: number
  /** The longest statement that is read before it is sent, in bytes. */
  readonly statementBytesMax: number
  /** Prepared statements of one connection that are filled in. */
  readonly statementsMax: number
  /** How long a statement may wait for its ids, in ms. */
  readonly idTimeoutMs: number
  /** What these may take, in bytes of memory. */
  readonly statementsBytesMax: number
  /** How long a client may be silent, in ms; 0: for ever. */
  readonly idleTimeoutMs: number
  /** How long one side of a connection may stay open after the other has ended, in ms. */
  readonly lingerMs: number
}

/** The limits that are not configured otherwise. */
export const defaultLimits: ProxyLimits = Object.freeze({
  connectionsMax: 10_000,
  connectionsPerAddressMax: Number.POSITIVE_INFINITY,
  unauthenticatedConnectionsMax: 1000,
  loginTimeoutMs: 10_000,
  unreadTimeoutMs: 600_000,
  unreadTotalBytesMax: 256 * 1_048_576,
  statementBytesMax: 16 * 1_048_576,
  statementsMax: 16_384,
  idTimeoutMs: 5000,
  statementsBytesMax: 32 * 1_048_576,
  idleTimeoutMs: 0,
  lingerMs: 5000,
})
