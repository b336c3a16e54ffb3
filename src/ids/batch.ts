/** The ids of runs, to be written part by part: an answer of many ids takes several turns of the event loop. */
import type { Run } from './run.ts'

/** An id with a format, or out of order, takes as long as so many ids that are incremented in place. */
const slowUnits = 4
/** The cost of such an id beyond its own bytes, as bytes of decimal replies. */
const slowBytes = 128

/** Writes `count` ids of a run from `index` on. `text`: the text of each; undefined: decimal digits, incremented in place. */
export type WriteIds = (
  run: Run,
  index: number,
  count: number,
  text: ((id: bigint) => string) | undefined,
) => void

/** A batch that is partly written. */
export class Batch {
  readonly #runs: readonly Run[]
  readonly #text: ((id: bigint) => string) | undefined
  /** The run of the next id, and its index there. */
  #run = 0
  #index = 0

  /** @param text the text of an id; undefined: its decimal digits. */
  constructor(runs: readonly Run[], text: ((id: bigint) => string) | undefined) {
    this.#runs = runs
    this.#text = text
  }

  /** Whether all ids are written. */
  get done(): boolean {
    return this.#run === this.#runs.length
  }

  /**
   * Writes the next part: at most `unitsMax` ids, fewer where each takes longer. Returns the cost of the part beyond its
   * bytes. Throws as `write` does.
   */
  next(unitsMax: number, write: WriteIds): number {
    let slow = 0
    for (let left = unitsMax; left > 0 && !this.done; ) {
      const run = this.#runs[this.#run]!
      const text = this.#text ?? (run.stride === 0 ? String : undefined)
      const units = text === undefined ? 1 : slowUnits
      const count = Math.min(Math.ceil(left / units), run.count - this.#index)
      write(run, this.#index, count, text)
      if (text !== undefined) slow += count
      left -= count * units
      this.#index += count
      if (this.#index === run.count) {
        this.#run++
        this.#index = 0
      }
    }
    return slow * slowBytes
  }
}
