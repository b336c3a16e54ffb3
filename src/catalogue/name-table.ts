/**
 * The generators that are open in this process, found by the bytes of their names where these arrived, or by a string. Of
 * each it also holds where its ids are that can be issued at once (buffers/fast-runs.ts), and what a transport has found out
 * about its name: so a request is answered without an object, a string or a look at the generator. An entry may have no object
 * at all: one is made when more is asked of it than its row can answer.
 *
 * A look-up reads three lines of a processor's cache: a slot, the entry, and the row of ids. Slots are found by open addressing;
 * where an entry belongs follows from the highest bits of its hash, so the entries of a table of twice the size stand in the same
 * order, and growing reads and writes memory from one end to the other. Names are in blocks of one size, so the block of a
 * name that leaves serves any other name.
 *
 * Invariants
 *  1. A name has at most one entry, and an entry with a name is in one slot.
 *  2. No free slot lies between the slot where an entry belongs and the one that it is in.
 *  3. What was noted in an entry ends with its name: the entry of another name begins with zeros.
 *  4. An entry tells the row of its generator with the generation of the row. A row with another generation is not its own.
 *  5. The key of the hash is secret: clients cannot choose names that share slots.
 *  6. An entry may have a row and no generator. If the generator is at rest, one is made at the next look-up, and the entry has
 *     it from then on. Otherwise `wake` makes one for each look-up, which keeps nothing that the row does not tell.
 */
import { assert } from '../base/assert.ts'
import { secretBytes } from '../base/clock.ts'
import { keyedHash, restAt } from '../base/keyed-hash.ts'
import type { FastRuns } from '../buffers/fast-runs.ts'
import type { Generator } from './catalogue.ts'
import { nameBytesMax } from './name-rules.ts'

/** What the table holds of a generator. */
export type NamedGenerator = Pick<Generator, 'name' | 'row' | 'contiguous' | 'definition'>

/** Makes generators of those at rest. */
export type Waker<Named> = {
  /** The generator of this row, which is not at rest any more when this returns. */
  wake(name: string, row: number): Named
}

/** How many words of 32 bits a block has: a line of a processor's cache. */
export const entryWords = 16
/** Where in an entry the row of its generator lies. */
export const entryRow = 1
/** Where the generation of that row lies. */
export const entryGeneration = 2
/** Where the number of the bytes of the name lies, and above it the bits of `contiguousBit` and `formatBit`. */
export const entryLength = 3
/** Where a transport notes whose permissions reach the name. */
export const entryReached = 4
/** Where a transport notes which quotas count the name. */
export const entryMetered = 5

/** Set if the ids increase by 1 and are issued in counting order. */
export const contiguousBit = 1 << 16
/** Set if the ids have a format. */
export const formatBit = 1 << 17

/** Where the next block of a long name lies, or the next free block. */
const link = 0
/** Where the name begins: in the entry, and in each block after it. */
const nameInEntry = 6
const nameInBlock = 1
const lengthMask = 0xffff

/** Slots are pairs of a hash and an entry; entry 0: the slot is free. */
const slotsMin = 64

const encoder = new TextEncoder()
// A name may begin with U+FEFF.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
/** A name of a caller that has a string. */
const scratch = new Uint8Array(nameBytesMax)
const scratchView = new DataView(scratch.buffer)

/** Generators by name. */
export class NameTable<Named extends NamedGenerator> {
  readonly runs: FastRuns
  /** The entries, `entryWords` each; replaced by a larger one as the table grows. Entry 0 is none. */
  blocks = new Int32Array(64 * entryWords)
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
  readonly #generators: (Named | undefined)[] = [undefined]
  /** Of each entry whether its generator is at rest. */
  #resting = new Uint8Array(64)
  #size = 0
  #blockCount = 1
  #freeBlock = 0

  /** @param key of the hash, 8 bytes; by default random. */
  constructor(runs: FastRuns, key: Uint8Array = secretBytes(8)) {
    const view = new DataView(key.buffer, key.byteOffset, key.byteLength)
    this.runs = runs
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
    const length = write(name)
    return length === 0 ? 0 : this.entryOf(scratchView, 0, length)
  }

