/** Sends a result: rows, then CommandComplete or PortalSuspended, a part in each step. */
import type { Output } from './output.ts'
import { writeComplete } from './replies.ts'
import { done, type Result } from './result.ts'

/** Bytes written in a step; the row that passes them is written to its end. */
const stepBytes = 32_768

/** The sending of one result. */
export class ResultWriter {
  /** The writer of a result whose rows have all been sent. */
  static readonly over = new ResultWriter(done('SELECT'))
  #result: Result
  #sent = 0
  /** The first row of the present Execute, and the row at which it ends. */
  #first = 0
  #end: number

  constructor(result: Result, rowsMax = Number.POSITIVE_INFINITY) {
    this.#result = result
    this.#end = Math.min(result.count, rowsMax)
  }

  /** How many rows are kept for it. */
  get rowsHeld(): number {
    return this.#sent < this.#result.count ? this.#result.count : 0
  }

  /** About how much memory is kept for it, in bytes. */
  get heldBytes(): number {
    return this.#sent < this.#result.count ? (this.#result.heldBytes ?? 0) : 0
  }

  /** Begins another Execute of the same portal. */
  goOn(rowsMax: number): void {
    this.#first = this.#sent
    this.#end = Math.min(this.#result.count, this.#sent + rowsMax)
  }

  /** Writes a part. Returns whether that was the last one. */
  writeSome(output: Output): boolean {
    const { count, tag } = this.#result
    const until = output.length + stepBytes
    while (this.#sent < this.#end) {
      if (output.length > until) return false
      this.#result.write(output, this.#sent++)
    }
    if (this.#sent < count) output.empty('s')
    else {
      writeComplete(output, tag === 'SELECT' ? `SELECT ${this.#sent - this.#first}` : tag)
      // The portal may stay as long as its transaction; its rows need not.
      this.#result = { ...done(tag), count }
    }
    return true
  }
}
