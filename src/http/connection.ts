/**
 * The connections of an HTTP server: the order of the requests of each, what is held for it, and how it ends.
 *
 * Invariants
 *  1. The requests of a connection are carried out one after the other. The next one starts when the answer before it has left
 *     this process, and not in the same turn of the event loop.
 *  2. A connection is refused if more than `waitingBytesMax` of its requests wait, or if its bodies come in pieces that are too
 *     short: it may send `piecesMax` of any length in a second. Each request adds `piecesPerRequest`, and each `pieceBytes` of a
 *     body add one, up to `piecesMax`.
 *  3. Of a refused connection nothing more is read, none of its bodies ends, and no request that comes later starts. The refusal
 *     is the last answer, after those to all complete requests before it.
 *  4. What is held stays within an `UnreadBudget`: unread answers, `waitingBytes` for each request that waits or is ignored, and
 *     what has come of bodies until their requests are answered, each piece with the buffer that Node makes of it. The first
 *     `heldBytesMin` of requests and bodies cost a connection nothing.
 *  5. Bodies are work of a turn of the event loop. Once the turn is over, a connection that sends more is not read until its next
 *     turn, which counts as much work as its last one.
 *  6. A request is late only if its connection was read for as long as a request may take.
 */
import type { IncomingMessage as PlainRequest, RequestListener } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply } from 'fastify'
import { type Clock, systemClock, type Timer } from '../base/clock.ts'
import type { Refusals } from '../listening/refusals.ts'
import { type TurnTaker, turns } from '../listening/turns.ts'
import { type Sender, UnreadBudget, type UnreadLimits } from '../listening/unread-budget.ts'
import { callerStopped } from '../operations/caller-session.ts'
import { skipRest } from './bodies.ts'
import { LateRequest } from './late-request.ts'
import { IncomingMessage, ServerResponse } from './plain-http.ts'
import { HttpRefusal } from './problem.ts'
import type { ProvenCaller } from './proven-caller.ts'
import { countAnswer, type HttpTraffic } from './traffic.ts'
import { endGently } from './unreadable.ts'

/** Node's objects for a request that waits, in bytes: measured, and rounded up. */
const waitingBytes = 8192
/** Node's objects for a piece of a body, in addition to its bytes: measured. */
const pieceObjectBytes = 640
/** What may wait of a connection: 128 requests, each with a short body. */
const waitingBytesMax = 128 * (waitingBytes + pieceObjectBytes)
const heldBytesMin = 16_384
const [piecesMax, pieceBytes, piecesPerRequest] = [256, 1024, 4]
/** The time to receive a piece of a body, and each byte of it, as the bytes of a reply that take as long. */
const [pieceWork, byteWork] = [256, 1 / 16]
const [sweepMsMax, secondUs] = [1000, 1_000_000]
const neverGone = new AbortController().signal

const tooManyWait = new HttpRefusal(
  400,
  'more than 128 requests of this connection wait, or 1 MiB with their bodies; read the answers first, or use more connections',
)
const shortPieces = new HttpRefusal(
  400,
  `the chunks of the body are too short: beyond ${piecesMax} chunks in a second they must have ${pieceBytes} bytes on ` +
    'average; send the body at once with content-length, or in longer chunks',
)

/** What a server does with its connections. */
export type ConnectionOptions = UnreadLimits & {
  /** The most that is held of a body, in bytes. */
  readonly bodyBytesMax: number
  /** How long a request may take to come, in ms. */
  readonly requestTimeoutMs: number
  /** Counts requests where they arrive, and how long it takes until their answers have left this process. */
  readonly traffic: HttpTraffic
  /** Of the times of requests. */
  readonly clock: Clock
}

/** The connections of one server. */
export class Connections {
  readonly options: ConnectionOptions
  readonly #budget: UnreadBudget
  readonly #known = new WeakMap<Socket, HttpConnection>()
  #sweep: Timer | undefined

