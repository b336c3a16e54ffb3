/**
 * Looks at the settings that durability hangs on as long as the engine is open: a server takes most of them without a
 * restart, and a connection that is made anew may meet another server.
 */
import type { Clock, Timer } from '../../base/clock.ts'

const lookMs = 60_000

/** What these objections to a server's settings mean; undefined: there are none. */
export function lossOf(objections: readonly string[]): string | undefined {
  if (objections.length === 0) return undefined
  return `may lose acknowledged writes in a crash, and give ids twice: ${objections.join('; ')}`
}

/** See the top of the file. */
export class DurabilityCheck {
  readonly #clock: Clock
  readonly #objections: () => Promise<readonly string[]>
  readonly #tell: (loss: string | undefined) => void
  #timer: Timer | undefined
  #closed = false

  /**
   * @param objections asks the server, and rejects when it cannot be asked.
   * @param tell is told after each look what the settings may lose; undefined: nothing.
   */
  constructor(
    clock: Clock,
    objections: () => Promise<readonly string[]>,
    tell: (loss: string | undefined) => void,
  ) {
    this.#clock = clock
    this.#objections = objections
    this.#tell = tell
    this.#schedule()
  }

  /** Ends it. */
  close(): void {
    this.#closed = true
    this.#timer?.cancel()
  }

  #schedule(): void {
    if (this.#closed) return
    this.#timer = this.#clock.timer(lookMs, () => {
      this.#objections()
        .then((objections) => !this.#closed && this.#tell(lossOf(objections)))
        // A server that does not answer shows in every other call; the next look asks again.
        .catch(() => {})
        .finally(() => this.#schedule())
    })
  }
}
