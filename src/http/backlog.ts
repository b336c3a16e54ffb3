/**
 * The order of the requests of a connection, and what is held for clients that do not read, or do not send: answers that
 * wait to be read, the requests behind them, and long bodies.
 *
 * Invariants
 *  1. The requests of one connection are carried out one after the other. The next one starts when the answer before
 *     it has left this process, and not in the same turn of the event loop.
 *  2. While requests of `queuedBytesMax` of a connection wait, nothing is read from it: at most one chunk more waits.
 *  3. What is held stays within an `UnreadBudget`. It counts requests that wait as `waitingBytes` each, and their bodies;
 *     and of the request under way what has come of its body, until it is answered, if that is more than `shortBodyMax`.
 *  4. The time to send a request counts only while the connection is read, or waits for its turn to be read.
 *  5. An error that ends a connection is sent after the answers to all complete requests before it.
 *  6. A connection whose chunks are too short is not read any more, and none of its further requests starts.
 */
import type { IncomingMessage, RequestListener } from 'node:http'
import type { Socket } from 'node:net'
import { systemClock, type Timer } from '../base/clock.ts'
import { type Sender, UnreadBudget, type UnreadLimits } from '../listening/unread-budget.ts'
import { ServerResponse } from '../node/plain-http.ts'
import { isRefused, MeteredRequest } from './chunks.ts'

/** What clients may leave unread, how long they may take to send a request, in ms, and how long its body may be. */
export type BacklogLimits = UnreadLimits & {
  readonly requestTimeoutMs: number
  readonly bodyBytesMax: number
}

/** Node's objects for a request that waits, in bytes: measured, and rounded up. */
const waitingBytes = 8192
/** As long as a body without a stated length is while nothing reads it: Node's `highWaterMark`. */
const chunkedBytes = 65_536
/** The length of a body, in bytes, up to which it costs nothing here. */
const shortBodyMax = 16_384
/** Up to this many waiting bytes a connection is read further, so that its end is noticed. */
const queuedBytesMax = 64 * waitingBytes
const sweepMsMax = 1000

/** A request that counts the bytes of its body that have come. */
abstract class CountedRequest extends MeteredRequest {
  bodyBytes = 0
  /** From its turn until its answer has left: then what comes of the body is held. */
  isUnderWay = false
}

/** A connection with requests or replies in memory. */
class HeldConnection implements Sender {
  readonly socket: Socket
  readonly onClose: () => void
  /** Requests that have not started, in bytes. */
  waiting = 0
  /** What has come of the body of the request under way, if it is long. */
  body = 0
  /**
   * A request has used up its time while the connection was not read. It gets new time from `idleSinceUs` on: since
   * then nothing is held.
   */
  isLate = false
  idleSinceUs: number | undefined
  /** The first request since then: the late one. */
  lateRequest: IncomingMessage | undefined

  constructor(socket: Socket, onClose: () => void) {
    this.socket = socket
    this.onClose = onClose
  }

  get bytesOut(): number {
    return this.socket.bytesWritten
  }

  get unreadBytes(): number {
    return this.socket.destroyed ? 0 : this.socket.writableLength
  }

  get queuedBytes(): number {
    return this.socket.destroyed ? 0 : this.waiting + this.body
  }

  /** Whether the server may read it: no answer is unread, and no request waits. */
  get isIdle(): boolean {
    return this.socket.destroyed || this.unreadBytes + this.waiting === 0
  }

  drop(): void {
    this.socket.destroy()
  }

  /** Node resumes a connection whenever an answer has left. */
  readonly onResume = (): void => {
    if (this.waiting >= queuedBytesMax) this.socket.pause()
  }
}

/** What ends a connection with its last answer. */
type Ends = {
  /** The connection took too long to send a request. */
  readonly late: (socket: Socket) => void
  /** The chunks of its bodies are too short. */
  readonly shortChunks: (socket: Socket) => void
}

/** The backlog of one server. */
export class Backlog {
  readonly #limits: BacklogLimits
  readonly #ends: Ends
  readonly #budget: UnreadBudget
  readonly #held = new Map<Socket, HeldConnection>()
  /** The newest request of each connection, until it is answered. */
  readonly #newest = new WeakMap<Socket, ServerResponse>()
  /** Requests whose answer is followed by an error. */
  readonly #failing = new WeakSet<ServerResponse>()
  #sweep: Timer | undefined

  constructor(limits: BacklogLimits, ends: Ends) {
    this.#limits = limits
    this.#ends = ends
    this.#budget = new UnreadBudget(limits, systemClock)
  }

  /** Node's request, for a server whose bodies are counted here. */
  requests(): typeof IncomingMessage {
    const count = (request: CountedRequest) => this.#countBody(request)
    const refuse = (socket: Socket) => this.#refuseShortChunks(socket)
    return class extends CountedRequest {
      protected override refuseShortChunks(): void {
        refuse(this.socket)
      }

      override push(piece: Buffer | null): boolean {
        if (piece !== null) {
          this.bodyBytes += piece.length
          if (this.bodyBytes > shortBodyMax && this.isUnderWay) count(this)
        }
        return super.push(piece)
      }
    }
  }

  /** Node's response, for a server whose answers are counted here. */
  responses(): typeof ServerResponse {
    const count = (response: ServerResponse) => this.#countAnswer(response)
    const newest = this.#newest
    const forgetBody = (request: CountedRequest) => this.#forgetBody(request)
    // Node's own declarations overload both methods: no other signature fits them all.
    return class CountedResponse<Request extends IncomingMessage> extends ServerResponse<Request> {
      override write(...args: unknown[]): boolean {
        const hasRoom = super.write(...(args as Parameters<ServerResponse['write']>))
        count(this)
        return hasRoom
      }

      override end(...args: unknown[]): this {
        super.end(...(args as Parameters<ServerResponse['end']>))
        count(this)
        return this
      }

      override detachSocket(socket: Socket): void {
        if (newest.get(socket) === this) newest.delete(socket)
        super.detachSocket(socket)
        forgetBody(this.req as object as CountedRequest)
      }
    }
  }

