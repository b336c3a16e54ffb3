/**
 * One connection to another node, for requests that its clients sent here.
 *
 * Invariants
 *  1. Requests leave in the order in which they were asked, many at a time; replies come back in that order.
 *  2. No request is sent twice. One whose reply got lost is answered with UNKNOWN: its id, if it drew one, is a gap.
 *  3. Whatever happens every request is answered, `timeoutMs` after it was asked and a sweep later at the latest.
 */
import { connect, type Socket } from 'node:net'
import type { Clock, Timer } from '../base/clock.ts'
import { describe, FahaoError } from '../base/errors.ts'
import { ReplyCutter } from './forward-replies.ts'

/** What a link needs. */
export type LinkOptions = {
  readonly host: string
  readonly port: number
  /** Sent first; what is answered to them is nobody's concern. */
  readonly greetings: readonly (readonly string[])[]
  readonly clock: Clock
  readonly timeoutMs: number
  /** Told once, when the link can be used no more. */
  readonly onEnd: () => void
}

type Waiting = {
  readonly sinceUs: number
  readonly resolve: (reply: Buffer) => void
  readonly reject: (error: FahaoError) => void
}

const waitingMax = 10_000

/** See the invariants at the top of the file. */
export class ForwardLink {
  readonly #options: LinkOptions
  readonly #socket: Socket
  readonly #cutter = new ReplyCutter()
  readonly #waiting: Waiting[] = []
  #unsent: Buffer[] = []
  #connected = false
  #ended = false
  #sweep: Timer | undefined

  constructor(options: LinkOptions) {
    const { host, port, greetings } = options
    this.#options = options
    this.#socket = connect({ host, port, noDelay: true, keepAlive: true })
    this.#socket.on('connect', () => {
      this.#connected = true
    })
    this.#socket.on('data', (chunk: Buffer) => this.#receive(chunk))
    this.#socket.on('error', (error) => this.#end(describe(error)))
    this.#socket.on('close', () => this.#end('it closed the connection'))
    for (const words of greetings) this.ask(words.map((word) => Buffer.from(word))).catch(() => {})
  }

  /**
   * Sends a request; resolves to the bytes of the reply, an error's too. Rejects with UNAVAILABLE when it was not sent,
   * UNKNOWN when it was and the reply is lost, BUSY when too many wait.
   */
  ask(words: readonly Uint8Array[]): Promise<Buffer> {
    if (this.#ended) return Promise.reject(this.#unreachable('the connection has gone'))
    if (this.#waiting.length >= waitingMax) {
      const message = `${waitingMax} requests wait for ${this.#name} already; retry`
      return Promise.reject(new FahaoError('BUSY', message))
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ sinceUs: this.#options.clock.monoUs(), resolve, reject })
      this.#send(words)
      if (this.#sweep === undefined) this.#sweepSoon()
    })
  }

  /** Ends it; what waits is answered with an error. */
  close(): void {
    this.#end('this node is stopping')
  }

  get #name(): string {
    return `the leader at ${this.#options.host}:${this.#options.port}`
  }

  #send(words: readonly Uint8Array[]): void {
    if (this.#unsent.length === 0) queueMicrotask(() => this.#flush())
    this.#unsent.push(Buffer.from(`*${words.length}\r\n`))
    for (const word of words)
      this.#unsent.push(Buffer.from(`$${word.length}\r\n`), Buffer.from(word), lineEnd)
  }

  #flush(): void {
    const unsent = Buffer.concat(this.#unsent)
    this.#unsent = []
    if (!this.#ended) this.#socket.write(unsent)
  }

  #receive(chunk: Buffer): void {
    try {
      for (const reply of this.#cutter.push(chunk)) this.#waiting.shift()?.resolve(reply)
    } catch (error) {
      this.#end(describe(error))
    }
  }

  #end(reason: string): void {
    if (this.#ended) return
    this.#ended = true
    this.#sweep?.cancel()
    this.#socket.destroy()
    const error = this.#connected
      ? new FahaoError('UNKNOWN', `${this.#name} did not answer (${reason}); retry`)
      : this.#unreachable(reason)
    for (const { reject } of this.#waiting.splice(0)) reject(error)
    this.#options.onEnd()
  }

  #unreachable(reason: string): FahaoError {
    return new FahaoError('UNAVAILABLE', `${this.#name} cannot be reached (${reason}); retry`)
  }

  #sweepSoon(): void {
    const { clock, timeoutMs } = this.#options
    this.#sweep = clock.timer(timeoutMs / 4, () => {
      this.#sweep = undefined
      const oldest = this.#waiting[0]
      if (oldest === undefined) return
      if (clock.monoUs() - oldest.sinceUs >= timeoutMs * 1000) this.#end(`nothing for ${timeoutMs} ms`)
      else this.#sweepSoon()
    })
  }
}

const lineEnd = Buffer.from('\r\n')
