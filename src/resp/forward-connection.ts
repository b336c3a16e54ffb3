/**
 * One connection to another node, for requests that this node forwards.
 *
 * Invariants
 *  1. Requests leave in the order in which they were sent, many at a time; replies arrive in that order.
 *  2. No request is sent twice. A reply that was lost with the connection is the error `NoReply`.
 *  3. Every request is settled, at the latest `timeoutMs` after it was sent.
 *  4. A timed-out request keeps its slot, and its late reply is discarded: each reply belongs to the oldest slot.
 *     Timed-out requests are the oldest, `#timedOut` of them, and count as waiting.
 *  5. The connection ends if nothing has arrived for `timeoutMs` while the oldest slot is that old, and not sooner.
 *  6. Requests of one turn of the event loop leave in one write.
 *  7. The connection ends once no request has waited for `idleMs`: there is one for each user, and users come and go.
 */
import type { Socket } from 'node:net'
import { addressText } from '../base/address.ts'
import type { Clock, Timer } from '../base/clock.ts'
import { describe, FahaoError } from '../base/errors.ts'
import { EncodedReply } from '../commands/command.ts'
import { NoReply, type NoReplyState } from '../forwarding/forwarder.ts'
import { type Dial, readyEvent } from '../listening/dial.ts'
import { Output } from './output.ts'
import { ReplySplitter } from './reply-splitter.ts'

/** What a connection needs. */
export type ForwardConnectionOptions = {
  readonly host: string
  readonly port: number
  readonly dial: Dial
  /** Requests that are sent first. An error as a reply to one of them ends the connection; other replies are discarded. */
  readonly greetings: readonly (readonly string[])[]
  readonly clock: Clock
  readonly timeoutMs: number
  /** Called once, when the connection has ended. */
  readonly onEnd: () => void
}

/** A request that waits for its reply. */
type PendingRequest = {
  readonly sinceUs: number
  readonly resolve: (reply: EncodedReply) => void
  readonly reject: (error: FahaoError) => void
}

const pendingMax = 10_000
const idleMs = 60_000
const minus = '-'.charCodeAt(0)

/** A connection that opens at once. */
export class ForwardConnection {
  readonly #options: ForwardConnectionOptions
  readonly #socket: Socket
  readonly #splitter = new ReplySplitter()
  /** In the order of the requests. The first `#timedOut` of them are settled. */
  readonly #pending: PendingRequest[] = []
  #timedOut = 0
  /** Greetings without a reply. */
  #greeting = 0
  /** The time of the newest bytes from the node. */
  #receivedUs: number
  readonly #unsent = new Output()
  #flushing = false
  #connected = false
  #ended = false
  #timer: Timer | undefined
  #idleTimer: Timer | undefined

  constructor(options: ForwardConnectionOptions) {
    const { dial, greetings } = options
    this.#options = options
    this.#receivedUs = options.clock.monoUs()
    this.#socket = dial(options)
    this.#socket.on(readyEvent(this.#socket), () => {
      this.#connected = true
    })
    this.#socket.on('data', (chunk: Buffer) => this.#receive(chunk))
    this.#socket.on('error', (error) => this.close(describe(error)))
    this.#socket.on('close', () => this.close('it closed the connection'))
    for (const words of greetings)
      this.send(encodedRequest(words.map((word) => Buffer.from(word)))).catch(() => {})
    this.#greeting = greetings.length
  }

  /** Sends a request. Resolves to the reply, also if that is an error. Rejects with `NoReply`, or BUSY. */
  send(request: Uint8Array): Promise<EncodedReply> {
    if (this.#ended) return Promise.reject(this.#noReply('unsent', 'the connection has gone'))
    if (this.#pending.length >= pendingMax) {
      const address = addressText(this.#options)
      const message = `${pendingMax} requests wait for the leader at ${address} already; retry`
      return Promise.reject(new FahaoError('BUSY', message))
    }
    return new Promise((resolve, reject) => {
      this.#pending.push({ sinceUs: this.#options.clock.monoUs(), resolve, reject })
      this.#write(request)
      this.#idleTimer?.cancel()
      if (this.#timer === undefined) this.#setTimer()
    })
  }

  /** Ends the connection, and rejects what waits. */
  close(reason: string, state: NoReplyState = 'lost'): void {
    if (this.#ended) return
    this.#ended = true
    this.#timer?.cancel()
    this.#idleTimer?.cancel()
    this.#socket.destroy()
    const error = this.#noReply(this.#connected ? state : 'unsent', reason)
    for (const { reject } of this.#pending.splice(0)) reject(error)
    this.#options.onEnd()
  }

  #write(request: Uint8Array): void {
    this.#unsent.encoded(request)
    if (this.#flushing) return
    this.#flushing = true
    // After the reads of this turn: the requests of all clients leave together.
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
    this.#receivedUs = this.#options.clock.monoUs()
    try {
      for (const reply of this.#splitter.push(chunk)) this.#settleOldest(reply)
    } catch (error) {
      this.close(describe(error))
    }
  }

  #settleOldest(reply: Buffer): void {
    const isRefusal = this.#greeting > 0 && reply[0] === minus
    if (this.#greeting > 0) this.#greeting--
    // The requests after it were refused as well.
    if (isRefusal) return this.close(`it refused this node: ${reply.toString().trim()}`, 'unsent')
    const oldest = this.#pending.shift()
    if (this.#timedOut > 0) this.#timedOut--
    else oldest?.resolve(new EncodedReply(reply))
  }

  #noReply(state: NoReplyState, reason: string): NoReply {
    return new NoReply(state, addressText(this.#options), reason)
  }

  /** Sets the timer for the next moment at which a request may time out, or the connection end. */
  #setTimer(): void {
    const { clock, timeoutMs } = this.#options
    const next = this.#pending[this.#timedOut]
    let sinceUs = next?.sinceUs ?? Number.POSITIVE_INFINITY
    if (this.#timedOut > 0) sinceUs = Math.min(sinceUs, this.#receivedUs)
    if (sinceUs === Number.POSITIVE_INFINITY) {
      this.#idleTimer = clock.timer(idleMs, () => this.close('no request waited for a minute'))
      return
    }
    const leftMs = timeoutMs - (clock.monoUs() - sinceUs) / 1000
    this.#timer = clock.timer(Math.ceil(leftMs), () => {
      this.#timer = undefined
      this.#expire()
    })
  }

  #expire(): void {
    const { clock, timeoutMs } = this.#options
    const dueUs = clock.monoUs() - timeoutMs * 1000
    const oldest = this.#pending[0]
    if (oldest !== undefined && oldest.sinceUs <= dueUs && this.#receivedUs <= dueUs) {
      return this.close(`nothing for ${timeoutMs} ms`, 'late')
    }
    for (let next = this.#pending[this.#timedOut]; next !== undefined && next.sinceUs <= dueUs; ) {
      next.reject(this.#noReply('late', `no reply for ${timeoutMs} ms`))
      next = this.#pending[++this.#timedOut]
    }
    this.#setTimer()
  }
}

/** A request as its bytes on the wire. */
export function encodedRequest(words: readonly Uint8Array[]): Uint8Array {
  const parts: Uint8Array[] = [Buffer.from(`*${words.length}\r\n`)]
  for (const word of words) parts.push(Buffer.from(`$${word.length}\r\n`), word, lineEnd)
  return Buffer.concat(parts)
}

const lineEnd = Buffer.from('\r\n')
