/**
 * The state of a counter, and the steps that change it. Pure. An engine that decides in code applies a step to the state
 * that its transaction read or compared. An engine that decides in a statement states the same conditions there, and
 * uses `admit` on the state that the statement returned to explain a refusal.
 */
import { assert } from '../base/assert.ts'
import { FahaoError } from '../base/errors.ts'
import type { Range } from '../ids/run.ts'
import {
  boundMax,
  type Commit,
  type Counter,
  commitBytesMax,
  commitMax,
  type Reservation,
  type ReserveRequest,
  type WriterIdentity,
} from './engine.ts'

/** A counter that was never used. */
export const unused: Counter = Object.freeze({ bound: 0n, fence: 0n, incarnation: 0n, version: 0n })

/** The result of a step: the answer, and the counter after the step, which is the same object if nothing changed. */
export type Step<Answer> = { readonly counter: Counter; readonly answer: Answer | FahaoError }

/** What a release asks of a counter. */
export type ReleaseRequest = {
  /** The version that the reservation made. */
  readonly version: bigint
  /** The bound after the release. */
  readonly from: bigint
  readonly fence: bigint
  readonly incarnation: bigint
}

/** A request with the defaults of what it leaves out. */
export function completed({
  size,
  floor = 0n,
  max = boundMax,
  fence = 0n,
  incarnation,
}: ReserveRequest): Required<ReserveRequest> {
  return { size, floor, max, fence, incarnation }
}

/** The range that a reserve opens on this counter; STALE or EXHAUSTED if the counter refuses. */
export function admit(name: string, counter: Counter, request: Required<ReserveRequest>): Range | FahaoError {
  const { size, floor, max, fence, incarnation } = request
  if (fence < counter.fence)
    return new FahaoError('STALE', `counter '${name}' has seen fence ${counter.fence}, newer than ${fence}`)
  if (incarnation < counter.incarnation) {
    const now = `belongs to incarnation ${counter.incarnation} now, not ${incarnation}`
    return new FahaoError('STALE', `counter '${name}' ${now}`)
  }
  const start = counter.bound > floor ? counter.bound : floor
  const end = start + size
  if (end <= max) return { start, end }
  return new FahaoError('EXHAUSTED', `counter '${name}' stands at ${start}; ${size} more would pass ${max}`)
}

/** See `Engine.reserve`. */
export function reserve(name: string, counter: Counter, request: ReserveRequest): Step<Reservation> {
  const full = completed(request)
  const range = admit(name, counter, full)
  if (range instanceof FahaoError) return { counter, answer: range }
  const { fence, incarnation } = full
  const version = counter.version + 1n
  return { counter: { bound: range.end, fence, incarnation, version }, answer: { ...range, version } }
}

/** See `Engine.release`. */
export function release(
  counter: Counter,
  { version, from, fence, incarnation }: ReleaseRequest,
): Step<boolean> {
  const refused = counter.version !== version || fence < counter.fence || incarnation < counter.incarnation
  if (refused) return { counter, answer: false }
  return { counter: { ...counter, bound: from, version: version + 1n }, answer: true }
}

/** The sentence about a counter that has lost acknowledged reserves: its bound is below the end that a process holds. */
export function lossOf(name: string, bound: bigint, held: bigint): string {
  return `counter '${name}' stands at ${bound}, after ${held} was acknowledged`
}

/** Asserts what every caller of `Engine.reserve` guarantees. */
export function checkReserve({ size, floor = 0n, max = boundMax, incarnation }: ReserveRequest): void {
  assert(size >= 0n && floor >= 0n, 'sizes and floors are not negative')
  assert(max <= boundMax, 'ranges end at 2^63')
  assert(incarnation >= 1n, 'incarnations begin at 1')
}

/** Asserts what every caller of `Engine.release` guarantees. */
export function checkRelease({ end }: Reservation, from: bigint): void {
  assert(from >= 0n && from <= end, 'a release goes back')
}

/** Asserts what every caller of `Engine.commit` guarantees. */
export function checkCommit({ records, counter }: Commit): void {
  assert(records.length > 0 || counter !== undefined, 'a commit changes something')
  assert(records.length <= commitMax, `a commit writes at most ${commitMax} records`)
  assert(new Set(records.map(({ key }) => key)).size === records.length, 'a commit writes a record once')
  const bytes = records.reduce((sum, { value }) => sum + Buffer.byteLength(value), 0)
  assert(bytes <= commitBytesMax, `the values of a commit have at most ${commitBytesMax} bytes`)
  if (counter !== undefined) checkReserve(counter.request)
}

/** The request of a release. Asserts what every caller of `Engine.release` guarantees. */
export function releaseRequest(
  reservation: Reservation,
  from: bigint,
  { fence = 0n, incarnation }: WriterIdentity,
): ReleaseRequest {
  checkRelease(reservation, from)
  return { version: reservation.version, from, fence, incarnation }
}

/** Asserts what every caller of `Engine.advance` guarantees. */
export function checkGap(gap: bigint): void {
  assert(gap >= 0n && gap < boundMax, 'a gap is not negative and below 2^63')
}
