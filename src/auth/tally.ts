/**
 * Counts alike occurrences within a span of time, so that a client that repeats itself makes few entries.
 *
 * Invariants
 *  1. The sum of the reported counts is the number of calls of `add`, once `flush` has run.
 *  2. A span has at most `keysMax` different occurrences, each reported at most twice: at once, and at the end with
 *     what came after. All others are reported together at the end, by event.
 */
import type { Clock, Timer } from '../base/clock.ts'
import type { Occurrence } from './audit-entry.ts'

type Counted = { readonly occurrence: Occurrence; count: number }

/** The occurrences of one span after the other; see the invariants above. */
export class Tally {
  readonly #clock: Clock
  readonly #spanMs: number
  readonly #keysMax: number
  readonly #report: (occurrence: Occurrence, count: number) => void
  readonly #counted = new Map<string, Counted>()
  readonly #others = new Map<string, Counted>()
  #end: Timer | undefined

  constructor(
    clock: Clock,
    { spanMs, keysMax }: { readonly spanMs: number; readonly keysMax: number },
    report: (occurrence: Occurrence, count: number) => void,
  ) {
    this.#clock = clock
    this.#spanMs = spanMs
    this.#keysMax = keysMax
    this.#report = report
  }

  /** Counts an occurrence. The first of its kind is reported at once. */
  add(occurrence: Occurrence): void {
    this.#end ??= this.#clock.timer(this.#spanMs, () => this.flush())
    const key = keyOf(occurrence)
    const counted = this.#counted.get(key)
    if (counted !== undefined) counted.count++
    else if (this.#counted.size >= this.#keysMax) this.#addOther(occurrence)
    else {
      this.#counted.set(key, { occurrence, count: 0 })
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
    this.#others.clear()
  }

  #addOther({ event, door }: Occurrence): void {
    const key = `${event} ${door}`
    const counted = this.#others.get(key)
    if (counted !== undefined) {
      counted.count++
      return
    }
    const detail = 'various users, addresses and objects'
    this.#others.set(key, {
      occurrence: { event, door, user: '', address: '', object: '', detail },
      count: 1,
    })
  }
}

/** The same for occurrences that are counted together. */
export function keyOf({ event, user, address, door, object, detail }: Occurrence): string {
  return JSON.stringify([event, user, address, door, object, detail])
}
