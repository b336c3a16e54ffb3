/** What one connection of the PostgreSQL protocol, and all of them together, may use. Most are settings. */
import type { ListenerLimits } from '../listening/listener.ts'

/** Limits of the server. */
export type PostgresLimits = ListenerLimits & {
  /** Longest message, in bytes. */
  readonly messageBytesMax: number
  /** Prepared statements of a connection. */
  readonly statementsMax: number
  /** The bytes of their texts together. */
  readonly statementBytesMax: number
  /** Portals of a connection. */
  readonly portalsMax: number
  /** Rows that the portals of a connection hold, beside those of the statement that runs. */
  readonly rowsHeldMax: number
  /** Unread replies of one connection, in bytes; beyond it none of its statements is carried out. */
  readonly unreadBytesMax: number
  /** Messages received while a statement of the connection waits, in bytes, before reading pauses. */
  readonly queuedBytesMax: number
}

/** The limits unless configured. */
export const defaultLimits: PostgresLimits = Object.freeze({
  connectionsMax: 10_000,
  perAddressMax: Number.POSITIVE_INFINITY,
  pendingMax: 1000,
  messageBytesMax: 262_144,
  statementsMax: 1000,
  statementBytesMax: 1_048_576,
  portalsMax: 100,
  rowsHeldMax: 100_000,
  unauthenticatedTimeoutMs: 5000,
  unreadBytesMax: 1_048_576,
  unreadTotalBytesMax: 268_435_456,
  unreadTimeoutMs: 30_000,
  queuedBytesMax: 65_536,
  idleTimeoutMs: 0,
  lingerMs: 1000,
})
