/** A reply of many ids, written a part at a time. */
import type { IssuedTexts } from '../commands/command.ts'
import type { Output } from './output.ts'

/** How many ids are written at a time: in decimal, and in a format, which takes longer. */
const decimalPart = 1024
const formattedPart = 256
/** What an id in a format costs beyond its own bytes: decimal replies of so many bytes take as long. */
const formatBytes = 128

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
    const whole = text === undefined ? decimalPart : formattedPart
    let left = whole
    while (left > 0 && !this.done) {
      const run = runs[this.#run]!
      const count = Math.min(left, run.count - this.#index)
      if (text === undefined) output.texts(run, this.#index, count)
      else for (let at = 0; at < count; at++) output.text('$', text(run.at(this.#index + at)))
      left -= count
      this.#index += count
      if (this.#index === run.count) {
        this.#run++
        this.#index = 0
      }
    }
    return text === undefined ? 0 : (whole - left) * formatBytes
  }
}
