/** The ids of runs, to be written part by part: an answer of many ids takes several turns of the event loop. */
import { decimalText, type IdText } from './id-text.ts'
import type { Run } from './run.ts'

/** The time of an id out of order, in ids whose digits are counted on in place. */
const scatteredUnits = 4
/** The cost of such an id beyond its own bytes, as bytes of decimal replies. */
const scatteredBytes = 128

/** What a batch is written with: `count` ids of a run from `index` on. */
export type BatchWriter = {
  /** The most bytes around each id. */
  readonly aroundBytesMax: number
  /** Ids at a constant distance. */
  ordered(text: IdText, run: Run, index: number, count: number): void
  /** Ids in no order: each has a text of its own. */
  scattered(text: IdText, run: Run, index: number, count: number): void
}

/** A batch that is partly written. */
export class Batch {
  readonly #runs: readonly Run[]
  readonly #text: IdText
  /** The run of the next id, and its index there. */
  #run = 0
  #index = 0

  /** @param text the texts of the ids; undefined: decimal digits. */
  constructor(runs: readonly Run[], text: IdText | undefined) {
    this.#runs = runs
    this.#text = text ?? decimalText
  }

  /** Whether all ids are written. */
  get done(): boolean {
    return this.#run === this.#runs.length
  }

  /**
   * Writes the next part: at most `bytesMax` bytes, or one id, fewer where each takes longer. Returns the cost of the part
   * beyond its bytes. Throws as `writer` does.
   */
  next(bytesMax: number, writer: BatchWriter): number {
    let scattered = 0
    const each = this.#text.bytesMax + writer.aroundBytesMax
    for (let left = Math.max(1, Math.floor(bytesMax / each)); left > 0 && !this.done; ) {
      const run = this.#runs[this.#run]!
      const units = run.stride === 0 ? scatteredUnits : 1
      const count = Math.min(Math.ceil(left / units), run.count - this.#index)
      if (run.stride === 0) {
        writer.scattered(this.#text, run, this.#index, count)
        scattered += count
      } else writer.ordered(this.#text, run, this.#index, count)
      left -= count * units
      this.#index += count
      if (this.#index === run.count) {
        this.#run++
        this.#index = 0
      }
    }
    return scattered * scatteredBytes
  }
}
