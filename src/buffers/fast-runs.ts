/**
 * What can be issued at once: of each buffer the next few ids, without any check of the buffer itself, since no caller
 * waits and no refill is due. One table for the generators of all kinds in a process, as rows of a typed array: an id
 * costs one cache line, and an end of the right to issue costs one write for all rows that it concerns.
 *
 * A buffer fills its row, and takes the rest back before it reads or changes anything. A row has a gate, the word of the
 * right under which its ids are issued: a shard's leadership, the ownership of the store, or none. A row has room for the name
 * whose ids it holds (catalogue/name-table.ts), so that who finds the name has found the ids.
 *
 * Invariants
 *  1. An id is taken from a row only while the row's gate is open.
 *  2. Taking writes the row's `lo` alone, so what was taken is known at any time.
 *  3. A row belongs to one `FastRun` from `add` to `free`. A row that was freed has another generation, so that what was
 *     remembered by its number is recognized as outdated; and its run has the empty row from then on, so that a late `take`
 *     finds no ids and not those of the row's next owner.
 *  4. A row that was freed holds no ids, and has no other owner before its name has left it.
 *  5. Gate 0 is always open. A gate that has ended stays closed, and goes to another right only once no row has it.
 *  6. Row 0 holds no ids, ever.
 *  7. The low half of the next id fits into its word, also behind the last id of a row: ids that would carry are left out.
 */
import { assert } from '../base/assert.ts'
import { type Run, safeHi, two32 } from '../ids/run.ts'

/** How many words of 32 bits a row has: a line of a processor's cache. */
export const rowWords = 16

/** Where the low half of the next id lies in a row, unsigned. */
export const rowLo = 0
/** Where the low half behind the last id lies, unsigned: when it is that of the next one, no id is left. */
export const rowEndLo = 1
/** Where the high half of all ids lies. */
export const rowHi = 2
/** Where the distance from one id to the next lies, at least 1. */
export const rowStride = 3
/** Where the number of the gate lies. */
export const rowGate = 4
/** Where the bits of `owned` and the next ones lie, and above them the generation, which changes when the row is freed. */
const rowState = 5
/** From here on the words of a row are free for the table of names. */
export const rowName = 6
/** From here on they are free for the owner of the row, if it keeps something there. */
export const rowOwn = 13

/** Set while a row has an owner. */
const owned = 1
/** Set while a row has a name. */
const named = 2
/** Set while the words from `rowOwn` on are those of the owner. */
const kept = 4
const generationShift = 3

/** The gate of ids that are issued under no right that can end. */
export const openGate = 0

/** V8 loads what another module exports or may import anew on each use: the way of an id has constants of its own. */
const width = rowWords
const loAt = rowLo
const endAt = rowEndLo
const hiAt = rowHi
const strideAt = rowStride
const gateAt = rowGate
const upper = two32
const unsafeHi = safeHi

/** The row of what has no ids that can be issued at once. */
export const emptyRow = 0

/** The largest low half, and the largest stride. */
const loMax = 2 ** 32 - 1
const strideMax = 2 ** 31 - 1

/** More than a process has rows. */
const endedGate = 2 ** 40

/** The rows of one process. `words` and `gates` are replaced by larger ones as the table grows. */
export class FastRuns {
  words: Int32Array
  /** Of each gate 1 while it is open, otherwise 0. */
  gates = new Int32Array(8)
  /** How many gates are closed: while none is, a row's own gate need not be read. */
  closedGates = 0
  /** How often a row was freed: while it is the same, every row is still its owner's, and no generation need be read. */
  freed = 0
  readonly #freeRows: number[] = []
  #rows = 1
  readonly #freeGates: number[] = []
  /** Of each gate how many rows have it, and less by `endedGate` once it has ended. */
  readonly #gateRows = [0]

  /** A table with room for `rows`, the empty one among them; it grows. */
  constructor(rows = 64) {
    this.words = new Int32Array(rows * rowWords)
    this.words[rowStride] = 1
    this.gates[openGate] = 1
  }

