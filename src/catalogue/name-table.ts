/**
 * The generators that are open in this process, found by the bytes of their names where these arrived, or by a string. The name
 * of one is in its row of buffers/fast-runs.ts, beside the ids that can be issued at once, and beside what a transport has found
 * out about the name: so a request is answered without an object, a string or a look at the generator. An entry is such a
 * row. It may have no object at all: one is made when more is asked of it than its row can answer.
 *
 * A look-up reads two lines of a processor's cache: a slot and the row, and one more for a name of more than 28 bytes.
 * Slots are found by open addressing; where an entry belongs follows from the highest bits of its hash, so the entries of a table
 * of twice the size stand in the same order, and growing reads and writes memory from one end to the other.
 *
 * Invariants
 *  1. A name has at most one entry, and an entry with a name is in one slot.
 *  2. No free slot lies between the slot where an entry belongs and the one that it is in.
 *  3. What was noted in an entry ends with its name: the entry of another name begins with zeros.
 *  4. The entry of a generator that has a row is that row; otherwise it is a row without ids, which no generator owns. So who
 *     finds a name finds no ids of another one.
 *  5. The key of the hash is secret: clients cannot choose names that share slots.
 *  6. An entry may have ids and no generator. If the generator is at rest, one is made at the next look-up, and the entry has
 *     it from then on. Otherwise `wake` makes one for each look-up, which keeps nothing that the row does not tell.
 */
import { assert } from '../base/assert.ts'
import { secretBytes } from '../base/clock.ts'
import { keyedHash } from '../base/keyed-hash.ts'
import { emptyRow, type FastRuns, rowWords } from '../buffers/fast-runs.ts'
import type { Generator } from './catalogue.ts'
import {
  contiguousBit,
  entryLength,
  formatBit,
  NameBytes,
  nameView,
  putName,
  restingBit,
} from './name-bytes.ts'

/** What the table holds of a generator. */
export type NamedGenerator = Pick<Generator, 'name' | 'row' | 'contiguous' | 'definition'>

/** Makes generators of those at rest. */
export type Waker<Named> = {
  /** The generator of this row, which is not at rest any more when this returns. */
  wake(name: string, row: number): Named
  /** Has the row of an entry at rest hold what can be issued without waking. Returns whether it holds more ids than before. */
  extend(entry: number): boolean
}

/** Slots are pairs of a hash and an entry; entry 0: the slot is free. */
const slotsMin = 64

/** How the number of an entry becomes that of a page and a place in it. */
const pageShift = 10
const pageMask = 2 ** pageShift - 1

/** Generators by name. */
export class NameTable<Named extends NamedGenerator> {
  readonly runs: FastRuns
  /** Makes generators of those at rest. */
  waker: Waker<Named> | undefined
  /** Makes a generator for an entry that has none and is not at rest. */
  wake: ((entry: number) => Named) | undefined
  /** Adds a name that needs no opening, without asking the engine, and returns its entry; 0: it cannot. */
  enter: (name: string) => number = () => 0
  readonly #key0: number
  readonly #key1: number
  #slots = new Int32Array(2 * slotsMin)
  /** The highest bits of a hash that tell its slot are those above. */
  #shift = 32 - Math.log2(slotsMin)
  readonly #generators = new Pages<Named>()
  readonly #bytes: NameBytes
  /** How many entries have a generator. */
  awakeCount = 0
  #size = 0

  /** @param key of the hash, 8 bytes; by default random. */
  constructor(runs: FastRuns, key: Uint8Array = secretBytes(8)) {
    const view = new DataView(key.buffer, key.byteOffset, key.byteLength)
    this.runs = runs
    this.#bytes = new NameBytes(runs)
    this.#key0 = view.getInt32(0, true)
    this.#key1 = view.getInt32(4, true)
  }

  /** How many names there are. */
  get size(): number {
    return this.#size
  }

  /** The generator of this name. */
  get(name: string): Named | undefined {
    return this.at(this.entryNamed(name))
  }

  /** The entry of this name; 0: there is none. */
  entryNamed(name: string): number {
    const length = putName(name)
    return length === 0 ? 0 : this.entryOf(nameView, 0, length)
  }