  /** Has `handler` carry out the requests of each connection one after the other. */
  inTurn(handler: RequestListener): RequestListener {
    return (message, response) => {
      const request = message as CountedRequest
      const { socket } = request
      if (isRefused(socket)) return
      this.#newest.set(socket, response)
      const held = this.#held.size === 0 ? undefined : this.#held.get(socket)
      if (held?.isLate) held.lateRequest ??= request
      // Node gives the connection to the first response, and to the next one when that has left.
      if (response.socket !== null) {
        request.isUnderWay = true
        return handler(request, response)
      }
      this.#wait(request)
      response.once('socket', () => {
        setImmediate(() => {
          this.#start(request)
          if (socket.writable) handler(request, response)
        })
      })
    }
  }

  /**
   * Calls `fail`, which ends the connection with an error, once every complete request before the error is answered.
   * A late request that has arrived since is carried out instead.
   */
  failInTurn(socket: Socket, fail: () => void): void {
    const newest = this.#newest.get(socket)
    if (newest === undefined) return fail()
    // The error is the answer to the newest request if that is incomplete and not answered yet; otherwise it comes after
    // the newest answer.
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
    if (held === undefined || held.isIdle) return false
    held.isLate = true
    return true
  }

  #refuseShortChunks(socket: Socket): void {
    socket.pause()
    this.failInTurn(socket, () => this.#ends.shortChunks(socket))
  }

  #countAnswer(response: ServerResponse): void {
    const { socket } = response
    if (socket === null || socket.writableLength === 0) return
    if (response.writableEnded) response.once('finish', () => this.#update(socket))
    this.#update(socket)
  }

  /** A longer body than may be sent is refused, and one that is ignored is discarded: neither is held. */
  #countBody({ socket, bodyBytes }: CountedRequest): void {
    this.#hold(socket).body = Math.min(bodyBytes, Math.max(this.#limits.bodyBytesMax, chunkedBytes))
    this.#update(socket)
  }

  #forgetBody(request: CountedRequest): void {
    const { socket } = request
    request.isUnderWay = false
    const held = this.#held.size === 0 ? undefined : this.#held.get(socket)
    if (held === undefined || held.body === 0) return
    held.body = 0
    this.#update(socket)
  }

  #wait(request: CountedRequest): void {
    const { socket } = request
    const held = this.#hold(socket)
    held.waiting += bytesOf(request)
    if (held.waiting >= queuedBytesMax) socket.pause()
    this.#update(socket)
  }

  #start(request: CountedRequest): void {
    const { socket } = request
    request.isUnderWay = true
    const held = this.#held.get(socket)
    if (held === undefined) return
    const wasFull = held.waiting >= queuedBytesMax
    held.waiting -= bytesOf(request)
    if (request.bodyBytes > shortBodyMax) this.#countBody(request)
    if (wasFull && held.waiting < queuedBytesMax) socket.resume()
    this.#update(socket)
  }

  #hold(socket: Socket): HeldConnection {
    const known = this.#held.get(socket)
    if (known !== undefined) return known
    const held = new HeldConnection(socket, () => this.#update(socket))
    this.#held.set(socket, held)
    socket.on('close', held.onClose).on('resume', held.onResume)
    this.#sweepSoon()
    return held
  }

  #forget({ socket, onClose, onResume }: HeldConnection): void {
    this.#held.delete(socket)
    socket.off('close', onClose).off('resume', onResume)
  }

  /** Counts what is held for `socket` now. */
  #update(socket: Socket): void {
    const held = socket.destroyed ? this.#held.get(socket) : this.#hold(socket)
    if (held === undefined) return
    this.#budget.update(held)
    if (!held.isIdle) held.idleSinceUs = undefined
    else if (held.isLate && !socket.destroyed) held.idleSinceUs ??= systemClock.monoUs()
    else if (held.queuedBytes === 0) this.#forget(held)
  }

  /** One timer for all connections for which something is held. */
  #sweepSoon(): void {
    const { unreadTimeoutMs, requestTimeoutMs } = this.#limits
    const delayMs = Math.min(sweepMsMax, Math.max(10, Math.min(unreadTimeoutMs, requestTimeoutMs) / 4))
    this.#sweep ??= systemClock.timer(delayMs, () => {
      this.#sweep = undefined
      const nowUs = systemClock.monoUs()
      this.#budget.sweep(nowUs)
      for (const held of [...this.#held.values()]) this.#check(held, nowUs)
      if (this.#held.size > 0) this.#sweepSoon()
    })
  }

  #check(held: HeldConnection, nowUs: number): void {
    const { socket } = held
    if (held.lateRequest?.complete) held.isLate = false
    this.#update(socket)
    const { idleSinceUs = nowUs } = held
    if (held.isLate && (nowUs - idleSinceUs) / 1000 > this.#limits.requestTimeoutMs) {
      this.#forget(held)
      this.failInTurn(socket, () => this.#ends.late(socket))
    }
  }
}

/** What a request that waits takes, in bytes. A longer body than may be sent is refused, and not held. */
function bytesOf({ headers }: IncomingMessage): number {
  const stated = headers['content-length'] ?? (headers['transfer-encoding'] === undefined ? 0 : chunkedBytes)
  return waitingBytes + Math.min(Number(stated), chunkedBytes)
}
