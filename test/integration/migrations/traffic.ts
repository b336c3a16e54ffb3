/** Clients that draw ids all the while that a page is carried out. */
import assert from 'node:assert/strict'
import { get } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { atEnd, type Lifetime } from '../../launch/lifetime.ts'

/** Draws one id, as text; rejects when that fails. */
export type Draw = () => Promise<string>

/** Clients under way. */
export class Traffic {
  readonly #ids: string[] = []
  readonly #failures: string[] = []
  readonly #clients: Promise<void>[]
  #running = true

  /** One client for each way to draw, a few ids a second apart. */
  constructor(lifetime: Lifetime, draws: readonly Draw[]) {
    this.#clients = draws.map((draw) => this.#run(draw))
    atEnd(lifetime, () => this.stop())
  }

  /** Ids so far. */
  get ids(): readonly string[] {
    return this.#ids
  }

  /** Resolves when `count` more ids have come. */
  async more(count: number): Promise<void> {
    const wanted = this.#ids.length + count
    const giveUpAt = performance.now() + 20_000
    while (this.#ids.length < wanted) {
      assert.ok(performance.now() < giveUpAt, `no ids come any more: ${this.#failures.slice(-3).join('\n')}`)
      await pause(10)
    }
  }

  async stop(): Promise<void> {
    this.#running = false
    await Promise.all(this.#clients)
  }

  /** Stops, and holds the clients to what a page promises: no id came twice, and no request failed. */
  async end(): Promise<readonly string[]> {
    await this.stop()
    assert.deepEqual(this.#failures.slice(0, 5), [])
    assert.equal(new Set(this.#ids).size, this.#ids.length, 'an id came twice')
    return this.#ids
  }

  async #run(draw: Draw): Promise<void> {
    while (this.#running) {
      try {
        this.#ids.push(await draw())
      } catch (error) {
        this.#failures.push(String(error))
      }
      await pause(5)
    }
  }
}

/** Draws from an old service's API that answers plain text, each time on a connection of its own. */
export function plainDraw(url: string): Draw {
  return () =>
    new Promise((resolve, reject) => {
      const request = get(url, { agent: false }, (answer) => {
        let body = ''
        answer.setEncoding('utf8').on('data', (text) => {
          body += text
        })
        answer.once('end', () => {
          if (answer.statusCode === 200 && /^\w+$/.test(body)) resolve(body)
          else reject(new Error(`${url}: ${answer.statusCode} ${body}`))
        })
      })
      request.once('error', reject)
    })
}
