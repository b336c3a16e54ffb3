/** The issuer of a family itself: issues nothing, and has the figures of all its sections. */

import type { Clock } from '../../base/clock.ts'
import { FahaoError } from '../../base/errors.ts'
import { emptyRow } from '../../buffers/fast-runs.ts'
import { RateMeter } from '../../buffers/rate-meter.ts'
import { type Issuer, type IssuerStats, idleStats } from '../../issuing/issuer.ts'

/** What issues for the names of a family here. */
export type FamilyParts = {
  /** Its sections, or what issues for them where nodes share the store. */
  readonly all: () => Iterable<{ stats(): Partial<IssuerStats>; assertInvariants(): void }>
  /** What the names in memory have issued since they came into it. */
  readonly issuedInMemory: () => number
}

/** Stands for a family where generators are listed. */
export class FamilyIssuer implements Issuer {
  readonly isOver = false
  readonly #pattern: string
  readonly #clock: Clock
  readonly #parts: FamilyParts
  readonly #meter: RateMeter

  constructor(pattern: string, clock: Clock, parts: FamilyParts) {
    this.#pattern = pattern
    this.#clock = clock
    this.#parts = parts
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

  /** Sums of all sections. */
  stats(): IssuerStats {
    const sum: Record<string, number> = { ...idleStats, issued: this.#parts.issuedInMemory() }
    for (const part of this.#parts.all())
      for (const [figure, value] of Object.entries(part.stats()))
        if (value !== Number.POSITIVE_INFINITY) sum[figure]! += value
    const { peakPerSecond } = this.#meter
    const ratePerSecond = this.#meter.observe(sum.issued!, this.#clock.monoUs())
    return { ...(sum as IssuerStats), ratePerSecond, peakPerSecond }
  }

  assertInvariants(): void {
    for (const part of this.#parts.all()) part.assertInvariants()
  }

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
