/**
 * The deadlines of calls that have the same time.
 *
 * Invariants
 *  1. Calls that begin in one turn of the event loop share one timer of the clock: thousands of calls cost one.
 *  2. The timer is cancelled once none of its calls waits for it.
 */
import type { Clock, Timer } from '../base/clock.ts'

type Turn = {
  readonly calls: Deadline[]
  /** The calls whose deadline was not cancelled. */
  waiting: number
  /** Whether further calls may join. */
  isOpen: boolean
  timer: Timer | undefined
}

/** The deadlines of one kind of call. */
export class Deadlines {
  readonly #clock: Clock
  readonly #timeoutMs: number
  #turn: Turn | undefined

  constructor(clock: Clock, timeoutMs: number) {
    this.#clock = clock
    this.#timeoutMs = timeoutMs
  }

  /** Begins a call: `onLate` is called at its deadline, unless it was cancelled. */
  begin(onLate: () => void): Timer {
    this.#turn ??= this.#beginTurn()
    const deadline = new Deadline(this.#turn, onLate)
    this.#turn.waiting++
    this.#turn.calls.push(deadline)
    return deadline
  }

  #beginTurn(): Turn {
    const turn: Turn = { calls: [], waiting: 0, isOpen: true, timer: undefined }
    turn.timer = this.#clock.timer(this.#timeoutMs, () => {
      for (const call of turn.calls) call.pass()
    })
    setImmediate(() => {
      this.#turn = undefined
      turn.isOpen = false
      if (turn.waiting === 0) turn.timer?.cancel()
    })
    return turn
  }
}

class Deadline implements Timer {
  readonly #turn: Turn
  #onLate: (() => void) | undefined

  constructor(turn: Turn, onLate: () => void) {
    this.#turn = turn
    this.#onLate = onLate
  }

  cancel(): void {
    if (this.#onLate === undefined) return
    this.#onLate = undefined
    const turn = this.#turn
    if (--turn.waiting === 0 && !turn.isOpen) turn.timer?.cancel()
  }

  /** The time is over. */
  pass(): void {
    this.#onLate?.()
    this.#onLate = undefined
  }
}
