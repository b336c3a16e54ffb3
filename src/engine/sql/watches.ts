/**
 * The watches of one engine. Own writes are told as they are answered; those of other processes are found by asking,
 * every `pollMs`, what was written after the last look. Revisions are committed in their order, and a removed record
 * leaves a row, so that this misses nothing and needs no list of what is there.
 *
 * Invariants
 *  1. Of one key, nothing older is told after something newer, in whatever order answers come.
 *  2. Everything up to `#revision` has been told; own writes above it are told again by the next poll.
 */
import type { Clock, Timer } from '../../base/clock.ts'
import type { RecordChange, Watch } from '../engine.ts'

/** A record, or that it was removed. */
export type RecordState = {
  readonly key: string
  readonly value: string | undefined
  readonly version: bigint
}

/** What was written after a revision, the oldest first, and how far this reaches. */
export type Changes = {
  readonly revision: bigint
  readonly records: readonly RecordState[]
  readonly more: boolean
}

type Watcher = { readonly prefix: string; readonly listener: (change: RecordChange) => void }

const pollMs = 250
/** A few polls, each with a statement that is not quick. See `Engine.newsMs`. */
export const newsMs = 4 * pollMs

/** See the invariants at the top of the file. */
export class Watches {
  readonly #clock: Clock
  readonly #ask: (revision: bigint) => Promise<Changes>
  readonly #watchers = new Set<Watcher>()
  /** The newest that was told of keys that are ahead of `#revision`. */
  readonly #ahead = new Map<string, bigint>()
  #revision = 0n
  #timer: Timer | undefined

  /** @param ask finds what was written after a revision. */
  constructor(clock: Clock, ask: (revision: bigint) => Promise<Changes>) {
    this.#clock = clock
    this.#ask = ask
  }

  /** Tells of changes after the given revision of the store. */
  add(prefix: string, listener: (change: RecordChange) => void, revision: bigint): Watch {
    const watcher = { prefix, listener }
    if (this.#watchers.size === 0) this.#revision = revision
    this.#watchers.add(watcher)
    if (this.#timer === undefined) this.#schedule()
    return { close: () => this.#remove(watcher) }
  }

  /** Ends them all. */
  close(): void {
    for (const watcher of this.#watchers) this.#remove(watcher)
  }

  /** Tells of a write of this process. */
  wrote(record: RecordState): void {
    if (this.#watchers.size > 0 && record.version > this.#revision) this.#tell(record)
  }

  #remove(watcher: Watcher): void {
    this.#watchers.delete(watcher)
    if (this.#watchers.size > 0) return
    this.#timer?.cancel()
    this.#timer = undefined
    this.#ahead.clear()
  }

  #schedule(): void {
    this.#timer = this.#clock.timer(pollMs, () => {
      // Whatever hinders it shows in the engine's status; the next poll finds what this one has missed.
      this.#poll()
        .catch(() => {})
        .finally(() => this.#watchers.size > 0 && this.#schedule())
    })
  }

  async #poll(): Promise<void> {
    for (let more = true; more && this.#watchers.size > 0; ) {
      const changes = await this.#ask(this.#revision)
      this.#learn(changes)
      more = changes.more
    }
  }

  #learn({ revision, records }: Changes): void {
    if (revision < this.#revision) {
      // A store that went back has given versions anew from there on: all of it is news.
      this.#revision = 0n
      this.#ahead.clear()
      return
    }
    for (const record of records) this.#tell(record)
    this.#revision = revision
    for (const [key, version] of this.#ahead) if (version <= revision) this.#ahead.delete(key)
  }

  #tell({ key, value, version }: RecordState): void {
    if (version < (this.#ahead.get(key) ?? 0n)) return
    this.#ahead.set(key, version)
    const change = { key, record: value === undefined ? undefined : { key, value, version } }
    for (const watcher of this.#watchers) {
      if (!key.startsWith(watcher.prefix)) continue
      queueMicrotask(() => this.#watchers.has(watcher) && watcher.listener(change))
    }
  }
}
