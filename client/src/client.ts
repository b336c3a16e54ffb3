/** A client of the service: the generators that this process uses, over one set of connections. */
import { type Clock, type Random, systemClock, systemRandom, type Timer } from '../../src/base/clock.ts'
import { CopyDetector, type CopyMark } from '../../src/base/copy-detector.ts'
import { FahaoError } from '../../src/base/errors.ts'
import type {
  GeneratorDescription,
  ListedGenerator,
  ListOptions,
} from '../../src/ids/generator-description.ts'
import type { MomentInput } from '../../src/ids/moment.ts'
import type { GeneratorBounds } from '../../src/ids/moment-bounds.ts'
import type { GeneratorChanges, GeneratorOptions } from './administration.ts'
import { DrawnIds } from './drawn-ids.ts'
import type { ClientGenerator } from './generator.ts'
import { HttpLink } from './http-link.ts'
import { type LeasedGenerator, openGenerator } from './leased-generator.ts'
import type { Link } from './link.ts'
import { type Metric, metricsOf } from './metrics.ts'
import { closedError, Nodes } from './nodes.ts'
import { type GeneratorDeps, ttlOf } from './open-source.ts'
import { type ClientOptions, parseUrls, type Settings, settingsOf } from './options.ts'
import type { LeasedWorker, WorkerOptions } from './plain-worker.ts'
import { RespLink } from './resp-link.ts'
import { ServiceTime } from './service-time.ts'
import { within } from './within.ts'
import { WorkerLeases } from './worker-leases.ts'

/**
 * Connects to a Fahao service: `redis://HOST:7379` or `rediss:` (RESP, on the package `redis`), `http://HOST:7380` or
 * `https:` (on `fetch`), or a list of such URLs: any of these nodes may answer. Resolves when one of them has, and has accepted
 * the login; with `lazyConnect` at once. Rejects with UNAVAILABLE when none has answered for `connectTimeoutMs`, with WRONGPASS or
 * NOAUTH, and with ERR for options that contradict each other.
 */
export async function connect(
  urls: string | readonly string[],
  options: ClientOptions = {},
): Promise<FahaoClient> {
  const parsed = parseUrls(urls)
  const settings = settingsOf(parsed, options)
  const client = new FahaoClient(parsed, settings, { clock: systemClock, random: systemRandom })
  if (!settings.lazyConnect) await client.reach(settings.connectTimeoutMs)
  return client
}

/** What a client takes from its machine; tests give their own. */
export type ClientDeps = {
  readonly clock: Clock
  readonly random: Random
  /** Makes the link to a node. Default: by the protocol of its URL. */
  readonly link?: (url: URL) => Link
  /** What differs between this process and a copy of it. Default: its process id. */
  readonly marks?: readonly CopyMark[]
}

/** Node, Deno and Bun have one; browsers and edge functions have none. */
const processId: CopyMark = {
  name: 'the process id',
  read: () => (globalThis as { readonly process: { readonly pid?: number } | undefined }).process?.pid,
}

const administration = () => import('./administration.ts')

/** How long a close waits for the service. */
const closeMaxMs = 2000

/**
 * An open client.
 *
 * Invariants
 *  1. One generator for each name, and one worker lease for all snowflakes whose layouts have room for its worker id.
 *  2. When a copy of this memory is noticed, everything that was leased is dropped before the next id is issued.
 *  3. `close` stops issuing before it returns leases, and ends when `closeMaxMs` are over: leases that could not be returned
 *     until then lapse by themselves.
 */
export class FahaoClient {
  readonly #deps: GeneratorDeps
  readonly #generators = new Map<string, Promise<LeasedGenerator>>()
  /** The open generators. */
  readonly #opened = new Set<LeasedGenerator>()
  readonly #workers = new Set<LeasedWorker>()
  /** Claims under way. */
  readonly #claims = new Set<Promise<LeasedWorker>>()
  readonly #watch: Timer
  #closing: Promise<void> | undefined

