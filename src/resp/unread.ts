/**
 * Replies that clients have not read, of all connections of a server together.
 *
 * Invariants
 *  1. The replies that wait in this process stay below `unreadTotalBytesMax` + one write. Beyond it the connection is
 *     dropped that has read nothing for the longest time.
 *  2. A connection is dropped when it does not read, within `unreadTimeoutMs`, the replies that waited at the start of
 *     that time.
 *  3. A connection with no unread reply costs nothing here.
 */
import type { Clock } from '../base/clock.ts'
import type { RespLimits } from './limits.ts'

/** A connection whose unread replies are counted. */
export type Sender = {
  /** Bytes of replies written since the connection began. */
  readonly bytesOut: number
  /** How many of them have not left this process. 0: all of them have left, or the connection has ended. */
  readonly unreadBytes: number
  drop(): void
}

/** What is known of a connection with unread replies. */
type Held = {
  /** Its share of the total. */
  bytes: number
  /** `bytesOut` when its time began: what its client has to read until the time is up. */
  mark: number
  sinceUs: number
}

/** See the invariants at the top of the file. */
export class Unread {
  readonly #limits: RespLimits
  readonly #clock: Clock
  /** The connection that has read nothing for the longest time comes first. */
  readonly #held = new Map<Sender, Held>()
  #totalBytes = 0

  constructor(limits: RespLimits, clock: Clock) {
    this.#limits = limits
    this.#clock = clock
  }

  /** Takes account of what `sender` has unread now. */
  update(sender: Sender): void {
    this.#count(sender)
    while (this.#totalBytes > this.#limits.unreadTotalBytesMax) this.#dropFirst()
  }

  /** Drops the connections that have used up their time. */
  sweep(nowUs: number): void {
    const timeoutUs = this.#limits.unreadTimeoutMs * 1000
    for (const [sender, held] of [...this.#held]) {
      this.#count(sender)
      if (held.bytes > 0 && nowUs - held.sinceUs > timeoutUs) this.#drop(sender)
    }
  }

  /** Returns whether the client has read all that it had to read. */
  #count(sender: Sender): boolean {
    const bytes = sender.unreadBytes
    const { bytesOut } = sender
    let held = this.#held.get(sender)
    if (held === undefined && bytes === 0) return true
    const read = held === undefined || bytes === 0 || bytesOut - bytes >= held.mark
    held ??= { bytes: 0, mark: 0, sinceUs: 0 }
    this.#totalBytes += bytes - held.bytes
    held.bytes = bytes
    if (!read) return false
    this.#held.delete(sender)
    if (bytes === 0) return true
    held.mark = bytesOut
    held.sinceUs = this.#clock.monoUs()
    this.#held.set(sender, held)
    return true
  }

  /** Looks at the first connection anew: it may have read since it was counted. */
  #dropFirst(): void {
    const [sender] = this.#held.keys()
    if (!this.#count(sender!)) this.#drop(sender!)
  }

  #drop(sender: Sender): void {
    sender.drop()
    this.#count(sender)
  }
}
