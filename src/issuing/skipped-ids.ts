/** The ids that a group commit skips, as far as they can be counted. */
export class SkippedIds {
  /** Those that no caller gets: the callers had left, or the right to issue had ended. */
  dropped = 0
  /** Those below a bound that reserves without a known outcome have made, at most. */
  lost = 0
  /** How many ids such reserves may still have, or come to have. */
  #unknown = 0

  /** A reserve for this many ids has had no known outcome. */
  noteUnknown(ids: number): void {
    this.#unknown += ids
  }

  /** @param skipped how many ids lie between the bound that was known and the start of a range, or the bound that was read. */
  noteBetween(skipped: () => number): void {
    if (this.#unknown === 0) return
    const lost = Math.min(this.#unknown, skipped())
    this.lost += lost
    this.#unknown -= lost
  }

  /** The figures. */
  stats(): { dropped: number; lost: number } {
    return { dropped: this.dropped, lost: this.lost }
  }
}
