/** A reply of many ids, written a part at a time. */
import type { IssuedTexts } from '../commands/command.ts'
import { Batch } from '../ids/batch.ts'
import type { Output } from './output.ts'

/** How many ids are written at a time. */
const partMax = 1024

/** Where a reply stands. Its parts make it whole only if each of them is written. */
export class TextsUnderWay {
  readonly #batch: Batch

  /** Writes the head of the reply. */
  constructor(output: Output, { runs, count, text }: IssuedTexts) {
    this.#batch = new Batch(runs, text)
    output.line('*', count)
  }

  /** Whether all of it is written. */
  get done(): boolean {
    return this.#batch.done
  }

  /** Writes the next part; returns what that cost beyond its bytes. Throws what the format does. */
  writePart(output: Output): number {
    return this.#batch.next(partMax, (run, index, count, text) => {
      if (text === undefined) return output.texts(run, index, count)
      for (let at = index; at < index + count; at++) output.text('$', text(run.at(at)))
    })
  }
}
