/**
 * Bytes that are kept until those behind them have come.
 *
 * Invariants
 *  1. A chunk that is alone is not copied. Several are in one buffer, which was made for at most twice the bytes that there
 *     were, and none of them is kept.
 *  2. Each byte is copied three times at most on average, however small the chunks are.
 */

const nothing = Buffer.alloc(0)

/** The bytes of one direction of a connection. */
export class ByteQueue {
  #bytes: Buffer = nothing
  /** What is kept is in `[#from, #to)` of `#bytes`. */
  #from = 0
  #to = 0
  /** Whether `#bytes` is a buffer of this object, with room behind `#to`. */
  #isOwn = false

  /** How many bytes are kept. */
  get length(): number {
    return this.#to - this.#from
  }

  /** How much memory the kept bytes take, in bytes. */
  get memory(): number {
    return this.#isOwn ? this.#bytes.length : this.length
  }

  /** All kept bytes, until the next call of another method. */
  get all(): Buffer {
    return this.#bytes.subarray(this.#from, this.#to)
  }

  /** Adds a chunk behind the others. */
  add(chunk: Buffer): void {
    const { length } = this
    if (length === 0) return this.#keep(chunk, chunk.length, false)
    if (!this.#isOwn || this.#bytes.length - this.#to < chunk.length) {
      const larger = Buffer.allocUnsafeSlow((length + chunk.length) * 2)
      this.#bytes.copy(larger, 0, this.#from, this.#to)
      this.#keep(larger, length, true)
    }
    chunk.copy(this.#bytes, this.#to)
    this.#to += chunk.length
  }

  /** Drops the first bytes, as many as `count`. */
  drop(count: number): void {
    this.#from += count
    if (this.length === 0) this.take()
  }

  /** Takes all kept bytes: none is left. */
  take(): Buffer {
    const { length } = this
    const all = length === this.#bytes.length ? this.#bytes : this.all
    this.#keep(nothing, 0, false)
    return all
  }

  #keep(bytes: Buffer, to: number, isOwn: boolean): void {
    this.#bytes = bytes
    this.#from = 0
    this.#to = to
    this.#isOwn = isOwn
  }
}
