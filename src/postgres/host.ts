/** What all connections of a server share. */
import type { ClientSession } from '../commands/context.ts'
import type { RequestFigures } from '../node/request-figures.ts'
import type { Turns } from '../node/turns.ts'
import type { PostgresLimits } from './limits.ts'
import type { Output } from './output.ts'
import type { Statement } from './session.ts'
import type { StatementCache } from './statement-cache.ts'

/** Sums over all connections. */
export type Totals = {
  commands: number
  bytesIn: number
  bytesOut: number
}

/** Reads the statements of a text one after the other. */
export interface Compilation {
  /** About how much memory it takes, in bytes. */
  readonly heldBytes: number
  /** How long the newest call of `next` took, as a reply of so many bytes; also if it threw. */
  readonly work: number
  /** The next statement; undefined: there is none. Throws 42601, 0A000, 54000. */
  next(): Statement | undefined
}

/** What the conversations share. */
export type ConversationHost = {
  readonly limits: PostgresLimits
  readonly cache: StatementCache
  readonly output: Output
  readonly turns: Turns
  readonly totals: Totals
  readonly figures: RequestFigures
  /** Begins to compile a text. */
  compile(text: string): Compilation
  /** Called with errors that are no client's fault. */
  onError(error: unknown, session?: ClientSession): void
}
