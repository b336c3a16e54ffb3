/** What all connections of a server share. */
import type { ClientSession } from '../commands/context.ts'
import type { Turns } from '../node/turns.ts'
import type { PostgresLimits } from './limits.ts'
import type { Output } from './output.ts'
import type { Script, StatementCache } from './statement-cache.ts'

/** Sums over all connections. */
export type Totals = {
  commands: number
  bytesIn: number
  bytesOut: number
}

/** What the conversations share. */
export type ConversationHost = {
  readonly limits: PostgresLimits
  readonly cache: StatementCache
  readonly output: Output
  readonly turns: Turns
  readonly totals: Totals
  /** The statements of a text. Throws 42601, 0A000. */
  compile(text: string): Script
  /** Called with errors that are no client's fault. */
  onError(error: unknown, session?: ClientSession): void
}
