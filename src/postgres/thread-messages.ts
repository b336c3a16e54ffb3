/** What the main thread and the thread of queries send each other. */
import type { EncodedRows } from './encoded-rows.ts'
import type { Column, SessionFacts } from './query/analysed.ts'
import type { Loaded, Wanted } from './query/snapshot.ts'
import type { Formats, ParameterValue } from './result.ts'
import type { SqlErrorDetails } from './sql-error.ts'

/** What a job is: reading the statements of a long text, describing a query, or running one. */
export type Request =
  | { readonly type: 'read'; readonly text: string }
  | { readonly type: 'describe'; readonly text: string; readonly declared: readonly number[] }
  | {
      readonly type: 'run'
      readonly text: string
      readonly declared: readonly number[]
      readonly values: readonly ParameterValue[]
      readonly formats: Formats
      readonly session: SessionFacts
    }

/** A statement of a long text. */
export type ReadStatement = {
  /** Where it is in the text, in UTF-16 units. */
  readonly from: number
  readonly to: number
  /** The statement's tree as JSON, if it is long and no query of the thread. */
  readonly tree?: string
}

/** What a query takes and gives. */
export type Described = { readonly parameters: readonly number[]; readonly columns: readonly Column[] }

/** The answer to a job, by its type. */
export type Answers = {
  read: readonly ReadStatement[]
  describe: Described
  /** `changes`: the settings that the query changes, in their order. */
  run: EncodedRows & { readonly changes: readonly Change[] }
}
/** The answer to any job. */
export type Answer = Answers[keyof Answers]

/** A setting that a query changes. */
export type Change = { readonly name: string; readonly value: string; readonly isLocal: boolean }

/** To the thread: a job, or the sequences that a job has asked for. */
export type ToThread =
  | { readonly id: number; readonly request: Request }
  | { readonly id: number; readonly load: Loaded; readonly isLast: boolean }

/** An error as it crosses threads. `fault`: it is a fault of this server, with its stack. */
export type SentError =
  | { readonly sqlState: string; readonly message: string; readonly details: SqlErrorDetails }
  | { readonly fault: string }

/** From the thread: that it has started, and then what its jobs say. A job that is answered has ended; `isSpent`: the thread should be replaced. */
export type FromThread = 'ready' | FromJob
/** What a job says. */
export type FromJob = { readonly id: number } & (
  | { readonly missing: Wanted }
  | { readonly answer: Answer; readonly isSpent: boolean }
  | { readonly error: SentError; readonly isSpent: boolean }
)
