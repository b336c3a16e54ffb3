/**
 * Counts alike occurrences within a span of time, so that a client that repeats itself makes few entries.
 *
 * Invariants
 *  1. The sum of the reported counts is the number of calls of `add`, once `flush` has run.
 *  2. A span has at most `keysMax` different occurrences, and `userKeysMax` of one user, each reported at most twice: at once,
 *     and at the end with what came after. All others are reported together at the end, by event: those beyond the share of
 *     a user with the user.
 */
import type { Clock, Timer } from '../base/clock.ts'
import type { Occurrence } from './audit-entry.ts'

type Counted = { readonly occurrence: Occurrence; count: number }

/** The occurrences of one span after the other; see the invariants above. */
export class RepeatCounter {
  readonly #clock: Clock
  readonly #spanMs: number
  readonly #keysMax: number
  readonly #userKeysMax: number
  readonly #report: (occurrence: Occurrence, count: number) => void
  readonly #counted = new Map<string, Counted>()
  /** How many of them each user has. Empty: names that no user has. */
  readonly #keysOf = new Map<string, number>()
  readonly #others = new Map<string, Counted>()
  #end: Timer | undefined

  constructor(
    clock: Clock,
    {
      spanMs,
      keysMax,
      userKeysMax,
    }: { readonly spanMs: number; readonly keysMax: number; readonly userKeysMax: number },
    report: (occurrence: Occurrence, count: number) => void,
  ) {
    this.#clock = clock
    this.#spanMs = spanMs
    this.#keysMax = keysMax
    this.#userKeysMax = userKeysMax
    this.#report = report
  }

  /** Counts an occurrence. The first of its kind is reported at once. */
  add(occurrence: Occurrence): void {
    this.#end ??= this.#clock.timer(this.#spanMs, () => this.flush())
    const key = keyOf(occurrence)
    const { user = '' } = occurrence
    const counted = this.#counted.get(key)
    const keys = this.#keysOf.get(user) ?? 0
    if (counted !== undefined) counted.count++
    else if (keys >= this.#userKeysMax) this.#addOther(occurrence, occurrence.user)
    else if (this.#counted.size >= this.#keysMax) this.#addOther(occurrence, '')
    else {
      this.#counted.set(key, { occurrence, count: 0 })
      this.#keysOf.set(user, keys + 1)
      this.#report(occurrence, 1)
    }
  }

  /** Ends the span, and reports what was counted since the first of each kind. */
  flush(): void {
    this.#end?.cancel()
    this.#end = undefined
    for (const { occurrence, count } of [...this.#counted.values(), ...this.#others.values()])
      if (count > 0) this.#report(occurrence, count)
    this.#counted.clear()
    this.#keysOf.clear()
    this.#others.clear()
  }

  #addOther({ event, door }: Occurrence, user: string | undefined): void {
    const key = JSON.stringify([event, door, user])
    const counted = this.#others.get(key)
    if (counted !== undefined) {
      counted.count++
      return
    }
    const detail = user === '' ? 'various users, addresses and objects' : 'various addresses and objects'
    this.#others.set(key, {
      occurrence: { event, door, user, address: '', object: '', detail },
      count: 1,
    })
  }
}

/** The same for occurrences that are counted together. */
export function keyOf({ event, user, address, door, object, detail }: Occurrence): string {
  return JSON.stringify([event, user, address, door, object, detail])
}
