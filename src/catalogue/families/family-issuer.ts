/** The issuer of a family itself: issues nothing, and has the figures of all its sections. */
import { FahaoError } from '../../base/errors.ts'
import { emptyRow } from '../../buffers/fast-runs.ts'
import { type Issuer, type IssuerStats, idleStats } from '../../issuing/issuer.ts'
import type { Section } from '../../issuing/section.ts'

/** Stands for a family where generators are listed. */
export class FamilyIssuer implements Issuer {
  readonly isOver = false
  readonly #pattern: string
  readonly #sections: () => Iterable<Section>

  /** `sections`: those that are open here. */
  constructor(pattern: string, sections: () => Iterable<Section>) {
    this.#pattern = pattern
    this.#sections = sections
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
    const sum: Record<string, number> = { ...idleStats }
    for (const section of this.#sections())
      for (const [figure, value] of Object.entries(section.stats()))
        if (figure in idleStats) sum[figure] = sum[figure]! + value
    return sum as IssuerStats
  }

  assertInvariants(): void {
    for (const section of this.#sections()) section.assertInvariants()
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
