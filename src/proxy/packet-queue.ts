/**
 * Whole packets out of chunks, for the time until a client has logged in: these packets are short and few.
 *
 * Invariants
 *  1. At most `loginBytesMax` and one chunk are kept: neither side has shown yet that it means well.
 */

import { KeptBytes } from './kept-bytes.ts'
import { lengthAt } from './packet-walker.ts'
import { headerBytes } from './protocol.ts'

/** More than the packets of a login have: the attributes of a connection are at most 64 KiB long. */
export const loginBytesMax = 131_072

/** The packets of one direction. */
export class PacketQueue {
  readonly #kept = new KeptBytes()

  /** Adds what has arrived. Returns false if more waits than a login has. */
  push(chunk: Buffer): boolean {
    this.#kept.add(chunk)
    const { length, all } = this.#kept
    const next = length < headerBytes ? 0 : lengthAt(all, 0)
    return Math.max(length, next) <= loginBytesMax
  }

  /** The sequence number of the next packet; undefined while its header is incomplete. */
  get sequence(): number | undefined {
    return this.#kept.length < headerBytes ? undefined : this.#kept.all[3]
  }

  /** Takes the next packet, with its header; undefined while it is incomplete. */
  next(): Buffer | undefined {
    const { length, all } = this.#kept
    if (length < headerBytes) return undefined
    const end = headerBytes + lengthAt(all, 0)
    if (length < end) return undefined
    this.#kept.drop(end)
    return Buffer.from(all.subarray(0, end))
  }

  /** Takes everything that is left. */
  rest(): Buffer {
    return this.#kept.take()
  }
}
