/**
 * Signals that stop a server, SIGHUP, and crashes. After SIGHUP listening/listener-tls.ts reads certificates again; no
 * setting is read again.
 */
import { constants } from 'node:os'
import type { Logger } from 'pino'
import { systemClock } from '../base/clock.ts'
import type { Config } from '../config/config-schema.ts'
import { exitCodes } from './exit-codes.ts'

/** Ctrl-C reaches the whole process group, and npm forwards it again: signals within this time count as one. */
const echoUs = 500_000
/** Extra time of a stop for steps without a deadline of their own. */
const graceMs = 1000

/**
 * Resolves at the first SIGTERM or SIGINT. A later one ends the process at once by that signal, which shells show as
 * 128 + its number: no id repeats after that, at most buffered ids stay unused.
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

/** Calls `work` at each SIGHUP, which ends the process where this is not called. */
export function onHangUp(work: () => void): void {
  process.on('SIGHUP', work)
}

/** The deadline of a stop, in ms, after which the process ends with what is still open. */
export function stopTimeoutMs({ shutdownTimeoutMs, callTimeoutMs }: Config): number {
  return shutdownTimeoutMs + callTimeoutMs + graceMs
}

/** Ends the process by the signal's default action: process.exit would wait for the thread that writes the store. */
function endBy(signal: NodeJS.Signals): void {
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
  // The first process of a container does not receive its own signals.
  process.exit(128 + constants.signals[signal])
}

/** Ends the process at once on a bug: its state cannot be trusted, and a crash repeats no id. */
export function crashOnBugs(log: Logger): void {
  process.on('uncaughtException', (error, origin) => {
    // Not fatal(): it waits until the line is written, which a full disk would delay for ever.
    log.error({ err: error, origin }, 'a bug; this process ends at once. No id repeats after a restart')
    process.exit(exitCodes.failed.code)
  })
}