  /** The entry of the name that has `length` bytes of `view` from `start` on; 0: there is none. */
  entryOf(view: DataView, start: number, length: number): number {
    const hash = keyedHash(view, start, length, this.#key0, this.#key1)
    const slots = this.#slots
    const mask = slots.length - 1
    for (let slot = (hash >>> this.#shift) << 1; ; slot = (slot + 2) & mask) {
      const entry = slots[slot + 1]!
      if (entry === 0 || (slots[slot] === hash && this.#isNamed(entry, view, start, length))) return entry
    }
  }

  /** The generator of an entry. Wakes one at rest. */
  at(entry: number): Named | undefined {
    return this.ownAt(entry) ?? (entry === 0 ? undefined : this.wake!(entry))
  }

  /** As `at`, also for an entry that may have left; undefined: it has left, or keeps no generator. */
  ownAt(entry: number): Named | undefined {
    if (this.#resting[entry] !== 1) return this.#generators[entry]
    this.#resting[entry] = 0
    const woken = this.waker!.wake(this.nameOf(entry), this.rowOf(entry))
    this.#generators[entry] = woken
    return woken
  }

  /** The generator of an entry, unless it has none. */
  awakeAt(entry: number): Named | undefined {
    return this.#generators[entry]
  }

  /** Whether the generator of an entry is at rest. */
  isAtRest(entry: number): boolean {
    return this.#resting[entry] === 1
  }

  /** The row of an entry, which is its own as long as it has the generation of the entry. */
  rowOf(entry: number): number {
    return this.blocks[entry * entryWords + entryRow]!
  }

  /** The name of an entry. */
  nameOf(entry: number): string {
    return decoder.decode(scratch.subarray(0, this.#read(entry)))
  }

  /** Entries are below this one. */
  get end(): number {
    return this.#blockCount
  }

  /**
   * The entries of all generators, at rest or not, but not those for which `wake` makes them. One that is added or leaves meanwhile
   * is met at most once more.
   */
  *entries(): IterableIterator<number> {
    for (let entry = 1; entry < this.#blockCount; entry++)
      if (this.#resting[entry] === 1 || this.#generators[entry] !== undefined) yield entry
  }

  /** All generators that there are: as `entries`, without those at rest. */
  *awake(): IterableIterator<Named> {
    for (let entry = 1; entry < this.#generators.length; entry++) {
      const generator = this.#generators[entry]
      if (generator !== undefined) yield generator
    }
  }

  /** Adds a generator under this name, its own, or puts it in the place of the one that is there. */
  set(name: string, generator: Named): void {
    const { contiguous, definition, row } = generator
    const bits = (contiguous ? contiguousBit : 0) | (definition.format === undefined ? 0 : formatBit)
    const entry = this.#set(name, row, bits)
    this.#generators[entry] = generator
  }

  /** Adds a name that has a row and no generator. `bits`: those beside the length. Returns its entry. */
  addRow(name: string, row: number, bits: number): number {
    const entry = this.#set(name, row, bits)
    this.#generators[entry] = undefined
    return entry
  }

  /** Puts the generator of an entry to rest: the entry keeps the row alone. */
  rest(entry: number): void {
    this.#generators[entry] = undefined
    this.#resting[entry] = 1
  }

  /** Removes the generator of this name. Returns whether there was one. */
  delete(name: string): boolean {
    const entry = this.entryNamed(name)
    if (entry !== 0) this.remove(entry)
    return entry !== 0
  }

  /** Removes an entry, which has a name. */
  remove(entry: number): void {
    const hash = keyedHash(scratchView, 0, this.#read(entry), this.#key0, this.#key1)
    this.#emptySlot(this.#slotOf(entry, hash))
    this.#generators[entry] = undefined
    this.#resting[entry] = 0
    this.#size--
    for (let block = entry; block !== 0; ) {
      const next = this.blocks[block * entryWords + link]!
      this.blocks[block * entryWords + link] = this.#freeBlock
      this.#freeBlock = block
      block = next
    }
    const slots = this.#slots.length / 2
    if (slots > slotsMin && this.#size < slots / 8) this.#resize(slots / 2)
  }

  /** How many slots a look-up of this name reads. For tests. */
  probes(name: string): number {
    const length = write(name)
    const hash = keyedHash(scratchView, 0, length, this.#key0, this.#key1)
    const slot = this.#slotOf(this.entryOf(scratchView, 0, length), hash)
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

  #set(name: string, row: number, bits: number): number {
    const length = write(name)
    assert(length > 0, 'a generator has a name of 1 to 256 bytes')
    const entry = this.entryOf(scratchView, 0, length) || this.#add(length)
    const at = entry * entryWords
    this.blocks[at + entryRow] = row
    this.blocks[at + entryGeneration] = this.runs.generation(row)
    this.blocks[at + entryLength] = length | bits
    this.#resting[entry] = 0
    return entry
  }

  /** Copies the name of an entry to `scratch`; returns how many bytes it has. */
  #read(entry: number): number {
    const { blocks } = this
    let block = entry * entryWords
    const length = blocks[block + entryLength]! & lengthMask
    let at = block + nameInEntry
    for (let to = 0; to < length; to += 4) {
      if (at === block + entryWords) {
        block = blocks[block + link]! * entryWords
        at = block + nameInBlock
      }
      scratchView.setInt32(to, blocks[at++]!, true)
    }
    return length
  }

  #isNamed(entry: number, view: DataView, start: number, length: number): boolean {
    const { blocks } = this
    let block = entry * entryWords
    if ((blocks[block + entryLength]! & lengthMask) !== length) return false
    let at = block + nameInEntry
    const end = start + length
    for (let from = start; from < end; from += 4) {
      if (at === block + entryWords) {
        block = blocks[block + link]! * entryWords
        at = block + nameInBlock
      }
      const left = end - from
      if (blocks[at++] !== (left >= 4 ? view.getInt32(from, true) : restAt(view, from, left))) return false
    }
    return true
  }

  /** A new entry for the name in `scratch`, in a slot. */
  #add(length: number): number {
    const slots = this.#slots.length / 2
    if (3 * (this.#size + 1) > 2 * slots) this.#resize(2 * slots)
    const entry = this.#newBlock()
    let block = entry
    let at = block * entryWords + nameInEntry
    for (let from = 0; from < length; from += 4) {
      if (at === (block + 1) * entryWords) {
        const next = this.#newBlock()
        this.blocks[block * entryWords + link] = next
        block = next
        at = block * entryWords + nameInBlock
      }
      const left = length - from
      this.blocks[at++] = left >= 4 ? scratchView.getInt32(from, true) : restAt(scratchView, from, left)
    }
    this.#fillSlot(keyedHash(scratchView, 0, length, this.#key0, this.#key1), entry)
    this.#size++
    return entry
  }

  #newBlock(): number {
    const free = this.#freeBlock
    if (free !== 0) {
      const at = free * entryWords
      this.#freeBlock = this.blocks[at + link]!
      this.blocks.fill(0, at, at + entryWords)
      return free
    }
    if (this.#blockCount * entryWords === this.blocks.length) {
      const larger = new Int32Array(this.blocks.length * 2)
      larger.set(this.blocks)
      this.blocks = larger
      const resting = new Uint8Array(this.#resting.length * 2)
      resting.set(this.#resting)
      this.#resting = resting
    }
    return this.#blockCount++
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

/** Writes a name into `scratch`; returns how many bytes it has, 0 if no generator can have it. */
function write(name: string): number {
  const { length } = name
  if (length > nameBytesMax) return 0
  for (let index = 0; index < length; index++) {
    const unit = name.charCodeAt(index)
    if (unit >= 0x80) return writeUnicode(name)
    scratch[index] = unit
  }
  return length
}

function writeUnicode(name: string): number {
  const { read, written } = encoder.encodeInto(name, scratch)
  // A lone surrogate is written as U+FFFD, which another name has.
  return read === name.length && name.isWellFormed() ? written : 0
}
