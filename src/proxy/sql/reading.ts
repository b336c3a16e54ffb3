/** What a text is read with, and what comes of it. */
import type { FilledColumn, FilledColumns } from './filled-columns.ts'
import type { Insert } from './insert.ts'
import type { Refusal } from './refusal.ts'
import type { TableFact, TableFacts } from './row-reader.ts'
import type { SqlSession } from './session.ts'

/** What to do with a text. */
export type Reading =
  /** The text stays as it is. `given`: it is one statement that gives all ids itself, and the integer of its last row. */
  | { readonly kind: 'relay'; readonly given?: { readonly insert: Insert; readonly id: bigint } }
  | { readonly kind: 'refuse'; readonly refusal: Refusal }
  /** Ask the server for the facts of the table, and read the text again. */
  | { readonly kind: 'ask'; readonly column: FilledColumn; readonly fact: TableFact }
  /** The statements that need ids, or may need them once their parameters are known; and all parameters' positions. */
  | {
      readonly kind: 'fill'
      readonly inserts: readonly Insert[]
      readonly parametersAt: readonly number[]
      /** Whether the text has no other statement. */
      readonly isAlone: boolean
    }

/** What a text is read with. */
export type ReadingContext = {
  readonly session: SqlSession
  readonly columns: FilledColumns
  /** Whether the text is to be prepared: `?` is a parameter. */
  readonly prepared: boolean
  /** Undefined as long as the server has not been asked. */
  readonly factsOf: (column: FilledColumn) => TableFacts | undefined
  /** Keep rows whose ids the statement gives, too. */
  readonly keepsGiven?: boolean
  /** Whether a temporary table may have the name of the filled one. */
  readonly isShadowed: (column: FilledColumn) => boolean
}
