/** How the program ends, for scripts. */
import { FahaoError } from '../base/errors.ts'

/** Exit codes; `docs/reference/cli.md` is checked against their meanings. */
export const exitCodes = Object.freeze({
  ok: { code: 0, meaning: 'done' },
  failed: { code: 1, meaning: 'refused or failed; the same again will not help' },
  usage: { code: 2, meaning: 'wrong flags, arguments or configuration' },
  unreachable: { code: 3, meaning: 'no server answers at --url' },
  retryable: { code: 4, meaning: 'refused or failed for now; the same again, after a pause, can help' },
})

/** No server answers. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable'
}

/** Wrong flags or arguments beyond what the parser sees. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** The exit code that tells of `error`. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof Unreachable) return exitCodes.unreachable.code
  if (error instanceof UsageError) return exitCodes.usage.code
  if (!(error instanceof FahaoError)) return exitCodes.failed.code
  if (error.code === 'CONFIG') return exitCodes.usage.code
  return error.retryable ? exitCodes.retryable.code : exitCodes.failed.code
}
