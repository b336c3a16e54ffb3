/** One time for several processes of this machine. */
import { performance } from 'node:perf_hooks'

/** How far the machine's monotonic clock stands ahead of this process's `performance.now()`, in µs. */
export function monotonicOffsetUs(): number {
  return Number(process.hrtime.bigint() / 1000n) - performance.now() * 1000
}
