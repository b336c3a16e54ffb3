/**
 * When the bytes arrived that a connection has not carried out yet. Bytes that come while it is behind are one group with
 * the time of the first of them, until the group before has been carried out. So a time is never too late, however many
 * chunks wait.
 */
export class Arrivals {
  /** When the oldest group arrived, in monotonic µs. */
  oldestUs = 0
  /** Bytes up to the end of the oldest group, and all bytes. */
  #oldestEnd = 0
  #received = 0
  /** When the group behind the oldest one arrived, if there is one. */
  #nextUs = 0

  /** Bytes have arrived. `isBehind`: requests before them wait. */
  add(nowUs: number, bytes: number, isBehind: boolean): void {
    if (isBehind && this.#received === this.#oldestEnd) this.#nextUs = nowUs
    this.#received += bytes
    if (isBehind) return
    this.oldestUs = nowUs
    this.#oldestEnd = this.#received
  }

  /** All bytes but the last `pendingBytes` have been carried out. */
  carriedOut(pendingBytes: number): void {
    if (this.#received === this.#oldestEnd || this.#received - pendingBytes < this.#oldestEnd) return
    this.oldestUs = this.#nextUs
    this.#oldestEnd = this.#received
  }
}
