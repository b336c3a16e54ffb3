/**
 * Bounds what one statement may cost: steps, rows and characters kept, and how long it keeps the event loop.
 *
 * Invariants
 *  1. A statement that asks for a pause whenever `isDue` keeps the event loop for about `sliceUs`.
 *  2. A part that cannot pause (a subquery inside an expression) is refused after `unpausedMax` steps: steps, because time
 *     would refuse it on a busy machine only.
 *  3. What all statements together keep beyond `ownCells` each stays below the maximum of `SharedCells`, and is given back
 *     by `release`; after that a statement takes no more of it.
 *  4. Steps and kept cells only grow; above their maximum every further one throws.
 */
import type { Clock } from '../../base/clock.ts'
import { SqlError } from './sql-error.ts'

/** What a statement may cost. */
export type Limits = {
  /** Rows compared, characters matched and the like. */
  readonly stepsMax: number
  /** Values and characters that intermediate results keep. */
  readonly cellsMax: number
}

/** The limits of a server. */
export const defaultLimits: Limits = { stepsMax: 5_000_000, cellsMax: 1_000_000 }

/** Cells of one statement that are not shared: short statements run beside long ones that have used all cells up. */
const ownCells = 20_000

/** The cells that several statements keep together, beside their own. */
export class SharedCells {
  readonly #max: number
  #used = 0

  constructor(max: number) {
    this.#max = max
  }

  /** Throws SqlError 53200 if there are not so many left. */
  take(cells: number): void {
    if (this.#used + cells > this.#max)
      throw new SqlError(
        '53200',
        'the queries that run at this time use all memory for queries; repeat this one later',
      )
    this.#used += cells
  }

  giveBack(cells: number): void {
    this.#used -= cells
  }
}

/** Of all statements of this process. A cell takes up to 140 bytes: a row of a join is an array, and counts few of them. */
export const processCells = new SharedCells(2_500_000)

/** How long a statement may keep the event loop in µs. */
const sliceUs = 3000
/** How long a part may that cannot pause. */
const unpausedMax = 100_000
/** The clock is read once in so many steps. */
const stepsPerLook = 64

/** The costs of one statement so far. */
export class Budget {
  readonly #clock: Clock
  readonly #limits: Limits
  readonly #signal: AbortSignal | undefined
  #steps = 0
  #cells = 0
  readonly #shared: SharedCells
  #sharedCells = 0
  #isReleased = false
  #sliceStartUs: number
  #nextLook = stepsPerLook
  #isDue = false
  /** The steps at the start of the slice. */
  #resumedAt = 0

  /** @param signal aborted: the statement ends with 57014 at its next look at the clock. */
  constructor(clock: Clock, limits: Limits, signal?: AbortSignal, shared = processCells) {
    this.#shared = shared
    this.#clock = clock
    this.#limits = limits
    this.#signal = signal
    this.#sliceStartUs = clock.monoUs()
  }

  /** How many values and characters it has kept so far. */
  get cells(): number {
    return this.#cells
  }

  /** Whether the statement should let others run. */
  get isDue(): boolean {
    return this.#isDue
  }

  /** Counts work. Throws SqlError 54000 above the maximum, 57014 when cancelled. */
  step(count = 1): void {
    this.#steps += count
    if (this.#steps < this.#nextLook) return
    this.#nextLook = this.#steps + stepsPerLook
    if (this.#steps > this.#limits.stepsMax)
      throw new SqlError(
        '54000',
        'the query takes too many steps; narrow it, for example by the name of a sequence',
      )
    if (this.#signal?.aborted) throw new SqlError('57014', 'canceling statement due to user request')
    const elapsedUs = this.#clock.monoUs() - this.#sliceStartUs
    this.#isDue = elapsedUs >= sliceUs || this.#steps - this.#resumedAt > unpausedMax / 4
    if (this.#steps - this.#resumedAt > unpausedMax)
      throw new SqlError('54000', 'a subquery of the query takes too long; narrow it, or join instead')
  }

  /** As `step`. Returns whether the statement should let others run. */
  isDueAfter(count = 1): boolean {
    this.step(count)
    return this.#isDue
  }

  /** Before something so large is made that is counted once it is there. Throws SqlError 54000 if `keep` would. */
  demand(cells: number): void {
    if (this.#cells + cells > this.#limits.cellsMax)
      throw new SqlError(
        '54000',
        'the query needs too much memory; narrow it, for example by the name of a sequence',
      )
  }

  /** Counts values or characters that are kept. Throws SqlError 54000 above the maximum, 53200 above that of all. */
  keep(cells: number): void {
    this.#cells += cells
    this.demand(0)
    const more = this.#cells - ownCells - this.#sharedCells
    if (more <= 0 || this.#isReleased) return
    this.#shared.take(more)
    this.#sharedCells += more
  }

  /** The statement is over. */
  release(): void {
    this.#shared.giveBack(this.#sharedCells)
    this.#sharedCells = 0
    this.#isReleased = true
  }

  /** Others have run: a new slice begins. */
  resume(): void {
    this.#sliceStartUs = this.#clock.monoUs()
    this.#isDue = false
    this.#resumedAt = this.#steps
  }
}
