/**
 * Collects waiting calls into batches.
 *
 * Invariants
 *  1. While few are in flight (fewer than `widthMax` calls, or fewer than two batches), a call is sent at the end of this turn
 *     of the event loop, with the other calls of the turn: those for all connections whose bytes arrived in it. Otherwise it
 *     waits, and is sent with all calls that have arrived by then, up to `sizeMax`. At most `widthMax` batches are in flight.
 *  2. At most one call of a key is in flight; the next one is sent after it, in the order of the calls.
 */

/** The limits of batches, and how one is carried out. */
export type BatchesOptions<Call> = {
  /** The maximum number of batches in flight, of one call each. With many calls, two larger batches are in flight. */
  readonly widthMax: number
  readonly sizeMax: number
  /** The length of a call, of which a batch takes up to `lengthMax` together, or one call. Default: calls have none. */
  readonly lengthOf?: ((call: Call) => number) | undefined
  readonly lengthMax?: number
  /** Default: no call has a key. */
  readonly keyOf?: ((call: Call) => string) | undefined
  /** Whether a call needs a batch of its own. Default: none does. */
  readonly isAlone?: (call: Call) => boolean
  /** Carries out one batch. Never rejects. */
  readonly carryOut: (calls: readonly Call[]) => Promise<void>
}

/** The batches under way while many calls wait: one on its way to the server, and one that the server carries out meanwhile. */
const crowdWidth = 2
/** A queue is closed up when its holes are more than its calls by this number. */
const holesMax = 1024

/** The batches of one kind of call. */
export class Batches<Call> {
  readonly #options: BatchesOptions<Call>
  /** The calls that wait in their order, and holes where one has left. A set would be slow to read once its first ones have left. */
  #queue: (Call | undefined)[] = []
  /** Where each of them is, in the same order. */
  readonly #places = new Map<Call, number>()
  /** How many holes the queue begins with. */
  #holes = 0
  /** The keys of the calls in flight. */
  readonly #keys = new Set<string>()
  readonly #idle: (() => void)[] = []
  #underWay = 0
  #callsUnderWay = 0
  #due = false

  constructor(options: BatchesOptions<Call>) {
    this.#options = options
  }

  /** Adds a call, which is sent with others. */
  add(call: Call): void {
    if (this.#queue.length > 2 * this.#places.size + holesMax) this.#close()
    this.#places.set(call, this.#queue.length)
    this.#queue.push(call)
    if (this.#due) return
    this.#due = true
    setImmediate(() => {
      this.#due = false
      this.#start()
    })
  }

  /** Removes a call that still waits, so that it is not sent. Returns whether it did. */
  remove(call: Call): boolean {
    const place = this.#places.get(call)
    if (place === undefined) return false
    this.#leave(call, place)
    return true
  }

  /** Resolves when no call waits and no batch is in flight. */
  idle(): Promise<void> {
    if (this.#isIdle) return Promise.resolve()
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
    if (this.#isIdle) for (const resolve of this.#idle.splice(0)) resolve()
  }

  get #isIdle(): boolean {
    return this.#underWay === 0 && this.#places.size === 0
  }

  #leave(call: Call, at: number): void {
    this.#places.delete(call)
    this.#queue[at] = undefined
    while (this.#holes < this.#queue.length && this.#queue[this.#holes] === undefined) this.#holes++
  }

  /** Closes the holes of the queue. */
  #close(): void {
    this.#queue = [...this.#places.keys()]
    this.#holes = 0
    for (const [place, call] of this.#queue.entries()) this.#places.set(call!, place)
  }

  get #hasRoom(): boolean {
    const { widthMax } = this.#options
    return this.#underWay < widthMax && (this.#underWay < crowdWidth || this.#callsUnderWay < widthMax)
  }

  #collect(): Call[] {
    const { sizeMax, isAlone, lengthOf, lengthMax = 0 } = this.#options
    const batch: Call[] = []
    let length = 0
    const queue = this.#queue
    const { length: end } = queue
    for (let at = this.#holes; at < end && batch.length < sizeMax; at++) {
      const call = queue[at]
      if (call === undefined) continue
      length += lengthOf?.(call) ?? 0
      if (length > lengthMax && batch.length > 0) break
      const alone = isAlone?.(call) === true
      if ((alone && batch.length > 0) || !this.#occupy(call)) continue
      this.#leave(call, at)
      batch.push(call)
      if (alone) break
    }
    return batch
  }

  /** Marks the key of a call as in flight. Returns false if it was already. */
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
