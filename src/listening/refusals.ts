/** The refusals of one connection whose client has not logged in: when it has to rest, in every protocol. */
import { unauthenticatedRestMs } from './turns.ts'

/** How many requests are refused before a rest: more than a client sends that has forgotten to log in. */
const refusalsMax = 16

/** Counts refusals. */
export class Refusals {
  readonly #laterMax: number
  #left = refusalsMax

  /** @param laterMax how many refusals each further rest permits: the fewer, the more a refusal costs. */
  constructor(laterMax = refusalsMax) {
    this.#laterMax = laterMax
  }

  /** Counts a request that was refused, and would not have been after a login. */
  count(): void {
    this.#left--
  }

  /** Whether nothing is carried out before a rest. */
  get mustRest(): boolean {
    return this.#left <= 0
  }

  /** How long the connection has to rest now, in ms; 0: not at all. Counts from 0 afterwards. */
  takeRest(): number {
    if (!this.mustRest) return 0
    this.#left = this.#laterMax
    return unauthenticatedRestMs
  }
}
