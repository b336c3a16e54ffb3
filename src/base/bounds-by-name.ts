/**
 * A map of names to bounds for as many names as a process has ever used: some 40 bytes each, where a `Map` of strings and bigints
 * takes 130. Names are only added.
 *
 * Invariants
 *  1. A name has at most one index. Its bytes lie in `#bytes` between the end of the name before and its own.
 *  2. No free slot lies between the slot where a name belongs and the one that has its index.
 *  3. A bound that no double holds is in `#others`, and so is one whose name has no bytes of its own.
 *  4. The key of the hash is secret: clients cannot choose names that share slots.
 */
import { secretBytes } from './clock.ts'
import { keyedHash } from './keyed-hash.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
/** Instead of a bound that no double holds. */
const elsewhere = -1

/** Bounds, none of them negative. */
export class BoundsByName {
  readonly #key = new Int32Array(secretBytes(8).buffer)
  #bytes = new Uint8Array(4096)
  #view = new DataView(this.#bytes.buffer)
  /** Where each name ends; they take less than 4 GB. */
  #ends = new Uint32Array(64)
  #bounds = new Float64Array(64)
  /** Indices from 1; 0: free. */
  #slots = new Int32Array(128)
  #size = 0
  readonly #others = new Map<string, bigint>()

  get(name: string): bigint | undefined {
    const index = this.#slots[this.#slotOf(this.#write(name))]! - 1
    const bound = index < 0 ? elsewhere : this.#bounds[index]!
    return bound === elsewhere ? this.#others.get(name) : BigInt(bound)
  }

  set(name: string, bound: bigint): void {
    const length = this.#write(name)
    const isDouble = length > 0 && bound <= Number.MAX_SAFE_INTEGER
    if (isDouble) this.#others.delete(name)
    else this.#others.set(name, bound)
    if (length === 0) return
    const slot = this.#slotOf(length)
    const index = this.#slots[slot] === 0 ? this.#add(slot, length) : this.#slots[slot]! - 1
    this.#bounds[index] = isDouble ? Number(bound) : elsewhere
  }

  /** All names and their bounds. */
  *[Symbol.iterator](): IterableIterator<[name: string, bound: bigint]> {
    yield* this.#others
    for (let index = 0; index < this.#size; index++) {
      const bound = this.#bounds[index]!
      if (bound === elsewhere) continue
      yield [decoder.decode(this.#bytes.subarray(this.#startOf(index), this.#ends[index]!)), BigInt(bound)]
    }
  }

  /** Writes a name behind all others. Returns how many bytes it has; 0: it has none of its own. */
  #write(name: string): number {
    const start = this.#startOf(this.#size)
    if (start + 3 * name.length > this.#bytes.length) this.#growBytes(start + 3 * name.length)
    // A lone surrogate is written as U+FFFD, which another name has.
    return name.isWellFormed() ? encoder.encodeInto(name, this.#bytes.subarray(start)).written : 0
  }

  /** The slot of the name that was just written, or the free one where it belongs. */
  #slotOf(length: number): number {
    const start = this.#startOf(this.#size)
    const mask = this.#slots.length - 1
    for (let slot = this.#hash(start, length) & mask; ; slot = (slot + 1) & mask) {
      const index = this.#slots[slot]! - 1
      if (index < 0 || this.#isAt(index, start, length)) return slot
    }
  }

  #isAt(index: number, start: number, length: number): boolean {
    const from = this.#startOf(index)
    if (this.#ends[index]! - from !== length) return false
    for (let at = 0; at < length; at++) if (this.#bytes[from + at] !== this.#bytes[start + at]) return false
    return true
  }

  /** Keeps the name that was just written. Returns its index. */
  #add(slot: number, length: number): number {
    const index = this.#size
    if (index === this.#ends.length) {
      this.#ends = copied(this.#ends, new Uint32Array(2 * index))
      this.#bounds = copied(this.#bounds, new Float64Array(2 * index))
    }
    this.#ends[index] = this.#startOf(index) + length
    this.#slots[slot] = ++this.#size
    if (3 * this.#size > 2 * this.#slots.length) this.#growSlots()
    return index
  }

  #growBytes(least: number): void {
    this.#bytes = copied(this.#bytes, new Uint8Array(Math.max(least, 2 * this.#bytes.length)))
    this.#view = new DataView(this.#bytes.buffer)
  }

  #growSlots(): void {
    const mask = 2 * this.#slots.length - 1
    this.#slots = new Int32Array(mask + 1)
    for (let index = 0; index < this.#size; index++) {
      const start = this.#startOf(index)
      let slot = this.#hash(start, this.#ends[index]! - start) & mask
      while (this.#slots[slot] !== 0) slot = (slot + 1) & mask
      this.#slots[slot] = index + 1
    }
  }

  #startOf(index: number): number {
    return index === 0 ? 0 : this.#ends[index - 1]!
  }

  #hash(start: number, length: number): number {
    return keyedHash(this.#view, start, length, this.#key[0]!, this.#key[1]!)
  }
}

function copied<Values extends Float64Array | Uint32Array | Uint8Array>(from: Values, to: Values): Values {
  to.set(from)
  return to
}
