/**
 * The namespaces of a cluster or a store: records `namespaces/NAME`.
 *
 * Invariants
 *  1. The records are kept in memory: namespaces work while the engine is away, and a change is in force on every node
 *     as soon as its watch has reported it.
 *  2. `revision` grows with each change, before any other code sees the change.
 *  3. The namespaces in memory are those of the store: one that the store has lost is not written again.
 */
import { FahaoError } from '../base/errors.ts'
import type { LogEvent } from '../base/events.ts'
import { refuseLookAlike } from '../base/look-alike.ts'
import { type RecordsEngine, WatchedRecords } from '../engine/watched-records.ts'
import { type Namespace, readNamespace } from './namespace.ts'

/** A request is matched against all of them, and each has series in the metrics. */
const namespacesMax = 1000

/** All namespaces. */
export class Namespaces {
  /** Grows with each change. */
  revision = 0
  readonly #onEvent: (event: LogEvent) => void
  readonly #records: WatchedRecords<Namespace>
  readonly #listeners: (() => void)[] = []
  /** Namespaces since the last change; undefined: no call has asked for them since. */
  #known: { readonly all: readonly Namespace[]; readonly users: ReadonlySet<string> } | undefined

  constructor(engine: RecordsEngine, onEvent: (event: LogEvent) => void = () => {}) {
    this.#onEvent = onEvent
    this.#records = new WatchedRecords(engine, {
      prefix: 'namespaces/',
      read: readStored,
      write: writeStored,
      revisionOf: () => 0,
      isSame: (one, other) => writeStored(one) === writeStored(other),
      hasToGo: () => true,
      isKept: () => false,
      unreadable: (name) => this.#unreadable(name),
      changed: () => this.#changed(),
      contended: (name) =>
        `namespace '${name}' is being changed by other clients; look at it again and retry`,
    })
  }

  /** Reads the namespaces, and watches them from then on; none are known before. Rejects with UNAVAILABLE. */
  async open(): Promise<this> {
    await this.#records.open()
    return this
  }

  /** Calls `listener` after every change. */
  listen(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /** In the order of their names. */
  get all(): readonly Namespace[] {
    return this.#present.all
  }

  /** The namespace of this name; ERR if there is none. */
  get(name: string): Namespace {
    const found = this.#records.get(name)
    if (found === undefined) throw unknownNamespace(name)
    return found
  }

  /** Whether a namespace counts this user's requests apart from those of others. */
  hasUser(user: string): boolean {
    return this.#present.users.has(user)
  }

  /** Creates or replaces a namespace. ERR if an option is wrong, LIMIT if there are too many. */
  async set(name: string, input: unknown): Promise<Namespace> {
    const namespace = readNamespace(name, input)
    await this.#records.change(name, (_, record) => {
      if (record === undefined) refuseLookAlike(name, 'namespace')
      if (record === undefined && this.#records.size >= namespacesMax)
        throw new FahaoError('LIMIT', `there are ${namespacesMax} namespaces already; drop one first`)
      return namespace
    })
    return namespace
  }

  /** Drops a namespace. Resolves to whether there was one. */
  drop(name: string): Promise<boolean> {
    return this.#records.remove(name)
  }

  /** Reads all namespaces again: the store may have lost some. */
  async reload(): Promise<void> {
    await this.#records.reconcile()
  }

  /** Ends the watch. */
  close(): void {
    this.#records.close()
  }

  get #present(): { readonly all: readonly Namespace[]; readonly users: ReadonlySet<string> } {
    if (this.#known === undefined) {
      const all = [...this.#records.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
      this.#known = { all, users: new Set(all.flatMap(({ user }) => user ?? [])) }
    }
    return this.#known
  }

  #changed(): void {
    this.revision++
    this.#known = undefined
    for (const listener of this.#listeners) listener()
  }

  #unreadable(name: string): undefined {
    const message = `the record of namespace '${name}' cannot be read, so it limits nothing: set it again`
    this.#onEvent({ level: 'error', message })
  }
}

function writeStored({ name: _, ...options }: Namespace): string {
  return JSON.stringify(options)
}

function readStored(name: string, text: string): Namespace | undefined {
  try {
    return readNamespace(name, JSON.parse(text))
  } catch {
    return undefined
  }
}

/** The error for a name without a namespace. */
export function unknownNamespace(name: string): FahaoError {
  return new FahaoError('ERR', `no namespace '${name.slice(0, 64)}'; ID.NAMESPACE LIST names all`)
}