  /** An empty row. */
  add(gate: number = openGate): FastRun {
    return new FastRun(this, this.#ownRow(gate, owned))
  }

  /** As `add`, for an owner that fills its rows itself, and keeps something in the words from `rowOwn` on. */
  addRow(gate: number): number {
    return this.#ownRow(gate, owned | kept)
  }

  /** A row for a name that has no ids: it has no owner. */
  addNamed(): number {
    return this.#emptyRow(named)
  }

  /** A name has a row, which goes to no other before `unname`. */
  name(row: number): void {
    this.words[row * rowWords + rowState]! |= named
  }

  /** The name has left the row. */
  unname(row: number): void {
    const at = row * rowWords + rowState
    this.words[at]! &= ~named
    if ((this.words[at]! & owned) === 0) this.#freeRows.push(row)
  }

  /** Whether a name has the row. */
  isNamed(row: number): boolean {
    return (this.words[row * rowWords + rowState]! & named) !== 0
  }

  /** Whether the row has an owner. */
  isOwned(row: number): boolean {
    return (this.words[row * rowWords + rowState]! & owned) !== 0
  }

  /** Whether the owner keeps something in the words from `rowOwn` on. */
  isKept(row: number): boolean {
    return (this.words[row * rowWords + rowState]! & kept) !== 0
  }

  /** How many rows there are, free ones and the empty one among them. */
  get rows(): number {
    return this.#rows
  }

  /** Frees a row, without regard to ids that are left in it. `FastRun.free` calls it. */
  free(row: number): void {
    const { words } = this
    const at = row * rowWords
    words[at + rowEndLo] = words[at + rowLo]!
    const gate = words[at + rowGate]!
    words[at + rowGate] = openGate
    this.#gateRows[gate]!--
    this.#freeGate(gate)
    words[at + rowState] = (words[at + rowState]! & ~owned) + (1 << generationShift)
    this.freed++
    if (!this.isNamed(row)) this.#freeRows.push(row)
  }

  /** Fills a row with `count` ids, or with as many of them as do not carry. Returns how many. */
  fill(row: number, hi: number, lo: number, count: number, stride: number): number {
    const { words } = this
    const at = row * width
    const most = stride > strideMax ? 0 : Math.floor((loMax - lo) / stride)
    const filled = count < most ? count : most
    words[at + loAt] = lo
    words[at + endAt] = lo + filled * stride
    words[at + hiAt] = hi
    words[at + strideAt] = stride > strideMax ? 1 : stride
    return filled
  }

  /** How many ids are left in a row. */
  count(row: number): number {
    const { words } = this
    const at = row * width
    return ((words[at + endAt]! >>> 0) - (words[at + loAt]! >>> 0)) / words[at + strideAt]!
  }

  /** The next id of a row, also of one that has none left. */
  next(row: number): number {
    const at = row * width
    return this.words[at + hiAt]! * upper + (this.words[at + loAt]! >>> 0)
  }

  /** The generation of a row. */
  generation(row: number): number {
    return this.words[row * width + rowState]! >> generationShift
  }

  /** Whether the gate of a row is open. */
  isOpen(row: number): boolean {
    return this.gates[this.words[row * width + gateAt]!] === 1
  }

  /** Takes exactly `count` ids of a row into `run`, or none: 0. */
  take(row: number, count: number, run: Run): number {
    const { words } = this
    const at = row * width
    const lo = words[at + loAt]! >>> 0
    const stride = words[at + strideAt]!
    const next = lo + count * stride
    if (next > words[at + endAt]! >>> 0 || (this.closedGates > 0 && !this.isOpen(row))) return 0
    words[at + loAt] = next
    run.hi = words[at + hiAt]!
    run.lo = lo
    run.count = count
    run.stride = stride
    return count
  }

  /** Takes one id of a row as a number; −1, and takes none, when there is none or the id is past 2^53−1. */
  takeNumber(row: number): number {
    const { words } = this
    const at = row * width
    const lo = words[at + loAt]! >>> 0
    const hi = words[at + hiAt]!
    if (lo >= words[at + endAt]! >>> 0 || hi >= unsafeHi) return -1
    if (this.closedGates > 0 && !this.isOpen(row)) return -1
    words[at + loAt] = lo + words[at + strideAt]!
    return hi * upper + lo
  }

  /** A gate that is open. */
  addGate(): number {
    const gate = this.#freeGates.pop() ?? this.#newGate()
    this.#gateRows[gate] = 0
    this.gates[gate] = 1
    return gate
  }

  /** Opens or closes a gate, for all rows at once. */
  setGate(gate: number, isOpen: boolean): void {
    assert(gate !== openGate, 'the gate of unlimited rights stays open')
    this.closedGates += this.gates[gate]! - Number(isOpen)
    this.gates[gate] = Number(isOpen)
  }

  /** Closes a gate for good. Rows that have it are freed later, and none is added. */
  endGate(gate: number): void {
    this.setGate(gate, false)
    this.#gateRows[gate]! -= endedGate
    this.#freeGate(gate)
  }

  #freeGate(gate: number): void {
    if (this.#gateRows[gate] !== -endedGate) return
    this.setGate(gate, true)
    this.#freeGates.push(gate)
  }

  #ownRow(gate: number, bits: number): number {
    const row = this.#emptyRow(bits)
    this.words[row * rowWords + rowGate] = gate
    this.#gateRows[gate]!++
    return row
  }

