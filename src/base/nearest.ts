/** What somebody may have meant. */

/** The known word that is nearest to `given`, if one is so near that it is likely a slip. */
export function nearest(given: string, known: readonly string[]): string | undefined {
  const ranked = known
    .map((word) => ({ word, distance: editDistance(squeezed(given), squeezed(word)) }))
    .sort((a, b) => a.distance - b.distance)[0]
  return ranked && ranked.distance <= Math.min(2, Math.floor(given.length / 3)) ? ranked.word : undefined
}

/** `leadMax`, `lead_max` and `lead-max` are no different slips. */
function squeezed(word: string): string {
  return word.toLowerCase().replaceAll(/[-_]/g, '')
}

/** How many letters must be changed, added, left out or swapped with the next. */
function editDistance(a: string, b: string): number {
  let before: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const next = [row]
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1]
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      next[column] = Math.min(
        last[column]! + 1,
        next[column - 1]! + 1,
        last[column - 1]! + (same ? 0 : 1),
        swapped ? before[column - 2]! + 1 : Number.POSITIVE_INFINITY,
      )
    }
    before = last
    last = next
  }
  return last[b.length]!
}
