/** Suggestions for misspelled words. */

/** Longer words are no misspellings: to compare them would take long. */
const lengthMax = 64
/** Of the words of one sentence. A request may have thousands. */
const comparedMax = 3
const shownMax = 8

/** The known word nearest to `given`, or undefined if none is near enough to be a likely misspelling. */
export function nearest(given: string, known: readonly string[]): string | undefined {
  if (given.length > lengthMax) return undefined
  const ranked = known
    .map((word) => ({ word, distance: editDistance(squeezed(given), squeezed(word)) }))
    .sort((a, b) => a.distance - b.distance)[0]
  return ranked && ranked.distance <= Math.min(2, Math.floor(given.length / 3)) ? ranked.word : undefined
}

/** The sentence about words that are not among the known ones, with the one that may be meant. */
export function unknownWords(what: string, given: readonly string[], known: readonly string[]): string {
  const compared = given.slice(0, comparedMax)
  const meant = compared.map((word) => nearest(word, known)).find((word) => word !== undefined)
  const hint = meant === undefined ? '' : `did you mean ${meant}? `
  const shown = given.slice(0, shownMax).map((word) => `'${word.slice(0, lengthMax)}'`)
  if (given.length > shownMax) shown.push('…')
  return `unknown ${what} ${shown.join(', ')}; ${hint}known are ${known.join(', ')}`
}

/** Spellings that differ only in case, hyphens and underscores become equal: `leadMax`, `lead_max`, `lead-max`. */
function squeezed(word: string): string {
  return word.toLowerCase().replaceAll(/[-_]/g, '')
}

/** The Damerau–Levenshtein distance: substitutions, insertions, deletions and transpositions of neighbours. */
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
