/** What all connections of a server share. */
import type { Totals } from '../listening/listener.ts'
import type { RequestFigures } from '../listening/request-figures.ts'
import type { TurnQueue } from '../listening/turns.ts'
import type { Session } from '../operations/session.ts'
import type { PostgresLimits } from './limits.ts'
import type { Output } from './output.ts'
import type { QueryQueue } from './query-queue.ts'
import type { StatementCache } from './statement-cache.ts'

/** What the sessions of a server share. */
export type SessionHost = {
  readonly limits: PostgresLimits
  readonly cache: StatementCache
  readonly output: Output
  readonly turns: TurnQueue
  readonly totals: Totals
  readonly figures: RequestFigures
  readonly queries: QueryQueue
  /** Called with errors that are no client's fault. */
  onError(error: unknown, session?: Session): void
}
