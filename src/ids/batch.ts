/** The ids of runs, to be written part by part: an answer of many ids takes several turns of the event loop. */
import type { Run } from './run.ts'

/** An id that is not counted on, but in a format or in no order, takes as long as so many others. */
const slowUnits = 4
/** What such an id costs beyond its own bytes: decimal replies of so many bytes take as long. */
const slowBytes = 128

/** Writes `count` ids of a run from `index` on. `text`: the text of each; undefined: they are counted on in decimal. */
export type WriteIds = (
  run: Run,
  index: number,
  count: number,
  text: ((id: bigint) => string) | undefined,
) => void

/** Where the writing of a batch stands. */
export class Batch {
  readonly #runs: readonly Run[]
  readonly #text: ((id: bigint) => string) | undefined
  /** The next id: in which run, and which of it. */
  #run = 0
  #index = 0

  /** @param text the text of an id; undefined: its decimal digits. */
  constructor(runs: readonly Run[], text: ((id: bigint) => string) | undefined) {
    this.#runs = runs
    this.#text = text
  }

  /** Whether all of it is written. */
  get done(): boolean {
    return this.#run === this.#runs.length
  }

  /**
   * Has the next part written: at most `unitsMax` ids, fewer of those that take longer. Returns what the part cost beyond
   * its bytes. Throws what `write` does.
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
