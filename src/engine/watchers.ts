/** Listeners to changes of records, each of the keys under a prefix. */
import type { RecordChange, Watch } from './engine.ts'

type Watcher<Change> = {
  readonly prefix: string
  readonly listener: (change: Change) => void
  /** The changes that it is told in later turns of the event loop, oldest first. */
  readonly late: Change[]
}

/** The most changes that a watcher is told in one turn of the event loop. A listener may take some ten µs. */
const burstMax = 100

/**
 * The watchers of one engine.
 *
 * Invariants
 *  1. Each is told of each change, in order, in a microtask of its own, and of none after its watch has been closed.
 *  2. Of many changes that are known at once, as after an advance of all records, it is told `burstMax` in a round of the
 *     event loop. Otherwise it is told in the round in which the change is known.
 */
export class Watchers<Change extends { readonly key: string } = RecordChange> {
  readonly #watchers = new Set<Watcher<Change>>()
  /** Notifications since the last microtask. */
  #burst = 0
  readonly #onEmpty: () => void

  /** @param onEmpty is called when the last watch has been closed. */
  constructor(onEmpty: () => void = () => {}) {
    this.#onEmpty = onEmpty
  }

  /** Whether there are none. */
  get isEmpty(): boolean {
    return this.#watchers.size === 0
  }

  /** Adds a watcher of the keys that start with `prefix`. */
  add(prefix: string, listener: (change: Change) => void): Watch {
    const watcher: Watcher<Change> = { prefix, listener, late: [] }
    this.#watchers.add(watcher)
    return { close: () => this.#remove(watcher) }
  }

  /** Notifies the watchers of the change's key. */
  notify(change: Change): void {
    if (this.#burst++ === 0)
      queueMicrotask(() => {
        this.#burst = 0
      })
    for (const watcher of this.#watchers) {
      if (!change.key.startsWith(watcher.prefix)) continue
      if (watcher.late.push(change) > 1) continue
      if (this.#burst > burstMax) setImmediate(() => this.#tellLate(watcher))
      else this.#tell(watcher, watcher.late.pop()!)
    }
  }

  #tell(watcher: Watcher<Change>, change: Change): void {
    queueMicrotask(() => this.#watchers.has(watcher) && watcher.listener(change))
  }

  #tellLate(watcher: Watcher<Change>): void {
    for (const change of watcher.late.splice(0, burstMax)) this.#tell(watcher, change)
    if (watcher.late.length > 0) setImmediate(() => this.#tellLate(watcher))
  }

  /** Closes all watches. */
  close(): void {
    for (const watcher of this.#watchers) this.#remove(watcher)
  }

  #remove(watcher: Watcher<Change>): void {
    if (this.#watchers.delete(watcher) && this.isEmpty) this.#onEmpty()
  }
}
