/**
 * A right under which generators of this process issue: a leadership, the ownership of the store, the worker id, or the memory
 * of the process. The end of a right costs one write, however many generators issue under it.
 *
 * Why this is enough (P5): an id leaves in one of two ways. From a row of `FastRuns` it leaves only if the row's gate is open
 * (buffers/fast-runs.ts, invariant 1). From behind the row it leaves only through an issuer, which asks its gate in the same
 * callback, before it looks into its buffer. So when `close`, `end` or `drop` returns, the next id under this right
 * waits for `open`, or never leaves.
 *
 * Invariants
 *  1. While a gate is closed, no issuer under it issues ids or starts a reserve. What they have buffered stays.
 *  2. A gate that has ended never opens again. When `end` or `drop` returns, the callers that waited have been rejected.
 *  3. An issuer for which callers wait, or which wants or runs a refill, is busy. Opening and ending call these alone.
 *  4. The number of an ended gate goes to another right only when no row has it (buffers/fast-runs.ts, invariant 4).
 */
import { assert } from '../base/assert.ts'
import { emptyRow, FastRun, FastRuns } from '../buffers/fast-runs.ts'

/** An issuer under a gate. */
export interface Gated {
  /** The gate has opened again: serves callers that wait, and starts the refill that is wanted. */
  resume(): void
  /** Stops issuing and rejects waiting callers with `reason`, before it returns. */
  stop(reason: Error): void
}

/** One right of this process. */
export class Gate {
  readonly #runs: FastRuns
  readonly #number: number
  readonly #busy = new Set<Gated>()
  #isOpen = true
  #ended: Error | undefined
  #isDropped = false

  /** By default for a generator outside a server, whose right does not end. */
  constructor(runs: FastRuns = new FastRuns(2)) {
    this.#runs = runs
    this.#number = runs.addGate()
  }

  /** Whether its issuers may issue. */
  get isOpen(): boolean {
    return this.#isOpen
  }

  /** Why its issuers issue nothing any more; undefined: it has not ended. */
  get ended(): Error | undefined {
    return this.#ended
  }

  /** Whether nothing that its issuers have buffered may be given back. */
  get isDropped(): boolean {
    return this.#isDropped
  }

  /** Whether an issuer is busy. For tests. */
  isBusy(issuer: Gated): boolean {
    return this.#busy.has(issuer)
  }

  /** A row for an issuer under this gate. After the end it is the empty one. */
  add(): FastRun {
    return this.#ended === undefined ? this.#runs.add(this.#number) : new FastRun(this.#runs, emptyRow)
  }

  /** A row for one name of an issuer under this gate. After the end it is the empty one. */
  addRow(): number {
    return this.#ended === undefined ? this.#runs.addRow(this.#number) : emptyRow
  }

  /** A row that another issuer under this gate has left. */
  take(row: number): FastRun {
    return new FastRun(this.#runs, row)
  }

  /** Callers wait for this issuer, or it wants or runs a refill. */
  noteBusy(issuer: Gated): void {
    if (this.#ended === undefined) this.#busy.add(issuer)
  }

  /** The issuer has nothing to do, or was stopped. */
  noteIdle(issuer: Gated): void {
    this.#busy.delete(issuer)
  }

  /** Nothing is issued until `open`: callers wait. */
  close(): void {
    if (this.#ended !== undefined) return
    this.#runs.setGate(this.#number, false)
    this.#isOpen = false
  }

  /** Its issuers issue again, from what they have buffered first. */
  open(): void {
    if (this.#ended !== undefined) return
    this.#runs.setGate(this.#number, true)
    this.#isOpen = true
    for (const issuer of [...this.#busy]) issuer.resume()
  }

  /** Nothing is issued any more: callers get `reason`. */
  end(reason: Error): void {
    if (this.#ended !== undefined) return
    this.#runs.endGate(this.#number)
    this.#isOpen = false
    this.#ended = reason
    const busy = [...this.#busy]
    this.#busy.clear()
    for (const issuer of busy) issuer.stop(reason)
  }

  /** As `end`, and nothing that its issuers have buffered is given back: another process may have it. */
  drop(reason: Error): void {
    this.#isDropped = true
    this.end(reason)
  }

  /** Throws where an invariant is broken. */
  assertInvariants(): void {
    assert(
      this.#ended === undefined || (!this.#isOpen && this.#busy.size === 0),
      'an ended gate is closed, and no issuer under it is busy',
    )
  }
}
