/**
 * How long the requests of one protocol took, and the errors that its clients got: a few counters, and nothing for each
 * request.
 */
import type { ErrorCode } from '../base/errors.ts'

/** The upper bounds of the buckets, in seconds: a buffered id takes some tens of microseconds, a wait for the store seconds. */
export const requestBuckets: readonly number[] = Object.freeze([
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
])
const boundsUs = requestBuckets.map((seconds) => seconds * 1_000_000)

/** Counters of one protocol. */
export class RequestFigures {
  /** Requests by bucket, each in one; the last are longer than all bounds. */
  readonly counts: number[] = Array(requestBuckets.length + 1).fill(0)
  /** The sum of all times, in seconds. */
  seconds = 0
  /** Errors by code. */
  readonly errors = new Map<ErrorCode, number>()

  /** `count` requests have each taken `us` microseconds. */
  took(us: number, count = 1): void {
    let bucket = 0
    while (bucket < boundsUs.length && us > boundsUs[bucket]!) bucket++
    this.counts[bucket]! += count
    this.seconds += (us / 1_000_000) * count
  }

  /** Clients got `times` errors with this code. */
  failed(code: ErrorCode, times = 1): void {
    this.errors.set(code, (this.errors.get(code) ?? 0) + times)
  }
}
