/** Exit codes of the program. */
import { CommanderError } from 'commander'
import { describe, FahaoError } from '../base/errors.ts'

/** Exit codes; `docs/reference/cli.md` is checked against their meanings. */
export const exitCodes = Object.freeze({
  ok: { code: 0, meaning: 'done' },
  failed: { code: 1, meaning: 'refused or failed; a retry does not help' },
  usage: { code: 2, meaning: 'wrong flags, arguments or configuration' },
  unreachable: { code: 3, meaning: 'no server answers at --url' },
  retryable: { code: 4, meaning: 'refused or failed for now; a retry after a pause can help' },
})

/** No server answers. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable'
}

/** Wrong flags or arguments that the parser accepts. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** Reads a flag's whole number of at most 19 digits. Throws UsageError. */
export function wholeNumber(text: string, flag: string): bigint {
  if (/^\d{1,19}$/.test(text)) return BigInt(text)
  throw new UsageError(`${flag} '${text}' is no whole number of at most 19 digits`)
}

/** Runs `work`, and prints its error to stderr, as a sentence or as JSON. Resolves to the exit code. */
export async function exitCodeAfter(work: () => Promise<unknown>, json = false): Promise<number> {
  try {
    await work()
    return exitCodes.ok.code
  } catch (error) {
    // The parser has printed its message.
    if (error instanceof CommanderError)
      return error.exitCode === 0 ? exitCodes.ok.code : exitCodes.usage.code
    console.error(json ? JSON.stringify(jsonOf(error)) : `fahao: ${describe(error)}`)
    return exitCodeOf(error)
  }
}

/** The exit code of `error`. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof Unreachable) return exitCodes.unreachable.code
  if (error instanceof UsageError) return exitCodes.usage.code
  if (!(error instanceof FahaoError)) return exitCodes.failed.code
  if (error.code === 'CONFIG') return exitCodes.usage.code
  return error.retryable ? exitCodes.retryable.code : exitCodes.failed.code
}

function jsonOf(error: unknown): object {
  const code = error instanceof FahaoError ? error.code : 'ERR'
  const retryable = error instanceof FahaoError && error.retryable
  const message = error instanceof Error ? error.message : String(error)
  return { code, message, retryable }
}
