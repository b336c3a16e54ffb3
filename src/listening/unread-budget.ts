/**
 * The replies that clients have not read, over all connections of a server. What one connection may hold is decided where it
 * is served: `served-connection.ts`, `http/connection.ts`, `proxy/connection.ts`.
 *
 * Invariants
 *  1. What is held for all connections stays below `unreadTotalMaxBytes` + one write. Beyond it, the connection that
 *     has read nothing for the longest time is dropped; if that one has read everything, the one that holds the most of
 *     all.
 *  2. A connection is dropped if it does not read, within `unreadTimeoutMs`, the replies that were unread at the start
 *     of that time.
 *  3. A connection for which nothing is held costs nothing here.
 */
import type { Clock } from '../base/clock.ts'

/** Limits of one server. */
export type UnreadLimits = {
  /** How long a client may leave replies unread, in ms. */
  readonly unreadTimeoutMs: number
  /** The most that may be held for all clients together, in bytes. */
  readonly unreadTotalMaxBytes: number
}

/** A connection that sends replies. */
export interface Sender {
  /** Bytes of replies written since the connection began. */
  readonly bytesOut: number
  /** How many of them have not left this process; 0 once the connection has ended. */
  readonly unreadBytes: number
  /** Memory of the requests that wait behind unread replies, in bytes. */
  readonly queuedBytes: number
  drop(): void
}

/** The share of one connection. */
type Share = {
  bytes: number
  /** `bytesOut` at the start of its time: what the client has to read until the time is up. */
  mark: number
  sinceUs: number
}

/** The budget of one server. */
export class UnreadBudget {
  readonly #limits: UnreadLimits
  readonly #clock: Clock
  /** The connection that has read nothing for the longest time comes first. */
  readonly #shares = new Map<Sender, Share>()
  #totalBytes = 0

  constructor(limits: UnreadLimits, clock: Clock) {
    this.#limits = limits
    this.#clock = clock
  }

  /** For how many connections something is held. */
  get size(): number {
    return this.#shares.size
  }

  /** Counts what `sender` holds now. */
  update(sender: Sender): void {
    this.#count(sender)
    while (this.#totalBytes > this.#limits.unreadTotalMaxBytes) this.#dropFirst()
  }

  /** Drops the connections whose time is up. */
  sweep(nowUs: number): void {
    const timeoutUs = this.#limits.unreadTimeoutMs * 1000
    for (const [sender, share] of [...this.#shares]) {
      this.#count(sender)
      if (sender.unreadBytes > 0 && nowUs - share.sinceUs > timeoutUs) this.#drop(sender)
    }
  }

  /** Returns whether the client has read all that it had to read. */
  #count(sender: Sender): boolean {
    const { bytesOut, unreadBytes, queuedBytes } = sender
    const bytes = unreadBytes + queuedBytes
    let share = this.#shares.get(sender)
    if (share === undefined && bytes === 0) return true
    const hasRead = share === undefined || unreadBytes === 0 || bytesOut - unreadBytes >= share.mark
    share ??= { bytes: 0, mark: 0, sinceUs: 0 }
    this.#totalBytes += bytes - share.bytes
    share.bytes = bytes
    if (!hasRead) return false
    this.#shares.delete(sender)
    if (bytes === 0) return true
    share.mark = bytesOut
    share.sinceUs = this.#clock.monoUs()
    this.#shares.set(sender, share)
    return true
  }

  /**
   * Drops the connection that was counted first. If it has read or given something back since then, it is counted again
   * and stays. If it only holds queued requests, the one that holds the most is dropped, whether or not it has replies to
   * read: a client that holds much drops no others.
   */
  #dropFirst(): void {
    const [sender] = this.#shares.keys() as Iterable<Sender>
    const { bytes } = this.#shares.get(sender!)!
    if (!this.#count(sender!)) this.#drop(sender!)
    else if (sender!.unreadBytes === 0 && this.#shares.get(sender!)?.bytes === bytes) this.#dropLargest()
  }

  /** Drops the sender that holds the most, unless it holds less by now. */
  #dropLargest(): void {
    let largest: Sender | undefined
    let most = 0
    // Of several with equal bytes the last one: it was counted first.
    for (const [sender, { bytes }] of this.#shares)
      if (bytes >= most) {
        largest = sender
        most = bytes
      }
    this.#count(largest!)
    if (this.#shares.get(largest!)?.bytes === most) this.#drop(largest!)
  }

  #drop(sender: Sender): void {
    sender.drop()
    this.#count(sender)
  }
}
