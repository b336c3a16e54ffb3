/** What one connection of the PostgreSQL protocol, and all of them together, may use. */
import type { LimitsOf } from '../config/listener-settings.ts'
import { postgresListener } from '../config/postgres-settings.ts'

/** Limits of the server: the settings, and what no setting changes. */
export type PostgresLimits = LimitsOf<typeof postgresListener> & {
  /** The bytes of the texts of a connection's prepared statements together. */
  readonly statementBytesMax: number
  /** Portals of a connection. */
  readonly portalsMax: number
  /** Rows that the portals of a connection hold, beside those of the statement that runs. */
  readonly rowsHeldMax: number
  /** Messages received while a statement of the connection waits, in bytes, before reading pauses. */
  readonly queuedMaxBytes: number
  /** How long the client may take to close its end after this server has closed its own, in ms. */
  readonly lingerMs: number
}

/** The limits unless configured. */
export const defaultLimits: PostgresLimits = Object.freeze({
  ...postgresListener.defaults,
  statementBytesMax: 1_048_576,
  portalsMax: 100,
  rowsHeldMax: 100_000,
  queuedMaxBytes: 65_536,
  lingerMs: 1000,
})
