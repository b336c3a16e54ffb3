/**
 * What runs for the names of one catalogue: openings, closings and creations.
 *
 * Invariants
 *  1. One task of a name runs at a time.
 *  2. Of a name for which a task runs, the newest version that the watch has reported meanwhile is known.
 */
import { assert } from '../base/assert.ts'

/** The tasks of one catalogue. */
export class NameTasks {
  readonly #running = new Map<string, Promise<unknown>>()
  readonly #reported = new Map<string, bigint>()

  /** Whether a task of this name runs. */
  has(name: string): boolean {
    return this.#running.has(name)
  }

  /** Resolves when no task of this name runs, whatever becomes of it. */
  async idle(name: string): Promise<void> {
    for (let task = this.#running.get(name); task !== undefined; task = this.#running.get(name))
      await task.catch(() => {})
  }

  /** Resolves when no task runs. */
  async allIdle(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running.values())
  }

  /** Runs a task when no other one of the name runs. */
  async run<Result>(name: string, task: () => Promise<Result>): Promise<Result> {
    while (this.has(name)) await this.idle(name)
    const running = task()
    this.begin(name, running)
    try {
      return await running
    } finally {
      this.end(name)
    }
  }

  /** Notes that a task of the name runs, and until when. `end` is called before `until` has settled. */
  begin(name: string, until: Promise<unknown>): void {
    this.#running.set(name, until)
  }

  /** The task has ended. */
  end(name: string): void {
    this.#running.delete(name)
    this.#reported.delete(name)
  }

  /** The watch has reported this version of a record. */
  report(name: string, version: bigint): void {
    if (this.has(name)) this.#reported.set(name, version)
  }

  /** Whether the watch has reported a later version while the task ran. If so, this forgets the report. */
  isOutdated(name: string, version: bigint): boolean {
    const isOutdated = (this.#reported.get(name) ?? 0n) > version
    if (isOutdated) this.#reported.delete(name)
    return isOutdated
  }

  /** Throws where an invariant is broken. For tests. */
  assertInvariants(): void {
    for (const name of this.#reported.keys())
      assert(this.has(name), 'versions are kept of names in transition')
  }
}