  #emptyRow(bits: number): number {
    const row = this.#freeRows.pop() ?? this.#newRow()
    const at = row * rowWords + rowState
    this.words[at] = (this.words[at]! & -(1 << generationShift)) | bits
    return row
  }

  #newRow(): number {
    if (this.#rows * rowWords === this.words.length) {
      const larger = new Int32Array(this.words.length * 2)
      larger.set(this.words)
      this.words = larger
    }
    this.words[this.#rows * rowWords + rowStride] = 1
    return this.#rows++
  }

  #newGate(): number {
    const gate = this.#gateRows.push(0) - 1
    if (gate === this.gates.length) {
      const larger = new Int32Array(this.gates.length * 2)
      larger.set(this.gates)
      this.gates = larger
    }
    return gate
  }
}

/** A row: a few ids, one `stride` apart, whose low half does not overflow. */
export class FastRun {
  readonly #table: FastRuns
  #row: number
  /** How many ids it was filled with. */
  #filled = 0

  /** By default a row of a table of its own, for a generator outside a server. A server's table makes its runs: `add`. */
  constructor(table: FastRuns = new FastRuns(2), row = emptyRow + 1) {
    this.#table = table
    this.#row = row
    this.fill(0, 0, 0, 1)
  }

  /** Its row, `emptyRow` once it has been freed. */
  get row(): number {
    return this.#row
  }

  /** The high half of its ids. */
  get hi(): number {
    return this.#table.words[this.#row * rowWords + rowHi]!
  }

  /** How many ids are left. */
  get count(): number {
    return this.#table.count(this.#row)
  }

  /** How many of its ids have been taken. */
  get taken(): number {
    return this.#filled - this.count
  }

  /** Gives its row away with what is in it: it has none from now on. Returns the row. */
  leave(): number {
    const row = this.#row
    this.#row = emptyRow
    this.#filled = 0
    return row
  }

  /** Fills it with `count` ids, or with as many of them as do not carry. */
  fill(hi: number, lo: number, count: number, stride: number): void {
    assert(count === 0 || this.#row !== emptyRow, 'a run that was freed gets no ids')
    this.#filled = this.#table.fill(this.#row, hi, lo, count, stride)
  }

  /** Takes exactly `count` ids into `run`, or none: 0. */
  take(count: number, run: Run): number {
    return this.#table.take(this.#row, count, run)
  }

  /** Takes one id as a number; −1, and takes none, when there is none or the id is past 2^53−1. */
  takeNumber(): number {
    return this.#table.takeNumber(this.#row)
  }

  /** Empties it; returns how many of its ids had been taken. */
  recall(): number {
    const { taken } = this
    this.fill(0, 0, 0, 1)
    return taken
  }

  /** Frees its row. Its ids have been taken back: what is left is dropped. It gives no ids afterwards. */
  free(): void {
    if (this.#row === emptyRow) return
    this.#table.free(this.#row)
    this.#row = emptyRow
    this.#filled = 0
  }
}

/** Has the empty row: of buffers whose ids do not leave as they are. */
export const noFastRun = new FastRun(undefined, emptyRow)
