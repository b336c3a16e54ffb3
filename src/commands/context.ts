/** What a command's handler can reach: the client's session, the generators, and the server. */

import type { Access } from '../auth/access.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { Services } from '../operations/context.ts'
import type { TransactionQueue } from './transaction-queue.ts'

/** One connection, as commands see and change it. Its transport keeps it up to date. */
export interface ClientSession {
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
  /** Set by CLIENT SETNAME and HELLO; may be empty. */
  name: string
  /** Set by CLIENT SETINFO. */
  libraryName: string
  libraryVersion: string
  /** 2 or 3; replies after a change are in the new protocol. */
  protocol: 2 | 3
  /**
   * Whether the client reads every integer exactly. False: it may round integers past 2^53−1, and its protocol has no
   * other form for them, so that such an id is refused (UNSAFE) before it is drawn.
   */
  readonly exact: boolean
  /** While the client keeps a cache: the modes of CLIENT TRACKING ON, in lower case: `optin`, `bcast` and so on. */
  trackingModes: ReadonlySet<string> | undefined
  readonly transaction: TransactionQueue
  /** The common name of the valid certificate that the client has presented; undefined: it has presented none. */
  readonly certificateName: string | undefined
  /** The permissions of its user; `unauthenticated` before a login. */
  access: Access
  /** Bytes that the client has not read, for CLIENT LIST. */
  readonly unreadBytes: number
  /** Aborted when the connection ends, so that its waiting requests use up no ids. */
  readonly signal: AbortSignal
  /** Closes the connection, after the reply to the command that is running. */
  close(): void
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

/** The running server, as INFO, CONFIG and CLIENT need it. */
export interface ServerView extends Services {
  /** Fahao's version. */
  readonly version: string
  /** Random at each start: Redis's run_id and CLUSTER MYID. 40 hexadecimal digits. */
  readonly runId: string
  /** Monotonic time of the start, in µs. */
  readonly startedMonoUs: number
  /** Where RESP is served; undefined without. */
  readonly respPort: number | undefined
  /** Every setting in one spelling, secrets left out: CONFIG GET. */
  settings(): readonly (readonly [name: string, value: string])[]
  /** The sections of INFO beyond what every server has: name, then lines of field and value. */
  info(access: Access): readonly InfoSection[]
  /** What all transports that have sessions have carried. */
  traffic(): Traffic
  /** Connections of all transports that have sessions. */
  sessions(): Iterable<ClientSession>
}

/** A section of INFO. */
export type InfoSection = {
  readonly title: string
  readonly fields: readonly (readonly [name: string, value: string | number])[]
}

/** What a handler receives beside its arguments. */
export type CommandContext = {
  readonly session: ClientSession
  readonly catalogue: Catalogue
  readonly server: ServerView
}
