/** Clients that pull ids without an end and note what they were told, until they are stopped or cut off. */
import { setTimeout as pause } from 'node:timers/promises'
import { RawClient } from '../launch/raw-client.ts'
import { ReplyError } from '../launch/raw-reply.ts'
import { restOf } from './campaign.ts'
import { Journal } from './journal.ts'

/** What one client asks for, again and again. */
export type Ask = {
  readonly generator: string
  readonly command: readonly (string | number)[]
  /** Pause after each reply, in ms. Default: none, and in CI a short one. */
  readonly restMs?: number
}

let connections = 0

/** The machine's monotonic time in µs: one clock for all processes of a test, so that their journals compare. */
export function nowUs(): number {
  return Number(process.hrtime.bigint()) / 1000
}

/** Clients of a server, also across its restarts. */
export class Load {
  readonly journals = new Map<string, Journal>()
  /** Error replies, by their first word. */
  readonly errors = new Map<string, number>()
  /** The newest error reply of each first word, whole. */
  readonly errorTexts = new Map<string, string>()
  #running: Promise<void>[] = []
  #stopped = false

  journal(generator: string): Journal {
    const journal = this.journals.get(generator) ?? new Journal()
    this.journals.set(generator, journal)
    return journal
  }

  get count(): number {
    return [...this.journals.values()].reduce((sum, { count }) => sum + count, 0)
  }

  /** Starts one client for each ask, on each of the ports in turn. */
  start(ports: readonly number[], asks: readonly Ask[]): void {
    this.#stopped = false
    this.#running = asks.map((ask, index) => this.#pull([ports[index % ports.length]!], ask))
  }

  /** Starts one client for each ask; each asks all the ports in turn. */
  startInTurn(ports: readonly number[], asks: readonly Ask[]): void {
    this.#stopped = false
    this.#running = asks.map((ask) => this.#pull(ports, ask))
  }

  /** Stops after the replies under way; resolves also when the server is gone. */
  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all(this.#running)
  }

  async #refused({ code, text }: ReplyError): Promise<void> {
    this.errors.set(code, (this.errors.get(code) ?? 0) + 1)
    this.errorTexts.set(code, text)
    // As a client that means to try again should.
    await pause(10)
  }

  async #pull(ports: readonly number[], { generator, command, restMs = restOf(0) }: Ask): Promise<void> {
    const connection = ++connections
    let clients: RawClient[]
    try {
      clients = await Promise.all(ports.map((port) => RawClient.connect(port)))
    } catch {
      return
    }
    const journal = this.journal(generator)
    try {
      for (let turn = 0; !this.#stopped; turn++) {
        const sentUs = nowUs()
        const reply = await clients[turn % clients.length]!.command(...command)
        const receivedUs = nowUs()
        if (reply instanceof ReplyError) {
          await this.#refused(reply)
          continue
        }
        const ids = [reply].flat().map((value) => BigInt(value as string | bigint))
        journal.add({ ids, sentUs, receivedUs, connection })
        if (restMs > 0) await pause(restMs)
      }
    } catch {
      // The server is gone: what was not acknowledged was never promised.
    } finally {
      await Promise.all(clients.map((client) => client.close()))
    }
  }
}
