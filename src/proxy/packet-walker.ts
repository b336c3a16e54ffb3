/**
 * Walks the packets of one direction of a connection, and passes their bytes on.
 *
 * Invariants
 *  1. Each byte is passed on once and in order, unless the packet that it belongs to is held.
 *  2. A packet is judged once, before a byte of it is passed on: by its header and the first bytes of its payload. Further
 *     parts of a long payload follow the judgement of its first part.
 *  3. A held packet is complete when `whole` receives it, and nothing after it has been judged.
 *  4. While the walk is suspended, no packet is judged.
 *  5. An opaque walk judges nothing for ever.
 *  6. A walk that has stopped passes nothing on, from the packet on at which it has stopped.
 */
import { KeptBytes } from './kept-bytes.ts'
import { headerBytes, partBytesMax } from './protocol.ts'

/** Bytes of a payload that a judgement sees: enough for the status flags of an OK packet. */
const prefixBytesMax = 24

/** What becomes of a packet. `stop`: neither it nor anything behind it is passed on. */
export type Judgement = 'pass' | 'hold' | 'stop'

/** The walk of one direction. */
export abstract class PacketWalker {
  /** Set: nothing is judged any more. */
  isOpaque = false
  /** Set: nothing is judged until `resume`. */
  isSuspended = false
  /** What is added to the sequence number of each packet. `judge` may set it for its packet, and for further parts of it. */
  protected sequenceShift = 0
  #isStopped = false
  /** A header and a prefix that have not arrived completely. */
  readonly #lead = Buffer.allocUnsafe(headerBytes + prefixBytesMax)
  #leadBytes = 0
  /** Bytes of the present part that have not arrived, its header included. */
  #left = 0
  /** The present part is followed by another one of the same payload. */
  #hasNext = false
  /** The next packet is a further part of the payload before it. */
  #isContinued = false
  #judgement: Judgement = 'pass'
  readonly #held = new KeptBytes()
  /** What arrived while the walk was suspended. */
  readonly #rest = new KeptBytes()

  /** Whether the last packet is complete. */
  get isBetweenPackets(): boolean {
    return this.#left === 0 && this.#leadBytes === 0 && !this.#isContinued && !this.isSuspended
  }

  /** Memory of what is held, or waits behind a suspended packet, in bytes. */
  get heldBytes(): number {
    return this.#held.memory + this.#rest.memory
  }

