/**
 * Divides what a client sends into messages. https://www.postgresql.org/docs/15/protocol-overview.html
 *
 * Invariants
 *  1. The length of a message is checked before memory is taken for the rest of it.
 *  2. The same bytes give the same messages, however they are cut into chunks.
 *  3. At most one message and one chunk are kept that have not been read, and nothing once all has been.
 */
import { protocolViolation } from './errors.ts'
import { bytesToText } from './wire-values.ts'

const nothing = Buffer.alloc(0)
const startHeaderBytes = 4
const headerBytes = 5

/** The messages of one client. */
export class Frames {
  /** Holds the message that `next` has found: its content is in `[start, end)`. */
  bytes: Buffer = nothing
  start = 0
  end = 0
  /** The type of the message, a letter; 0: the first messages of a connection have none. */
  type = 0
  /** Longest content of a message, in bytes. */
  bytesMax: number
  /** What has not been read is in `[#from, #to)` of `bytes`. */
  #from = 0
  #to = 0
  /** Whether `bytes` is a buffer of this object, with room behind `#to`. */
  #isOwn = false
  /** How long the message that is not complete is, with its header; 0: that is not known. */
  #wanted = 0

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax
  }

  /** How many bytes have not been read. */
  get pendingBytes(): number {
    return this.#to - this.#from
  }

  /** How much memory is held, in bytes: what has not been read, or the whole buffer of this object. */
  get heldBytes(): number {
    return this.#isOwn ? this.bytes.length : this.#to - this.#from
  }

  /** Takes a chunk. */
  push(chunk: Buffer): void {
    const pending = this.#to - this.#from
    if (pending === 0) {
      this.#hold(chunk, 0, chunk.length, false)
      return
    }
    if (!this.#isOwn || this.bytes.length - this.#to < chunk.length) {
      const needed = pending + chunk.length
      // No more than the message needs: a hundred clients with messages of a megabyte would take twice as much.
      const enough = this.#wanted > needed ? Math.min(this.#wanted, needed * 2) : needed * 2
      const larger = Buffer.allocUnsafeSlow(enough)
      this.bytes.copy(larger, 0, this.#from, this.#to)
      this.#hold(larger, 0, pending, true)
    }
    chunk.copy(this.bytes, this.#to)
    this.#to += chunk.length
  }

  /**
   * Finds the next message; false: it is not complete. Throws 08P01 for a length that is impossible or too large.
   * @param isFirst the message has no type: the client has not said what it wants.
   */
  next(isFirst = false): boolean {
    const header = isFirst ? startHeaderBytes : headerBytes
    // The memory of a long message is given back when it has been carried out.
    if (this.#to === this.#from) this.clear()
    if (this.#to - this.#from < header) return false
    const lengthAt = this.#from + header - startHeaderBytes
    const length = this.bytes.readInt32BE(lengthAt)
    if (length < startHeaderBytes) throw protocolViolation('invalid message length')
    if (length - startHeaderBytes > this.bytesMax)
      throw protocolViolation(
        `a message of ${length} bytes is above the limit of ${this.bytesMax}; send a shorter statement`,
      )
    const end = lengthAt + length
    this.#wanted = end - this.#from
    if (end > this.#to) return false
    this.#wanted = 0
    this.type = isFirst ? 0 : this.bytes[this.#from]!
    this.start = this.#from + header
    this.end = end
    this.#from = end
    return true
  }

  /** The first byte that has not been read; −1: there is none. */
  get firstByte(): number {
    return this.#from === this.#to ? -1 : this.bytes[this.#from]!
  }

  /** Takes everything that has not been read away. */
  takeRest(): Buffer {
    const rest = Buffer.from(this.bytes.subarray(this.#from, this.#to))
    this.clear()
    return rest
  }

  /** Drops all bytes. */
  clear(): void {
    this.#hold(nothing, 0, 0, false)
  }

  #hold(bytes: Buffer, from: number, to: number, isOwn: boolean): void {
    this.bytes = bytes
    this.#from = from
    this.#to = to
    this.#isOwn = isOwn
  }
}

/** Reads the parts of one message. Throws 08P01 where it is too short. */
export class MessageReader {
  readonly #bytes: Buffer
  readonly #end: number
  #at: number

  constructor({ bytes, start, end }: Pick<Frames, 'bytes' | 'start' | 'end'>) {
    this.#bytes = bytes
    this.#at = start
    this.#end = end
  }

  /** How many bytes are left. */
  get left(): number {
    return this.#end - this.#at
  }

  int8(): number {
    this.#demand(1)
    return this.#bytes[this.#at++]!
  }

  int16(): number {
    this.#demand(2)
    this.#at += 2
    return this.#bytes.readUInt16BE(this.#at - 2)
  }

  int32(): number {
    this.#demand(4)
    this.#at += 4
    return this.#bytes.readInt32BE(this.#at - 4)
  }

  oid(): number {
    return this.int32() >>> 0
  }

  /** Text up to a zero byte, as Latin-1: each character is a byte. */
  latin1(): string {
    const end = this.#bytes.indexOf(0, this.#at)
    if (end < 0 || end >= this.#end) throw protocolViolation('invalid string in message')
    const text = this.#bytes.toString('latin1', this.#at, end)
    this.#at = end + 1
    return text
  }

  /** Text up to a zero byte. 22021 unless it is UTF-8. */
  text(): string {
    const text = this.latin1()
    return /^[ -~]*$/.test(text) ? text : bytesToText(text)
  }

  /** The next `count` bytes, valid until the next message is read. */
  take(count: number): Buffer {
    this.#demand(count)
    this.#at += count
    return this.#bytes.subarray(this.#at - count, this.#at)
  }

  /** Demands that nothing is left. */
  finish(): void {
    if (this.#at !== this.#end) throw protocolViolation('invalid message format')
  }

  #demand(count: number): void {
    if (count < 0 || this.#end - this.#at < count)
      throw protocolViolation('insufficient data left in message')
  }
}
