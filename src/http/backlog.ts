/**
 * What a server holds because a client does not read: answers that wait to be read, and the requests behind them.
 *
 * Invariants
 *  1. The requests of one connection are carried out one after the other. The next one starts when the answer before
 *     it has left this process, and not in the same turn of the event loop.
 *  2. While `waitingMax` requests of a connection wait, nothing is read from it: what waits is one chunk more at most.
 *  3. What is held for all connections together stays below `unreadTotalBytesMax` + one write. Beyond it the
 *     connection is closed that has read nothing for the longest time.
 *  4. A connection that leaves bytes unread for `unreadTimeoutMs` is closed.
 *  5. The time to send a request counts only while the connection is read.
 *  6. An error that ends a connection is sent after the answers to all complete requests that came before it.
 */
import { type IncomingMessage, type RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock, Timer } from '../base/clock.ts'

/** What clients may leave unread. */
export type BacklogLimits = {
  /** How long a client may leave an answer unread. */
  readonly unreadTimeoutMs: number
  /** What may be held for all connections together, in bytes. */
  readonly unreadTotalBytesMax: number
  /** How long a client may take to send a request. */
  readonly requestTimeoutMs: number
}

/** A connection for which something is held. */
type Held = {
  /** Requests that have not been started. */
  waiting: number
  /** Its share of the total. */
  bytes: number
  /** `bytesWritten` when its time began: what has to be read until its time is up. */
  mark: number
  sinceUs: number
  /** A request has used up its time while nothing was read, and gets new time when nothing is held any more. */
  late: boolean
  /** The first request since then: the late one. */
  awaited: IncomingMessage | undefined
  readonly onClose: () => void
  readonly onResume: () => void
}

/** Node's objects for a request that waits, in bytes: measured, and rounded up. */
const waitingBytes = 8192
/** Below this a connection is read, so that its end is noticed. */
const waitingMax = 64
const sweepMsMax = 1000

/** See the invariants at the top of the file. */
export class Backlog {
  readonly #limits: BacklogLimits
  readonly #clock: Clock
  readonly #onLate: (socket: Socket) => void
  /** In the order in which they last read something. */
  readonly #held = new Map<Socket, Held>()
  /** The newest request of each connection, until it is answered. */
  readonly #newest = new WeakMap<Socket, ServerResponse>()
  /** Requests whose answer is followed by an error. */
  readonly #failing = new WeakSet<ServerResponse>()
  #totalBytes = 0
  #sweep: Timer | undefined

  /** @param onLate ends a connection that took too long to send a request. */
  constructor(limits: BacklogLimits, clock: Clock, onLate: (socket: Socket) => void) {
    this.#limits = limits
    this.#clock = clock
    this.#onLate = onLate
  }

  /** What is held for all connections together, in bytes. */
  get totalBytes(): number {
    return this.#totalBytes
  }

  /** Node's response, for a server whose answers are counted here. */
  responses(): typeof ServerResponse {
    const look = (response: ServerResponse) => this.#look(response)
    const newest = this.#newest
    // Node's own declarations overload both methods: no other signature fits them all.
    return class Answer<Request extends IncomingMessage> extends ServerResponse<Request> {
      override write(...args: unknown[]): boolean {
        const roomLeft = super.write(...(args as Parameters<ServerResponse['write']>))
        look(this)
        return roomLeft
      }

      override end(...args: unknown[]): this {
        super.end(...(args as Parameters<ServerResponse['end']>))
        look(this)
        return this
      }

      override detachSocket(socket: Socket): void {
        if (newest.get(socket) === this) newest.delete(socket)
        super.detachSocket(socket)
      }
    }
  }

  /** Has `handler` carry out the requests of each connection one after the other. */
  inTurn(handler: RequestListener): RequestListener {
    return (request, response) => {
      const { socket } = request
      this.#newest.set(socket, response)
      const held = this.#held.size === 0 ? undefined : this.#held.get(socket)
      if (held?.late) held.awaited ??= request
      // Node gives the connection to the first response, and to the next one when that has left.
      if (response.socket !== null) return handler(request, response)
      this.#wait(socket)
      response.once('socket', () => {
        setImmediate(() => {
          this.#start(socket)
          if (socket.writable) handler(request, response)
        })
      })
    }
  }