  /** @internal Use `connect`. */
  constructor(
    urls: readonly URL[],
    settings: Settings,
    { clock, random, link, marks = [processId] }: ClientDeps,
  ) {
    const copies = new CopyDetector({ clock, marks, onCopy: (reason) => this.#dropAll(reason) })
    const time = new ServiceTime(clock)
    const linkOf = (url: URL) =>
      url.protocol.startsWith('http')
        ? new HttpLink(url, settings, clock)
        : new RespLink(url, settings, clock)
    const nodes = new Nodes({ ...settings, urls, clock, random, copies, link: link ?? linkOf })
    const drawn = new DrawnIds()
    const leases = new WorkerLeases({
      drawn,
      nodes,
      clock,
      ttlMs: ttlOf(settings),
      holder: settings.holder,
      observe: (nowUs) => time.observe(nowUs),
    })
    this.#deps = { nodes, settings, clock, random, copies, time, leases, drawn }
    this.#watch = copies.watch()
  }

  /** @internal Resolves when a node has answered; closes the client where it rejects. */
  async reach(timeoutMs: number): Promise<void> {
    try {
      await this.#deps.nodes.reach(timeoutMs)
    } catch (error) {
      await this.close()
      throw error
    }
  }

  /**
   * The generator of this name, one object for each name. Resolves when its first ids are here, of kinds that are issued
   * here. With `options` it is created if it does not exist; EXISTS if it exists and differs. Rejects with NOGENERATOR, NOPERM,
   * EXHAUSTED, UNAVAILABLE, …
   */
  async generator(name: string, options?: GeneratorOptions): Promise<ClientGenerator> {
    if (this.#closing !== undefined) throw closedError()
    if (typeof name !== 'string' || name === '')
      throw new FahaoError('ERR', `the name of a generator is a text, not ${name || "''"}`)
    if (options !== undefined) await (await administration()).createGenerator(this.#deps.nodes, name, options)
    return this.#generator(name)
  }

  /**
   * Changes options. A change of a fixed option starts a new incarnation, above every id of the old one. Generators of clients
   * follow with their next refill.
   */
  async alter(name: string, changes: GeneratorChanges): Promise<void> {
    await (await administration()).alterGenerator(this.#deps.nodes, name, changes)
  }

  /**
   * Drops a generator; the service keeps its bound. Resolves to whether there was one. Rejects with UNKNOWN where no reply tells:
   * it is not sent again then, for another caller can have created one of this name since.
   */
  async drop(name: string): Promise<boolean> {
    return (await administration()).dropGenerator(this.#deps.nodes, name)
  }

  /** What the service knows of a generator. Rejects with NOGENERATOR, … */
  async describe(name: string): Promise<GeneratorDescription> {
    return (await administration()).describeGenerator(this.#deps.nodes, name)
  }

  /**
   * The ranges of the ids of the moments from `from` up to, and without, `to`; without `to` of all later moments too. Rejects with
   * WRONGTYPE of a generator that is made of a counter, NOGENERATOR, …
   */
  async bounds(name: string, from: MomentInput, to?: MomentInput): Promise<GeneratorBounds> {
    return (await administration()).boundsOf(this.#deps.nodes, name, from, to)
  }

  /** The smallest id of a moment. Rejects as `bounds`, with ERR before the epoch of the layout, EXHAUSTED past its end, and WRONGTYPE where ids are scattered. */
  async smallestIdAt(name: string, moment: MomentInput): Promise<bigint> {
    return (await administration()).smallestIdAt(this.#deps.nodes, name, moment)
  }

  /** The generators that the user may name, in byte order of their names; read page by page. */
  async *list(options: ListOptions = {}): AsyncGenerator<ListedGenerator> {
    yield* (await administration()).listGenerators(this.#deps.nodes, options)
  }

  #generator(name: string): Promise<LeasedGenerator> {
    const known = this.#generators.get(name)
    if (known !== undefined) return known
    const opening = this.#open(name)
    this.#generators.set(name, opening)
    opening.catch(() => this.#generators.delete(name))
    return opening
  }

  /**
   * Leases a plain worker id of a pool, for a snowflake library of your own, and renews it until it is released. Rejects
   * with EXHAUSTED when no id is free, NOPERM, UNAVAILABLE, …
   */
  async leaseWorker(pool: string, options: WorkerOptions = {}): Promise<LeasedWorker> {
    if (this.#closing !== undefined) throw closedError()
    const claim = this.#claim(pool, options)
    this.#claims.add(claim)
    try {
      return await claim
    } finally {
      this.#claims.delete(claim)
    }
  }

  async #claim(pool: string, options: WorkerOptions): Promise<LeasedWorker> {
    const { nodes, clock, settings, copies } = this.#deps
    const { LeasedWorker } = await import('./plain-worker.ts')
    const worker = await LeasedWorker.claim(pool, options, {
      nodes,
      clock,
      copies,
      onEvent: settings.onEvent,
    })
    if (this.#closing !== undefined) {
      await worker.release()
      throw closedError()
    }
    this.#workers.add(worker)
    void worker.lost.then(() => this.#workers.delete(worker))
    return worker
  }

  /** The figures of all generators, to be called by the callback of an observable instrument. */
  metrics(): Metric[] {
    return [...this.#opened].flatMap((generator) => metricsOf(generator.name, generator.stats()))
  }

  /**
   * Returns what is left to the service, as far as it can be returned within 2 s, and ends all connections. Never rejects.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** @internal Throws where an invariant of what it holds is broken. */
  assertInvariants(): void {
    this.#deps.leases.assertInvariants()
    this.#deps.drawn.assertInvariants()
    for (const generator of this.#opened) generator.assertInvariants()
  }

  async #open(name: string): Promise<LeasedGenerator> {
    const generator = await openGenerator(name, this.#deps)
    if (this.#closing !== undefined) {
      await generator.close(closedError())
      throw closedError()
    }
    this.#opened.add(generator)
    return generator
  }

  async #close(): Promise<void> {
    const reason = closedError()
    this.#watch.cancel()
    const { clock, nodes } = this.#deps
    // A renewal under way may wait for a service that is away, and would be waited for.
    await within(clock, closeMaxMs, this.#giveBack(reason), 'the service').catch(() => {})
    nodes.close()
  }

  async #giveBack(reason: FahaoError): Promise<void> {
    await Promise.all([...this.#opened].map((generator) => generator.close(reason)))
    await Promise.all([
      this.#deps.leases.giveBack(),
      ...[...this.#workers].map((worker) => worker.release()),
      // A claim that is answered meanwhile is released by itself.
      ...[...this.#claims].map((claim) => claim.catch(() => {})),
    ])
  }

  #dropAll(reason: string): void {
    this.#deps.leases.drop()
    for (const generator of this.#opened) generator.drop()
    for (const worker of this.#workers) worker.drop(reason)
    this.#deps.settings.onEvent({ type: 'memory-copied', reason })
  }
}
