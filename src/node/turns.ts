/**
 * Shares the event loop among the connections of all servers of this process: a turn produces so many bytes of replies,
 * and what is left to do goes on in the next one, behind the sockets and timers that are due.
 *
 * Invariants
 *  1. A turn ends once `turnBytesMax` have been spent: what a connection starts after that is its share at most.
 *  2. Connections that have just been sent requests go before those that have had a share of theirs.
 *  3. Of those that have had a share at least one goes on in each turn, each in its turn.
 */

/** What a connection may produce before it lets others pass, in bytes. */
export const shareBytes = 65_536
/** What all connections together may produce in a turn, in bytes. */
export const turnBytesMax = 131_072

/** What waits for its turn: a connection. */
export interface Taker {
  /** Goes on with what it has left to do. */
  takeTurn(): void
}

/** See the invariants at the top of the file. */
export class Turns {
  /**
   * Bytes of this turn, or work that takes as long. It counts turns that produced little as one, until half of what ends
   * a turn is spent: to end each of them would cost more than they produce.
   */
  spent = 0
  #fresh: Taker[] = []
  #others: Taker[] = []
  #ending = false

  /** Whether what comes now has to wait for the next turn. */
  get over(): boolean {
    return this.spent >= turnBytesMax
  }

  /** Counts what was produced. */
  spend(bytes: number): void {
    this.spent += bytes
    // Ends the turn before it is over, so that no connection is put off for what earlier turns have spent.
    if (this.spent >= turnBytesMax / 2) this.#endSoon()
  }

  /** Has `taker` go on in a later turn, before all that have had a share if it has had none. */
  wait(taker: Taker, fresh: boolean): void {
    if (fresh) this.#fresh.push(taker)
    else this.#others.push(taker)
    this.#endSoon()
  }

  #endSoon(): void {
    if (this.#ending) return
    this.#ending = true
    setImmediate(this.#next)
  }

  #next = (): void => {
    this.#ending = false
    this.spent = 0
    // Those that come meanwhile stand behind those that have to wait on.
    const fresh = this.#fresh
    this.#fresh = []
    this.#fresh = [...this.#carryOut(fresh, 0), ...this.#fresh]
    const others = this.#others
    this.#others = []
    this.#others = [...this.#carryOut(others, 1), ...this.#others]
    if (this.#fresh.length > 0 || this.#others.length > 0) this.#endSoon()
  }

  /** Lets them take their turn, the first `sure` of them in any case; returns those that have to wait on. */
  #carryOut(takers: readonly Taker[], sure: number): Taker[] {
    let taken = 0
    while (taken < takers.length && (taken < sure || !this.over)) takers[taken++]!.takeTurn()
    return takers.slice(taken)
  }
}

/** The turns of this process: there is one event loop. */
export const turns = new Turns()
