/** Patterns in requests: Redis's globs, bounded. */
import { FahaoError } from '../base/errors.ts'
import { globMatches } from '../base/glob.ts'
import type { Arguments } from './arguments.ts'

/** Longer than any name; matching costs the pattern's length times the name's. */
const patternMax = 1024

/** The pattern at `index`, as a function of what it is matched against; LIMIT when it is out of proportion. */
export function patternAt(args: Arguments, index: number): (text: string) => boolean {
  const pattern = args.text(index)
  if (pattern.length > patternMax) {
    throw new FahaoError(
      'LIMIT',
      `a pattern has at most ${patternMax} characters; names have at most 256 bytes`,
    )
  }
  return (text) => globMatches(pattern, text)
}
