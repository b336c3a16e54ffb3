/**
 * The negative cache: names for which a look-up has just found no generator. Repeated requests for an absent name are
 * rejected with NOGENERATOR from here, without a read of the engine each.
 *
 * Invariants
 *  1. A name counts as absent for a second at most after the engine's answer; for 10 ms where other processes may create it,
 *     because their creation is reported after `Engine.watchDelayMs` only.
 *  2. A name that is created or altered here, or reported by a watch, is removed at once.
 *  3. Memory is bounded: a full cache is emptied.
 */
import type { Clock } from '../base/clock.ts'
import type { ForeignRows } from './foreign-rows.ts'
import { noGenerator } from './generator-records.ts'

/** For how long a name counts as absent, in ms; and where many processes may create it. */
const absentMs = 1000
const absentSharedMs = 10
const namesMax = 10_000

/** Absent names. */
export class NegativeCache {
  readonly #clock: Clock
  readonly #absentUs: number
  readonly #rows: Pick<ForeignRows, 'table'> | undefined
  /** Until when names count as absent, on the monotonic clock in µs. */
  readonly #untilUs = new Map<string, number>()

  /** @param isShared whether other processes may create generators as well. @param rows where names are rows, if they are. */
  constructor(clock: Clock, isShared: boolean, rows?: Pick<ForeignRows, 'table'>) {
    this.#clock = clock
    this.#rows = rows
    this.#absentUs = (isShared ? absentSharedMs : absentMs) * 1000
  }

  /** Throws NOGENERATOR if the name was absent a moment ago. */
  refuse(name: string): void {
    if ((this.#untilUs.get(name) ?? 0) > this.#clock.monoUs()) throw noGenerator(name, this.#rows)
  }

  /** The engine has just answered that there is no generator of this name. */
  add(name: string): void {
    if (this.#untilUs.size >= namesMax) this.#untilUs.clear()
    this.#untilUs.set(name, this.#clock.monoUs() + this.#absentUs)
  }

  /** The name may exist now. */
  remove(name: string): void {
    this.#untilUs.delete(name)
  }
}
