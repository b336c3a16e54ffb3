/**
 * The issuer of a generator with ids that are not issued, because their texts contain a word.
 *
 * Invariants
 *  1. No id leaves that is avoided: it has no row, and each id is looked at. Those that are skipped are gaps.
 *  2. A caller gets as many ids as it asked for, or an error. Ids that it had got before the error are gaps.
 *  3. Nothing is skipped but what is avoided: where many ids in order are, the issuer moves to the first one above them.
 */
import { hasCode } from '../base/errors.ts'
import { emptyRow } from '../buffers/fast-runs.ts'
import { Run, ScatteredRun } from '../ids/run.ts'
import type { AvoidedIds } from '../ids/words.ts'
import type { DrawOptions, Issuer, IssuerStats } from './issuer.ts'
import type { IssuingOptions } from './issuer-factory.ts'

/** The most ids that are skipped at once without a wait. */
const skippedMax = 100
/** Fewer ids in order are skipped by taking them. */
const movedMin = 1000n

/** An issuer that passes over ids which are avoided; the issuer itself where none are. */
export function avoidingIssuer(
  issuer: Issuer,
  avoided: AvoidedIds | undefined,
  { scramble, max }: Pick<IssuingOptions, 'scramble' | 'max'>,
): Issuer {
  return avoided === undefined ? issuer : new AvoidingIssuer(issuer, avoided, scramble ? undefined : max)
}

/** Passes over the ids of an issuer that are avoided. */
class AvoidingIssuer implements Issuer {
  readonly row = emptyRow
  readonly #issuer: Issuer
  readonly #avoided: AvoidedIds
  /** The largest id that there is; undefined: ids are in no order. */
  readonly #max: bigint | undefined
  /** How many ids were taken and skipped. */
  #skipped = 0

  constructor(issuer: Issuer, avoided: AvoidedIds, max: bigint | undefined) {
    this.#issuer = issuer
    this.#avoided = avoided
    this.#max = max
  }

  get isOver(): boolean {
    return this.#issuer.isOver
  }

  take(_count: number, run: Run): number {
    for (let looks = 0; looks < skippedMax && this.#issuer.take(1, run) === 1; looks++)
      if (this.#isGood(run.first)) return 1
    return 0
  }

  takeNumber(): number {
    for (let looks = 0; looks < skippedMax; looks++) {
      const number = this.#issuer.takeNumber()
      if (number < 0 || this.#isGood(BigInt(number))) return number
    }
    return -1
  }

  async draw(count: number, options?: DrawOptions): Promise<Run[]> {
    const kept: Run[] = []
    for (let missing = count; ; ) {
      const runs = await this.#issuer.draw(missing, options)
      const left = missing - this.#keep(runs, kept)
      this.#skipped += left
      if (left === 0) return kept
      missing = left
      await this.#moveFrom(runs.at(-1)!)
    }
  }

  /** Adds to `kept` what is not avoided, and returns how many ids these are. */
  #keep(runs: readonly Run[], kept: Run[]): number {
    const before = kept.length
    for (const run of runs) {
      if (run.stride === 0) this.#keepScattered(run, kept)
      else this.#keepOrdered(run, kept)
    }
    return kept.slice(before).reduce((sum, { count }) => sum + count, 0)
  }

  #keepScattered(run: Run, kept: Run[]): void {
    const ids: bigint[] = []
    for (let index = 0; index < run.count; index++) {
      const id = run.at(index)
      if (this.#avoided.from(id) === id) ids.push(id)
    }
    if (ids.length > 0) kept.push(new ScatteredRun(ids.length, (index) => ids[index]!))
  }

  #keepOrdered(run: Run, kept: Run[]): void {
    const { first, count, stride } = run
    const step = BigInt(stride)
    let from = 0
    const keepUntil = (index: number) => {
      if (index === from) return
      const part = new Run()
      part.set(first + step * BigInt(from), index - from, stride)
      kept.push(part)
    }
    for (let index = 0; index < count; ) {
      const id = run.at(index)
      const next = this.#avoided.from(id)
      if (next === id) {
        index++
        continue
      }
      keepUntil(index)
      const skipped = (next - id + step - 1n) / step
      index = skipped < count - index ? index + Number(skipped) : count
      from = index
    }
    keepUntil(count)
  }

  /** Moves on if the ids behind a run in order have the word of its last one for long. */
  async #moveFrom(run: Run): Promise<void> {
    if (this.#max === undefined) return
    const last = run.at(run.count - 1)
    const next = this.#avoided.from(last)
    if (next - last < movedMin * BigInt(run.stride || 1)) return
    try {
      await this.#issuer.moveTo(next > this.#max ? this.#max : next - 1n)
    } catch (error) {
      // Another caller has moved on meanwhile, and an id behind the word is issued.
      if (!hasCode(error, 'ERR')) throw error
    }
  }

  nextIsSafe(): boolean {
    return this.#issuer.nextIsSafe()
  }

  lastIssued(): bigint | undefined {
    return this.#issuer.lastIssued()
  }

  moveTo(newest: bigint): Promise<void> {
    return this.#issuer.moveTo(newest)
  }

  stats(): IssuerStats {
    const stats = this.#issuer.stats()
    return { ...stats, issued: stats.issued - this.#skipped }
  }

  assertInvariants(): void {
    this.#issuer.assertInvariants()
  }

  close(reason: Error): Promise<void> {
    return this.#issuer.close(reason)
  }

  #isGood(id: bigint): boolean {
    if (this.#avoided.from(id) === id) return true
    this.#skipped++
    return false
  }
}
