/** Ids as they are collected, and whether one was issued twice: 8 bytes each, for tens of millions. */

/** The ids that all nodes have issued of one generator. Exact up to 2^53. */
export class IssuedIds {
  #ids = new Float64Array(1024)
  #count = 0

  /** How many there are. */
  get count(): number {
    return this.#count
  }

  /** Adds one. Throws beyond 2^53, where this could not tell neighbours apart. */
  add(id: bigint): void {
    const number = Number(id)
    if (!Number.isSafeInteger(number)) throw new Error(`${id} is too large to be compared here`)
    if (this.#count === this.#ids.length) {
      const larger = new Float64Array(this.#ids.length * 2)
      larger.set(this.#ids)
      this.#ids = larger
    }
    this.#ids[this.#count++] = number
  }

  /** The first id that is there twice; undefined: none is. */
  repeated(): number | undefined {
    const sorted = this.sorted()
    const at = sorted.findIndex((id, index) => index > 0 && id === sorted[index - 1])
    return at < 0 ? undefined : sorted[at]
  }

  /** All of them, in increasing order. */
  sorted(): Float64Array {
    return this.#ids.slice(0, this.#count).sort()
  }
}
