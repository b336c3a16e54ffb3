/**
 * A batch of waiting callers of which some have keys: their records and the reserve are one commit.
 *
 * Invariants
 *  1. The ids of each caller are known before the commit: its condition is the version of the counter, whose bound is known.
 *  2. The ids of a record that was written belong to its key, whether their caller still waits or not.
 *  3. A commit without a known outcome is settled by a read. One that may still be carried out is refused once another write
 *     has changed the counter (P8).
 */
import { hasCode } from '../base/errors.ts'
import type { Waiter, WaitQueue } from '../buffers/wait-queue.ts'
import { commitBytesMax, commitMax, type Engine, type RecordWrite } from '../engine/engine.ts'
import { max53 } from '../ids/limits.ts'
import { Run } from '../ids/run.ts'
import { unsafe } from './issuer.ts'
import { TakenKey } from './once.ts'
import type { ReservedCounter } from './reserved-counter.ts'

/** The values that a batch may use: from `start` on, ids from `first` on, `increment` apart, below `end`. */
type Space = {
  readonly start: bigint
  readonly first: bigint
  readonly end: bigint
  readonly increment: number
}

/** The first callers of a queue, as many as one commit takes. */
export class KeyedBatch {
  readonly #records: RecordWrite[] = []
  /** By the places of callers. */
  readonly #outcomes = new Map<number, Run[] | Error>()
  /** How many ids it has, and how many of these have keys. */
  ids = 0
  #keyed = 0
  #next: bigint
  readonly #space: Space

  constructor(queue: WaitQueue, space: Space) {
    const { first, end, increment } = space
    this.#space = space
    this.#next = first
    const keys = new Set<string>()
    let [id, bytes] = [first, 0]
    for (const { place, count, safe, once } of queue.waiting()) {
      const last = id + BigInt(count - 1) * BigInt(increment)
      if (last >= end) break
      if (safe && id > max53) {
        this.#outcomes.set(place, unsafe())
        continue
      }
      const run = new Run()
      run.set(id, count, increment)
      if (once !== undefined) {
        const value = once.value([run])
        bytes += value.length * 3
        if (keys.size === commitMax || bytes > commitBytesMax || keys.has(once.key)) break
        keys.add(once.key)
        this.#records.push({ key: once.key, value, expected: undefined })
        this.#keyed += count
      }
      this.#outcomes.set(place, [run])
      this.ids += count
      this.#next = last + 1n
      id = last + BigInt(increment)
    }
  }

  /** How many of its ids have no keys. */
  get unkeyed(): number {
    return this.ids - this.#keyed
  }

  /**
   * Writes it. False: nothing was changed, and callers whose records exist have left the queue with `TakenKey`. Rejects as the engine does.
   * @param version of the counter; at that version its bound is not above that of `counter`.
   */
  async commit(
    engine: Pick<Engine, 'read'>,
    counter: ReservedCounter,
    queue: WaitQueue,
    version: bigint,
  ): Promise<boolean> {
    const { start, end } = this.#space
    try {
      const request = { floor: start, size: this.#next - start, max: end }
      if ((await counter.commit(this.#records, request, version)) !== undefined) return true
    } catch (error) {
      const [record] = this.#records
      if (!hasCode(error, 'UNKNOWN') || record === undefined) throw error
      if ((await engine.read(record.key))?.value !== record.value) throw error
      await counter.read().catch(() => {})
      return true
    }
    const found = await Promise.all(this.#records.map(({ key }) => engine.read(key)))
    const taken = new Set(found.map((record) => record?.key))
    queue.refuse(({ once }) => (once !== undefined && taken.has(once.key) ? new TakenKey() : undefined))
    return false
  }

  /** Serves its callers. Returns how many were served, and how many of the ids without keys no caller got. */
  serve(queue: WaitQueue): { served: number; dropped: number } {
    let [served, dropped] = [0, this.unkeyed]
    queue.serve(({ place, count, once }: Waiter) => {
      const outcome = this.#outcomes.get(place)
      if (outcome === undefined || outcome instanceof Error) return outcome
      served++
      if (once === undefined) dropped -= count
      return outcome
    })
    return { served, dropped }
  }
}
