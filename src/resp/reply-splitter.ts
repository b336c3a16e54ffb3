/**
 * Splits a stream of replies, in RESP2 or RESP3, into whole ones without decoding them.
 *
 * Invariants
 *  1. The same bytes give the same replies, however they are cut into chunks.
 *  2. Bytes that are not a reply make it throw, once they have arrived.
 */

/** Types whose line holds the number of bytes that follow. */
const bulk = new Set(['$', '=', '!'])
/** Types whose line holds a number of items, with the number of replies in an item: 2 for a map. */
const aggregates: Readonly<Record<string, number>> = { '*': 1, '~': 1, '>': 1, '%': 2 }
const lines = new Set(['+', '-', ':', '(', '_', '#', ','])

const nothing = Buffer.alloc(0)

/** The replies of one connection. */
export class ReplySplitter {
  #bytes: Buffer = nothing
  /** How many bytes of the current reply have been read, and how many replies it still lacks. */
  #at = 0
  #missing = 1

  /** Takes bytes, and returns the replies that are complete. */
  push(chunk: Buffer): Buffer[] {
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk])
    const replies: Buffer[] = []
    while (this.#readLine()) {
      if (this.#missing > 0) continue
      replies.push(this.#bytes.subarray(0, this.#at))
      this.#bytes = this.#bytes.subarray(this.#at)
      this.#at = 0
      this.#missing = 1
    }
    return replies
  }

  /** Reads one line, with the bytes that belong to it. False if they have not arrived. */
  #readLine(): boolean {
    const lineEnd = this.#bytes.indexOf('\r\n', this.#at)
    if (lineEnd < 0) return false
    const type = String.fromCharCode(this.#bytes[this.#at]!)
    let end = lineEnd + 2
    let items = 0
    if (!lines.has(type)) {
      const count = Number(this.#bytes.toString('latin1', this.#at + 1, lineEnd))
      const each = aggregates[type]
      if (!Number.isSafeInteger(count) || count < -1 || (each === undefined && !bulk.has(type))) {
        throw new Error(`no reply starts with '${this.#bytes.toString('latin1', this.#at, this.#at + 20)}'`)
      }
      if (each !== undefined) items = Math.max(count, 0) * each
      else if (count >= 0) end += count + 2
    }
    if (this.#bytes.length < end) return false
    this.#at = end
    this.#missing += items - 1
    return true
  }
}
