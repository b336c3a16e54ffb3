/** The connection of a client, as lists and the audit trail show it, whatever its transport. */
import type { Access } from '../auth/access.ts'

/** One connection. Its transport keeps it up to date. */
export interface Session {
  /** Unique in this process, increasing. */
  readonly id: number
  /** `host:port` of the client. */
  readonly address: string
  /** `host:port` of this end. */
  readonly localAddress: string
  /** The transport, for the audit trail: `resp`. */
  readonly door: string
  /** Monotonic time of the connection's start and of its newest command, in µs. */
  readonly startedMonoUs: number
  lastCommandMonoUs: number
  /** `get`, or `client|list`; empty before the first. */
  lastCommand: string
  /** The name that the client has given itself; may be empty. */
  name: string
  /**
   * The permissions of the user; `unauthenticated` before a login. A change of the user replaces them, or ends the
   * connection: `refreshAccess` of each connection.
   */
  access: Access
  /** Bytes that the client has not read, for CLIENT LIST. */
  readonly unreadBytes: number
  /** Aborted when the connection ends, so that its waiting requests use up no ids. */
  readonly signal: AbortSignal
  /** Closes the connection, after the reply to the command that is running. */
  close(): void
  /** Redis's protocol of the connection. The rest is Redis's too. */
  readonly protocol?: 2 | 3
  readonly libraryName?: string
  readonly libraryVersion?: string
  readonly transaction?: {
    /** Whether requests are queued, and whether those that were queued run. */
    readonly isOpen: boolean
    readonly isRunning: boolean
    /** Requests that were queued, and their bytes. */
    readonly count: number
    readonly bytes: number
  }
}

/** Sums since the start. */
export type Traffic = {
  readonly connectionsTotal: number
  /** Closed at once because of the limit. */
  readonly connectionsRejected: number
  /** Commands or requests received. */
  readonly commands: number
  readonly bytesIn: number
  readonly bytesOut: number
}
