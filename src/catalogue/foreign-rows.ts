/**
 * The interface to another system's table whose rows are generators too: the tables of Leaf, IdBuilder and tinyid.
 * legacy/row-generators.ts implements it, because the catalogue stands below that room.
 */
import type { Counter, Watch } from '../engine/engine.ts'
import type { Definition } from './definition.ts'
import type { StoredGenerator } from './stored-generator.ts'

/** A counter that is a row, as its engine returns it. */
export type RowCounter = Counter & {
  /** When the row last changed, in Unix µs, if the table stores it. */
  readonly updatedUs?: number
}

/** A row that was added, changed or removed. */
export type RowChange = {
  readonly name: string
  readonly exists: boolean
  /** The row's definition; undefined: it was removed, or cannot be used. Computed on demand: tables are large. */
  readonly definition: () => Definition | undefined
}

/**
 * Rows of another system's table. A row is a generator without a record, and its own counter. Nodes of that system
 * continue to issue by the row, so a record of the same name may add to the row's options, but contradict none.
 */
export interface ForeignRows {
  /** What the table is called. */
  readonly table: string

  /** The generator of the row of this name, if there is one. ENGINE if the row cannot be used. */
  read(name: string): Promise<StoredGenerator | undefined>

  /**
   * Rows whose names begin with `prefix`, in byte order, after `after`, at most `limit`; a row that cannot be used has no
   * definition. The table is looked at where `after` is undefined.
   */
  list(
    prefix: string,
    after: string | undefined,
    limit: number,
  ): Promise<{ name: string; definition: Definition | undefined }[]>

  /** Reports each change of a row. */
  watch(listener: (change: RowChange) => void): Promise<Watch>

  /**
   * Throws ERR if a definition would issue ids that do not belong to the row of its name, or if there is no row and the
   * kind counts by one.
   */
  check(name: string, wanted: Definition, row: StoredGenerator | undefined): void
}
