/**
 * Replies, kept in columns of plain numbers. As objects they would be millions, and the pauses in which the garbage
 * collector walks over them would be measured as waits of the clients.
 */
import type { Acknowledged } from './journal.ts'

export class ReplyLog implements Iterable<Acknowledged> {
  #sentUs = new Float64Array(1024)
  #receivedUs = new Float64Array(1024)
  #connection = new Float64Array(1024)
  /** Where the ids of each reply end. */
  #idsEnd = new Float64Array(1024)
  #ids = new BigUint64Array(1024)
  #length = 0
  #idCount = 0

  get length(): number {
    return this.#length
  }

  get idCount(): number {
    return this.#idCount
  }

  push({ ids, sentUs, receivedUs, connection }: Acknowledged): void {
    const at = this.#length++
    if (at === this.#sentUs.length) {
      this.#sentUs = twice(this.#sentUs)
      this.#receivedUs = twice(this.#receivedUs)
      this.#connection = twice(this.#connection)
      this.#idsEnd = twice(this.#idsEnd)
    }
    for (const id of ids) {
      if (this.#idCount === this.#ids.length) {
        const longer = new BigUint64Array(2 * this.#ids.length)
        longer.set(this.#ids)
        this.#ids = longer
      }
      this.#ids[this.#idCount++] = id
    }
    this.#sentUs[at] = sentUs
    this.#receivedUs[at] = receivedUs
    this.#connection[at] = connection
    this.#idsEnd[at] = this.#idCount
  }

  /** A reply by its place; negative: from the end. */
  at(index: number): Acknowledged | undefined {
    const at = index < 0 ? this.#length + index : index
    if (at < 0 || at >= this.#length) return undefined
    const first = at === 0 ? 0 : this.#idsEnd[at - 1]!
    return {
      ids: [...this.#ids.subarray(first, this.#idsEnd[at]!)],
      sentUs: this.#sentUs[at]!,
      receivedUs: this.#receivedUs[at]!,
      connection: this.#connection[at]!,
    }
  }

  [Symbol.iterator](): Generator<Acknowledged> {
    return this.since(0)
  }

  /** All from a place on. */
  *since(index: number): Generator<Acknowledged> {
    for (let at = index; at < this.#length; at++) yield this.at(at)!
  }

  /** All ids, the lowest first. */
  sortedIds(): BigUint64Array {
    return this.#ids.slice(0, this.#idCount).sort()
  }
}

function twice(column: Float64Array): Float64Array<ArrayBuffer> {
  const longer = new Float64Array(2 * column.length)
  longer.set(column)
  return longer
}
