/**
 * Shares the event loop between work that takes long and all other work: so many units are done in one turn of the
 * loop, and the rest in later turns.
 *
 * Invariants
 *  1. First come, first served.
 *  2. One turn grants less than `unitsPerTurn` + one piece, over all callers.
 *  3. While nothing waits and the turn has units left, a piece costs no promise.
 */

/** See the invariants at the top of the file. */
export class Turns {
  readonly #unitsPerTurn: number
  #left: number
  #scheduled = false
  #waiting: { readonly units: number; readonly resolve: () => void }[] = []

  /** @param unitsPerTurn what one turn may take, in any unit that the callers agree on. */
  constructor(unitsPerTurn: number) {
    this.#unitsPerTurn = unitsPerTurn
    this.#left = unitsPerTurn
  }

  /** Asks to do a piece of work. Undefined: at once. Else it resolves in the turn that the piece belongs to. */
  take(units: number): Promise<void> | undefined {
    if (!this.#scheduled) {
      this.#scheduled = true
      setImmediate(this.#next)
    }
    if (this.#left > 0 && this.#waiting.length === 0) {
      this.#left -= units
      return undefined
    }
    return new Promise((resolve) => this.#waiting.push({ units, resolve }))
  }

  readonly #next = (): void => {
    this.#left = this.#unitsPerTurn
    this.#scheduled = this.#waiting.length > 0
    if (this.#scheduled) setImmediate(this.#next)
    let granted = 0
    for (; granted < this.#waiting.length && this.#left > 0; granted++) {
      const { units, resolve } = this.#waiting[granted]!
      this.#left -= units
      resolve()
    }
    this.#waiting = this.#waiting.slice(granted)
  }
}

/** The turns that all HTTP answers share. A unit is about the time that the text of one plain id takes, 5 ns. */
export const turns = new Turns(100_000)
