/** The largest ids, and how many worker ids there are. */

/** 2^53 − 1: the largest integer that a JavaScript number, and JSON as most read it, holds exactly. */
export const max53 = 2n ** 53n - 1n

/** What readers of ids hold, smallest first: the largest number that each keeps as it is. */
export const readerLimits = [
  { name: 'INT', what: 'an INT column (2^31−1)', most: 2n ** 31n - 1n },
  { name: '15 digits', what: 'the 15 digits that a spreadsheet keeps', most: 10n ** 15n - 1n },
  { name: '2^53', what: 'the numbers of JavaScript (2^53−1)', most: max53 },
] as const

/** 2^63 − 1: the largest positive signed 64-bit integer, and the largest id. */
export const max63 = 2n ** 63n - 1n

/** As many worker ids has a store, however many bits a layout has for them. */
export const workerIdsMax = 65_536

/** The worker ids that callers may lease of a layout with `nodeBits` node bits: from `first` on, below `end`. Nodes take the lowest. */
export function callersShare(nodeBits: number): { readonly first: number; readonly end: number } {
  const end = Math.min(2 ** nodeBits, workerIdsMax)
  return { first: Math.max(1, Math.floor(end / 64)), end }
}
