/** How long something took: a few counters for a histogram, and nothing for each time. */

/** Upper bounds of buckets in seconds, from a tenth of a millisecond to ten seconds. */
export const timeBuckets: readonly number[] = Object.freeze([
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
])
const boundsUs = timeBuckets.map((seconds) => seconds * 1_000_000)

/** One of the times, and the trace of what took it. */
export type Exemplar = { readonly traceId: string; readonly seconds: number; readonly unixSeconds: number }

/** Counts times by bucket. */
export class Times {
  /** Times by bucket, each in one; the last are longer than all bounds. */
  readonly counts: number[] = Array(timeBuckets.length + 1).fill(0)
  /** The sum of all times, in seconds. */
  seconds = 0
  /** By bucket: the newest of which the trace is known. */
  readonly exemplars: (Exemplar | undefined)[] = []

  /** `count` times were `us` microseconds each. */
  add(us: number, count = 1): void {
    this.counts[bucketOf(us)]! += count
    this.seconds += (us / 1_000_000) * count
  }

  /** A time that was added is of this trace. `wallUs`: now, in Unix µs. */
  example(us: number, traceId: string, wallUs: number): void {
    this.exemplars[bucketOf(us)] = { traceId, seconds: us / 1_000_000, unixSeconds: wallUs / 1_000_000 }
  }
}

function bucketOf(us: number): number {
  let bucket = 0
  while (bucket < boundsUs.length && us > boundsUs[bucket]!) bucket++
  return bucket
}
