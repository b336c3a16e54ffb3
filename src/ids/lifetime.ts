/** When layouts and counters run out. */
import { FahaoError } from '../base/errors.ts'
import { type Layout, ones, timeEndUs } from './layout.ts'
import { max53, readerLimits } from './limits.ts'
import { momentText } from './moment.ts'

/** The capacity of a layout, and when its time ends. Moments are in Unix µs and, beside that, as text. */
export type LayoutLifetime = {
  /** The first moment that the time field cannot hold. */
  readonly endsUs: bigint
  /** That moment as ISO text in UTC; `about the year …` beyond the range of `Date`. */
  readonly ends: string
  /** The first moment at which an id can be larger than 2^53 − 1; undefined: never. */
  readonly passes53Us: bigint | undefined
  readonly passes53: string | undefined
  /** How many nodes can issue side by side. */
  readonly nodes: number
  /** Ids that one node can issue per second without an end; bursts may borrow from the future. */
  readonly idsPerSecondPerNode: number
}

/** When a layout's time runs out, and its capacity. */
export function lifetime(layout: Layout): LayoutLifetime {
  const endsUs = timeEndUs(layout)
  const passes53Us = firstPastUs(layout, max53)
  return {
    endsUs,
    ends: momentText(endsUs),
    passes53Us,
    passes53: passes53Us === undefined ? undefined : momentText(passes53Us),
    nodes: 2 ** layout.nodeBits,
    idsPerSecondPerNode: (2 ** layout.sequenceBits * 1_000_000) / layout.unitUs,
  }
}

/** How far ahead it is said that ids outgrow a reader, in µs: thirty years. */
const inSightUs = 30n * 31_557_600_000_000n

/** Which readers ids have outgrown, and which they will, in sentences. `passesUs`: when ids pass a limit, in Unix µs, if they do. */
export function sizeNotes(passesUs: (limit: bigint) => bigint | undefined, nowUs: number): string[] {
  const now = BigInt(nowUs)
  const past: string[] = []
  const coming: string[] = []
  for (const { what, most } of readerLimits) {
    const us = passesUs(most)
    if (us === undefined || us > now + inSightUs) continue
    if (us <= now) past.push(what)
    else coming.push(`its ids outgrow ${what} on ${momentText(us).slice(0, 10)}`)
  }
  return [...(past.length > 0 ? [`its ids are too large for ${past.join(', and ')}`] : []), ...coming]
}

/** The first moment at which the largest possible id of a layout is past `limit`, in Unix µs; undefined: never. */
export function firstPastUs(layout: Layout, limit: bigint): bigint | undefined {
  const rest =
    layout.fixed |
    ones(layout.geneBits) |
    (ones(layout.scatterBits) << BigInt(layout.scatterShift)) |
    (ones(layout.nodeBits) << BigInt(layout.nodeShift)) |
    (ones(layout.sequenceBits) << BigInt(layout.sequenceShift))
  // The fields share no bits, so the largest id of a time is rest + time·2^shift, and grows with time.
  const missing = limit + 1n - rest
  const step = 1n << BigInt(layout.timeShift)
  const time = missing <= 0n ? 0n : (missing + step - 1n) / step
  if (time > ones(layout.timeBits)) return undefined
  return BigInt(layout.epochUs) + time * BigInt(layout.unitUs)
}

/** The use of a counter. */
export type CounterUse = {
  /** Nothing at or above it has been issued. */
  readonly bound: bigint
  /** The largest id that it may issue: `max53`, `max63` or the generator's own. */
  readonly max: bigint
  /** Ids used up per second, gaps included. */
  readonly ratePerSecond: number
  /** The time now, in Unix µs. */
  readonly nowUs: number
  /** From one id to the next; default 1. */
  readonly increment?: bigint
}

/** How long a counter lasts at a rate. */
export type CounterLifetime = {
  /** Ids left. */
  readonly left: bigint
  /** For how long they last, in seconds; Infinity at rate 0. */
  readonly secondsLeft: number
  /** When they are used up, in Unix µs; undefined at rate 0. */
  readonly endsUs: bigint | undefined
  /** The same as ISO text in UTC; `about the year …` where no calendar reaches; `never` at rate 0. */
  readonly ends: string
}

/** When a counter runs out if it keeps this rate. Throws ERR for a rate that is negative or no number. */
export function counterLifetime(use: CounterUse): CounterLifetime {
  const { bound, max, ratePerSecond, nowUs, increment = 1n } = use
  if (!Number.isFinite(ratePerSecond) || ratePerSecond < 0) {
    throw new FahaoError('ERR', `rate ${ratePerSecond} is no number of ids per second; give 0 or more`)
  }
  const left = bound > max ? 0n : (max - bound) / increment + 1n
  if (left === 0n) return { left, secondsLeft: 0, endsUs: BigInt(nowUs), ends: momentText(BigInt(nowUs)) }
  const secondsLeft = Number(left) / ratePerSecond
  if (!Number.isFinite(secondsLeft)) return { left, secondsLeft, endsUs: undefined, ends: 'never' }
  const endsUs = BigInt(nowUs) + BigInt(Math.round(secondsLeft)) * 1_000_000n
  return { left, secondsLeft, endsUs, ends: momentText(endsUs) }
}
