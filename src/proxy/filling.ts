/** What the connections of a proxy share to fill ids in: the columns, the supply, and figures. */
import { describe } from '../base/errors.ts'
import type { IdSupply } from './id-supply.ts'
import { type FilledColumn, FilledColumns } from './sql/filled-columns.ts'

/** Counters of what was filled in. */
export type FillingTotals = {
  /** Statements that got ids. */
  filled: number
  ids: number
  /** Statements that were refused because of their form, or because their column does not hold the ids. */
  refused: number
  /** Statements that were not sent because there was no id. */
  failed: number
  /** Questions that the proxy has asked servers by itself. */
  questions: number
}

/** The columns of a proxy and their ids. */
export class Filling {
  readonly supply: IdSupply
  readonly totals: FillingTotals = { filled: 0, ids: 0, refused: 0, failed: 0, questions: 0 }
  /**
   * Columns of which a connection has seen that a strict server refuses what they do not hold. The others are asked for in
   * every mode. A temporary table of the same name can only add one.
   */
  readonly checked = new Set<FilledColumn>()
  readonly #columns: readonly FilledColumn[]
  readonly #exact: FilledColumns
  readonly #ignoringCase: FilledColumns
  readonly #onMissingId: (reason: string) => void

  /**
   * Throws CONFIG if two columns are of one table.
   * @param onMissingId called when a statement is not sent because there is no id for it.
   */
  constructor(
    columns: readonly FilledColumn[],
    supply: IdSupply,
    onMissingId: (reason: string) => void = () => {},
  ) {
    this.supply = supply
    this.#columns = columns
    this.#onMissingId = onMissingId
    this.#exact = new FilledColumns(columns)
    this.#ignoringCase = new FilledColumns(columns, { ignoreCase: true })
  }

  /**
   * Opens the generators of all columns, so that no INSERT waits for that. Resolves to the generators that give no ids now,
   * and why.
   */
  async open(signal: AbortSignal): Promise<Map<string, string>> {
    const missing = new Map<string, string>()
    const generators = new Set(this.#columns.map(({ generator }) => generator))
    const opened = async (generator: string) => this.supply.isText(generator, signal)
    await Promise.all(
      [...generators].map((generator) =>
        opened(generator).catch((error) => missing.set(generator, describe(error))),
      ),
    )
    return missing
  }

  /** Counts a statement that is not sent because there is no id for it. */
  missed(reason: string): void {
    this.totals.failed++
    this.#onMissingId(reason)
  }

  /** The columns as a server compares their names. */
  columns(ignoreCase: boolean): FilledColumns {
    return ignoreCase ? this.#ignoringCase : this.#exact
  }
}
