/** What a command's handler can reach: the client's session, the generators, and the server. */

import type { Access } from '../auth/access.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { OperationContext, Services } from '../operations/context.ts'
import type { Session, Traffic } from '../operations/session.ts'
import type { TransactionQueue } from './transaction-queue.ts'

/** A connection of Redis's protocol, as its commands see and change it. */
export interface ClientSession extends Session {
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
}

/** The running server, as INFO, CONFIG and CLIENT need it. */
export interface ServerView extends Services {
  /** Fahao's version. */
  readonly version: string
  /** Random at each start: Redis's run_id and CLUSTER MYID. 40 hexadecimal digits. */
  readonly runId: string
  /** Monotonic time of the start, in µs. */
  readonly startedMonoUs: number
  /** The port of RESP; undefined: RESP is not served. */
  readonly respPort: number | undefined
  /** Every setting in one spelling, secrets left out: CONFIG GET. */
  settings(): readonly (readonly [name: string, value: string])[]
  /** The sections of INFO beyond what every server has: name, then lines of field and value. */
  info(access: Access): readonly InfoSection[]
  /** What all transports that have sessions have carried. */
  traffic(): Traffic
  /** Connections of all transports that have sessions. */
  sessions(): Iterable<Session>
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

/** What an operation receives, from a command. */
export function operationContext({ catalogue, server, session }: CommandContext): OperationContext {
  return { catalogue, server, caller: session }
}
