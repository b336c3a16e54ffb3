/** Times as PostgreSQL counts them. */
import { systemClock } from '../base/clock.ts'

/** PostgreSQL counts from here, in µs since 1970. */
const epochUs = Date.UTC(2000, 0, 1) * 1000

/** The time of this machine, in µs since 2000-01-01. */
export function nowUs(): bigint {
  return BigInt(Math.round(systemClock.wallUs() - epochUs))
}
