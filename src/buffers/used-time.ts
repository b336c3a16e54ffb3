/**
 * How far one generator has used the time of a right: of the claim of a worker id, or of a lease. It is part of the right, and
 * outlives each buffer that issues from it. So what was used is known whichever way a buffer ends.
 *
 * Invariants
 *  1. No id of the generator whose time is at or after `untilUs` has been issued under the right: a whole unit of time counts as
 *     used before the first of its ids is taken.
 *  2. `untilUs` only grows.
 *  3. One buffer issues under the right: the one that was granted time of it last. All others are empty.
 */
import { assert } from '../base/assert.ts'

/** The used time of one generator. */
export class UsedTime {
  #untilUs = 0
  #user: object | undefined

  /** Unix µs: all time before it counts as used. */
  get untilUs(): number {
    return this.#untilUs
  }

  /** Whether a buffer may still issue from it. */
  get isInUse(): boolean {
    return this.#user !== undefined
  }

  /** Makes `user` the only buffer that issues from it: an earlier buffer stops issuing. */
  takeOver(user: object): void {
    this.#user = user
  }

  /** Whether `user` is the buffer that issues from it. */
  isOf(user: object): boolean {
    return this.#user === user
  }

  /** Ends the use: until another buffer takes it over, none issues from it. */
  end(): void {
    this.#user = undefined
  }

  /** Counts all time before `us` as used. */
  use(us: number): void {
    assert(us >= this.#untilUs, `time is used again: up to ${us} after ${this.#untilUs}`)
    this.#untilUs = us
  }
}
