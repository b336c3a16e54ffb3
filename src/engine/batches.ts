/**
 * Collects calls that wait, so that they go to the server together.
 *
 * Invariants
 *  1. A call goes at once, with what else the same turn of the event loop asks for, while few are under way: fewer than
 *     `widthMax` calls, or fewer than two batches. Otherwise it waits, and goes with all others that have come by then, up to
 *     `sizeMax`. At most `widthMax` batches are under way.
 *  2. Of one key, at most one call is in the batches under way; the next one goes after it, in the order of the calls.
 */

/** How calls are collected, and carried out. */
export type BatchesOptions<Call> = {
  /** How many batches may be under way, of one call each. Where there are many calls, two batches are: they are larger. */
  readonly widthMax: number
  readonly sizeMax: number
  /** Default: calls have nothing in common. */
  readonly keyOf?: ((call: Call) => string) | undefined
  /** Whether a call goes in a batch of its own. Default: none does. */
  readonly isAlone?: (call: Call) => boolean
  /** Carries out one batch. Never rejects. */
  readonly carryOut: (calls: readonly Call[]) => Promise<void>
}

/** One on its way, and one that the server carries out meanwhile. */
const crowdWidth = 2

/** See the invariants at the top of the file. */
export class Batches<Call> {
  readonly #options: BatchesOptions<Call>
  readonly #waiting = new Set<Call>()
  /** Of the calls under way. */
  readonly #keys = new Set<string>()
  readonly #idle: (() => void)[] = []
  #underWay = 0
  #callsUnderWay = 0
  #due = false

  constructor(options: BatchesOptions<Call>) {
    this.#options = options
  }

  /** Has a call carried out with others. */
  add(call: Call): void {
    this.#waiting.add(call)
    if (this.#due) return
    this.#due = true
    queueMicrotask(() => {
      this.#due = false
      this.#start()
    })
  }

  /** Takes a call back. Whether it still waited: then it is not carried out. */
  remove(call: Call): boolean {
    return this.#waiting.delete(call)
  }

  /** Resolves when nothing waits and nothing is under way. */
  idle(): Promise<void> {
    if (this.#underWay === 0 && this.#waiting.size === 0) return Promise.resolve()
    return new Promise((resolve) => this.#idle.push(resolve))
  }

  #start(): void {
    while (this.#hasRoom) {
      const batch = this.#collect()
      if (batch.length === 0) break
      this.#underWay++
      this.#callsUnderWay += batch.length
      void this.#options.carryOut(batch).then(() => {
        this.#underWay--
        this.#callsUnderWay -= batch.length
        for (const call of batch) this.#release(call)
        this.#start()
      })
    }
    if (this.#underWay === 0 && this.#waiting.size === 0)
      for (const resolve of this.#idle.splice(0)) resolve()
  }

  get #hasRoom(): boolean {
    const { widthMax } = this.#options
    return this.#underWay < widthMax && (this.#underWay < crowdWidth || this.#callsUnderWay < widthMax)
  }

  #collect(): Call[] {
    const { sizeMax, isAlone } = this.#options
    const batch: Call[] = []
    for (const call of this.#waiting) {
      if (batch.length === sizeMax) break
      const alone = isAlone?.(call) === true
      if ((alone && batch.length > 0) || !this.#occupy(call)) continue
      this.#waiting.delete(call)
      batch.push(call)
      if (alone) break
    }
    return batch
  }

  /** Whether no call of its key was under way. */
  #occupy(call: Call): boolean {
    const key = this.#options.keyOf?.(call)
    if (key === undefined) return true
    if (this.#keys.has(key)) return false
    this.#keys.add(key)
    return true
  }

  #release(call: Call): void {
    const key = this.#options.keyOf?.(call)
    if (key !== undefined) this.#keys.delete(key)
  }
}
