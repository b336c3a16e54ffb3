/**
 * Names of families as rows of the table of fast runs: all that a name in memory is, beside its slot in the table of names. A row
 * holds the next value of its name and how far the name may issue without a look at its section.
 *
 * Invariants
 *  1. A row has the number of its section from `add` to `free`. Nothing else has rows that their owner keeps something in.
 *  2. A row tells the next value of its name at any time. All values below it may have been issued.
 *  3. A row is filled in the step in which a value was issued or the name was moved, so the value before the first one is
 *     the newest.
 *  4. What was issued from a row is counted once: `uncounted` tells it before the row is filled.
 */
import { two32 } from '../ids/run.ts'
import { type FastRuns, rowEndLo, rowLo, rowOwn, rowWords } from './fast-runs.ts'

/** Where the number of the section lies, above these bits. */
const sectionAt = rowOwn
/** Where the low half of the next value lies, less what was not counted yet. */
const countedAt = rowOwn + 1
/** Where lies how many values were issued and counted since the name came into memory, at most `countMax`. */
const issuedAt = rowOwn + 2

/** Set if the name has come into memory, or a value was counted, since the last look. */
const recent = 1
/** Set if the name was moved since it came into memory. */
const moved = 2
const sectionShift = 2
const countMax = 2 ** 32 - 1

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
    const { words } = this.#runs
    words[row * rowWords + sectionAt] = (section << sectionShift) | recent
    words[row * rowWords + issuedAt] = 0
    this.fill(row, next, next)
  }

  /** Frees a row. */
  free(row: number): void {
    this.#runs.words[row * rowWords + sectionAt] = 0
    this.#runs.free(row)
  }

  /** The number of the row's section; 0: the row is of no family. */
  sectionOf(row: number): number {
    return this.#runs.isKept(row) ? this.#runs.words[row * rowWords + sectionAt]! >>> sectionShift : 0
  }

  /** The generation of a row. */
  generation(row: number): number {
    return this.#runs.generation(row)
  }

  /** The next value. */
  next(row: number): number {
    return this.#runs.next(row)
  }

  /** How many values were issued since the name came into memory; 2^32 − 1: as many or more. */
  issued(row: number): number {
    const { words } = this.#runs
    return Math.min(countMax, (words[row * rowWords + issuedAt]! >>> 0) + this.#uncounted(row))
  }

  /** Whether the name has issued or was moved since it came into memory. */
  isUsed(row: number): boolean {
    return (this.#runs.words[row * rowWords + sectionAt]! & moved) !== 0 || this.issued(row) > 0
  }

  /** Counts what was issued since the last count, and `more` values that are issued now. Returns how many these are. */
  takeCount(row: number, more = 0): number {
    const { words } = this.#runs
    const issued = this.#uncounted(row) + more
    if (issued === 0) return 0
    const at = row * rowWords
    words[at + issuedAt] = Math.min(countMax, (words[at + issuedAt]! >>> 0) + issued)
    words[at + countedAt] = words[at + rowLo]!
    words[at + sectionAt]! |= recent
    return issued
  }

  /** Sets the next value, and has the row issue from there up to `end`. What was issued before has been counted. */
  fill(row: number, next: number, end: number): void {
    const hi = Math.floor(next / two32)
    const { words } = this.#runs
    this.#runs.fill(row, hi, next - hi * two32, end - next, 1)
    words[row * rowWords + countedAt] = words[row * rowWords + rowLo]!
  }

  /** Notes that the name was moved. */
  noteMove(row: number): void {
    this.#runs.words[row * rowWords + sectionAt]! |= moved
  }

  /** Has the row issue nothing more. */
  empty(row: number): void {
    const { words } = this.#runs
    words[row * rowWords + rowEndLo] = words[row * rowWords + rowLo]!
  }

  /** Whether the name has issued, or has come into memory, since the last look. What it issued has been counted. */
  look(row: number): boolean {
    const { words } = this.#runs
    const isRecent = (words[row * rowWords + sectionAt]! & recent) !== 0
    words[row * rowWords + sectionAt]! &= ~recent
    return isRecent
  }

  #uncounted(row: number): number {
    const { words } = this.#runs
    return (words[row * rowWords + rowLo]! - words[row * rowWords + countedAt]!) >>> 0
  }
}
