/**
 * Redis's glob patterns (`*`, `?`, `[a-z]`, `[^x]`, `\` to escape), matched with backtracking to
 * the latest star only: the time is at most pattern length × text length.
 */

/** Whether the whole text matches the pattern. Compares code points. */
export function globMatches(pattern: string, text: string): boolean {
  const patternPoints = [...pattern]
  const textPoints = [...text]
  let at = 0
  let index = 0
  let star = -1
  let starIndex = 0
  while (index < textPoints.length) {
    const step =
      at < patternPoints.length && patternPoints[at] !== '*'
        ? matchOne(patternPoints, at, textPoints[index]!)
        : 0
    if (step > 0) {
      at += step
      index++
    } else if (patternPoints[at] === '*') {
      star = at++
      starIndex = index
    } else if (star >= 0) {
      at = star + 1
      index = ++starIndex
    } else {
      return false
    }
  }
  while (patternPoints[at] === '*') at++
  return at >= patternPoints.length
}

/** The text that every match of the pattern begins with. */
export function literalPrefix(pattern: string): string {
  return /^[^*?[\\]*/.exec(pattern)![0]
}

/** `globMatches` of one pattern, for many texts: literal patterns, and those with one star at the end, are compared at once. */
export function globMatcher(pattern: string): (text: string) => boolean {
  const prefix = literalPrefix(pattern)
  if (prefix === pattern) return (text) => text === pattern
  if (pattern === `${prefix}*`) return (text) => text.startsWith(prefix)
  return (text) => text.startsWith(prefix) && globMatches(pattern, text)
}

/** The number of pattern code points that match `point`, a code point of the text; 0 if none match. */
function matchOne(pattern: readonly string[], at: number, point: string): number {
  const first = pattern[at]!
  if (first === '?') return 1
  if (first === '\\' && at + 1 < pattern.length) return pattern[at + 1] === point ? 2 : 0
  if (first === '[') return matchClass(pattern, at, point)
  return first === point ? 1 : 0
}

function matchClass(pattern: readonly string[], open: number, point: string): number {
  const negated = pattern[open + 1] === '^'
  let at = open + (negated ? 2 : 1)
  let found = false
  while (at < pattern.length && pattern[at] !== ']') {
    if (pattern[at] === '\\' && at + 1 < pattern.length) at++
    const low = pattern[at]!
    if (pattern[at + 1] === '-' && at + 2 < pattern.length && pattern[at + 2] !== ']') {
      const high = pattern[at + 2]!
      if ((low <= point && point <= high) || (high <= point && point <= low)) found = true
      at += 3
    } else {
      if (low === point) found = true
      at++
    }
  }
  return found === negated ? 0 : Math.min(at, pattern.length - 1) + 1 - open
}
