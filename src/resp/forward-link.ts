/**
 * One connection to another node, for requests that its clients sent here.
 *
 * Invariants
 *  1. Requests leave in the order in which they were asked, many at a time; replies come back in that order.
 *  2. No request is sent twice. One whose reply got lost with the connection is answered with `AnswerLost`.
 *  3. Whatever happens every request is answered, `timeoutMs` after it was asked at the latest.
 *  4. One that is told so keeps its place until its reply comes, which nobody gets: each reply belongs to the oldest
 *     place. Those that keep a place are the oldest, `#overdue` of them, and count as waiting.
 *  5. It ends by itself when nothing has arrived for `timeoutMs` while the oldest place is that old; not sooner.
 *  6. Requests of one turn of the event loop leave in one write.
 */
import { connect, type Socket } from 'node:net'
import type { Clock, Timer } from '../base/clock.ts'
import { describe, FahaoError } from '../base/errors.ts'
import { PassedOn } from '../commands/command.ts'
import { AnswerLost, Unreachable } from '../commands/forward.ts'
import { ReplyCutter } from './forward-replies.ts'
import { Output } from './output.ts'

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
  readonly resolve: (reply: PassedOn) => void
  readonly reject: (error: FahaoError) => void
}

const waitingMax = 10_000

/** See the invariants at the top of the file. */
export class ForwardLink {
  readonly #options: LinkOptions
  readonly #socket: Socket
  readonly #cutter = new ReplyCutter()
  /** In the order of the requests. The first `#overdue` have been answered already, and hold a place. */
  readonly #waiting: Waiting[] = []
  #overdue = 0
  /** When something arrived last. */
  #heardUs: number
  readonly #unsent = new Output()
  #flushing = false
  #connected = false
  #ended = false
  #timer: Timer | undefined

  constructor(options: LinkOptions) {
    const { host, port, greetings } = options
    this.#options = options
    this.#heardUs = options.clock.monoUs()
    this.#socket = connect({ host, port, noDelay: true, keepAlive: true })
    this.#socket.on('connect', () => {
      this.#connected = true
    })
    this.#socket.on('data', (chunk: Buffer) => this.#receive(chunk))
    this.#socket.on('error', (error) => this.#end(describe(error)))
    this.#socket.on('close', () => this.#end('it closed the connection'))
    for (const words of greetings) this.ask(requestOf(words.map((word) => Buffer.from(word)))).catch(() => {})
  }

  /**
   * Sends a request; resolves to the reply as it came, an error's too. Rejects with `Unreachable` when it was not sent,
   * `AnswerLost` when it was and the connection ended, UNKNOWN when the reply is late, BUSY when too many wait.
   */
  ask(request: Uint8Array): Promise<PassedOn> {
    if (this.#ended) return Promise.reject(this.#unreachable('the connection has gone'))
    if (this.#waiting.length >= waitingMax) {
      const message = `${waitingMax} requests wait for the leader at ${this.#address} already; retry`
      return Promise.reject(new FahaoError('BUSY', message))
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ sinceUs: this.#options.clock.monoUs(), resolve, reject })
      this.#send(request)
      if (this.#timer === undefined) this.#watch()
    })
  }

  /** Ends it; what waits is answered with an error that says why. */
  close(reason: string): void {
    this.#end(reason)
  }

  get #address(): string {
    return `${this.#options.host}:${this.#options.port}`
  }

  #send(request: Uint8Array): void {
    this.#unsent.encoded(request)
    if (this.#flushing) return
    this.#flushing = true
    // After all connections that have something to read: their requests travel together.
    setImmediate(() => this.#flush())
  }

  #flush(): void {
    this.#flushing = false
    const unsent = this.#unsent.take()
    if (this.#ended) return
    if (typeof unsent === 'string') this.#socket.write(unsent, 'latin1')
    else this.#socket.write(unsent)
  }

  #receive(chunk: Buffer): void {
    this.#heardUs = this.#options.clock.monoUs()
    try {
      for (const reply of this.#cutter.push(chunk)) this.#answerOldest(reply)
    } catch (error) {
      this.#end(describe(error))
    }
  }

  #answerOldest(reply: Buffer): void {
    const oldest = this.#waiting.shift()
    if (this.#overdue > 0) this.#overdue--
    else oldest?.resolve(new PassedOn(reply))
  }

  #end(reason: string, lost: FahaoError = new AnswerLost(this.#address, reason)): void {
    if (this.#ended) return
    this.#ended = true
    this.#timer?.cancel()
    this.#socket.destroy()
    const error = this.#connected ? lost : this.#unreachable(reason)
    for (const { reject } of this.#waiting.splice(0)) reject(error)
    this.#options.onEnd()
  }

  #unreachable(reason: string): FahaoError {
    return new Unreachable(this.#address, reason)
  }

  #unknown(reason: string): FahaoError {
    return new FahaoError('UNKNOWN', `the leader at ${this.#address} did not answer (${reason}); retry`)
  }

  /** Sets the timer for the next moment at which a request may be overdue, or the link silent for too long. */
  #watch(): void {
    const { clock, timeoutMs } = this.#options
    const next = this.#waiting[this.#overdue]
    let sinceUs = next?.sinceUs ?? Number.POSITIVE_INFINITY
    if (this.#overdue > 0) sinceUs = Math.min(sinceUs, this.#heardUs)
    if (sinceUs === Number.POSITIVE_INFINITY) return
    const leftMs = timeoutMs - (clock.monoUs() - sinceUs) / 1000
    this.#timer = clock.timer(Math.ceil(leftMs), () => {
      this.#timer = undefined
      this.#expire()
    })
  }

  #expire(): void {
    const { clock, timeoutMs } = this.#options
    const dueUs = clock.monoUs() - timeoutMs * 1000
    const oldest = this.#waiting[0]
    if (oldest !== undefined && oldest.sinceUs <= dueUs && this.#heardUs <= dueUs) {
      const reason = `nothing for ${timeoutMs} ms`
      return this.#end(reason, this.#unknown(reason))
    }
    for (let next = this.#waiting[this.#overdue]; next !== undefined && next.sinceUs <= dueUs; ) {
      next.reject(this.#unknown(`no reply for ${timeoutMs} ms`))
      next = this.#waiting[++this.#overdue]
    }
    this.#watch()
  }
}

/** A request as it goes over the wire. */
export function requestOf(words: readonly Uint8Array[]): Uint8Array {
  const parts: Uint8Array[] = [Buffer.from(`*${words.length}\r\n`)]
  for (const word of words) parts.push(Buffer.from(`$${word.length}\r\n`), word, lineEnd)
  return Buffer.concat(parts)
}

const lineEnd = Buffer.from('\r\n')