  /** Walks over the next bytes. */
  walk(chunk: Buffer): void {
    if (this.#isStopped) return
    if (this.isSuspended) return this.#rest.add(chunk)
    if (this.isOpaque) this.#passLead()
    const end = chunk.length
    let from = 0
    let at = 0
    while (at < end && !this.isOpaque && !this.isSuspended && !this.#isStopped) {
      if (this.#left > 0) {
        const step = Math.min(this.#left, end - at)
        if (this.#judgement === 'hold') {
          this.#hold(step === end ? chunk : chunk.subarray(at, at + step))
          from = at + step
        }
        at += step
        this.#left -= step
        if (this.#left > 0) continue
        if (this.#isEnd()) {
          if (this.#judgement === 'hold') this.#complete()
          else if (this.passed()) {
            this.pass(chunk.subarray(from, at))
            from = at
            this.insert()
          }
        }
      } else if (this.#leadBytes === 0 && this.#isLeadIn(chunk, at)) {
        this.#judge(chunk, at)
        if (this.#judgement !== 'pass') {
          if (at > from) this.pass(chunk.subarray(from, at))
          from = at
          if (this.#judgement === 'stop') this.#stopHere()
        }
      } else {
        if (at > from) this.pass(chunk.subarray(from, at))
        at += this.#addToLead(chunk, at)
        from = at
      }
    }
    if (this.#isStopped) return
    if (this.isOpaque) at = end
    if (from === 0 && at === end) this.pass(chunk)
    else if (at > from) this.pass(chunk.subarray(from, at))
    if (at < end) this.#rest.add(chunk.subarray(at))
  }

  /** Goes on after a suspension. */
  resume(): void {
    this.isSuspended = false
    const rest = this.takeRest()
    if (rest !== undefined) this.walk(rest)
  }

  /** Takes what has arrived behind the packet at which the walk is suspended. */
  protected takeRest(): Buffer | undefined {
    return this.#rest.length === 0 ? undefined : this.#rest.take()
  }

  /** The sender has ended: passes on what belongs to no complete packet. */
  finish(): void {
    this.#passLead()
    this.isOpaque = true
  }

  /** Takes nothing in any more. */
  protected stop(): void {
    this.#isStopped = true
    this.#held.take()
    this.#rest.take()
  }

  /** Judges the packet whose header is at `at`. `length`: of its payload, or of the first part. */
  protected abstract judge(bytes: Buffer, at: number, length: number): Judgement
  /** Passes bytes on. */
  protected abstract pass(bytes: Buffer): void
  /** A packet has been passed on. Returns whether `insert` has something to add behind it. */
  protected abstract passed(): boolean
  /** Adds bytes by `pass` behind the packet that has been passed on. */
  protected abstract insert(): void
  /** Takes a held packet, with its headers, and passes on what takes its place. `bytes` are its own. */
  protected abstract whole(bytes: Buffer): void
  /** Called with each part of a held packet. */
  protected abstract holding(heldBytes: number): void
  /** The walk has stopped at a packet. */
  protected abstract stopped(): void

  /** Passes on the beginning of a packet that is not judged any more. */
  #passLead(): void {
    if (this.#leadBytes > 0) this.pass(Buffer.from(this.#lead.subarray(0, this.#leadBytes)))
    this.#leadBytes = 0
  }

  #isLeadIn(chunk: Buffer, at: number): boolean {
    const available = chunk.length - at
    return available >= headerBytes && available >= this.#leadLength(chunk, at)
  }

  /** Bytes that a judgement needs. */
  #leadLength(bytes: Buffer, at: number): number {
    if (this.#isContinued) return headerBytes
    return headerBytes + Math.min(lengthAt(bytes, at), prefixBytesMax)
  }

  #judge(bytes: Buffer, at: number): void {
    const length = lengthAt(bytes, at)
    if (!this.#isContinued) this.#judgement = this.judge(bytes, at, length)
    if (this.sequenceShift !== 0) bytes[at + 3] = (bytes[at + 3]! + this.sequenceShift) & 0xff
    this.#hasNext = length === partBytesMax
    this.#left = headerBytes + length
  }

  /** Collects a header and a prefix over several chunks. Returns how many bytes of `chunk` it took. */
  #addToLead(chunk: Buffer, at: number): number {
    let taken = 0
    for (;;) {
      const known = this.#leadBytes
      const wanted = known < headerBytes ? headerBytes : this.#leadLength(this.#lead, 0)
      if (known >= headerBytes && known === wanted) break
      if (at + taken === chunk.length) return taken
      const step = Math.min(wanted - known, chunk.length - at - taken)
      chunk.copy(this.#lead, known, at + taken, at + taken + step)
      this.#leadBytes += step
      taken += step
    }
    const lead = Buffer.from(this.#lead.subarray(0, this.#leadBytes))
    this.#leadBytes = 0
    this.#judge(lead, 0)
    if (this.#judgement === 'stop') {
      this.#stopHere()
      return taken
    }
    this.#left -= lead.length
    if (this.#judgement === 'hold') this.#hold(lead)
    else this.pass(lead)
    if (this.isOpaque || this.#left > 0 || !this.#isEnd()) return taken
    if (this.#judgement === 'hold') this.#complete()
    else if (this.passed()) this.insert()
    return taken
  }

  #stopHere(): void {
    this.stop()
    this.stopped()
  }

  /** A part is complete. Returns whether it was the last one. */
  #isEnd(): boolean {
    this.#isContinued = this.#hasNext
    return !this.#hasNext
  }

  #hold(bytes: Buffer): void {
    this.#held.add(bytes)
    this.holding(this.#held.length)
  }

  #complete(): void {
    this.#judgement = 'pass'
    this.whole(this.#held.take())
  }
}

/** The length in a header. */
export function lengthAt(bytes: Buffer, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16)
}
