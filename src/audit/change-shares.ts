/**
 * How many entries of the audit trail the changes of one user take. A user may make any number of changes, of its own tokens
 * for one: without a share they would displace those of all others.
 *
 * Invariants
 *  1. The sum of the reported counts is the number of calls of `add`, once `flush` has run.
 *  2. In a span of `spanMs`, a user has at most `entriesMax` changes with an entry of their own. Those beyond are reported by
 *     event, with their number, every `reportMs` at most.
 *  3. Memory is bounded by the number of users: each has one number, and a sum for each event.
 */
import type { Clock, Timer } from '../base/clock.ts'
import type { Occurrence } from './audit-entry.ts'

const spanMs = 86_400_000
const reportMs = 3_600_000

type Summed = { readonly occurrence: Occurrence; count: number }

/** The changes of all users that are no administrators. */
export class ChangeShares {
  readonly #clock: Clock
  readonly #entriesMax: number
  readonly #report: (occurrence: Occurrence, count: number) => void
  readonly #entriesOf = new Map<string, number>()
  readonly #summed = new Map<string, Summed>()
  #spanEnd: Timer | undefined
  #reportDue: Timer | undefined

  constructor(clock: Clock, entriesMax: number, report: (occurrence: Occurrence, count: number) => void) {
    this.#clock = clock
    this.#entriesMax = entriesMax
    this.#report = report
  }

  /** Takes a change; whether it has an entry of its own. */
  add(occurrence: Occurrence): boolean {
    const { user = '' } = occurrence
    const entries = this.#entriesOf.get(user) ?? 0
    if (entries >= this.#entriesMax) {
      this.#sum(occurrence)
      return false
    }
    this.#spanEnd ??= this.#clock.timer(spanMs, () => {
      this.#spanEnd = undefined
      this.#entriesOf.clear()
    })
    this.#entriesOf.set(user, entries + 1)
    this.#report(occurrence, 1)
    return true
  }

  /** Reports the sums. */
  flush(): void {
    this.#reportDue?.cancel()
    this.#reportDue = undefined
    for (const { occurrence, count } of this.#summed.values()) this.#report(occurrence, count)
    this.#summed.clear()
  }

  /** Reports the sums, and ends the timers. */
  close(): void {
    this.#spanEnd?.cancel()
    this.flush()
  }

  #sum({ event, user, door, isOrdinary }: Occurrence): void {
    this.#reportDue ??= this.#clock.timer(reportMs, () => this.flush())
    const key = JSON.stringify([event, user])
    const summed = this.#summed.get(key)
    if (summed !== undefined) {
      summed.count++
      return
    }
    const detail = `more than the ${this.#entriesMax} changes of a user that have entries in a day`
    const occurrence = {
      event,
      user,
      address: '',
      door,
      object: '',
      detail,
      ...(isOrdinary && { isOrdinary }),
    }
    this.#summed.set(key, { occurrence, count: 1 })
  }
}
