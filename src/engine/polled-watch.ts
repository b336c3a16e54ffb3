/**
 * Watches by polling. This process's own writes are reported when they are acknowledged; those of other processes are
 * found by asking, every `pollMs`, for what was written after the last poll. The store gives every write and removal
 * the next revision and keeps a row for each removed record. So no change is missed, and neither memory nor start
 * grow with the number of records.
 *
 * Invariants
 *  1. Of one key, no older state is reported after a newer one, in whatever order answers arrive.
 *  2. Everything up to `#revision` has been reported; own writes above it are reported again by the next poll.
 */
import { type Clock, repeat, type Timer } from '../base/clock.ts'
import type { RecordChange, Watch } from './engine.ts'
import { Watchers } from './watchers.ts'

/** A record as a write or a removal left it: `value` is null after a removal. */
export type RecordState = { readonly key: string; readonly value: string | null; readonly version: bigint }

/** A page of what was written after a revision, oldest first; it is complete up to `revision`. */
export type ChangePage = {
  readonly revision: bigint
  readonly records: readonly RecordState[]
  /** Whether there are later pages. */
  readonly more: boolean
}

const pollMs = 250
/** The time of a few polls: each may wait for a slow write. See `Engine.watchDelayMs`. */
export const watchDelayMs = 4 * pollMs

/** The watches of one engine; see the invariants above. */
export class PolledWatches {
  readonly #clock: Clock
  readonly #read: (after: bigint) => Promise<ChangePage>
  readonly #watchers = new Watchers(() => this.#stop())
  /** The newest version reported of each key that was reported ahead of `#revision`. */
  readonly #ahead = new Map<string, bigint>()
  #revision = 0n
  #polls: Timer | undefined

  /** @param read reads what was written after a revision. */
  constructor(clock: Clock, read: (after: bigint) => Promise<ChangePage>) {
    this.#clock = clock
    this.#read = read
  }

  /** Whether there are no watches. */
  get isEmpty(): boolean {
    return this.#watchers.isEmpty
  }

  /** Reports changes after the given revision of the store. */
  add(prefix: string, listener: (change: RecordChange) => void, revision: bigint): Watch {
    if (this.isEmpty) this.#revision = revision
    const watch = this.#watchers.add(prefix, listener)
    // A failure shows in the engine's status; the next poll finds what this one has missed.
    this.#polls ??= repeat(this.#clock, pollMs, () => this.#poll())
    return watch
  }

  /** Closes all watches. */
  close(): void {
    this.#watchers.close()
  }

  /** Reports a write or a removal of this process. */
  wrote(record: RecordState): void {
    if (!this.isEmpty && record.version > this.#revision) this.#report(record)
  }

  #stop(): void {
    this.#polls?.cancel()
    this.#polls = undefined
    this.#ahead.clear()
  }

  async #poll(): Promise<void> {
    for (let more = true; more && !this.isEmpty; ) {
      const page = await this.#read(this.#revision)
      this.#accept(page)
      more = page.more
    }
  }

  #accept({ revision, records }: ChangePage): void {
    if (revision < this.#revision) {
      // A store that went back has given versions again from there on: the next poll reports all of it.
      this.#revision = 0n
      this.#ahead.clear()
      return
    }
    for (const record of records) this.#report(record)
    this.#revision = revision
    for (const [key, version] of this.#ahead) if (version <= revision) this.#ahead.delete(key)
  }

  #report({ key, value, version }: RecordState): void {
    if (version < (this.#ahead.get(key) ?? 0n)) return
    this.#ahead.set(key, version)
    this.#watchers.notify({ key, record: value === null ? undefined : { key, value, version } })
  }
}