  /**
   * Calls `fail`, which ends the connection with an error, once every complete request before the error is answered.
   * A request that was late and has come meanwhile is carried out instead.
   */
  failInTurn(socket: Socket, fail: () => void): void {
    const newest = this.#newest.get(socket)
    if (newest === undefined) return fail()
    // The error takes the place of the answer to a request that is cut short.
    const isCut = !newest.req.complete && !newest.headersSent
    if (isCut && newest.socket !== null) return fail()
    if (this.#failing.has(newest)) return
    this.#failing.add(newest)
    newest.once(isCut ? 'socket' : 'finish', () => {
      const now = this.#newest.get(socket)
      if (now === undefined || now === newest) fail()
    })
  }

  /** Whether a request that has used up its time gets new time, because its connection was not read. */
  excuses(socket: Socket): boolean {
    const held = this.#held.get(socket)
    if (held === undefined || held.bytes === 0) return false
    held.late = true
    return true
  }

  #look(response: ServerResponse): void {
    const { socket } = response
    if (socket === null || socket.writableLength === 0) return
    if (response.writableEnded) response.once('finish', () => this.#update(socket))
    this.#update(socket)
  }

  #wait(socket: Socket): void {
    const held = this.#held.get(socket) ?? this.#hold(socket)
    held.waiting++
    if (held.waiting >= waitingMax) socket.pause()
    this.#update(socket)
  }

  #start(socket: Socket): void {
    const held = this.#held.get(socket)
    if (held === undefined) return
    held.waiting--
    if (held.waiting === waitingMax - 1) socket.resume()
    this.#update(socket)
  }

  #hold(socket: Socket): Held {
    const held: Held = {
      waiting: 0,
      bytes: 0,
      mark: socket.bytesWritten,
      sinceUs: this.#clock.monoUs(),
      late: false,
      awaited: undefined,
      onClose: () => this.#forget(socket),
      // Node reads on whenever an answer has left.
      onResume: () => {
        if (held.waiting >= waitingMax) socket.pause()
      },
    }
    this.#held.set(socket, held)
    socket.on('close', held.onClose).on('resume', held.onResume)
    this.#sweepSoon()
    return held
  }

  #forget(socket: Socket): void {
    const held = this.#held.get(socket)
    if (held === undefined) return
    this.#totalBytes -= held.bytes
    this.#held.delete(socket)
    socket.off('close', held.onClose).off('resume', held.onResume)
  }

  /** Takes account of what `socket` holds now. */
  #update(socket: Socket): void {
    if (socket.destroyed) return this.#forget(socket)
    const held = this.#held.get(socket) ?? this.#hold(socket)
    const unread = socket.writableLength
    const before = held.bytes
    held.bytes = unread + held.waiting * waitingBytes
    this.#totalBytes += held.bytes - before
    if (before > 0 && socket.bytesWritten - unread >= held.mark) this.#renew(socket, held)
    if (held.bytes === 0 && !held.late) this.#forget(socket)
    while (this.#totalBytes > this.#limits.unreadTotalBytesMax) this.#dropFirst()
  }

  /** Its client has read all that it was to read: its time begins anew, and others come before it. */
  #renew(socket: Socket, held: Held): void {
    held.mark = socket.bytesWritten
    held.sinceUs = this.#clock.monoUs()
    this.#held.delete(socket)
    this.#held.set(socket, held)
  }

  #dropFirst(): void {
    const [socket] = this.#held.keys()
    this.#forget(socket!)
    socket!.destroy()
  }

  /** One timer looks after all connections for which something is held. */
  #sweepSoon(): void {
    const { unreadTimeoutMs, requestTimeoutMs } = this.#limits
    const delayMs = Math.min(sweepMsMax, Math.max(10, Math.min(unreadTimeoutMs, requestTimeoutMs) / 4))
    this.#sweep ??= this.#clock.timer(delayMs, () => {
      this.#sweep = undefined
      const nowUs = this.#clock.monoUs()
      for (const [socket, held] of [...this.#held]) this.#check(socket, held, nowUs)
      if (this.#held.size > 0) this.#sweepSoon()
    })
  }

  #check(socket: Socket, held: Held, nowUs: number): void {
    if (held.awaited?.complete) held.late = false
    this.#update(socket)
    const { unreadTimeoutMs, requestTimeoutMs } = this.#limits
    const heldMs = (nowUs - held.sinceUs) / 1000
    if (socket.writableLength > 0) {
      if (heldMs > unreadTimeoutMs) socket.destroy()
    } else if (held.late && held.bytes === 0 && heldMs > requestTimeoutMs) {
      this.#forget(socket)
      this.failInTurn(socket, () => this.#onLate(socket))
    }
  }
}
