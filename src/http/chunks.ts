/**
 * What a client may take of the event loop to send bodies. Node calls back once for each chunk of a body: a chunk of one
 * byte costs as much time as one of some kilobytes, and one read holds 10,000 of them.
 *
 * Invariants
 *  1. A connection may send `chunksMax` chunks of any length in a second. Each request adds `chunksPerRequest`, and
 *     each `chunkBytes` of a body add one, up to `chunksMax`.
 *  2. The connection is refused at the first chunk beyond that. Then none of its bodies ends, so no request of it is carried
 *     out, and the rest of the bytes that have been read causes no callback.
 *  3. Bodies are work of a turn of the event loop. Once the turn is over, a connection that sends more is not read until
 *     its next turn, which counts as much work as its last one.
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { systemClock } from '../base/clock.ts'
import { turns } from '../listening/turns.ts'
import { JoinedRequest } from './bodies.ts'
import { HttpRefusal } from './problem.ts'

const chunksMax = 256
const chunkBytes = 1024
const chunksPerRequest = 4
/** A client that has sent more than this before it reads the refusal of its request may lose the refusal. */
const droppedBytesMax = 65_536
const secondUs = 1_000_000
/** The time to receive a piece of a body, and each byte of it, as the bytes of a reply that take as long. */
const pieceWork = 256
const byteWork = 1 / 16

/** The refusal of a connection whose chunks are too short. */
export const shortChunksRefusal = new HttpRefusal(
  400,
  `the chunks of the body are too short: beyond ${chunksMax} chunks in a second they must have ${chunkBytes} bytes on ` +
    'average; send the body with content-length, or in longer chunks',
)

/** What a connection sends in bodies. */
class Intake {
  readonly #socket: Socket
  /** How many chunks of any length it may send. */
  #chunks = chunksMax
  #sinceUs = systemClock.monoUs()
  /** Since its last turn. */
  #work = 0
  #waits = false
  isRefused = false

  constructor(socket: Socket) {
    this.#socket = socket
    // Node resumes a connection whenever a body is read or has ended.
    socket.on('resume', () => {
      if (this.#waits || this.isRefused) socket.pause()
    })
  }

  allowRequest(): void {
    this.#chunks = Math.min(chunksMax, this.#chunks + chunksPerRequest)
  }

  /** Returns whether the connection may send this chunk. */
  takeChunk(bytes: number): boolean {
    if (this.isRefused) return false
    this.#chunks = Math.min(chunksMax, this.#chunks + bytes / chunkBytes) - 1
    if (this.#chunks >= 0) return true
    const nowUs = systemClock.monoUs()
    if (nowUs - this.#sinceUs < secondUs) return false
    this.#chunks = chunksMax
    this.#sinceUs = nowUs
    return true
  }

  /** Counts the work of a piece. */
  spend(bytes: number): void {
    const work = pieceWork + bytes * byteWork
    this.#work += work
    turns.spend(work)
    if (!turns.over || this.#waits) return
    this.#waits = true
    this.#socket.pause()
    turns.wait(this, false)
  }

  /** Reads no more from the connection. */
  stop(): void {
    this.isRefused = true
    this.#socket.pause()
  }

  takeTurn(): void {
    turns.spend(this.#work)
    this.#work = 0
    this.#waits = false
    this.#socket.resume()
  }
}

const intakes = new WeakMap<Socket, Intake>()

function intakeOf(socket: Socket): Intake {
  const known = intakes.get(socket)
  if (known !== undefined) return known
  const intake = new Intake(socket)
  intakes.set(socket, intake)
  return intake
}

/** The connections that end with the answer to a request whose body is dropped. */
const ending = new WeakSet<Socket>()

/** Whether no further request of the connection is carried out: its chunks are too short, or a body of it is dropped. */
export function isRefused(socket: Socket): boolean {
  return ending.has(socket) || (intakes.get(socket)?.isRefused ?? false)
}

/** Has the connection end with the answer to this request. Its body is dropped as it comes, and read no further than `droppedBytesMax`. */
export function dropBody(request: IncomingMessage): void {
  ending.add(request.socket)
  if (request instanceof MeteredRequest) request.dropBody()
}

/** A request whose body is metered. */
export abstract class MeteredRequest extends JoinedRequest {
  /** Undefined until the first piece of the body. */
  #intake: Intake | undefined
  #isChunked = false
  #restore: (() => void) | undefined
  /** How many bytes of the body were dropped; undefined: the body is wanted. */
  #dropped: number | undefined

  /** Refuses the connection: called once for each. */
  protected abstract refuseShortChunks(): void

  override push(piece: Buffer | null): boolean {
    if (piece === null) this.#restore?.()
    const intake = piece === null ? this.#intake : this.#begin()
    if (piece !== null && this.#isChunked && !intake!.takeChunk(piece.length)) this.#refuse(intake!)
    if (intake?.isRefused) return true
    if (piece !== null && this.#isDropped(piece.length, intake!)) return true
    const isWanted = super.push(piece)
    // Otherwise Node stops reading.
    if (piece !== null && isWanted) intake!.spend(piece.length)
    return isWanted
  }

  /** Node drops the rest of a body whose request is answered, without a call of `push`. Here it is metered. */
  protected _dump(): void {
    this.removeAllListeners('data').resume()
  }

  /** Drops the body: what has come of it, and what comes. */
  dropBody(): void {
    this.#dropped ??= 0
    this._dump()
  }

  #isDropped(bytes: number, intake: Intake): boolean {
    if (this.#dropped === undefined) return false
    this.#dropped += bytes
    intake.spend(bytes)
    if (this.#dropped > droppedBytesMax) intake.stop()
    return true
  }

  #begin(): Intake {
    if (this.#intake !== undefined) return this.#intake
    this.#intake = intakeOf(this.socket)
    this.#isChunked = this.headers['transfer-encoding'] !== undefined
    if (this.#isChunked) this.#intake.allowRequest()
    return this.#intake
  }

  #refuse(intake: Intake): void {
    this.#restore = skipRest(this.socket)
    if (intake.isRefused) return
    intake.isRefused = true
    this.refuseShortChunks()
  }
}

/**
 * Has Node's parser skip the bodies in the rest of the bytes that it is parsing: 20 times as fast as with a callback that
 * does nothing. Node has no way to stop a parser in a callback; its `pause` takes effect after the read. Returns what ends
 * it: the next request needs the callback, and so does another connection, since Node uses its parsers again.
 */
function skipRest(socket: Socket): (() => void) | undefined {
  const { parser } = socket as { parser?: Record<string, unknown> | null }
  if (!parser) return undefined
  const isCallback = (value: unknown) => typeof value === 'function' && value.name === 'parserOnBody'
  const key = Object.keys(parser).find((each) => isCallback(parser[each]))
  if (key === undefined) return undefined
  const callback = parser[key]
  parser[key] = null
  const restore = () => {
    parser[key] = callback
  }
  setImmediate(restore)
  return restore
}
