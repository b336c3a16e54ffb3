/** Callers that each want one number after another, also across the ends of the server that they ask. */
import { setTimeout as pause } from 'node:timers/promises'
import { ReplyError } from '../launch/raw-reply.ts'
import { Asker } from './asker.ts'

/** What one caller asks for: a request is sent until it is answered, or once and then given up. */
export type CrowdOptions = {
  readonly size: number
  readonly command: (request: string) => readonly string[]
  /** Whether a request without an answer is sent again. Default: it is given up, and the caller makes another one. */
  readonly repeats?: boolean
  readonly port: () => number
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

  async #call(caller: number): Promise<void> {
    const { port, command, repeats = false } = this.#options
    const asker = new Asker(port)
    let request = ''
    for (let count = 0; request !== '' || !this.#isStopping; ) {
      if (request === '') request = `${this.#id}-${caller}-${count++}`
      const reply = await asker.ask(...command(request))
      const isAnswered = reply !== undefined && !(reply instanceof ReplyError)
      if (isAnswered) this.answers.set(request, BigInt(String(reply)))
      else if (reply !== undefined) {
        this.errors.set(reply.code, (this.errors.get(reply.code) ?? 0) + 1)
        await pause(10)
      }
      if (isAnswered || !repeats) request = ''
    }
    await asker.close()
  }
}

/** Numbers that occur twice. */
export function repeatedOf(numbers: Iterable<bigint>): bigint[] {
  const seen = new Set<bigint>()
  return [...numbers].filter((number) => seen.size === seen.add(number).size)
}

/** The numbers from 1 to the largest that do not occur. */
export function missingOf(numbers: Iterable<bigint>): bigint[] {
  const seen = new Set(numbers)
  const missing: bigint[] = []
  const last = [...seen].reduce((most, number) => (number > most ? number : most), 0n)
  for (let number = 1n; number < last; number++) if (!seen.has(number)) missing.push(number)
  return missing
}