  /** The entry of the name that has `length` bytes of `view` from `start` on; 0: there is none. */
  entryOf(view: DataView, start: number, length: number): number {
    const hash = keyedHash(view, start, length, this.#key0, this.#key1)
    const slots = this.#slots
    const mask = slots.length - 1
    for (let slot = (hash >>> this.#shift) << 1; ; slot = (slot + 2) & mask) {
      const entry = slots[slot + 1]!
      if (entry === 0 || (slots[slot] === hash && this.#bytes.isNamed(entry, view, start, length)))
        return entry
    }
  }

  /** The generator of an entry. Wakes one at rest. */
  at(entry: number): Named | undefined {
    return this.ownAt(entry) ?? (entry === 0 ? undefined : this.wake!(entry))
  }

  /** As `at`, also for an entry that may have left; undefined: it has left, or keeps no generator. */
  ownAt(entry: number): Named | undefined {
    if (!this.isAtRest(entry)) return this.#generators.get(entry)
    this.runs.words[entry * rowWords + entryLength]! &= ~restingBit
    const woken = this.waker!.wake(this.nameOf(entry), entry)
    this.#put(entry, woken)
    return woken
  }

  /** Whether the generator of an entry is at rest and its row holds more ids than before. */
  extend(entry: number): boolean {
    return this.isAtRest(entry) && this.waker!.extend(entry)
  }

  /** The generator of an entry, unless it has none. */
  awakeAt(entry: number): Named | undefined {
    return this.#generators.get(entry)
  }

  /** Whether the generator of an entry is at rest. */
  isAtRest(entry: number): boolean {
    return (this.runs.words[entry * rowWords + entryLength]! & restingBit) !== 0
  }

  /** The name of an entry. */
  nameOf(entry: number): string {
    return this.#bytes.nameOf(entry)
  }

  /** Entries are below this one. */
  get end(): number {
    return this.runs.rows
  }

  /**
   * The entries of all generators, at rest or not, but not those for which `wake` makes them. One that is added or leaves meanwhile
   * is met at most once more.
   */
  *entries(): IterableIterator<number> {
    for (let entry = 1; entry < this.end; entry++)
      if (this.#generators.get(entry) !== undefined || this.isAtRest(entry)) yield entry
  }

  /** All generators that there are: as `entries`, without those at rest. */
  *awake(): IterableIterator<Named> {
    yield* this.#generators
  }

  /** Adds a generator under this name, its own, or puts it in the place of the one that is there. */
  set(name: string, generator: Named): void {
    const { contiguous, definition, row } = generator
    const bits = (contiguous ? contiguousBit : 0) | (definition.format === undefined ? 0 : formatBit)
    this.#put(this.#set(name, row, bits), generator)
  }

  /** Adds a name that has a row and no generator. `bits`: those beside the length. */
  addRow(name: string, row: number, bits: number): void {
    this.#set(name, row, bits)
  }

  /** Puts the generator of an entry to rest: the entry keeps the row alone. */
  rest(entry: number): void {
    this.#put(entry, undefined)
    this.runs.words[entry * rowWords + entryLength]! |= restingBit
  }

  /** Removes the generator of this name. Returns whether there was one. */
  delete(name: string): boolean {
    const entry = this.entryNamed(name)
    if (entry !== 0) this.remove(entry)
    return entry !== 0
  }

  /** Removes an entry, which has a name. */
  remove(entry: number): void {
    const hash = keyedHash(nameView, 0, this.#bytes.read(entry), this.#key0, this.#key1)
    this.#emptySlot(this.#slotOf(entry, hash))
    this.#size--
    this.#clear(entry)
    const slots = this.#slots.length / 2
    if (slots > slotsMin && this.#size < slots / 8) this.#resize(slots / 2)
  }

  /** How many slots a look-up of this name reads. For tests. */
  probes(name: string): number {
    const length = putName(name)
    const hash = keyedHash(nameView, 0, length, this.#key0, this.#key1)
    const slot = this.#slotOf(this.entryOf(nameView, 0, length), hash)
    return (((slot - ((hash >>> this.#shift) << 1)) & (this.#slots.length - 1)) >> 1) + 1
  }

  /** Throws where an invariant is broken. For tests: it reads all that it holds. */
  assertInvariants(): void {
    for (const entry of this.entries()) {
      const generator = this.awakeAt(entry)
      const name = this.nameOf(entry)
      assert(generator === undefined || generator.name === name, 'an entry has the name of its generator')
      assert((generator === undefined) === this.isAtRest(entry), 'what is at rest has no object')
    }
    let used = 0
    for (let slot = 0; slot < this.#slots.length; slot += 2) {
      const entry = this.#slots[slot + 1]!
      if (entry === 0) continue
      assert(this.entryNamed(this.nameOf(entry)) === entry, 'every entry is found by its name')
      used++
    }
    assert(used === this.#size, 'every entry is counted, and is in one slot')
  }

  #put(entry: number, generator: Named | undefined): void {
    this.awakeCount += Number(generator !== undefined) - Number(this.#generators.get(entry) !== undefined)
    this.#generators.set(entry, generator)
  }

  #set(name: string, row: number, bits: number): number {
    const length = putName(name)
    assert(length > 0, 'a generator has a name of 1 to 256 bytes')
    const before = this.entryOf(nameView, 0, length)
    const entry = this.#keeps(before, row) ? before : this.#add(row, length, before)
    this.#bytes.note(entry, bits)
    return entry
  }

  /** Whether a name keeps its entry when its generator has this row. */
  #keeps(entry: number, row: number): boolean {
    return entry !== 0 && (row === emptyRow ? !this.runs.isOwned(entry) : row === entry)
  }

  /** Makes a row the entry of the name in `nameView`, instead of that before if it has one. */
  #add(row: number, length: number, before: number): number {
    const entry = row === emptyRow ? this.runs.addNamed() : row
    assert(row === emptyRow || !this.runs.isNamed(row), 'a row has one name')
    const hash = keyedHash(nameView, 0, length, this.#key0, this.#key1)
    if (before !== 0) this.#slots[this.#slotOf(before, hash) + 1] = entry
    else {
      const slots = this.#slots.length / 2
      if (3 * ++this.#size > 2 * slots) this.#resize(2 * slots)
      this.#fillSlot(hash, entry)
    }
    this.#bytes.write(entry, length)
    if (before !== 0) this.#clear(before)
    this.runs.name(entry)
    return entry
  }

  /** An entry has no name any more: no slot leads to it. */
  #clear(entry: number): void {
    this.#bytes.clear(entry)
    this.#put(entry, undefined)
    this.runs.unname(entry)
  }

  #slotOf(entry: number, hash: number): number {
    const mask = this.#slots.length - 1
    let slot = (hash >>> this.#shift) << 1
    while (this.#slots[slot + 1] !== entry) slot = (slot + 2) & mask
    return slot
  }

  #fillSlot(hash: number, entry: number): void {
    const slots = this.#slots
    const mask = slots.length - 1
    let slot = (hash >>> this.#shift) << 1
    while (slots[slot + 1] !== 0) slot = (slot + 2) & mask
    slots[slot] = hash
    slots[slot + 1] = entry
  }

  /** Empties a slot, and moves into it what belongs there or before it and stands behind it. */
  #emptySlot(slot: number): void {
    const slots = this.#slots
    const mask = slots.length - 1
    let free = slot
    for (let at = (free + 2) & mask; slots[at + 1] !== 0; at = (at + 2) & mask) {
      const home = (slots[at]! >>> this.#shift) << 1
      if (((at - home) & mask) < ((at - free) & mask)) continue
      slots[free] = slots[at]!
      slots[free + 1] = slots[at + 1]!
      free = at
    }
    slots[free + 1] = 0
  }

  #resize(slots: number): void {
    const before = this.#slots
    this.#slots = new Int32Array(2 * slots)
    this.#shift = 32 - Math.log2(slots)
    for (let slot = 0; slot < before.length; slot += 2)
      if (before[slot + 1] !== 0) this.#fillSlot(before[slot]!, before[slot + 1]!)
  }
}

/** Items by the numbers of rows. Takes no memory for the numbers of parts that never had one. */
class Pages<Item> {
  readonly #pages: ((Item | undefined)[] | undefined)[] = []

  get(number: number): Item | undefined {
    const page = this.#pages[number >>> pageShift]
    return page === undefined ? undefined : page[number & pageMask]
  }

  set(number: number, item: Item | undefined): void {
    const at = number >>> pageShift
    while (at >= this.#pages.length) this.#pages.push(undefined)
    const page = this.#pages[at]
    if (page !== undefined) page[number & pageMask] = item
    else if (item !== undefined) {
      this.#pages[at] = new Array<Item | undefined>(pageMask + 1).fill(undefined)
      this.#pages[at]![number & pageMask] = item
    }
  }

  /** The items, in the order of their numbers. */
  *[Symbol.iterator](): IterableIterator<Item> {
    for (let at = 0; at < this.#pages.length; at++)
      for (const item of this.#pages[at] ?? []) if (item !== undefined) yield item
  }
}
