/**
 * The namespaces of a cluster or a store: records `namespaces/NAME`.
 *
 * Invariants
 *  1. The records are kept in memory: namespaces work while the engine is away, and a change is in force on every node
 *     as soon as its watch has reported it.
 *  2. `revision` grows with each change, before any other code sees the change.
 */
import { FahaoError } from '../base/errors.ts'
import type { LogEvent } from '../base/events.ts'
import { refuseLookAlike } from '../base/look-alike.ts'
import type { Engine, StoredRecord } from '../engine/engine.ts'
import { RecordMirror } from '../engine/record-mirror.ts'
import { type Namespace, readNamespace } from './namespace.ts'

const prefix = 'namespaces/'
/** A request is matched against all of them, and each has series in the metrics. */
const namespacesMax = 1000
const changeTries = 20

/** All namespaces. */
export class Namespaces {
  /** Grows with each change. */
  revision = 0
  readonly #engine: Engine
  readonly #onEvent: (event: LogEvent) => void
  readonly #listeners: (() => void)[] = []
  #mirror: RecordMirror | undefined
  #all: readonly Namespace[] = []
  #users: ReadonlySet<string> = new Set()

  constructor(engine: Engine, onEvent: (event: LogEvent) => void = () => {}) {
    this.#engine = engine
    this.#onEvent = onEvent
  }

  /** Reads the namespaces, and watches them from then on; none are known before. Rejects with UNAVAILABLE. */
  async open(): Promise<this> {
    this.#mirror = await RecordMirror.open(this.#engine, prefix, () => this.#read())
    this.#read()
    return this
  }

  /** Calls `listener` after every change. */
  listen(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /** In the order of their names. */
  get all(): readonly Namespace[] {
    return this.#all
  }

  /** The namespace of this name; ERR if there is none. */
  get(name: string): Namespace {
    const found = this.#all.find((each) => each.name === name)
    if (found === undefined) throw unknownNamespace(name)
    return found
  }

  /** Whether a namespace counts this user's requests apart from those of others. */
  hasUser(user: string): boolean {
    return this.#users.has(user)
  }

  /** Creates or replaces a namespace. ERR if an option is wrong, LIMIT if there are too many. */
  async set(name: string, input: unknown): Promise<Namespace> {
    const namespace = readNamespace(name, input)
    const { name: _, ...options } = namespace
    await this.#change(name, async (mirror, before) => {
      if (before === undefined) refuseLookAlike(name, 'namespace')
      if (before === undefined && this.#all.length >= namespacesMax)
        throw new FahaoError('LIMIT', `there are ${namespacesMax} namespaces already; drop one first`)
      return (await mirror.write(prefix + name, JSON.stringify(options), before?.version)) !== undefined
    })
    return namespace
  }

  /** Drops a namespace. Resolves to whether there was one. */
  async drop(name: string): Promise<boolean> {
    let existed = false
    await this.#change(name, async (mirror, before) => {
      existed = before !== undefined
      return before === undefined || mirror.remove(prefix + name, before.version)
    })
    return existed
  }

  /** Reads all namespaces again: the store may have lost some. */
  reload(): Promise<void> {
    return this.#mirror!.reload()
  }

  /** Ends the watch. */
  close(): void {
    this.#mirror?.close()
  }

  /** Tries again while other writes come first. */
  async #change(
    name: string,
    change: (mirror: RecordMirror, before: StoredRecord | undefined) => Promise<boolean>,
  ): Promise<void> {
    for (let tries = 0; tries < changeTries; tries++)
      if (await change(this.#mirror!, await this.#engine.read(prefix + name))) return
    throw new FahaoError(
      'CONFLICT',
      `namespace '${name}' is being changed by other clients; look at it again and retry`,
    )
  }

  #read(): void {
    // The first list is reported before the mirror is returned.
    if (this.#mirror === undefined) return
    this.revision++
    this.#all = [...this.#mirror.records.values()]
      .flatMap((record) => this.#parsed(record))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
    this.#users = new Set(this.#all.flatMap(({ user }) => user ?? []))
    for (const listener of this.#listeners) listener()
  }

  #parsed({ key, value }: StoredRecord): Namespace[] {
    const name = key.slice(prefix.length)
    try {
      return [readNamespace(name, JSON.parse(value))]
    } catch {
      const message = `the record of namespace '${name}' cannot be read, so it limits nothing: set it again`
      this.#onEvent({ level: 'error', message })
      return []
    }
  }
}

/** The error for a name without a namespace. */
export function unknownNamespace(name: string): FahaoError {
  return new FahaoError('ERR', `no namespace '${name.slice(0, 64)}'; ID.NAMESPACE LIST names all`)
}
