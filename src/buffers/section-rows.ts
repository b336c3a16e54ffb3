/**
 * Names of families as rows of the table of fast runs: all that a name in memory is, beside its entry in the table of names. A row
 * holds the next value of its name and how far the name may issue without a look at its section.
 *
 * Invariants
 *  1. A row has the number of its section from `add` to `free`. Rows of anything else have the number 0 there.
 *  2. A row tells the next value of its name at any time. All values below it may have been issued.
 *  3. A row is filled in the step in which a value was issued or the name was moved, so the value before the first one is
 *     the newest.
 */
import { two32 } from '../ids/run.ts'
import {
  type FastRuns,
  rowEndLo,
  rowGeneration,
  rowHi,
  rowLo,
  rowOwn,
  rowStride,
  rowValues,
  rowWords,
} from './fast-runs.ts'

/** Where the number of the section lies in `words`, and where the entry of the name. */
const sectionAt = rowOwn
const entryAt = rowOwn + 1
/** Where the low half of the next value at the last look lies, to tell whether the name is used. */
const seenAt = rowOwn + 2
/** Where 1 lies if the name was moved since it came into memory. */
const movedAt = rowOwn + 3
/** Where the next value lies in `values`, less what was issued since the name came into memory. */
const fromAt = 7

/** The rows of one process that names of families have. */
export class SectionRows {
  readonly #runs: FastRuns

  constructor(runs: FastRuns) {
    this.#runs = runs
  }

  /** The rows from 1 on up to this number are those that exist. */
  get count(): number {
    return this.#runs.rows
  }

  /** Makes a new row one of a section: its name begins at `next`, and nothing was issued for it. */
  add(row: number, section: number, next: number): void {
    const { values, words } = this.#runs
    values[row * rowValues + rowStride] = 1
    values[row * rowValues + fromAt] = next
    const at = row * rowWords
    words[at + sectionAt] = section
    words[at + entryAt] = 0
    words[at + seenAt] = -1
    words[at + movedAt] = 0
    this.fill(row, next, next)
  }

  /** Frees a row. */
  free(row: number): void {
    this.#runs.words.fill(0, row * rowWords + rowOwn, (row + 1) * rowWords)
    this.#runs.free(row)
  }

  /** The number of the row's section; 0: the row is of no family. */
  sectionOf(row: number): number {
    return this.#runs.words[row * rowWords + sectionAt]!
  }

  /** The generation of a row. */
  generation(row: number): number {
    return this.#runs.words[row * rowWords + rowGeneration]!
  }

  /** The entry of the row's name. */
  entryOf(row: number): number {
    return this.#runs.words[row * rowWords + entryAt]!
  }

  /** Notes the entry of the row's name. */
  setEntry(row: number, entry: number): void {
    this.#runs.words[row * rowWords + entryAt] = entry
  }

  /** The next value. */
  next(row: number): number {
    const { values } = this.#runs
    const at = row * rowValues
    return values[at + rowHi]! * two32 + values[at + rowLo]!
  }

  /** How many values were issued since the name came into memory. */
  issued(row: number): number {
    return this.next(row) - this.#runs.values[row * rowValues + fromAt]!
  }

  /** Whether the name has issued or was moved since it came into memory. */
  isUsed(row: number): boolean {
    return this.#runs.words[row * rowWords + movedAt] === 1 || this.issued(row) > 0
  }

  /** Sets the next value, and has the row issue from there up to `end`. */
  fill(row: number, next: number, end: number): void {
    const { values } = this.#runs
    const at = row * rowValues
    const hi = Math.floor(next / two32)
    const base = hi * two32
    values[at + rowHi] = hi
    values[at + rowLo] = next - base
    values[at + rowEndLo] = Math.min(end - base, two32)
  }

  /** The name goes on at `next`; what lies before it is not issued. */
  skip(row: number, next: number): void {
    this.#runs.values[row * rowValues + fromAt]! += next - this.next(row)
    this.fill(row, next, next)
  }

  /** Notes that the name was moved. */
  noteMove(row: number): void {
    this.#runs.words[row * rowWords + movedAt] = 1
  }

  /** Has the row issue nothing more. */
  empty(row: number): void {
    const { values } = this.#runs
    values[row * rowValues + rowEndLo] = values[row * rowValues + rowLo]!
  }

  /** Whether the name has issued, or has come into memory, since the last look. */
  look(row: number): boolean {
    const { values, words } = this.#runs
    const lo = values[row * rowValues + rowLo]! | 0
    const isNew = words[row * rowWords + seenAt] !== lo
    words[row * rowWords + seenAt] = lo
    return isNew
  }
}
