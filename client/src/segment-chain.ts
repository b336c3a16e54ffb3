/**
 * A chain of ranges that this process holds, issued in the order in which they came.
 *
 * Invariants
 *  1. Every id lies in a range that was added, and is taken once.
 *  2. No id of a range is taken after its deadline, as far as `expire` was called in the same callback of the event loop.
 *  3. The fast run holds ids of the first range only, and for one callback: it is taken back at the end of that and by
 *     every other method.
 */
import { FastRun } from '../../src/ids/fast-run.ts'
import { max53 } from '../../src/ids/limits.ts'
import { Run, two32 } from '../../src/ids/run.ts'
import type { Range } from './requests.ts'

/** A range with ids left. */
type Link = {
  next: bigint
  left: number
  /** On the monotonic clock, in µs. */
  readonly deadlineUs: number
}

/** How many ids one check of the deadline covers at most. */
const burstMax = 64

/** Filled and read within one call. */
const one = new Run()

/** Ranges of ids one apart. */
export class SegmentChain {
  readonly fastRun = new FastRun()
  readonly #links: Link[] = []
  #left = 0
  #issued = 0
  #recallAsked = false

  /** Ids taken so far. */
  get issued(): number {
    return this.#issued + this.fastRun.taken
  }

  /** Ids left. */
  get available(): number {
    this.#recall()
    return this.#left
  }

  /** How many ranges have ids left. */
  get length(): number {
    return this.#links.length
  }

  /** The last deadline, on the monotonic clock in µs; undefined when no id is left. */
  get deadlineUs(): number | undefined {
    return this.#links.at(-1)?.deadlineUs
  }

  /** Adds a range, to be issued after those that are there. */
  add({ start, end }: Range, deadlineUs: number): void {
    this.#recall()
    const left = Number(end - start)
    if (left <= 0) return
    this.#links.push({ next: start, left, deadlineUs })
    this.#left += left
  }

  /** Drops what is left of ranges whose deadline has come. */
  expire(nowUs: number): void {
    if (this.#links[0] === undefined || this.#links[0].deadlineUs > nowUs) return
    this.#recall()
    for (let first = this.#links[0]; first !== undefined && first.deadlineUs <= nowUs; first = this.#links[0])
      this.#skip(first.left)
  }

  /** Takes up to `count` ids of one range; 0 when none is left. */
  take(count: number, run: Run): number {
    const taken = this.#next(count, run)
    if (taken > 0) this.#fill()
    return taken
  }

  /** Takes exactly `count` ids, or none. */
  collect(count: number): Run[] | undefined {
    if (this.available < count) return undefined
    const runs: Run[] = []
    for (let left = count; left > 0; ) {
      const run = new Run()
      left -= this.#next(left, run)
      runs.push(run)
    }
    return runs
  }

  /** Whether the next `count` ids are at most 2^53−1; false when no id is left. */
  areSafe(count: number): boolean {
    this.#recall()
    let left = count
    for (const link of this.#links) {
      const last = link.next + BigInt(Math.min(left, link.left)) - 1n
      if (last > max53) return false
      left -= link.left
      if (left <= 0) return true
    }
    return false
  }

  /** Drops everything. */
  clear(): void {
    this.#recall()
    this.#links.length = 0
    this.#left = 0
  }

  #next(count: number, run: Run): number {
    this.#recall()
    const first = this.#links[0]
    if (first === undefined) return 0
    const taken = Math.min(count, first.left)
    run.set(first.next, taken, 1)
    this.#issued += taken
    this.#skip(taken)
    return taken
  }

  #fill(): void {
    const first = this.#links[0]
    if (first === undefined) return
    one.setOne(first.next)
    const count = Math.min(burstMax - 1, first.left, two32 - one.lo)
    this.fastRun.fill(one.hi, one.lo, count, 1)
    if (this.#recallAsked) return
    this.#recallAsked = true
    queueMicrotask(this.#endOfCallback)
  }

  readonly #endOfCallback = () => {
    this.#recallAsked = false
    this.#recall()
  }

  #recall(): void {
    const taken = this.fastRun.recall()
    if (taken === 0) return
    this.#issued += taken
    this.#skip(taken)
  }

  /** Removes the next `count` ids of the first range, which has as many. */
  #skip(count: number): void {
    const first = this.#links[0]!
    this.#left -= count
    first.left -= count
    if (first.left === 0) this.#links.shift()
    else first.next += BigInt(count)
  }
}
