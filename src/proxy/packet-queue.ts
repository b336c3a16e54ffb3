/** Whole packets out of chunks, for the time until a client has logged in: these packets are short and few. */

import { lengthAt } from './packet-walker.ts'
import { headerBytes } from './protocol.ts'

/** More than any packet of a login has. */
const packetBytesMax = 1_048_576

/** The packets of one direction. */
export class PacketQueue {
  #bytes: Buffer = Buffer.alloc(0)

  /** Adds what has arrived. Returns false if the next packet is too long for a login. */
  push(chunk: Buffer): boolean {
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk])
    return this.#bytes.length < headerBytes || lengthAt(this.#bytes, 0) < packetBytesMax
  }

  /** The sequence number of the next packet; undefined while its header is incomplete. */
  get sequence(): number | undefined {
    return this.#bytes.length < headerBytes ? undefined : this.#bytes[3]
  }

  /** Takes the next packet, with its header; undefined while it is incomplete. */
  next(): Buffer | undefined {
    if (this.#bytes.length < headerBytes) return undefined
    const end = headerBytes + lengthAt(this.#bytes, 0)
    if (this.#bytes.length < end) return undefined
    const packet = Buffer.from(this.#bytes.subarray(0, end))
    this.#bytes = this.#bytes.subarray(end)
    return packet
  }

  /** Takes everything that is left. */
  rest(): Buffer {
    const rest = this.#bytes
    this.#bytes = Buffer.alloc(0)
    return rest
  }
}
