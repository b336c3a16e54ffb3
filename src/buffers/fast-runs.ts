/**
 * What can be issued at once: of each buffer the next few ids, without any check of the buffer itself, since no caller
 * waits and no refill is due. One table for the generators of all kinds in a process, as rows of typed arrays: an id
 * costs one cache line, and an end of the right to issue costs one write for all rows that it concerns.
 *
 * A buffer fills its row, and takes the rest back before it reads or changes anything. A row has a gate, the word of the
 * right under which its ids are issued: a shard's leadership, the ownership of the store, or none.
 *
 * Invariants
 *  1. An id is taken from a row only while the row's gate is open.
 *  2. Taking writes the row's `lo` alone, so what was taken is known at any time.
 *  3. A row belongs to one `FastRun` from `add` to `free`. A row that was freed has another generation, so that what was
 *     remembered by its number is recognized as outdated; and its run has the empty row from then on, so that a late `take`
 *     finds no ids and not those of the row's next owner.
 *  4. Gate 0 is always open. A gate that has ended stays closed, and goes to another right only once no row has it.
 *  5. Row 0 holds no ids, ever.
 */
import { assert } from '../base/assert.ts'
import { type Run, safeHi, two32 } from '../ids/run.ts'

/** How many doubles a row has in `values`: a line of a processor's cache. */
export const rowValues = 8
/** How many 32-bit words the same row has in `words`. */
export const rowWords = 16

/** Where the low half of the next id lies in `values`, from row · rowValues on. */
export const rowLo = 0
/** Where the low half behind the last id lies: when it is that of the next one, no id is left. */
export const rowEndLo = 1
/** Where the high half of all ids lies. */
export const rowHi = 2
/** Where the distance from one id to the next lies. */
export const rowStride = 3

/** Where the number of the gate lies in `words`, from row · rowWords on. */
export const rowGate = 8
/** Where the generation lies: it changes when the row is freed. */
export const rowGeneration = 9
/** From here on the words of a row are free for the table's owner. */
export const rowOwn = 10

/** The gate of ids that are issued under no right that can end. */
export const openGate = 0

/** V8 loads what another module exports or may import anew on each use: the way of an id has constants of its own. */
const width = rowValues
const loAt = rowLo
const endAt = rowEndLo
const hiAt = rowHi
const strideAt = rowStride
const wordsWidth = rowWords
const generationAt = rowGeneration
const gateAt = rowGate
const upper = two32
const unsafeHi = safeHi

/** The row of what has no ids that can be issued at once. */
export const emptyRow = 0

/** More than a process has rows. */
const endedGate = 2 ** 40

/** The rows of one process. `values`, `words` and `gates` are replaced by larger ones as the table grows. */
export class FastRuns {
  values: Float64Array
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
    const memory = new ArrayBuffer(rows * rowValues * 8)
    this.values = new Float64Array(memory)
    this.words = new Int32Array(memory)
    this.values[rowStride] = 1
    this.gates[openGate] = 1
  }

  /** An empty row. */
  add(gate: number = openGate): FastRun {
    return new FastRun(this, this.addRow(gate))
  }

  /** As `add`, for an owner that fills its rows itself. */
  addRow(gate: number): number {
    const row = this.#freeRows.pop() ?? this.#newRow()
    this.words[row * rowWords + rowGate] = gate
    this.#gateRows[gate]!++
    return row
  }

  /** How many rows there are, free ones and the empty one among them. */
  get rows(): number {
    return this.#rows
  }

  /** Frees a row, without regard to ids that are left in it. `FastRun.free` calls it. */
  free(row: number): void {
    const at = row * rowValues
    this.values[at + rowEndLo] = this.values[at + rowLo]!
    const gate = this.words[row * rowWords + rowGate]!
    this.words[row * rowWords + rowGate] = openGate
    this.#gateRows[gate]!--
    this.#freeGate(gate)
    this.words[row * rowWords + rowGeneration]!++
    this.freed++
    this.#freeRows.push(row)
  }

  /** How many ids are left in a row. */
  count(row: number): number {
    const at = row * rowValues
    return (this.values[at + rowEndLo]! - this.values[at + rowLo]!) / this.values[at + rowStride]!
  }

  /** The next id of a row, also of one that has none left. */
  next(row: number): number {
    const at = row * rowValues
    return this.values[at + rowHi]! * two32 + this.values[at + rowLo]!
  }

  /** The generation of a row. */
  generation(row: number): number {
    return this.words[row * wordsWidth + generationAt]!
  }

  /** Whether the gate of a row is open. */
  isOpen(row: number): boolean {
    return this.gates[this.words[row * wordsWidth + gateAt]!] === 1
  }

  /** Takes exactly `count` ids of a row into `run`, or none: 0. */
  take(row: number, count: number, run: Run): number {
    const { values } = this
    const at = row * width
    const lo = values[at + loAt]!
    const stride = values[at + strideAt]!
    const next = lo + count * stride
    if (next > values[at + endAt]! || (this.closedGates > 0 && !this.isOpen(row))) return 0
    values[at + loAt] = next
    run.hi = values[at + hiAt]!
    run.lo = lo
    run.count = count
    run.stride = stride
    return count
  }

  /** Takes one id of a row as a number; −1, and takes none, when there is none or the id is past 2^53−1. */
  takeNumber(row: number): number {
    const { values } = this
    const at = row * width
    const lo = values[at + loAt]!
    const hi = values[at + hiAt]!
    if (lo >= values[at + endAt]! || hi >= unsafeHi) return -1
    if (this.closedGates > 0 && !this.isOpen(row)) return -1
    values[at + loAt] = lo + values[at + strideAt]!
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

  #newRow(): number {
    if (this.#rows * rowValues === this.values.length) {
      const larger = new ArrayBuffer(this.values.byteLength * 2)
      const values = new Float64Array(larger)
      values.set(this.values)
      this.values = values
      this.words = new Int32Array(larger)
    }
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
    return this.#table.values[this.#row * rowValues + rowHi]!
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

  /** Fills it with `count` ids. */
  fill(hi: number, lo: number, count: number, stride: number): void {
    assert(count === 0 || this.#row !== emptyRow, 'a run that was freed gets no ids')
    const { values } = this.#table
    const at = this.#row * rowValues
    values[at + rowLo] = lo
    values[at + rowEndLo] = lo + count * stride
    values[at + rowHi] = hi
    values[at + rowStride] = stride
    this.#filled = count
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
