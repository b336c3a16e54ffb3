/**
 * Checks the server's settings that durability depends on, every minute while the engine is open: most of them change
 * without a restart, and a new connection may reach another server.
 */
import type { Clock, Timer } from '../../base/clock.ts'

const checkMs = 60_000

/** The sentence about these objections to a server's settings; undefined if there are none. */
export function lossOf(objections: readonly string[]): string | undefined {
  if (objections.length === 0) return undefined
  return `may lose acknowledged writes in a crash, and give ids twice: ${objections.join('; ')}`
}

/** The check of one engine. */
export class DurabilityCheck {
  readonly #clock: Clock
  readonly #objections: () => Promise<readonly string[]>
  readonly #tell: (loss: string | undefined) => void
  #timer: Timer | undefined
  #closed = false

  /**
   * @param objections reads the settings, and rejects if the server does not answer.
   * @param tell receives after each check the losses that the settings allow; undefined: none.
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

  /** Ends the checks. */
  close(): void {
    this.#closed = true
    this.#timer?.cancel()
  }

  #schedule(): void {
    if (this.#closed) return
    this.#timer = this.#clock.timer(checkMs, () => {
      this.#objections()
        .then((objections) => !this.#closed && this.#tell(lossOf(objections)))
        // A server that does not answer fails every other call, too; the next check reads the settings again.
        .catch(() => {})
        .finally(() => this.#schedule())
    })
  }
}
