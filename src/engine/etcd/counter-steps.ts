/** What a reserve and a release make of a counter. Pure: the same steps are taken again on whatever stands there. */
import { FahaoError } from '../../base/errors.ts'
import { boundMax, type Counter, type Reservation, type ReserveRequest } from '../engine.ts'

/** A step's answer, and the counter after it: the very same object when nothing is to be written. */
export type Taken<Answer> = { readonly counter: Counter; readonly answer: Answer | FahaoError }

/** A counter that was never used. */
export const unused: Counter = Object.freeze({ bound: 0n, fence: 0n, incarnation: 0n, version: 0n })

/** See `Engine.reserve`. */
export function reserveStep(name: string, counter: Counter, request: ReserveRequest): Taken<Reservation> {
  const { size, floor = 0n, max = boundMax, fence = 0n, incarnation } = request
  const stale = staleness(name, counter, fence, incarnation)
  if (stale !== undefined) return { counter, answer: new FahaoError('STALE', stale) }
  const start = counter.bound > floor ? counter.bound : floor
  const end = start + size
  if (end > max) {
    const message = `counter '${name}' stands at ${start}; ${size} more would pass ${max}`
    return { counter, answer: new FahaoError('EXHAUSTED', message) }
  }
  const version = counter.version + 1n
  return { counter: { bound: end, fence, incarnation, version }, answer: { start, end, version } }
}

/** See `Engine.release`. */
export function releaseStep(
  counter: Counter,
  version: bigint,
  from: bigint,
  fence: bigint,
  incarnation: bigint,
): Taken<boolean> {
  if (counter.version !== version || fence < counter.fence || incarnation < counter.incarnation)
    return { counter, answer: false }
  return { counter: { ...counter, bound: from, version: version + 1n }, answer: true }
}

/** A counter as its key holds it. */
export function encodeCounter({ bound, fence, incarnation, version }: Counter): Buffer {
  return Buffer.from(`${bound} ${fence} ${incarnation} ${version}`)
}

/** Throws ENGINE when the value is none: a damaged counter that read as unused would begin at 0. */
export function decodeCounter(name: string, value: Buffer): Counter {
  const [, bound, fence, incarnation, version] = /^(\d+) (\d+) (\d+) (\d+)$/.exec(value.toString()) ?? []
  if (version === undefined)
    throw new FahaoError('ENGINE', `counter '${name}' holds something that no Fahao wrote; restore it`)
  return {
    bound: BigInt(bound!),
    fence: BigInt(fence!),
    incarnation: BigInt(incarnation!),
    version: BigInt(version),
  }
}

function staleness(name: string, counter: Counter, fence: bigint, incarnation: bigint): string | undefined {
  if (fence < counter.fence) return `counter '${name}' has seen fence ${counter.fence}, newer than ${fence}`
  if (incarnation >= counter.incarnation) return undefined
  return `counter '${name}' belongs to incarnation ${counter.incarnation} now, not ${incarnation}`
}
