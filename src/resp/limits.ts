/**
 * What one RESP connection, and all of them together, may use. `connection.ts` bounds the unread replies of one connection,
 * `listening/unread-budget.ts` those of all.
 */

/** Limits of the RESP server. Each is a config key. */
export type RespLimits = {
  /** Connections at once; one more takes the place of one before AUTH, or gets an error and is closed. */
  readonly connectionsMax: number
  /** Connections at once from one IPv4 address, or from one /64 of IPv6. */
  readonly connectionsPerAddressMax: number
  /** Longest inline command, and longest line that holds a length, in bytes. */
  readonly inlineBytesMax: number
  /** Longest argument, in bytes. */
  readonly bulkBytesMax: number
  /** Most arguments of a request, the command's own word included. */
  readonly argumentsMax: number
  /** Longest request, in bytes. */
  readonly requestBytesMax: number
  /** Most requests of a transaction, and most bytes of them. */
  readonly transactionRequestsMax: number
  readonly transactionBytesMax: number
  /** The most connections at once before AUTH; one more takes the place of the oldest of them. */
  readonly unauthenticatedConnectionsMax: number
  /** Most arguments before AUTH. */
  readonly unauthenticatedArgumentsMax: number
  /** Longest argument and most unread replies before AUTH, in bytes; a request may be twice as long. */
  readonly unauthenticatedBytesMax: number
  /** How long a connection may take for AUTH, in ms. */
  readonly unauthenticatedTimeoutMs: number
  /** Unread replies of one connection, in bytes; beyond it no further command of it is carried out. */
  readonly unreadBytesMax: number
  /** Unread replies of all connections, in bytes; beyond it one of the connections is dropped. */
  readonly unreadTotalBytesMax: number
  /** How long a connection may leave replies unread before it is dropped, in ms. */
  readonly unreadTimeoutMs: number
  /** Requests received while a command of the same connection waits, in bytes, before reading pauses. */
  readonly queuedBytesMax: number
  /** How long a connection may send nothing before it is closed, in ms; 0: for ever. */
  readonly idleTimeoutMs: number
  /** How long the client may take to close its end after this server has closed its own, in ms. */
  readonly lingerMs: number
}

/** The limits unless configured. */
export const defaultLimits: RespLimits = Object.freeze({
  connectionsMax: 10_000,
  connectionsPerAddressMax: Number.POSITIVE_INFINITY,
  inlineBytesMax: 65_536,
  bulkBytesMax: 65_536,
  argumentsMax: 1024,
  requestBytesMax: 1_048_576,
  transactionRequestsMax: 65_536,
  transactionBytesMax: 1_048_576,
  unauthenticatedConnectionsMax: 1000,
  unauthenticatedArgumentsMax: 10,
  unauthenticatedBytesMax: 16_384,
  unauthenticatedTimeoutMs: 5000,
  unreadBytesMax: 1_048_576,
  unreadTotalBytesMax: 268_435_456,
  unreadTimeoutMs: 30_000,
  queuedBytesMax: 65_536,
  idleTimeoutMs: 0,
  lingerMs: 1000,
})