  constructor(options: ConnectionOptions) {
    this.options = options
    this.#budget = new UnreadBudget(options, systemClock)
  }

  /** Has `handler` carry out the requests of each connection one after the other. */
  inTurn(handler: RequestListener): RequestListener {
    return (request, response) =>
      this.of(request.socket).receive(request as HttpRequest, response as HttpResponse, handler)
  }

  /** Counts what a connection holds now. One timer looks after all that hold something. */
  count(connection: HttpConnection): void {
    this.#budget.update(connection)
    if (this.#budget.size > 0) this.#sweepSoon()
  }

  /** The connection of a socket. */
  of(socket: Socket): HttpConnection {
    const known = this.#known.get(socket)
    if (known !== undefined) return known
    const connection = new HttpConnection(socket, this)
    this.#known.set(socket, connection)
    return connection
  }

  #sweepSoon(): void {
    const delayMs = Math.min(sweepMsMax, Math.max(10, this.options.unreadTimeoutMs / 4))
    this.#sweep ??= systemClock.timer(delayMs, () => {
      this.#sweep = undefined
      this.#budget.sweep(systemClock.monoUs())
      if (this.#budget.size > 0) this.#sweepSoon()
    })
  }
}

/** A connection. */
export class HttpConnection implements Sender, TurnTaker {
  /** Of its requests since the last one with a valid login: see `refused-callers.ts`. */
  refusals: Refusals | undefined
  /** Of the newest request with an Authorization header that was valid. */
  caller: ProvenCaller | undefined
  readonly socket: Socket
  readonly #server: Connections
  /** The newest request, until it is answered. */
  #newest: HttpResponse | undefined
  #underWay: HttpResponse | undefined
  /** The request that was answered last, if its body had not come whole: an idle connection keeps no other. */
  #answeredEarly: HttpRequest | undefined
  #waiting = 0
  /** Requests that have come after a refusal: Node keeps its objects for them until the connection ends. */
  #ignored = 0
  /** What is held of bodies, in bytes. */
  #bodies = 0
  #isHeld = false
  #isRefused = false
  /** How many more pieces of bodies the client may send, of any length. */
  #pieces = piecesMax
  #sinceUs = systemClock.monoUs()
  /** Work since the last turn of the connection. */
  #work = 0
  #waitsForTurn = false
  #gone: AbortController | undefined
  #late: LateRequest | undefined

