/** What the catalogue asks of another system's table whose rows are generators too. */
import type { Counter, Watch } from '../engine/engine.ts'
import type { Definition } from './definition.ts'
import type { GeneratorOptions } from './options.ts'
import type { StoredGenerator } from './stored.ts'

/** What reads generators that may be rows. */
export type RowsDeps = {
  /** Undefined: the engine works on no other system's table. */
  readonly rows?: ForeignRows | undefined
}

/** A row that has come, changed or gone. */
export type RowChange = {
  readonly name: string
  readonly exists: boolean
  /** What the row says now; undefined: it is gone, or cannot be used. Read only where it is needed: tables are large. */
  readonly definition: () => Definition | undefined
}

/**
 * Rows of another system's table. A row is a generator without a record, and its own counter. Nodes of that system go on
 * issuing by the row, so a record of the same name may add to what the row says, and contradict none of it.
 */
export interface ForeignRows {
  /** What the table is called. */
  readonly table: string

  /** The generator that a row of this name stands for, if there is one. ENGINE when the row cannot be used. */
  read(name: string): Promise<StoredGenerator | undefined>

  /** Rows in byte order of their names, after `after`, at most `limit`; of those that cannot be used no definition. */
  list(
    after: string | undefined,
    limit: number,
  ): Promise<{ name: string; definition: Definition | undefined }[]>

  /** Reports each change of a row. */
  watch(listener: (change: RowChange) => void): Promise<Watch>

  /**
   * The definition that `asked` makes of a name, completed by its row. ERR when the kind needs a row and there is
   * none, or when `asked` contradicts the row.
   */
  define(name: string, asked: GeneratorOptions, row: StoredGenerator | undefined): Definition

  /** Throws ERR where a definition would issue ids that are not the row's to issue. */
  check(name: string, wanted: Definition, row: StoredGenerator): void

  /** When the row that is this counter last changed, in Unix µs; undefined if the table does not store it. */
  updatedUs(counter: Counter): number | undefined
}
