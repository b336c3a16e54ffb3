/** Listeners to changes of records, each of the keys under a prefix. */
import type { RecordChange, Watch } from './engine.ts'

type Watcher<Change> = { readonly prefix: string; readonly listener: (change: Change) => void }

/** The watchers of one engine. Each is notified in a microtask of its own, and not after its watch has been closed. */
export class Watchers<Change extends { readonly key: string } = RecordChange> {
  readonly #watchers = new Set<Watcher<Change>>()
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
    const watcher = { prefix, listener }
    this.#watchers.add(watcher)
    return { close: () => this.#remove(watcher) }
  }

  /** Notifies the watchers of the change's key. */
  notify(change: Change): void {
    for (const watcher of this.#watchers) {
      if (!change.key.startsWith(watcher.prefix)) continue
      queueMicrotask(() => this.#watchers.has(watcher) && watcher.listener(change))
    }
  }

  /** Closes all watches. */
  close(): void {
    for (const watcher of this.#watchers) this.#remove(watcher)
  }

  #remove(watcher: Watcher<Change>): void {
    if (this.#watchers.delete(watcher) && this.isEmpty) this.#onEmpty()
  }
}
