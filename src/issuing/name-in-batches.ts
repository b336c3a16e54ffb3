/** One name of a family whose section issues by group commit. */
import { emptyRow } from '../buffers/fast-runs.ts'
import type { Run } from '../ids/run.ts'
import { type DrawOptions, type Issuer, type IssuerStats, idleStats } from './issuer.ts'

/** What issues for all names of a section. */
type BatchesOfSection = Pick<Issuer, 'isOver' | 'nextIsSafe' | 'lastIssued' | 'moveTo'> & {
  draw(count: number, options: DrawOptions | undefined, of: string): Promise<Run[]>
}

/** Issues for one name of a family from the reserves of its section. */
export class NameInBatches implements Issuer {
  readonly row = emptyRow
  readonly #name: string
  readonly #section: BatchesOfSection

  constructor(name: string, section: BatchesOfSection) {
    this.#name = name
    this.#section = section
  }

  get isOver(): boolean {
    return this.#section.isOver
  }

  take(): number {
    return 0
  }

  takeNumber(): number {
    return -1
  }

  draw(count: number, options?: DrawOptions): Promise<Run[]> {
    return this.#section.draw(count, options, this.#name)
  }

  nextIsSafe(): boolean {
    return this.#section.nextIsSafe()
  }

  /** Undefined: nothing is kept of a name. */
  lastIssued(): undefined {
    return undefined
  }

  passed(): bigint | undefined {
    return this.#section.lastIssued()
  }

  moveTo(newest: bigint): Promise<void> {
    return this.#section.moveTo(newest)
  }

  stats(): IssuerStats {
    return idleStats
  }

  assertInvariants(): void {}

  close(): Promise<void> {
    return Promise.resolve()
  }
}
