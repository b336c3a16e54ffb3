/** For how long a node uses the users that it has in memory while the engine is away. */
import { type Clock, repeat, type Timer } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'
import type { Engine } from '../engine/engine.ts'

/** What `UsersGrace` needs. */
export type UsersGraceDeps = {
  readonly engine: Pick<Engine, 'status'>
  readonly clock: Clock
  /** How long users authenticate while the engine is away. */
  readonly graceMs: number
}

const confirmMs = 5000

/** Whether the engine was up a short time ago. */
export class UsersGrace {
  readonly #deps: UsersGraceDeps
  readonly #confirming: Timer
  /** When the engine was last known to be up. */
  #confirmedUs: number

  constructor(deps: UsersGraceDeps) {
    this.#deps = deps
    this.#confirmedUs = deps.clock.monoUs()
    this.#confirming = repeat(deps.clock, confirmMs, async () => this.#confirm())
  }

  /** Whether the engine was up within `graceMs`, so that users may log in. */
  get isFresh(): boolean {
    this.#confirm()
    return this.#deps.clock.monoUs() - this.#confirmedUs <= this.#deps.graceMs * 1000
  }

  /** Throws UNAVAILABLE if the users are known from too long ago. */
  check(): void {
    if (this.isFresh) return
    throw new FahaoError(
      'UNAVAILABLE',
      'the engine has been away for longer than users-grace, so this node no longer knows which users are valid; restore the engine',
    )
  }

  /** Ends its timer. */
  close(): void {
    this.#confirming.cancel()
  }

  #confirm(): void {
    const { engine, clock } = this.#deps
    if (engine.status().state === 'up') this.#confirmedUs = clock.monoUs()
  }
}
