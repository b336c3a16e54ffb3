/** Callers of fahao-client that take ids of every kind without an end, and what they saw of a fault. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { ClientGenerator } from '../../client/src/generator.ts'
import { type ClientOptions, connect, type FahaoClient } from '../../client/src/index.ts'
import { describe, FahaoError } from '../../src/base/errors.ts'

/** A generator in one client, and what its callers saw. */
export type Pulled = {
  readonly client: FahaoClient
  readonly generator: ClientGenerator
  /** The newest id of this client. */
  newest: bigint
  /** Ids since the last `mark`. */
  count: number
  /** The longest call since the last `mark`, in ms. */
  longestMs: number
  /** When the newest id came, in ms of `performance.now`. */
  lastMs: number
}

/** A call that failed, and when, in ms of `performance.now`. */
export type Failure = { readonly of: Pulled; readonly error: FahaoError; readonly atMs: number }

/** Whether every id is a request. */
export const isStrict = ({ generator: { kind } }: Pulled) => kind === 'sequence' || kind === 'timestamp'

/** For how long a client tries to reach a node: a busy machine may keep one from answering for many seconds. */
const connectTimeoutMs = 60_000
/** How often a caller takes ids, and how many of a buffered kind. */
const roundMs = 40
const burst = 5

/** Calls of any number of clients, each generator by itself. */
export class ClientLoad {
  readonly pulled: Pulled[] = []
  readonly failures: Failure[] = []
  readonly #clients: FahaoClient[] = []
  readonly #ids = new Map<string, Set<bigint>>()
  /** The newest id of each strict generator that any client has got. */
  readonly #newest = new Map<string, bigint>()
  readonly #complaints: string[] = []
  readonly #running: Promise<void>[] = []
  #stopped = false
  #look: () => void = () => {}

  constructor(t: TestContext) {
    t.after(() => this.stop())
  }

  /** How many ids all callers got. */
  get count(): number {
    return [...this.#ids.values()].reduce((sum, { size }) => sum + size, 0)
  }

  /** Connects a client, or has `connected` do it, and has callers take ids of these generators from now on. */
  async start(
    urls: string | readonly string[],
    names: readonly string[],
    options: ClientOptions = {},
    connected: typeof connect = connect,
  ) {
    const client = await connected(urls, { connectTimeoutMs, ...options })
    this.#clients.push(client)
    const started: Pulled[] = []
    for (const generator of await Promise.all(names.map((name) => client.generator(name)))) {
      const pulled = { client, generator, newest: -1n, count: 0, longestMs: 0, lastMs: 0 }
      started.push(pulled)
      // Two callers share requests of the strict kinds.
      this.#running.push(this.#pull(pulled), this.#pull(pulled))
    }
    this.pulled.push(...started)
    return started
  }

  /** Forgets counts and waits. */
  mark(): void {
    for (const pulled of this.pulled) Object.assign(pulled, { count: 0, longestMs: 0 })
  }

  /** Resolves when callers of each of these have got that many ids from now on. */
  async each(count: number, among: readonly Pulled[] = this.pulled): Promise<void> {
    const wanted = new Map(among.map((pulled) => [pulled, pulled.count + count]))
    while ([...wanted].some(([pulled, enough]) => pulled.count < enough))
      await new Promise<void>((resolve) => {
        this.#look = resolve
      })
  }

  /** The longest call since the last `mark` of strict and of buffered kinds, in ms, as a text. */
  get waits(): string {
    const longest = (strict: boolean) =>
      Math.max(
        0,
        ...this.pulled.filter((pulled) => isStrict(pulled) === strict).map(({ longestMs }) => longestMs),
      ).toFixed(0)
    return `longest call: strict kinds ${longest(true)} ms, buffered kinds ${longest(false)} ms`
  }

  /** Ends all calls and clients, and checks that no id came twice and none out of order. */
  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all(this.#running)
    await Promise.all(this.#clients.map((client) => client.close()))
    assert.deepEqual(this.#complaints.slice(0, 5), [])
  }

  /** Checks that no call has failed. */
  assertNoFailure(): void {
    const texts = this.failures.map(({ of, error }) => `${of.generator.name}: ${describe(error)}`)
    assert.deepEqual(texts.slice(0, 5), [])
  }

  async #pull(pulled: Pulled): Promise<void> {
    const strict = isStrict(pulled)
    for (let at = performance.now(); !this.#stopped; ) {
      await this.#take(pulled, strict ? 1 : burst)
      // By the clock: the rate must not rise when the machine has less to do, because the service is away.
      at = Math.max(at + roundMs, performance.now() - roundMs)
      await pause(Math.max(0, at - performance.now()))
    }
  }

  /** Takes ids one after the other; ends at the first failure. */
  async #take(pulled: Pulled, count: number): Promise<void> {
    const { generator } = pulled
    const strict = isStrict(pulled)
    for (let left = count; left > 0 && !this.#stopped; left--) {
      const before = strict ? (this.#newest.get(generator.name) ?? -1n) : pulled.newest
      const sentMs = performance.now()
      try {
        const id = await generator.next()
        this.#received(pulled, id, before, performance.now() - sentMs)
      } catch (error) {
        if (this.#stopped) return
        assert.ok(error instanceof FahaoError, String(error))
        this.failures.push({ of: pulled, error, atMs: performance.now() })
        return
      }
    }
  }

  #received(pulled: Pulled, id: bigint, before: bigint, tookMs: number): void {
    const { name } = pulled.generator
    const ids = this.#ids.get(name) ?? new Set()
    this.#ids.set(name, ids)
    if (ids.has(id)) this.#complaints.push(`${name}: ${id} came twice`)
    if (id <= before) this.#complaints.push(`${name}: ${id} after ${before}`)
    ids.add(id)
    if (id > pulled.newest) pulled.newest = id
    if (id > (this.#newest.get(name) ?? -1n)) this.#newest.set(name, id)
    pulled.count++
    pulled.lastMs = performance.now()
    pulled.longestMs = Math.max(pulled.longestMs, tookMs)
    this.#look()
  }
}
