/**
 * Shares the event loop among the connections of all servers of this process. A turn produces a limited number of reply
 * bytes; the remaining work continues in the next turn, after the sockets and timers that are due.
 *
 * Invariants
 *  1. A turn ends once `turnBytesMax` have been spent. Work that starts after that is at most one share.
 *  2. Connections with new requests go before connections that have had a share, and before those whose requests are
 *     known to take long. A connection that has lately produced much counts as one that has had a share when it waits
 *     next, unless no connection has waited since: a client with a short request does not wait for all clients with long
 *     ones.
 *  3. Of the connections that have had a share, at least one continues in each turn, in order.
 */

import { systemClock } from '../base/clock.ts'
import { hasCode } from '../base/errors.ts'
import type { Parts, Turns } from '../base/turns.ts'

/** The share of a connection: bytes that it may produce before other connections continue. */
export const shareBytes = 65_536
/** Bytes that all connections together may produce in a turn. */
export const turnBytesMax = 131_072

/** The bytes after which a connection has had its share. */
const lightBytesMax = 8192
/** Bytes of each turn that are not counted: short requests, one after another, never add up to a share. */
const lightBytesOfTurn = 1024

/**
 * About how long a connection rests after a quota has refused one of its requests, in ms. What arrives meanwhile is answered
 * together: most of the time of a refusal goes into receiving one request and sending one reply. A quota of ids per second
 * loses nothing, because it saves up the ids of a second.
 */
export const restMs = 20

/**
 * Whether a connection rests after a request with this error: a quota has refused it, of ids or of failed logins. RESP
 * replies at once and lets the requests behind it wait; HTTP has one request at a time, and lets its answer wait.
 */
export function restsAfter(error: unknown): boolean {
  return hasCode(error, 'QUOTA')
}

/**
 * About how long a connection rests, in ms, after several of its requests were refused because its client has not logged in.
 * A thousand such connections that send requests without end take a small part of the event loop.
 */
export const unauthenticatedRestMs = 500

/** A check of permissions that takes as long as more bytes of a reply has turns of its own. */
export const longCheck = 16_384

/** The fractional parts of its multiples are spread evenly. */
const goldenRatio = (1 + Math.sqrt(5)) / 2

/** Something that waits for its turn. */
export interface TurnTaker {
  /** Continues the connection's remaining work. */
  takeTurn(): void
}

/** The queue of connections that continue in later turns. */
export class TurnQueue implements Turns {
  /**
   * Bytes of this turn, or work that takes as long. Short turns count as one until half of `turnBytesMax` is spent: to
   * end each of them would cost more than the work in it.
   */
  spent = 0
  /** How many turns have ended. */
  ended = 0
  /** How many connections that have had a share have been queued, and how many of these have continued. */
  queued = 0
  continued = 0
  #fresh: TurnTaker[] = []
  #others: TurnTaker[] = []
  #ending = false
  #rests = 0

  /** Whether further work has to wait for the next turn. */
  get over(): boolean {
    return this.spent >= turnBytesMax
  }

  /** Counts bytes that were produced. */
  spend(bytes: number): void {
    this.spent += bytes
    // The end of the turn is scheduled before `over` is true, so that bytes of earlier turns make no connection wait.
    if (this.spent >= turnBytesMax / 2) this.#endSoon()
  }

  /**
   * Queues `taker` for a later turn. `fresh`: it has had no share, and goes before those that have. `afterMs`: about how
   * long it rests first.
   */
  wait(taker: TurnTaker, fresh: boolean, afterMs = 0): void {
    if (afterMs > 0) return void systemClock.timer(this.#spread(afterMs), () => this.wait(taker, false))
    if (fresh) this.#fresh.push(taker)
    else {
      this.#others.push(taker)
      this.queued++
    }
    this.#endSoon()
  }

  /**
   * Resolves when a part of long work may begin: now, or in a later turn. `bytes`: the length of a reply that takes as long.
   * Work that asks before each of its parts never keeps others waiting for more than a turn.
   */
  async take(bytes: number): Promise<void> {
    if (!this.over) return this.spend(bytes)
    await new Promise<void>((resolve) => {
      const takeTurn = () => {
        this.spend(bytes)
        resolve()
      }
      this.wait({ takeTurn }, false)
    })
  }

  /** Runs `task` now, or in a later turn: one that takes as long as many bytes after those of connections that wait. */
  run(bytes: number, task: () => void): void {
    const takeTurn = () => {
      this.spend(bytes)
      task()
    }
    if (this.over) this.wait({ takeTurn }, bytes < lightBytesMax)
    else takeTurn()
  }

  /** Does all parts: the first one now, each other one in a later turn. A part takes as long as a reply of `bytes`. */
  inParts<Result>(parts: Parts<Result>, bytes: number): Result | Promise<Result> {
    const first = parts.next()
    return first.done ? first.value : this.#otherParts(parts, bytes)
  }

  async #otherParts<Result>(parts: Parts<Result>, bytes: number): Promise<Result> {
    for (;;) {
      await this.take(bytes)
      const { done, value } = parts.next()
      if (done) return value
    }
  }

  /** A time near `ms`, another one in each call: connections that rest together do not continue together. */
  #spread(ms: number): number {
    this.#rests++
    return ms * (0.75 + ((this.#rests * goldenRatio) % 1) / 2)
  }

  #endSoon(): void {
    if (this.#ending) return
    this.#ending = true
    setImmediate(this.#next)
  }

  #next = (): void => {
    this.#ending = false
    this.ended++
    this.spent = 0
    // Connections that are queued meanwhile go behind those that are still waiting.
    const fresh = this.#fresh
    this.#fresh = []
    this.#fresh = [...this.#carryOut(fresh, 0), ...this.#fresh]
    const others = this.#others
    this.#others = []
    const left = this.#carryOut(others, 1)
    this.continued += others.length - left.length
    this.#others = [...left, ...this.#others]
    // Nothing waits: what has been produced until now has kept no connection waiting.
    if (this.#fresh.length + this.#others.length === 0) this.continued = ++this.queued
    if (this.#fresh.length > 0 || this.#others.length > 0) this.#endSoon()
  }

  /** Runs connections until the turn is over, at least `sure` of them; returns the rest. */
  #carryOut(takers: readonly TurnTaker[], sure: number): TurnTaker[] {
    let taken = 0
    while (taken < takers.length && (taken < sure || !this.over)) takers[taken++]!.takeTurn()
    return takers.slice(taken)
  }
}

/** What one connection has produced lately. */
export class Share {
  readonly #turns: TurnQueue
  #bytes = 0
  /** The turn in which it has produced something last. */
  #turn = 0
  /** The connection has a share again when this many connections have continued. */
  #until = 0

  constructor(turns: TurnQueue) {
    this.#turns = turns
  }

  /** Counts what the connection has produced. */
  use(bytes: number): void {
    const { ended } = this.#turns
    this.#bytes = Math.max(0, this.#bytes - (ended - this.#turn) * lightBytesOfTurn) + bytes
    this.#turn = ended
    if (this.#bytes < lightBytesMax) return
    this.#bytes = 0
    this.#until = this.#turns.queued + 1
  }

  /** Whether the connection goes before those that have had a share. */
  get isFresh(): boolean {
    return this.#turns.continued >= this.#until
  }
}

/** The turns of this process, which has one event loop. */
export const turns = new TurnQueue()
