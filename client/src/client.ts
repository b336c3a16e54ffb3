/** A client of the service: the generators that this process uses, over one set of connections. */
import { type Clock, type Random, systemClock, systemRandom } from '../../src/base/clock.ts'
import type { ClientGenerator } from './generator.ts'
import { HttpLink } from './http-link.ts'
import { type LeasedGenerator, openGenerator } from './leased-generator.ts'
import { closedError, Nodes } from './nodes.ts'
import { type ClientOptions, parseUrls, type Settings, settingsOf } from './options.ts'
import { RespLink } from './resp-link.ts'

/**
 * Connects to a Fahao service: `redis://HOST:7379` or `rediss:` (RESP, on the package `redis`), `http://HOST:7380` or
 * `https:` (on `fetch`), or a list of such URLs, of which any node may answer. Connections open at the first request of
 * a generator. Rejects with ERR for options that contradict each other.
 */
export async function connect(
  urls: string | readonly string[],
  options: ClientOptions = {},
): Promise<FahaoClient> {
  const parsed = parseUrls(urls)
  return new FahaoClient(parsed, settingsOf(parsed, options), systemClock, systemRandom)
}

/** An open client. */
export class FahaoClient {
  readonly #nodes: Nodes
  readonly #settings: Settings
  readonly #clock: Clock
  readonly #generators = new Map<string, Promise<LeasedGenerator>>()
  #closing: Promise<void> | undefined

  /** @internal Use `connect`. */
  constructor(urls: readonly URL[], settings: Settings, clock: Clock, random: Random) {
    this.#settings = settings
    this.#clock = clock
    this.#nodes = new Nodes({
      ...settings,
      urls,
      clock,
      random,
      link: (url) =>
        url.protocol.startsWith('http')
          ? new HttpLink(url, settings, clock)
          : new RespLink(url, settings, clock),
    })
  }

  /**
   * The generator of this name, one object for each name. Resolves when its first ids are here, of kinds that are issued
   * here. Rejects with NOGENERATOR, NOPERM, EXHAUSTED, UNAVAILABLE, …
   */
  generator(name: string): Promise<ClientGenerator> {
    if (this.#closing !== undefined) return Promise.reject(closedError())
    const known = this.#generators.get(name)
    if (known !== undefined) return known
    const opening = openGenerator(name, {
      nodes: this.#nodes,
      settings: this.#settings,
      clock: this.#clock,
    })
    this.#generators.set(name, opening)
    opening.catch(() => this.#generators.delete(name))
    return opening
  }

  /** Returns what is left to the service as far as it can be returned, and ends all connections. Never rejects. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #close(): Promise<void> {
    const opened = await Promise.allSettled(this.#generators.values())
    const reason = closedError()
    await Promise.all(
      opened.map((each) => (each.status === 'fulfilled' ? each.value.close(reason) : undefined)),
    )
    this.#nodes.close()
  }
}
