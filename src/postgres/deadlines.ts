/** How long one connection may take to log in, and to go once it was closed. */
import type { Clock } from '../base/clock.ts'
import type { PostgresLimits } from './limits.ts'

/** The deadlines of one connection. */
export class Deadlines {
  readonly #limits: PostgresLimits
  readonly #clock: Clock
  /** Before the login: since when, in monotonic µs. */
  #pendingSinceUs: number | undefined
  /** When the connection is dropped after it was closed. */
  #deadlineUs = Number.POSITIVE_INFINITY

  /** @param startedMonoUs when the connection began, in monotonic µs. */
  constructor(limits: PostgresLimits, startedMonoUs: number, clock: Clock) {
    this.#limits = limits
    this.#clock = clock
    this.#pendingSinceUs = startedMonoUs
  }

  /** The client is logged in. Whether that is new. */
  loggedIn(): boolean {
    const isNew = this.#pendingSinceUs !== undefined
    this.#pendingSinceUs = undefined
    return isNew
  }

  /** The connection ends when the client has read its replies, and has ended its own side. */
  closing(): void {
    this.#deadlineUs = this.#clock.monoUs() + this.#limits.unreadTimeoutMs * 1000
  }

  /** The client has its replies. */
  lingering(): void {
    this.#deadlineUs = this.#clock.monoUs() + this.#limits.lingerMs * 1000
  }

  /** Whether one of them has passed. */
  isOver(nowUs: number): boolean {
    if (nowUs > this.#deadlineUs) return true
    return nowUs - (this.#pendingSinceUs ?? nowUs) > this.#limits.unauthenticatedTimeoutMs * 1000
  }
}
