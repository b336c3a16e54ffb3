/** Ids that were issued together, in the order of their issue. */
import { decimalText, type IdText } from '../ids/id-text.ts'
import type { Run } from '../ids/run.ts'

/** Ids as texts. */
export type IssuedIds = {
  readonly count: number
  /** About how much memory the texts take, in bytes. */
  readonly heldBytes: number
  /** The id at `index`, from 0. Fast in ascending order. */
  at(index: number): string
}

/** About what a run of ids takes. */
const runBytes = 64

/** Ids that become text only when they are read: until then thousands of them take the memory of their runs only. */
export class IssuedTexts implements IssuedIds {
  readonly runs: readonly Run[]
  readonly count: number
  /** The texts of the ids; undefined: their decimal digits. */
  readonly text: IdText | undefined
  /** The run that was read last, and the number of ids before it. */
  #run = 0
  #before = 0

  constructor(runs: readonly Run[], text: IdText | undefined) {
    this.runs = runs
    this.count = runs.reduce((sum, run) => sum + run.count, 0)
    this.text = text
  }

  get heldBytes(): number {
    return this.runs.length * runBytes
  }

  at(index: number): string {
    const { runs, text = decimalText } = this
    if (index < this.#before) this.#run = this.#before = 0
    while (index - this.#before >= runs[this.#run]!.count) this.#before += runs[this.#run++]!.count
    return text.text(runs[this.#run]!.at(index - this.#before))
  }
}
