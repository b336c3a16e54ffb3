/**
 * The numbers of a ledger that are not final: those that are held, and until when, and those that are free. Pure: time is given.
 *
 * Invariants
 *  1. A number is held or free, and not both. One whose hold has ended is free once `lapse` has run, and stays so.
 *  2. Free numbers are in ascending order.
 */
import { assert } from '../../base/assert.ts'
import { FahaoError } from '../../base/errors.ts'
import { isFinal, type Line } from './line.ts'

/** How many numbers are held at most, so that memory is bounded and a close does not wait for ever. */
const heldMax = 10_000

/** The index of open numbers. */
export class OpenNumbers {
  readonly #free: bigint[] = []
  /** Of the numbers that are held and have not lapsed, by secret. */
  readonly #held = new Map<string, bigint>()
  /** When holds end, on the clock of this process, by secret; those that have lapsed among them. */
  readonly #deadlines = new Map<string, number>()
  #nextLapseUs = Number.POSITIVE_INFINITY

  /** How many numbers are held. */
  get held(): number {
    return this.#held.size
  }

  /** Throws LIMIT where no `count` numbers more can be held. */
  refuseMore(count: number): void {
    if (this.held + count <= heldMax) return
    throw new FahaoError(
      'LIMIT',
      `${this.held} numbers of this ledger are held, and at most ${heldMax} can be; confirm or cancel some, or wait until their holds end`,
    )
  }

  /** The lowest number that is held. */
  get lowestHeld(): bigint | undefined {
    let lowest: bigint | undefined
    for (const number of this.#held.values()) if (lowest === undefined || number < lowest) lowest = number
    return lowest
  }

  /** The number that is held under a secret. */
  numberOf(secret: string): bigint | undefined {
    return this.#held.get(secret)
  }

  /** The numbers that are held under these secrets. */
  heldAs(secrets: readonly string[]): { number: bigint; secret: string }[] {
    return secrets.flatMap((secret) => {
      const number = this.#held.get(secret)
      return number === undefined ? [] : [{ number, secret }]
    })
  }

  /** When a hold ends or has ended, on the clock of this process; undefined: none is known here. */
  deadlineOf(secret: string): number | undefined {
    return this.#deadlines.get(secret)
  }

  /** Up to `count` free numbers from `from` on, the lowest ones. */
  free(count: number, from = 0n): bigint[] {
    const place = this.#placeOf(from)
    return this.#free.slice(place, place + count)
  }

  /** Frees the numbers whose holds have ended. */
  lapse(monoUs: number): void {
    if (monoUs < this.#nextLapseUs) return
    this.#nextLapseUs = Number.POSITIVE_INFINITY
    for (const [secret, number] of this.#held) {
      const deadline = this.#deadlines.get(secret)!
      if (deadline <= monoUs) {
        this.#held.delete(secret)
        this.#addFree(number)
      } else this.#nextLapseUs = Math.min(this.#nextLapseUs, deadline)
    }
  }

  /** A number has this line now. */
  add(number: bigint, { state, secret }: Line, deadlineUs: number): void {
    if (state === 'free') this.#addFree(number)
    if (state !== 'held') return
    this.#held.set(secret!, number)
    this.#deadlines.set(secret!, deadlineUs)
    this.#nextLapseUs = Math.min(this.#nextLapseUs, deadlineUs)
  }

  /** A number does not have this line any more. */
  remove(number: bigint, line: Line): void {
    if (isFinal(line)) return
    const at = this.#placeOf(number)
    if (this.#free[at] === number) this.#free.splice(at, 1)
    if (line.state === 'free') return
    this.#held.delete(line.secret!)
    this.#deadlines.delete(line.secret!)
  }

  /** Throws where an invariant is broken, or other numbers are open than these. */
  assertInvariants(open: readonly (readonly [bigint, Line])[]): void {
    const free = new Set(this.#free)
    assert(
      this.#free.every((number, at) => at === 0 || this.#free[at - 1]! < number),
      'free numbers are in order',
    )
    for (const [number, { state, secret }] of open) {
      const isHeld = state === 'held' && this.#held.get(secret!) === number
      assert(isHeld !== free.has(number), 'a number is held or free')
    }
    assert(open.length === this.#held.size + free.size, 'each open number has a line in memory')
  }

  #addFree(number: bigint): void {
    const at = this.#placeOf(number)
    if (this.#free[at] !== number) this.#free.splice(at, 0, number)
  }

  /** Where a number stands among those that are free, or would stand. */
  #placeOf(number: bigint): number {
    let [low, high] = [0, this.#free.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#free[middle]! < number) low = middle + 1
      else high = middle
    }
    return low
  }
}
