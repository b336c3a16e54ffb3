/**
 * Checks the server's settings that durability depends on, every minute while the engine is open: most of them change
 * without a restart, and a new connection may reach another server.
 */
import type { Clock, Timer } from '../../base/clock.ts'

const checkMs = 60_000

/** The sentence about settings that may lose acknowledged writes; undefined if there are none. */
export function possibleLossBy(settings: readonly string[]): string | undefined {
  if (settings.length === 0) return undefined
  return `may lose acknowledged writes in a crash, and give ids twice: ${settings.join('; ')}`
}

/** The check of one engine. */
export class DurabilityCheck {
  readonly #clock: Clock
  readonly #unsafeSettings: () => Promise<readonly string[]>
  readonly #report: (loss: string | undefined) => void
  #timer: Timer | undefined
  #closed = false

  /**
   * @param unsafeSettings reads the settings that may lose writes, and rejects if the server does not answer.
   * @param report receives after each check the losses that the settings allow; undefined: none.
   */
  constructor(
    clock: Clock,
    unsafeSettings: () => Promise<readonly string[]>,
    report: (loss: string | undefined) => void,
  ) {
    this.#clock = clock
    this.#unsafeSettings = unsafeSettings
    this.#report = report
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
      this.#unsafeSettings()
        .then((settings) => !this.#closed && this.#report(possibleLossBy(settings)))
        // A server that does not answer fails every other call, too; the next check reads the settings again.
        .catch(() => {})
        .finally(() => this.#schedule())
    })
  }
}
