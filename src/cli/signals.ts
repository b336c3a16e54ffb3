/** How a server is told to stop, and how it falls. */
import { constants } from 'node:os'
import type { Logger } from 'pino'
import { systemClock } from '../base/clock.ts'
import type { Config } from '../node/config-schema.ts'
import { exitCodes } from './exit-codes.ts'

/** Ctrl-C reaches the whole process group, and npm passes it on once more: within this it is one wish. */
const echoUs = 500_000
/** For what takes its time when all that has a deadline is over. */
const graceMs = 1000

/**
 * Resolves at the first SIGTERM or SIGINT. Another one, later, ends the process at once by that signal, which
 * shells show as 128 + its number: no id repeats after that, at most a buffered range stays unused.
 */
export function stopAsked(log: Logger): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let askedUs: number | undefined
    const onSignal = (signal: NodeJS.Signals) => {
      askedUs ??= systemClock.monoUs()
      resolve(signal)
      if (systemClock.monoUs() - askedUs < echoUs) return
      log.warn(`${signal} again: ending at once`)
      endBy(signal)
    }
    process.on('SIGTERM', onSignal)
    process.on('SIGINT', onSignal)
  })
}

/** How long a stop may take before the process is ended without: what is open by then is dropped. */
export function stopTimeoutMs({ shutdownTimeoutMs, callTimeoutMs }: Config): number {
  return shutdownTimeoutMs + callTimeoutMs + graceMs
}

/** As if nobody had listened: process.exit would wait for the thread that writes the store, and so for its disk. */
function endBy(signal: NodeJS.Signals): void {
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
  // The first process of a container does not hear its own signals.
  process.exit(128 + constants.signals[signal])
}

/** A bug ends the process at once: what holds state after one cannot be trusted, and a crash repeats no id. */
export function crashOnBugs(log: Logger): void {
  process.on('uncaughtException', (error, origin) => {
    // Not fatal(): that waits until the line is written, and a full disk would keep this process for ever.
    log.error({ err: error, origin }, 'a bug; this process ends at once. No id repeats after a restart')
    process.exit(exitCodes.failed.code)
  })
}
