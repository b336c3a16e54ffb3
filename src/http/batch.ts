/**
 * The ids of runs as the body of an answer. A large body is made in parts while its client reads it, in the turns of the
 * event loop that all connections share.
 */
import { Readable } from 'node:stream'
import { Batch } from '../ids/batch.ts'
import type { IdText } from '../ids/id-text.ts'
import type { Run } from '../ids/run.ts'
import { type TurnTaker, turns } from '../listening/turns.ts'

/** The text before the ids, between two of them, and after them. ASCII. */
export type Frame = { readonly head: string; readonly separator: string; readonly tail: string }

/** A body, or a stream of it. */
export type Body = string | Readable

/** How many bytes are written at a time: less than 48 KiB of text, which a socket writes faster than bytes. */
const partBytesMax = 47_104
/** The most bytes of a separator. */
const separatorBytesMax = 3
/** Shared by all parts: it is read before other code can run. */
const scratch = Buffer.allocUnsafeSlow(partBytesMax)

/** The ids of `runs` within `frame`, each as `text` has it, by default in decimal. Rejects with what `text` throws at first. */
export function batchBody(runs: readonly Run[], frame: Frame, text?: IdText): Body | Promise<Body> {
  const parts = new Parts(runs, frame, text)
  if (!turns.over) return bodyOf(parts)
  return new Promise((resolve, reject) => {
    const takeTurn = () => {
      try {
        resolve(bodyOf(parts))
      } catch (error) {
        reject(error)
      }
    }
    turns.wait({ takeTurn }, true)
  })
}

/** A body of one part needs no stream. */
function bodyOf(parts: Parts): Body {
  const first = parts.next()
  return parts.done ? first : new PartBody(first, parts)
}

class Parts {
  readonly #batch: Batch
  readonly #frame: Frame
  #before: string

  constructor(runs: readonly Run[], frame: Frame, text: IdText | undefined) {
    this.#batch = new Batch(runs, text)
    this.#frame = frame
    this.#before = frame.head
  }

  get done(): boolean {
    return this.#batch.done
  }

  /** The text of the next part. */
  next(): string {
    const { separator, tail } = this.#frame
    let part = ''
    const add = (texts: string) => {
      part += this.#before + texts
      this.#before = separator
    }
    const frame = { head: () => '', tail: separator }
    const cost = this.#batch.next(partBytesMax, {
      aroundBytesMax: separatorBytesMax,
      ordered(text, run, index, count) {
        const end = text.write(scratch, 0, run, index, count, frame) - separator.length
        add(scratch.toString(text.isAscii ? 'latin1' : 'utf8', 0, end))
      },
      scattered(text, run, index, count) {
        add(Array.from({ length: count }, (_, at) => text.text(run.at(index + at))).join(separator))
      },
    })
    if (this.done) part += tail
    turns.spend(part.length + cost)
    return part
  }
}

/** Makes a part of a body whenever the part before it has been taken. */
class PartBody extends Readable implements TurnTaker {
  readonly #parts: Parts
  #first: string | undefined

  constructor(first: string, parts: Parts) {
    super({ objectMode: true, highWaterMark: 1 })
    this.#first = first
    this.#parts = parts
  }

  override _read(): void {
    if (this.#first !== undefined) {
      const first = this.#first
      this.#first = undefined
      this.push(first)
    } else if (turns.over) turns.wait(this, false)
    else this.takeTurn()
  }

  takeTurn(): void {
    if (this.destroyed) return
    try {
      this.push(this.#parts.next())
      if (this.#parts.done) this.push(null)
    } catch (error) {
      this.destroy(error as Error)
    }
  }
}
