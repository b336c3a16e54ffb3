/**
 * Records in byte order of their keys.
 *
 * Invariants
 *  1. The keys are sorted, each once, and are those of the map.
 */
import { compareBytes } from '../../base/byte-order.ts'
import type { StoredRecord } from '../engine.ts'

/** Records by key. A page of them costs as much as it has records, however many there are. */
export class SortedRecords extends Map<string, StoredRecord> {
  readonly #keys: string[] = []

  override set(key: string, record: StoredRecord): this {
    if (!this.has(key)) this.#keys.splice(this.#from(key), 0, key)
    return super.set(key, record)
  }

  override delete(key: string): boolean {
    if (!super.delete(key)) return false
    this.#keys.splice(this.#from(key), 1)
    return true
  }

  override clear(): void {
    super.clear()
    this.#keys.length = 0
  }

  /** The records whose keys begin with `prefix`, behind `after`, at most `limit`. */
  page(prefix: string, after: string, limit = Number.POSITIVE_INFINITY): StoredRecord[] {
    const found: StoredRecord[] = []
    const isBehind = after !== '' && compareBytes(after, prefix) >= 0
    for (
      let at = this.#from(isBehind ? after : prefix);
      at < this.#keys.length && found.length < limit;
      at++
    ) {
      const key = this.#keys[at]!
      if (!key.startsWith(prefix)) break
      if (!isBehind || key !== after) found.push(this.get(key)!)
    }
    return found
  }

  /** The index of the first key that is not before `key`. */
  #from(key: string): number {
    let low = 0
    let high = this.#keys.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (compareBytes(this.#keys[middle]!, key) < 0) low = middle + 1
      else high = middle
    }
    return low
  }
}
