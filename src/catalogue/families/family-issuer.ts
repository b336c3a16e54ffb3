/** The issuer of a family itself: issues nothing, and has the figures of all its sections. */

import type { Clock } from '../../base/clock.ts'
import { FahaoError } from '../../base/errors.ts'
import { emptyRow } from '../../buffers/fast-runs.ts'
import { RateMeter } from '../../buffers/rate-meter.ts'
import { type Issuer, type IssuerStats, idleStats } from '../../issuing/issuer.ts'

/** What issues for the names of one slot: a section, or a group commit where nodes share the store. */
export type FamilyPart = { stats(): Partial<IssuerStats> }

/** Stands for a family where generators are listed. */
export class FamilyIssuer implements Issuer {
  readonly isOver = false
  readonly #pattern: string
  readonly #clock: Clock
  readonly #count: () => void
  readonly #parts = new Set<FamilyPart>()
  /** Of parts that have ended. */
  readonly #ended: Record<string, number> = { ...idleStats }
  readonly #meter: RateMeter

  /** @param count has the parts count what their names in memory have issued. */
  constructor(pattern: string, clock: Clock, count: () => void) {
    this.#pattern = pattern
    this.#clock = clock
    this.#count = count
    this.#meter = new RateMeter(clock.monoUs())
  }

  get row(): number {
    return emptyRow
  }

  take(): number {
    return 0
  }

  takeNumber(): number {
    return -1
  }

  draw(): Promise<never> {
    return Promise.reject(this.#refusal())
  }

  nextIsSafe(): boolean {
    return true
  }

  lastIssued(): undefined {
    return undefined
  }

  moveTo(): Promise<never> {
    return Promise.reject(this.#refusal())
  }

  /** A part issues from now on. */
  add(part: FamilyPart): void {
    this.#parts.add(part)
  }

  /** A part has ended, and its names have left memory: what it has counted stays. */
  end(part: FamilyPart): void {
    const { inHand: _inHand, waiting: _waiting, refillsFailing: _failing, ...counts } = part.stats()
    if (this.#parts.delete(part)) addTo(this.#ended, counts)
  }

  /** Sums of all parts, also of those that have ended. */
  stats(): IssuerStats {
    const sum = { ...this.#ended }
    this.#count()
    for (const part of this.#parts) addTo(sum, part.stats())
    const ratePerSecond = this.#meter.look(sum.issued!, this.#clock.monoUs())
    return { ...(sum as IssuerStats), ratePerSecond, peakPerSecond: this.#meter.peakPerSecond }
  }

  assertInvariants(): void {}

  /** Its sections are closed by `FamiliesInUse`. */
  close(): Promise<void> {
    return Promise.resolve()
  }

  #refusal(): FahaoError {
    const one = `${this.#pattern.slice(0, -1)}1`
    return new FahaoError(
      'WRONGTYPE',
      `'${this.#pattern}' is a family; ask for one of its names, such as '${one}'`,
    )
  }
}

function addTo(sum: Record<string, number>, figures: Partial<IssuerStats>): void {
  for (const [figure, value] of Object.entries(figures))
    if (value !== Number.POSITIVE_INFINITY) sum[figure]! += value
}
