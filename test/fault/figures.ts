/** Many durations in one line. */

/** Median, 99th percentile and maximum, without decimals. */
export function figuresOf(values: readonly number[]): string {
  const sorted = [...values].sort((a, b) => a - b)
  const at = (share: number) =>
    (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(0)
  return `median ${at(0.5)}, p99 ${at(0.99)}, most ${at(1)}`
}
