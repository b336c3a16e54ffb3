/**
 * Whole packets out of chunks, for the time until a client has logged in: these packets are short and few.
 *
 * Invariants
 *  1. At most `loginBytesMax` and one chunk are kept: neither side has shown yet that it means well.
 *  2. Each byte is copied a few times at most, however small the chunks are.
 */

import { lengthAt } from './packet-walker.ts'
import { headerBytes } from './protocol.ts'

/** More than the packets of a login have: the attributes of a connection are at most 64 KiB long. */
export const loginBytesMax = 131_072

const nothing = Buffer.alloc(0)

/** The packets of one direction. */
export class PacketQueue {
  #bytes: Buffer = nothing
  /** What has not been taken is in `[#from, #to)` of `#bytes`. */
  #from = 0
  #to = 0
  /** Whether `#bytes` is a buffer of this object, with room behind `#to`. */
  #isOwn = false

  /** Adds what has arrived. Returns false if more waits than a login has. */
  push(chunk: Buffer): boolean {
    const waiting = this.#to - this.#from
    if (waiting === 0) this.#hold(chunk, chunk.length, false)
    else {
      if (!this.#isOwn || this.#bytes.length - this.#to < chunk.length) {
        const larger = Buffer.allocUnsafeSlow((waiting + chunk.length) * 2)
        this.#bytes.copy(larger, 0, this.#from, this.#to)
        this.#hold(larger, waiting, true)
      }
      chunk.copy(this.#bytes, this.#to)
      this.#to += chunk.length
    }
    const next = this.#to < headerBytes + this.#from ? 0 : lengthAt(this.#bytes, this.#from)
    return Math.max(this.#to - this.#from, next) <= loginBytesMax
  }

  /** The sequence number of the next packet; undefined while its header is incomplete. */
  get sequence(): number | undefined {
    return this.#to - this.#from < headerBytes ? undefined : this.#bytes[this.#from + 3]
  }

  /** Takes the next packet, with its header; undefined while it is incomplete. */
  next(): Buffer | undefined {
    if (this.#to - this.#from < headerBytes) return undefined
    const end = this.#from + headerBytes + lengthAt(this.#bytes, this.#from)
    if (this.#to < end) return undefined
    const packet = Buffer.from(this.#bytes.subarray(this.#from, end))
    this.#from = end
    return packet
  }

  /** Takes everything that is left. */
  rest(): Buffer {
    const rest = this.#bytes.subarray(this.#from, this.#to)
    this.#hold(nothing, 0, false)
    return rest
  }

  #hold(bytes: Buffer, to: number, isOwn: boolean): void {
    this.#bytes = bytes
    this.#from = 0
    this.#to = to
    this.#isOwn = isOwn
  }
}
