/**
 * The issuer of a generator with ids that are not issued, because their texts contain a word.
 *
 * Invariants
 *  1. No id leaves that is avoided: it has no row, and each id is looked at. Those that are skipped are gaps.
 *  2. A caller gets as many ids as it asked for, or an error. Ids that it had got before the error are gaps.
 *  3. Nothing is skipped but what is avoided: where many ids in order are, the issuer moves to the first one above them.
 */
import { hasCode } from '../base/errors.ts'
import type { Turns } from '../base/turns.ts'
import { emptyRow } from '../buffers/fast-runs.ts'
import { Run, ScatteredRun } from '../ids/run.ts'
import type { AvoidedIds } from '../ids/words.ts'
import type { DrawOptions, Issuer, IssuerStats } from './issuer.ts'
import type { IssuingOptions } from './issuer-factory.ts'

/** The most ids that are skipped at once without a wait. */
const skippedMax = 100
/** Fewer ids in order are skipped by taking them. */
const movedMin = 1000n
/** How many ids are looked at in one turn, and how long that takes, as the bytes of a reply. */
const [partMax, partWork] = [2000, 131_072]

/** An issuer that passes over ids which are avoided; the issuer itself where none are. `turns`: for many ids of one request. */
export function avoidingIssuer(
  issuer: Issuer,
  avoided: AvoidedIds | undefined,
  { scramble, max }: Pick<IssuingOptions, 'scramble' | 'max'>,
  turns: Turns | undefined,
): Issuer {
  return avoided === undefined
    ? issuer
    : new AvoidingIssuer(issuer, avoided, scramble ? undefined : max, turns)
}

/** Passes over the ids of an issuer that are avoided. */
class AvoidingIssuer implements Issuer {
  readonly row = emptyRow
  readonly #issuer: Issuer
  readonly #avoided: AvoidedIds
  /** The largest id that there is; undefined: ids are in no order. */
  readonly #max: bigint | undefined
  readonly #turns: Turns | undefined
  /** How many ids were taken and skipped. */
  #skipped = 0

  constructor(issuer: Issuer, avoided: AvoidedIds, max: bigint | undefined, turns: Turns | undefined) {
    this.#issuer = issuer
    this.#avoided = avoided
    this.#max = max
    this.#turns = turns
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
      // Counted as skipped until they have been looked at: figures never fall.
      this.#skipped += missing
      const good = await this.#keep(runs, kept)
      this.#skipped -= good
      missing -= good
      if (missing === 0) return kept
      await this.#moveFrom(runs.at(-1)!)
    }
  }

  /** Adds to `kept` what is not avoided, and returns how many ids these are. */
  async #keep(runs: readonly Run[], kept: Run[]): Promise<number> {
    const before = kept.length
    let looks = 0
    for (const run of runs) {
      for (let from = 0; from < run.count; from += partMax) {
        if (looks >= partMax) {
          await this.#turns?.take(partWork)
          looks = 0
        }
        const until = Math.min(from + partMax, run.count)
        looks += until - from
        if (run.stride === 0) this.#keepScattered(run, from, until, kept)
        else this.#keepOrdered(run, from, until, kept)
      }
    }
    return kept.slice(before).reduce((sum, { count }) => sum + count, 0)
  }

  #keepScattered(run: Run, from: number, until: number, kept: Run[]): void {
    const ids: bigint[] = []
    for (let index = from; index < until; index++) {
      const id = run.at(index)
      if (this.#avoided.from(id) === id) ids.push(id)
    }
    if (ids.length > 0) kept.push(new ScatteredRun(ids.length, (index) => ids[index]!))
  }

  #keepOrdered(run: Run, start: number, until: number, kept: Run[]): void {
    const { first, stride } = run
    const step = BigInt(stride)
    let from = start
    const keepUntil = (index: number) => {
      if (index === from) return
      const part = new Run()
      part.set(first + step * BigInt(from), index - from, stride)
      kept.push(part)
    }
    for (let index = start; index < until; ) {
      const id = run.at(index)
      const next = this.#avoided.from(id)
      if (next === id) {
        index++
        continue
      }
      keepUntil(index)
      const skipped = (next - id + step - 1n) / step
      index = skipped < until - index ? index + Number(skipped) : until
      from = index
    }
    keepUntil(until)
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

  passed(): bigint | undefined {
    return this.#issuer.passed?.()
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
