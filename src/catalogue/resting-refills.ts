/**
 * Refills of generators at rest. Those of one turn of the event loop are reserved together, and what one gets is written into its
 * row: it is not woken. If it is woken meanwhile, its object goes on with the refill. One whose refill fails is woken, so that it is
 * repeated and its callers are told as always (issuing/refills.ts).
 *
 * Invariants
 *  1. At most one refill of a generator is under way, and none of a generator that is awake.
 *  2. A range that was reserved enters the row, or the object that was made of it, or is a gap.
 */
import type { Clock } from '../base/clock.ts'
import { Batches } from '../engine/batches.ts'
import type { Reservation } from '../engine/engine.ts'
import type { RefillUnderWay } from '../issuing/counter-rows.ts'
import type { RefillTimes } from '../issuing/refills.ts'

/** How many groups of refills are under way at once, unless they are large, and how many refills a group has at most. */
const [groupsMax, groupMax] = [64, 1024] as const

/** What has the rows. */
export type RefilledAtRest = {
  /** Begins to reserve what the generator of an entry needs. Undefined: nothing. `awake`: it takes an object. */
  refill(entry: number): Promise<Reservation> | 'awake' | undefined
  /** Writes what was reserved, which took `seconds`, into the row of an entry. False: it takes an object. */
  refilled(entry: number, range: Reservation, seconds: number): boolean
  /** Wakes the generator of an entry. */
  wakeUp(entry: number): void
}

/** What the refills take from their catalogue. */
type RefillsOptions = { readonly clock: Clock; readonly refillTimes?: RefillTimes | undefined }

type Refill = { readonly entry: number; underWay: RefillUnderWay | undefined }

/** The refills of one catalogue. */
export class RestingRefills {
  readonly #host: RefilledAtRest
  readonly #clock: Clock
  readonly #times: RefillTimes | undefined
  readonly #byEntry = new Map<number, Refill>()
  readonly #groups = new Batches<Refill>({
    widthMax: groupsMax,
    sizeMax: groupMax,
    carryOut: async (group) => {
      await Promise.all(group.map((refill) => this.#start(refill)))
    },
  })

  constructor(host: RefilledAtRest, { clock, refillTimes }: RefillsOptions) {
    this.#host = host
    this.#clock = clock
    this.#times = refillTimes
  }

  /** Refills the generator of an entry with the others of its turn, unless it is being refilled. */
  add(entry: number): void {
    if (this.has(entry)) return
    const refill = { entry, underWay: undefined }
    this.#byEntry.set(entry, refill)
    this.#groups.add(refill)
  }

  /** Whether a refill of the generator of an entry waits or is under way. */
  has(entry: number): boolean {
    return this.#byEntry.has(entry)
  }

  /** A generator is woken: returns what is being reserved for it, and leaves that to it. */
  leave(entry: number): RefillUnderWay | undefined {
    const refill = this.#byEntry.get(entry)
    if (refill === undefined) return undefined
    this.#byEntry.delete(entry)
    this.#groups.remove(refill)
    return refill.underWay
  }

  /** Resolves when nothing is being reserved for the generator of an entry. Does not reject. */
  async idle(entry: number): Promise<void> {
    await this.#byEntry.get(entry)?.underWay?.reserved.catch(() => {})
  }

  #start(refill: Refill): Promise<void> | undefined {
    const { entry } = refill
    const startedUs = this.#clock.monoUs()
    const reserved = this.#host.refill(entry)
    if (reserved === undefined || reserved === 'awake') {
      this.#byEntry.delete(entry)
      if (reserved === 'awake') this.#host.wakeUp(entry)
      return undefined
    }
    refill.underWay = { reserved, startedUs }
    return reserved.then(
      (range) => {
        if (this.#byEntry.get(entry) !== refill) return
        const us = this.#clock.monoUs() - startedUs
        if (!this.#host.refilled(entry, range, us / 1_000_000)) return this.#host.wakeUp(entry)
        this.#byEntry.delete(entry)
        this.#times?.ok.add(us)
      },
      // Its object goes on with the refill, counts it, and pauses before it tries again.
      () => {
        if (this.#byEntry.get(entry) !== refill) return
        this.#host.wakeUp(entry)
      },
    )
  }
}
