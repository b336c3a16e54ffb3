/** A map of bounded size, which forgets the entry that was used least recently. */
export class LruMap<Value> {
  readonly #sizeMax: number
  readonly #entries = new Map<string, Value>()

  /** @param sizeMax how many entries are kept. */
  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax
  }

  /** How many entries there are. */
  get size(): number {
    return this.#entries.size
  }

  /** The value of a key, which becomes the newest. */
  get(key: string): Value | undefined {
    const value = this.#entries.get(key)
    if (value !== undefined) this.set(key, value)
    return value
  }

  /** Sets the value of a key, which becomes the newest. */
  set(key: string, value: Value): void {
    this.#entries.delete(key)
    this.#entries.set(key, value)
    if (this.#entries.size <= this.#sizeMax) return
    const [oldest] = this.#entries.keys()
    this.#entries.delete(oldest!)
  }

  /** Removes a key. */
  delete(key: string): void {
    this.#entries.delete(key)
  }
}
