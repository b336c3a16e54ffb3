/**
 * Values by keys. Those that were used last are kept: the young ones, and those of the generation before.
 *
 * Invariants
 *  1. The values of a generation have together a size of at most `sizeMax` and one value more.
 *  2. A value that is used stays while less than `sizeMax` is added.
 */
export class Generations<Key, Value> {
  #young = new Map<Key, Value>()
  #youngSize = 0
  #old: ReadonlyMap<Key, Value> = new Map()
  readonly #sizeMax: number
  readonly #sizeOf: (value: Value, key: Key) => number

  constructor(sizeMax: number, sizeOf: (value: Value, key: Key) => number = () => 1) {
    this.#sizeMax = sizeMax
    this.#sizeOf = sizeOf
  }

  /** The value of a key. */
  get(key: Key): Value | undefined {
    const found = this.#young.get(key)
    if (found !== undefined) return found
    const aged = this.#old.get(key)
    if (aged !== undefined) this.add(key, aged)
    return aged
  }

  /** Adds a value. A full young generation becomes the old one; what was only in the old one before is removed. */
  add(key: Key, value: Value): void {
    if (this.#youngSize >= this.#sizeMax) {
      this.#old = this.#young
      this.#young = new Map()
      this.#youngSize = 0
    }
    this.#young.set(key, value)
    this.#youngSize += this.#sizeOf(value, key)
  }
}
