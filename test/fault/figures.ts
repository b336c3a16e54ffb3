/** Many durations in one line. */

/** Median, 99th percentile and maximum, without decimals. */
export function figuresOf(values: readonly number[]): string {
  const sorted = [...values].sort((a, b) => a - b)
  // The nearest rank: of 100 values, p99 is the largest but one.
  const at = (share: number) => (sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0).toFixed(0)
  return `median ${at(0.5)}, p99 ${at(0.99)}, most ${at(1)}`
}
