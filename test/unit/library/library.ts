/** The library as its callers import it, and the one thing that they would write themselves. */
import { type ErrorCode, FahaoError } from '../../../src/index.ts'

export { type Fahao, type FahaoOptions, openFahao } from '../../../src/index.ts'

/** Whether `error` has this code. */
export function hasCode(error: unknown, code: ErrorCode): error is FahaoError {
  return error instanceof FahaoError && error.code === code
}
