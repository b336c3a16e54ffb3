/**
 * The issuer of one name of a family. All that it knows is in the row of the name, so there may be several over one row, or none.
 *
 * Invariant: it issues nothing once its row has been freed, also when another name has the row.
 */
import { FahaoError } from '../base/errors.ts'
import { emptyRow } from '../buffers/fast-runs.ts'
import type { SectionRows } from '../buffers/section-rows.ts'
import { Run } from '../ids/run.ts'
import { type DrawOptions, type Issuer, type IssuerStats, idleStats } from './issuer.ts'
import type { Section } from './section.ts'

/** Filled and read within one call. */
const one = new Run()

/** Issues from its section. */
export class SectionMember implements Issuer {
  readonly #name: string
  readonly #row: number
  readonly #generation: number
  readonly #section: Section
  readonly #rows: SectionRows

  /** @param row of a name that is in memory. */
  constructor(name: string, row: number, section: Section, rows: SectionRows) {
    this.#name = name
    this.#row = row
    this.#generation = rows.generation(row)
    this.#section = section
    this.#rows = rows
  }

  get row(): number {
    return this.#isIn ? this.#row : emptyRow
  }

  get isOver(): boolean {
    return this.#section.over !== undefined
  }

  take(count: number, run: Run): number {
    return this.#isIn ? this.#section.take(this.#row, count, run) : 0
  }

  takeNumber(): number {
    return this.take(1, one) === 0 ? -1 : one.number
  }

  draw(count: number, options: DrawOptions = {}): Promise<Run[]> {
    return this.#isIn
      ? this.#section.draw(this.#row, this.#name, count, options)
      : Promise.reject(this.#section.over ?? this.#left())
  }

  /** True: no value of a family is past 2^53−1. */
  nextIsSafe(): boolean {
    return true
  }

  /** Undefined while nothing was issued or moved since the name came into memory. */
  lastIssued(): bigint | undefined {
    if (!this.#isIn || this.isOver || !this.#rows.isUsed(this.#row)) return undefined
    return BigInt(this.#rows.next(this.#row) - 1)
  }

  passed(): bigint | undefined {
    return this.#isIn && !this.isOver ? BigInt(this.#rows.next(this.#row) - 1) : undefined
  }

  moveTo(newest: bigint): Promise<void> {
    return this.#section.moveTo(this.#row, this.#name, Number(newest) + 1, () => {
      if (!this.#isIn) throw this.#section.over ?? this.#left()
    })
  }

  stats(): IssuerStats {
    if (!this.#isIn) return idleStats
    return {
      ...idleStats,
      issued: this.#rows.issued(this.#row),
      inHand: this.#section.leftFor(this.#row),
      waiting: this.#section.waitingFor(this.#row),
    }
  }

  assertInvariants(): void {
    if (this.#isIn) this.#section.assertName(this.#row)
  }

  /** Its name leaves memory by `Section.leave`. */
  close(): Promise<void> {
    return Promise.resolve()
  }

  get #isIn(): boolean {
    return this.#rows.generation(this.#row) === this.#generation
  }

  #left(): FahaoError {
    return new FahaoError('STALE', `'${this.#name}' has just left memory; retry`)
  }
}
