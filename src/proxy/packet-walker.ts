/**
 * Walks the packets of one direction of a connection, and passes their bytes on.
 *
 * Invariants
 *  1. Each byte is passed on once and in order, unless the packet that it belongs to is held.
 *  2. A packet is judged once, before a byte of it is passed on: by its header and the first bytes of its payload. Further
 *     parts of a long payload follow the judgement of its first part.
 *  3. A held packet is complete when `whole` receives it, and nothing after it has been judged; or it passes or is dropped,
 *     because it is too long. Of one that is dropped no byte is passed on.
 *  4. While the walk is suspended, no packet is judged.
 *  5. A walk that has stopped passes nothing on, from the packet on at which it has stopped.
 */
import { ByteQueue } from './byte-queue.ts'
import { headerBytes, partBytesMax } from './protocol.ts'

/** Bytes of a payload that a judgement sees: enough for the status flags of an OK packet. */
const prefixBytesMax = 24

/** What becomes of a packet. `stop`: neither it nor anything behind it is passed on. */
export type Judgement = 'pass' | 'hold' | 'stop'
/** What happens to a packet when a part of it is held. */
export type Holding = 'hold' | 'pass' | 'drop'

/** The walk of one direction. */
export abstract class PacketWalker {
  /** Set: nothing is judged until `resume`. */
  isSuspended = false
  /** What is added to the sequence number of each packet. `judge` may set it for its packet, and for further parts of it. */
  protected sequenceShift = 0
  #isStopped = false
  /** The beginning of a header and a prefix that have not arrived completely. */
  #lead: Buffer | undefined
  /** Bytes of the present part that have not arrived, its header included. */
  #left = 0
  /** The present part is followed by another one of the same payload. */
  #hasNext = false
  /** The next packet is a further part of the payload before it. */
  #isContinued = false
  #judgement: Judgement | 'drop' = 'pass'
  /** The number of the present part. */
  #sequence = 0
  /** The beginning of a packet that is dropped. */
  #dropped: Buffer | undefined
  readonly #held = new ByteQueue()
  /** What arrived while the walk was suspended. */
  readonly #rest = new ByteQueue()

  /** Whether the last packet is complete. */
  get isBetweenPackets(): boolean {
    return this.#left === 0 && this.#lead === undefined && !this.#isContinued && !this.isSuspended
  }

  /** Memory of what is held, or waits behind a suspended packet, in bytes. */
  get heldBytes(): number {
    return this.#held.memory + this.#rest.memory
  }

  /** Walks over the next bytes. */
  walk(chunk: Buffer): void {
    if (this.#isStopped) return
    if (this.isSuspended) return this.#rest.add(chunk)
    const bytes = this.#lead === undefined ? chunk : Buffer.concat([this.#lead, chunk])
    this.#lead = undefined
    const end = bytes.length
    let from = 0
    let at = 0
    const passTo = (to: number) => {
      if (to > from) this.pass(from === 0 && to === end ? bytes : bytes.subarray(from, to))
      from = to
    }
    while (at < end && !this.isSuspended && !this.#isStopped) {
      if (this.#left === 0) {
        if (!this.#isLeadIn(bytes, at)) {
          passTo(at)
          // A copy, so that it does not keep the chunk.
          this.#lead = Buffer.from(bytes.subarray(at))
          return
        }
        this.#judge(bytes, at)
        if (this.#judgement !== 'pass') passTo(at)
        if (this.#judgement === 'stop') {
          this.stop()
          return this.stopped()
        }
      }
      const step = Math.min(this.#left, end - at)
      at += step
      this.#left -= step
      if (this.#judgement === 'hold') {
        this.#hold(step === end ? bytes : bytes.subarray(from, at))
        from = at
      } else if (this.#judgement === 'drop') from = at
      if (this.#isStopped || this.#left > 0 || !this.#isEnd()) continue
      if (this.#dropped !== undefined) this.#drop(this.#dropped)
      else if (this.#judgement === 'hold') this.#complete()
      else if (this.passed()) {
        passTo(at)
        this.insert()
      }
    }
    if (this.#isStopped) return
    passTo(at)
    if (at < end) this.#rest.add(bytes.subarray(at))
  }

  /** Goes on after a suspension. */
  resume(): void {
    this.isSuspended = false
    if (this.#rest.length > 0) this.walk(this.#rest.take())
  }

  /** The sender has ended: passes on what belongs to no complete packet. */
  finish(): void {
    const lead = this.#lead
    this.#lead = undefined
    if (lead !== undefined) this.pass(lead)
    this.stop()
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
  /** Called with each part of a held packet. `pass`: it passes as it came. */
  protected abstract holding(heldBytes: number): Holding
  /** A packet has been dropped, which began with `start`; a reply to it has this number. */
  protected abstract dropped(start: Buffer, sequence: number): void
  /** The walk has stopped at a packet. */
  protected abstract stopped(): void

  /** Whether everything is here that a judgement needs. */
  #isLeadIn(bytes: Buffer, at: number): boolean {
    const available = bytes.length - at - headerBytes
    return available >= 0 && (this.#isContinued || available >= Math.min(lengthAt(bytes, at), prefixBytesMax))
  }

  #judge(bytes: Buffer, at: number): void {
    const length = lengthAt(bytes, at)
    if (!this.#isContinued) this.#judgement = this.judge(bytes, at, length)
    if (this.sequenceShift !== 0) bytes[at + 3] = (bytes[at + 3]! + this.sequenceShift) & 0xff
    this.#sequence = bytes[at + 3]!
    this.#hasNext = length === partBytesMax
    this.#left = headerBytes + length
  }

  /** A part is complete. Returns whether it was the last one. */
  #isEnd(): boolean {
    this.#isContinued = this.#hasNext
    return !this.#hasNext
  }

  #hold(bytes: Buffer): void {
    this.#held.add(bytes)
    const holding = this.holding(this.#held.length)
    if (holding === 'hold') return
    this.#judgement = holding
    const held = this.#held.take()
    if (holding === 'pass') this.pass(held)
    else this.#dropped = Buffer.from(held.subarray(0, prefixBytesMax))
  }

  #drop(start: Buffer): void {
    this.#judgement = 'pass'
    this.#dropped = undefined
    this.dropped(start, (this.#sequence + 1) & 0xff)
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
