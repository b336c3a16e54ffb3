/** Redis's cluster clients from the registry, which draw without an end while nodes are exchanged. */
import { setTimeout as pause } from 'node:timers/promises'
import { Cluster } from 'ioredis'
import { createCluster } from 'redis'
import { restOf } from '../fault/campaign.ts'
import type { Journal } from '../fault/journal.ts'
import { nowUs } from '../fault/load.ts'
import { atEnd, type Lifetime } from '../launch/lifetime.ts'

/** One library: how it draws, and how it is left. */
type Library = {
  readonly name: string
  readonly incr: (generator: string) => Promise<unknown>
  readonly end: () => void
}

/** A client of one library for one generator, with what it saw. */
class Drawing {
  readonly library: Library
  readonly errors: string[] = []
  longestMs = 0
  count = 0
  stopped = false
  readonly running: Promise<void>

  /** `connection`: its number in the journal. */
  constructor(library: Library, generator: string, journal: Journal, connection: number) {
    this.library = library
    this.running = this.#draw(generator, journal, connection)
  }

  async #draw(generator: string, journal: Journal, connection: number): Promise<void> {
    while (!this.stopped) {
      const sentUs = nowUs()
      try {
        const id = BigInt((await this.library.incr(generator)) as number)
        const receivedUs = nowUs()
        journal.add({ ids: [id], sentUs, receivedUs, connection })
        this.longestMs = Math.max(this.longestMs, (receivedUs - sentUs) / 1000)
        this.count++
        await pause(restOf(1))
      } catch (error) {
        this.errors.push(`${this.library.name}: ${error}`)
        await pause(10)
      }
    }
    this.library.end()
  }
}

/** Clients of the libraries, with the options that they have by themselves. */
export class LibraryLoad {
  #drawings: readonly Drawing[] = []

  /** Connects them, and has each draw from the generator. */
  async start(lifetime: Lifetime, ports: readonly number[], generator: string, journal: Journal) {
    const nodes = ports.map((port) => ({ host: '127.0.0.1', port }))
    const ioredis = new Cluster(nodes)
    const redis = createCluster({ rootNodes: nodes.map((socket) => ({ socket })) })
    for (const client of [ioredis, redis]) client.on('error', () => {})
    await redis.connect()
    const libraries: Library[] = [
      { name: 'ioredis', incr: (name) => ioredis.incr(name), end: () => ioredis.disconnect() },
      { name: 'node-redis', incr: (name) => redis.incr(name), end: () => redis.destroy() },
    ]
    this.#drawings = libraries.map((library, at) => new Drawing(library, generator, journal, -1 - at))
    atEnd(lifetime, () => this.stop())
  }

  async stop(): Promise<void> {
    for (const drawing of this.#drawings) drawing.stopped = true
    await Promise.all(this.#drawings.map(({ running }) => running))
  }

  get errors(): string[] {
    return this.#drawings.flatMap(({ errors }) => errors)
  }

  get longestMs(): number {
    return Math.max(...this.#drawings.map(({ longestMs }) => longestMs))
  }

  /** How many ids the client that has the fewest got. */
  get least(): number {
    return Math.min(...this.#drawings.map(({ count }) => count))
  }

  /** What each saw, for the report. */
  get figures(): string {
    const each = ({ library, count, longestMs, errors }: Drawing) =>
      `${library.name}: ${count} ids, longest wait ${longestMs.toFixed(0)} ms, ${errors.length} errors`
    return this.#drawings.map(each).join('; ')
  }
}
