/** Callers that each want one number after another, also across the ends of the server that they ask. */
import { setTimeout as pause } from 'node:timers/promises'
import { RawClient } from '../launch/raw-client.ts'
import { ReplyError } from '../launch/raw-reply.ts'

/** What one caller asks for: a request is sent until it is answered, or once and then given up. */
export type CrowdOptions = {
  readonly size: number
  readonly command: (request: string) => readonly string[]
  /** Whether a request without an answer is sent again. Default: it is given up, and the caller makes another one. */
  readonly repeats?: boolean
  /** The port that a caller asks, by its number and that of the attempt. */
  readonly portOf: (caller: number, attempt: number) => number
}

let crowds = 0

/** Callers, what they were answered, and what is missing. */
export class Crowd {
  /** The numbers of requests that were answered. */
  readonly answers = new Map<string, bigint>()
  /** Error replies, by their first word. */
  readonly errors = new Map<string, number>()
  readonly #options: CrowdOptions
  readonly #callers: Promise<void>[]
  readonly #id = crowds++
  #isStopping = false

  constructor(options: CrowdOptions) {
    this.#options = options
    this.#callers = Array.from({ length: options.size }, (_, caller) => this.#call(caller))
  }

  /** Resolves once this many requests more were answered. */
  async wait(count: number): Promise<void> {
    const until = this.answers.size + count
    while (this.answers.size < until) await pause(5)
  }

  /** Ends each caller after its request under way; one that repeats its requests after its answer. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await Promise.all(this.#callers)
  }

  /** Numbers that two requests were answered with. */
  repeated(): bigint[] {
    const seen = new Set<bigint>()
    return [...this.answers.values()].filter((number) => seen.size === seen.add(number).size)
  }

  /** The numbers from 1 to the largest answer that no request was answered with. */
  missing(): bigint[] {
    const seen = new Set(this.answers.values())
    const missing: bigint[] = []
    const last = [...seen].reduce((most, number) => (number > most ? number : most), 0n)
    for (let number = 1n; number < last; number++) if (!seen.has(number)) missing.push(number)
    return missing
  }

  async #call(caller: number): Promise<void> {
    const { portOf, command, repeats = false } = this.#options
    let client: RawClient | undefined
    let attempt = 0
    let request = ''
    for (let count = 0; request !== '' || !this.#isStopping; attempt++) {
      if (request === '') request = `${this.#id}-${caller}-${count++}`
      try {
        client ??= await RawClient.connect(portOf(caller, attempt))
        const reply = await client.command(...command(request))
        if (reply instanceof ReplyError) {
          this.errors.set(reply.code, (this.errors.get(reply.code) ?? 0) + 1)
          if (!repeats) request = ''
          await pause(10)
          continue
        }
        this.answers.set(request, BigInt(String(reply)))
        request = ''
      } catch {
        // The server has ended, or the connection was cut: whether the request was carried out is unknown.
        await client?.close()
        client = undefined
        if (!repeats) request = ''
        await pause(10)
      }
    }
    await client?.close()
  }
}
