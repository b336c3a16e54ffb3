/**
 * The names that callers have asked for in one turn of the event loop and that are not open: they are opened together.
 *
 * Invariants
 *  1. A name is queued once and in one group at a time, and its group ends with one outcome for it, also when something throws.
 *  2. While a group is being opened, no other task of its names runs.
 *  3. At most two large groups, or many small ones, are opened at once. A name that has waited too long for its group is refused.
 */
import type { Clock } from '../base/clock.ts'
import { Batches } from '../engine/batches.ts'
import type { NameOpening, Opening } from './name-opening.ts'
import { checkName } from './name-rules.ts'
import type { NameTasks } from './name-tasks.ts'
import { openedTooLate, openWaitMaxMs } from './open-issuer.ts'
import type { WaitingCallers } from './waiting-callers.ts'

/** How many groups are opened at once, unless they are large, and how many names a group has at most. */
const [groupsMax, groupMax] = [64, 1024] as const

/** How a name comes to its group, and leaves it. */
export type ColdNamesEnds = {
  /** Whether it is opened with its group, asked when that begins. Throws why its callers are refused. */
  readonly joins: (name: string) => boolean
  /** The outcome. It ends the task of the name. */
  readonly opened: (name: string, opening: Opening) => void
}

/** A name, and since when it waits, in µs. */
type QueuedName = { readonly name: string; readonly sinceUs: number }

/** The names of one catalogue. */
export class ColdNames {
  readonly #clock: Clock
  readonly #tasks: NameTasks
  readonly #waiting: WaitingCallers
  readonly #opening: NameOpening
  readonly #ends: ColdNamesEnds
  /** The names that wait for a group. */
  readonly #queued = new Set<string>()
  readonly #groups = new Batches<QueuedName>({
    widthMax: groupsMax,
    sizeMax: groupMax,
    carryOut: (cold) => this.#open(cold),
  })

  constructor(
    clock: Clock,
    tasks: NameTasks,
    waiting: WaitingCallers,
    opening: NameOpening,
    ends: ColdNamesEnds,
  ) {
    this.#clock = clock
    this.#tasks = tasks
    this.#waiting = waiting
    this.#opening = opening
    this.#ends = ends
  }

  /** Opens a name with the others of its turn. */
  add(name: string): void {
    // Callers before this one were served in another way while the name was queued.
    if (this.#queued.has(name)) return
    this.#queued.add(name)
    this.#groups.add({ name, sinceUs: this.#clock.monoUs() })
  }

  async #open(cold: readonly QueuedName[]): Promise<void> {
    const names = cold.filter((each) => this.#joins(each)).map(({ name }) => name)
    if (names.length === 0) return
    const opened = this.#openTogether(names)
    for (const name of names) this.#tasks.begin(name, opened)
    await opened
  }

  async #openTogether(names: readonly string[]): Promise<void> {
    try {
      const openings = await this.#opening.openTogether(names, (name) => this.#waiting.count(name))
      for (const [at, each] of openings.entries()) {
        if (each instanceof Promise) void this.#wait(names[at]!, each)
        else this.#opened(names[at]!, each)
      }
    } catch (error) {
      for (const name of names) this.#fail(name, error)
    }
  }

  #opened(name: string, opening: Opening): void {
    try {
      this.#ends.opened(name, opening)
    } catch (error) {
      this.#fail(name, error)
    }
  }

  #fail(name: string, error: unknown): void {
    this.#tasks.end(name)
    this.#waiting.refuse(name, error)
  }

  #joins({ name, sinceUs }: QueuedName): boolean {
    this.#queued.delete(name)
    if (!this.#waiting.has(name)) return false
    try {
      if (this.#clock.monoUs() - sinceUs > openWaitMaxMs * 1000) throw openedTooLate()
      if (!this.#ends.joins(name)) return false
      checkName(name)
      return true
    } catch (error) {
      this.#waiting.refuse(name, error)
      return false
    }
  }

  /** A name that takes more than the others of its group. */
  async #wait(name: string, opening: Promise<Opening>): Promise<void> {
    this.#tasks.begin(name, opening)
    this.#opened(name, await opening)
  }
}
