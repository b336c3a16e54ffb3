/**
 * The names of families that are in memory: a slot of the table of names and a row (buffers/section-rows.ts), without an
 * object. An object is made for each look at a name, and forgotten after it.
 *
 * Rows tell the section of their name by a number. What concerns all names of some sections walks over all rows in memory,
 * which takes about ten milliseconds for a million; it happens at the end of a right and when figures are read.
 *
 * Invariants
 *  1. The names in memory are bounded. One that leaves raises the high mark of its section; one that callers wait for stays.
 *  2. When `close` returns, the rows of these sections issue nothing more, and the high mark of each lies above all that was
 *     issued for its names. Their entries leave afterwards, in parts.
 *  3. The number of a section goes to another one only when no row has it.
 */
import { assert } from '../../base/assert.ts'
import { atEndOfCallback, type Clock } from '../../base/clock.ts'
import { emptyRow, type FastRuns } from '../../buffers/fast-runs.ts'
import { SectionRows } from '../../buffers/section-rows.ts'
import { nextTurn } from '../../engine/next-turn.ts'
import type { Gate } from '../../issuing/gate.ts'
import type { Section } from '../../issuing/section.ts'
import { closeInTime } from '../closings.ts'
import { altered } from '../generator-records.ts'
import { contiguousBit, formatBit } from '../name-bytes.ts'
import type { NameTable } from '../name-table.ts'
import type { OpenGenerator } from '../open-generator.ts'
import type { FamilyIssuer } from './family-issuer.ts'

/** A section that is open here. */
export type OpenSection = {
  readonly section: Section
  readonly number: number
  readonly gate: Gate
  readonly hasFormat: boolean
  /** Has the figures of the family that it belongs to. */
  readonly issuer: FamilyIssuer
  /** What stands for one of its names, which has this row. */
  readonly generatorOf: (name: string, row: number) => OpenGenerator
}

/** How many names are in memory at most, of all families together, unless a node says otherwise: some 100 MB. */
const namesMax = 1_000_000
/** How many names are looked at when one more comes into memory that is full, and how many rows. */
const looksMax = 8
const rowsMax = 1000
/** How many rows are walked over before others run, where names leave: some milliseconds. */
const walkedTogether = 10_000
/** A count that takes longer is repeated after this many times as long: each second many figures ask for it. */
const longCountUs = 1000
const countPauseTimes = 20

/** Names in memory. */
export class FamilyNames {
  readonly rows: SectionRows
  readonly #names: NameTable<OpenGenerator>
  readonly #namesMax: number
  readonly #clock: Clock
  readonly #sections: (OpenSection | undefined)[] = [undefined]
  readonly #freeNumbers: number[] = []
  #count = 0
  /** Whether `count` has just counted. */
  #isCounted = false
  /** A long count is not repeated before. */
  #countAgainUs = 0
  readonly #endCount = atEndOfCallback(() => {
    this.#isCounted = false
  })
  /** The row that was looked at last. */
  #hand = 0

  constructor(names: NameTable<OpenGenerator>, runs: FastRuns, clock: Clock, max: number = namesMax) {
    this.#clock = clock
    this.rows = new SectionRows(runs)
    this.#names = names
    this.#namesMax = max
    names.wake = (row) => this.#wake(row)
  }

  /** A number for a new section. */
  newNumber(): number {
    return this.#freeNumbers.pop() ?? this.#sections.push(undefined) - 1
  }

  /** A section is open. */
  add(open: OpenSection): void {
    this.#sections[open.number] = open
    open.issuer.add(open.section)
  }

  /** Brings a name of a section into memory that is not. Returns its entry; 0: the section issues nothing any more. */
  enter({ section, hasFormat }: OpenSection, name: string): number {
    this.#evict()
    const row = section.join()
    if (row === emptyRow) return 0
    this.#names.addRow(name, row, contiguousBit | (hasFormat ? formatBit : 0))
    this.#count++
    return row
  }

  /** A name leaves memory, if this generator stands for it. */
  forget({ name, row }: OpenGenerator): void {
    const isIn = row !== emptyRow && this.#names.entryNamed(name) === row
    if (isIn && this.rows.sectionOf(row) !== 0) this.#leave(row)
  }

  /**
   * Stops sections, and has their names leave memory. Resolves when the sections have released what they had left, those first
   * that had most, to those for which there was no time. Nothing is released whose gate was dropped. Without a reason: the gates have
   * ended, each for its own.
   */
  async close(sections: readonly OpenSection[], reason?: Error): Promise<Section[]> {
    if (sections.length === 0) return []
    const isClosed = new Uint8Array(this.#sections.length)
    for (const { number } of sections) isClosed[number] = 1
    for (let row = 1; row < this.rows.count; row++) {
      const number = this.rows.sectionOf(row)
      if (isClosed[number] === 1) this.#sections[number]!.section.end(row)
    }
    for (const { section, gate } of sections) section.stop(reason ?? gate.ended!)
    const all = sections.map(({ section }) => section)
    const closing = closeInTime(all, this.#clock, (section) => section.close(section.over!))
    for (let row = 1; row < this.rows.count; row++) {
      if (row % walkedTogether === 0) await nextTurn()
      if (isClosed[this.rows.sectionOf(row)] === 1) this.#leave(row)
    }
    const late = await closing
    for (const { number, section, issuer } of sections) {
      issuer.end(section)
      this.#sections[number] = undefined
      this.#freeNumbers.push(number)
    }
    return late
  }

  /** Has the figures of all sections count what their names in memory have issued: once for all families that are looked at together, and for at most a twentieth of the time. */
  count(): void {
    const beganUs = this.#clock.monoUs()
    if (this.#isCounted || beganUs < this.#countAgainUs) return
    this.#isCounted = true
    this.#endCount()
    for (let row = 1; row < this.rows.count; row++)
      this.#sections[this.rows.sectionOf(row)]?.section.noteIssued(row)
    const tookUs = this.#clock.monoUs() - beganUs
    if (tookUs > longCountUs) this.#countAgainUs = beganUs + countPauseTimes * tookUs
  }

  /** Throws where an invariant is broken. For tests. */
  assertInvariants(): void {
    let count = 0
    for (let row = 1; row < this.rows.count; row++) {
      const number = this.rows.sectionOf(row)
      if (number === 0) continue
      count++
      this.#sections[number]!.section.assertName(row)
      assert(
        this.#names.entryNamed(this.#names.nameOf(row)) === row,
        'a name in memory is found, and has one row',
      )
    }
    assert(count === this.#count, 'every name in memory is counted')
    for (const open of this.#sections) open?.section.assertInvariants()
  }

  #wake(row: number): OpenGenerator {
    return this.#sections[this.rows.sectionOf(row)]!.generatorOf(this.#names.nameOf(row), row)
  }

  #leave(row: number): void {
    const { section } = this.#sections[this.rows.sectionOf(row)]!
    section.leave(row, () => altered(this.#names.nameOf(row)))
    this.#names.remove(row)
    this.#count--
  }

  /** Makes room for one more name. Names that have issued since the last look stay for another round. */
  #evict(): void {
    let looks = 0
    for (let walked = 0; this.#count >= this.#namesMax && walked < rowsMax; walked++) {
      this.#hand = this.#hand + 1 < this.rows.count ? this.#hand + 1 : 1
      const number = this.rows.sectionOf(this.#hand)
      const section = this.#sections[number]?.section
      if (section === undefined || section.waitingFor(this.#hand) > 0) continue
      section.noteIssued(this.#hand)
      if (this.rows.look(this.#hand) && ++looks < looksMax) continue
      this.#leave(this.#hand)
    }
  }
}
