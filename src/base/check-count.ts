/** How many ids a caller of the library or the client asks for. */
import { FahaoError } from './errors.ts'

/** Throws ERR unless `count` is a whole number from 1 to `most`. Callers without types may give anything. */
export function checkCount(count: number, most: number): void {
  if (Number.isSafeInteger(count) && count >= 1 && count <= most) return
  const given = typeof count === 'number' ? count : `a ${typeof count}`
  throw new FahaoError('ERR', `count must be a whole number from 1 to ${most}, not ${given}`)
}
