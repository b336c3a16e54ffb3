/** How a server is told to stop, and how it falls. */
import { constants } from 'node:os'
import type { Logger } from 'pino'
import { systemClock } from '../base/clock.ts'
import { exitCodes } from './exit-codes.ts'

/** Ctrl-C reaches the whole process group, and npm passes it on once more: within this it is one wish. */
const echoUs = 500_000

/**
 * Resolves at the first SIGTERM or SIGINT. Another one, later, ends the process at once, with 128 + its number:
 * no id repeats after that, at most a range in hand stays unused.
 */
export function stopAsked(log: Logger): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let askedUs: number | undefined
    const onSignal = (signal: NodeJS.Signals) => {
      askedUs ??= systemClock.monoUs()
      resolve(signal)
      if (systemClock.monoUs() - askedUs < echoUs) return
      log.warn(`${signal} again: ending at once`)
      process.exit(128 + constants.signals[signal])
    }
    process.on('SIGTERM', onSignal)
    process.on('SIGINT', onSignal)
  })
}

/** A bug ends the process at once: what holds state after one cannot be trusted, and a crash repeats no id. */
export function crashOnBugs(log: Logger): void {
  process.on('uncaughtException', (error, origin) => {
    log.fatal({ err: error, origin }, 'a bug; this process ends at once. No id repeats after a restart')
    process.exit(exitCodes.failed.code)
  })
}