  constructor(socket: Socket, server: Connections) {
    this.socket = socket
    this.#server = server
    socket.once('close', () => {
      this.#count()
      this.#late?.cancel()
      this.#gone?.abort(callerStopped)
    })
    // Node resumes a connection whenever an answer has left, or a body has been read.
    socket.on('resume', () => {
      this.#late?.resumed()
      if (!this.#waitsForTurn && !this.#isRefused) return
      // Node stops reading at the event, which `pause` does not emit where the socket was paused while this event was on its way.
      void (socket.isPaused() ? socket.emit('pause') : socket.pause())
    })
  }

  get bytesOut(): number {
    return this.socket.bytesWritten
  }

  get unreadBytes(): number {
    return this.socket.destroyed ? 0 : this.socket.writableLength
  }

  get queuedBytes(): number {
    const bytes = (this.#waiting + this.#ignored) * waitingBytes + this.#bodies
    return this.socket.destroyed || bytes <= heldBytesMin ? 0 : bytes
  }

  get isRefused(): boolean {
    return this.#isRefused
  }

  /** Aborted when the connection ends. */
  get gone(): AbortSignal {
    if (this.#gone === undefined) {
      this.#gone = new AbortController()
      if (this.socket.destroyed) this.#gone.abort(callerStopped)
    }
    return this.#gone.signal
  }

  drop(): void {
    this.socket.destroy()
  }

  /** Has `handler` carry out a request when its turn comes. */
  receive(request: HttpRequest, response: HttpResponse, handler: RequestListener): void {
    const { traffic, clock } = this.#server.options
    traffic.commands++
    response.receivedUs = clock.monoUs()
    request.servedBy = this
    response.servedBy = this
    this.#late?.received(request)
    const bodies = this.#bodies - ((this.#underWay?.req as HttpRequest | undefined)?.heldBytes ?? 0)
    if (this.#waiting * waitingBytes + bodies >= waitingBytesMax) this.refuse(tooManyWait)
    if (this.#isRefused) {
      this.#ignored++
      return this.#count()
    }
    this.#pieces = Math.min(piecesMax, this.#pieces + piecesPerRequest)
    this.#newest = response
    // Node gives the socket to the first response, and to the next one when that has left.
    if (response.socket !== null) {
      this.#underWay = response
      return handler(request, response)
    }
    this.#waiting++
    this.#count()
    response.once('socket', () => {
      setImmediate(() => {
        this.#waiting--
        this.#underWay = response
        this.#count()
        if (this.socket.writable) handler(request, response)
      })
    })
  }

  /** Counts what was written of an answer. */
  wrote(): void {
    if (this.#isHeld || this.unreadBytes > 0) this.#count()
  }

  /** The answer to a request has left. */
  answered(request: HttpRequest, response: HttpResponse): void {
    const { traffic, clock } = this.#server.options
    countAnswer(traffic, request, response, clock)
    if (this.#newest === response) this.#newest = undefined
    this.#bodies -= request.heldBytes
    request.heldBytes = 0
    request.isAnswered = true
    this.#answeredEarly = request.complete ? undefined : request
    if (this.#underWay === response) this.#underWay = undefined
    if (this.#isHeld) this.#count()
  }

  /** Ends the connection with `refusal`, once every complete request before it is answered. */
  refuse(refusal: HttpRefusal): void {
    if (this.#isRefused) return
    this.stop()
    const { traffic, unreadTimeoutMs } = this.#server.options
    traffic.requests.failed('ERR')
    // The body of a request that was answered early is refused without a second answer.
    const end = () =>
      endGently(this.socket, unreadTimeoutMs, this.#answeredEarly?.complete === false ? undefined : refusal)
    const newest = this.#newest
    // The refusal takes the place of the answer to a request that is cut short, unless that answer has begun.
    const isCut = newest !== undefined && !newest.req.complete && !newest.headersSent
    if (newest === undefined || (isCut && newest.socket !== null)) end()
    else newest.once(isCut ? 'socket' : 'finish', end)
  }

  /** As `refuse`. Node no longer tells the answer under way that there is room again. */
  refuseDetached(refusal: HttpRefusal): void {
    this.socket.on('drain', () => this.#underWay?.emit('drain'))
    this.refuse(refusal)
  }

  /**
   * Refuses the connection because a request has not come in time. If the connection was not read meanwhile, the request has
   * that time again from when it is read: its rest may be there.
   */
  refuseLate(refusal: HttpRefusal): void {
    if (!this.#isUnread) return this.refuse(refusal)
    const newest = this.#newest?.req
    this.#late?.cancel()
    this.#late = new LateRequest(newest?.complete === false ? newest : undefined, {
      timeoutMs: this.#server.options.requestTimeoutMs,
      isUnread: () => this.#isUnread,
      refuse: () => this.refuse(refusal),
    })
  }

  /** Whether there may be bytes of the client that this node has not read yet. */
  get #isUnread(): boolean {
    return this.socket.isPaused() || this.#waiting > 0
  }

  /** Reads no more, and starts no request that comes later. */
  stop(): void {
    this.#isRefused = true
    this.socket.pause()
  }

  /** Takes in a piece of a body. Returns whether it is wanted: otherwise the connection is refused. */
  take(request: HttpRequest, bytes: number): boolean {
    if (!this.#isRefused && !this.#mayCome(bytes)) this.refuse(shortPieces)
    if (this.#isRefused) return false
    // A longer body than may be sent is refused, and one that is ignored is discarded: neither is held.
    if (request.isAnswered || request.bodyBytes > this.#server.options.bodyBytesMax) return true
    request.bodyBytes += bytes
    const held = bytes + pieceObjectBytes
    request.heldBytes += held
    this.#bodies += held
    if (this.queuedBytes > 0) this.#count()
    return true
  }

  /** Spends the work of a piece of a body. */
  spend(bytes: number): void {
    const work = pieceWork + bytes * byteWork
    this.#work += work
    turns.spend(work)
    if (!turns.over || this.#waitsForTurn) return
    this.#waitsForTurn = true
    this.socket.pause()
    turns.wait(this, false)
  }

  takeTurn(): void {
    turns.spend(this.#work)
    this.#work = 0
    this.#waitsForTurn = false
    this.socket.resume()
  }

  #mayCome(bytes: number): boolean {
    this.#pieces = Math.min(piecesMax, this.#pieces + bytes / pieceBytes) - 1
    if (this.#pieces >= 0) return true
    const nowUs = systemClock.monoUs()
    if (nowUs - this.#sinceUs < secondUs) return false
    this.#pieces = piecesMax
    this.#sinceUs = nowUs
    return true
  }

  #count(): void {
    this.#server.count(this)
    this.#isHeld = this.unreadBytes + this.queuedBytes > 0
  }
}

/** A request whose body its connection counts. */
export class HttpRequest extends IncomingMessage {
  /** Undefined before it is received. */
  servedBy: HttpConnection | undefined
  /** What has come of its body. */
  bodyBytes = 0
  /** What its connection holds of its body, in bytes, with the objects of the pieces. 0 once the request is answered. */
  heldBytes = 0
  isAnswered = false
  #restore: (() => void) | undefined

  override push(piece: Buffer | null): boolean {
    const { servedBy: connection } = this
    if (piece === null) this.#restore?.()
    if (connection === undefined || piece === null)
      return (connection?.isRefused ?? false) || super.push(piece)
    if (!connection.take(this, piece.length)) {
      this.#restore = skipRest(this.socket)
      return true
    }
    const hasRoom = super.push(piece)
    // Otherwise Node stops reading.
    if (hasRoom) connection.spend(piece.length)
    return hasRoom
  }

  /** Node drops the rest of a body whose request is answered, without a call of `push`. Here it is counted. */
  protected _dump(): void {
    if (!this.readableEnded) this.removeAllListeners('data').resume()
  }
}

/** A response that its connection counts. Node's declarations overload both methods: no other signature fits them all. */
export class HttpResponse<Request extends PlainRequest = PlainRequest> extends ServerResponse<Request> {
  servedBy: HttpConnection | undefined
  /** Undefined: it lasts until its client has enough, and its time is not counted. */
  receivedUs: number | undefined = 0

  override write(...args: unknown[]): boolean {
    const hasRoom = super.write(...(args as Parameters<ServerResponse['write']>))
    this.servedBy?.wrote()
    return hasRoom
  }

  override end(...args: unknown[]): this {
    super.end(...(args as Parameters<ServerResponse['end']>))
    this.servedBy?.wrote()
    return this
  }

  override detachSocket(socket: Socket): void {
    super.detachSocket(socket)
    this.servedBy?.answered(this.req as object as HttpRequest, this as object as HttpResponse)
  }
}

/** The connection of a request; undefined: it has come without one, as in tests. */
export function connectionOf(request: PlainRequest): HttpConnection | undefined {
  return request instanceof HttpRequest ? request.servedBy : undefined
}

/** Aborts a wait for ids when the client has gone. */
export function disconnectSignal({ request: { raw } }: FastifyReply): AbortSignal {
  return connectionOf(raw)?.gone ?? neverGone
}
