/** The server's settings that durability depends on. */
import { type Clock, repeat, type Timer } from '../../base/clock.ts'

const checkMs = 60_000

/** The sentence about settings that may lose acknowledged writes; undefined if there are none. */
export function possibleLossBy(settings: readonly string[]): string | undefined {
  if (settings.length === 0) return undefined
  return `may lose acknowledged writes in a crash, and give ids twice: ${settings.join('; ')}`
}

/**
 * Checks the settings every minute until the timer is cancelled: most of them change without a restart, and a new
 * connection may reach another server.
 * @param unsafeSettings reads the settings that may lose writes. A server that does not answer fails every other call, too;
 *   the next check reads the settings again.
 * @param report receives after each check the losses that the settings allow; undefined: none.
 */
export function checkDurability(
  clock: Clock,
  unsafeSettings: () => Promise<readonly string[]>,
  report: (loss: string | undefined) => void,
): Timer {
  return repeat(clock, checkMs, async () => report(possibleLossBy(await unsafeSettings())))
}
