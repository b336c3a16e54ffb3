/** A reply of many ids, written a part at a time. */
import type { IssuedTexts } from '../commands/command.ts'
import type { Run } from '../ids/run.ts'
import type { Output } from './output.ts'

/** How many ids are written at a time. One that is not counted on, but in a format or in no order, stands for several. */
const partMax = 1024
const slowUnits = 4
/** What such an id costs beyond its own bytes: decimal replies of so many bytes take as long. */
const slowBytes = 128

/** Where a reply stands. Its parts make it whole only if each of them is written. */
export class TextsUnderWay {
  readonly #reply: IssuedTexts
  /** The next id: in which run, and which of it. */
  #run = 0
  #index = 0

  /** Writes the head of the reply. */
  constructor(output: Output, reply: IssuedTexts) {
    this.#reply = reply
    output.line('*', reply.count)
  }

  /** Whether all of it is written. */
  get done(): boolean {
    return this.#run === this.#reply.runs.length
  }

  /** Writes the next part; returns what that cost beyond its bytes. Throws what the format does. */
  writePart(output: Output): number {
    const { runs, text } = this.#reply
    let slow = 0
    for (let left = partMax; left > 0 && !this.done; ) {
      const run = runs[this.#run]!
      const units = text === undefined && run.stride > 0 ? 1 : slowUnits
      const count = Math.min(Math.ceil(left / units), run.count - this.#index)
      if (units === 1) output.texts(run, this.#index, count)
      else this.#writeSlowly(output, run, count)
      if (units > 1) slow += count
      left -= count * units
      this.#index += count
      if (this.#index === run.count) {
        this.#run++
        this.#index = 0
      }
    }
    return slow * slowBytes
  }

  #writeSlowly(output: Output, run: Run, count: number): void {
    const { text = String } = this.#reply
    for (let at = 0; at < count; at++) output.text('$', text(run.at(this.#index + at)))
  }
}
