/** Where the names that match glob patterns lie in the byte order of all names: each begins as its pattern does, up to the first wildcard. */
import { compareBytes } from '../base/byte-order.ts'
import { isLiteral, literalPrefix } from '../base/glob.ts'

/** The names that begin with `prefix`, or, if it is exact, that name alone. */
export type NameRange = { readonly prefix: string; readonly isExact: boolean }

/** All names. */
export const everyName: readonly NameRange[] = [{ prefix: '', isExact: false }]

/** The ranges in which every match of one of the patterns lies, in byte order; none overlaps another. */
export function rangesOf(patterns: readonly string[]): readonly NameRange[] {
  return disjoint(
    patterns.map((pattern) =>
      isLiteral(pattern)
        ? { prefix: pattern, isExact: true }
        : { prefix: literalPrefix(pattern), isExact: false },
    ),
  )
}

/** The ranges of the names that lie in one of `ranges` and in one of `others`. */
export function commonRanges(
  ranges: readonly NameRange[],
  others: readonly NameRange[],
): readonly NameRange[] {
  return disjoint(ranges.flatMap((range) => others.flatMap((other) => common(range, other))))
}

/** Whether every name of `range` is at or before `name` in byte order. */
export function isBefore({ prefix, isExact }: NameRange, name: string): boolean {
  if (!isExact && name.startsWith(prefix)) return false
  return compareBytes(prefix, name) <= 0
}

function common(one: NameRange, other: NameRange): NameRange[] {
  if (contains(one, other)) return [other]
  return contains(other, one) ? [one] : []
}

function contains(outer: NameRange, inner: NameRange): boolean {
  if (outer.isExact) return inner.isExact && inner.prefix === outer.prefix
  return inner.prefix.startsWith(outer.prefix)
}

function disjoint(ranges: readonly NameRange[]): readonly NameRange[] {
  // A range is directly after those that contain it, or after others that they contain.
  const sorted = [...ranges].sort(
    (a, b) => compareBytes(a.prefix, b.prefix) || Number(a.isExact) - Number(b.isExact),
  )
  const kept: NameRange[] = []
  for (const range of sorted) {
    const last = kept.at(-1)
    if (last === undefined || !contains(last, range)) kept.push(range)
  }
  return kept
}
