/** The frames of gRPC: one byte that says whether the message is compressed, its length in four bytes, the message. */

const headBytes = 5

/** The frame of a message. */
export function frameOf(message: Buffer): Buffer {
  const frame = Buffer.allocUnsafe(headBytes + message.length)
  frame.writeUInt8(0, 0)
  frame.writeUInt32BE(message.length, 1)
  message.copy(frame, headBytes)
  return frame
}

/** Puts messages together from the chunks of a stream. */
export class Frames {
  #chunks: Buffer[] = []
  #bytes = 0
  /** The bytes of the next frame, as far as they are known. */
  #wanted = headBytes

  /** The messages that are complete with this chunk. Throws on a compressed one, which this client never asks for. */
  push(chunk: Buffer): Buffer[] {
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    if (this.#bytes < this.#wanted) return []
    let rest = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks)
    const messages: Buffer[] = []
    this.#wanted = headBytes
    while (rest.length >= headBytes) {
      if (rest[0] !== 0) throw new RangeError('a message is compressed')
      this.#wanted = headBytes + rest.readUInt32BE(1)
      if (rest.length < this.#wanted) break
      messages.push(rest.subarray(headBytes, this.#wanted))
      rest = rest.subarray(this.#wanted)
      this.#wanted = headBytes
    }
    this.#chunks = [rest]
    this.#bytes = rest.length
    return messages
  }
}
