/**
 * Where the numbers of periods are counted, for generators whose numbers begin again in each period.
 *
 * The value of a counter is `ordinal · 2^bits + number`, and not the id: by an advance every counter moves by as many values as ids
 * may be lost, and must not come to another period by that. Values of a later period are larger, so a counter can be used again for a
 * later period: its bound refuses all that still draw from the earlier one.
 *
 * Invariants
 *  1. The period with ordinal p is counted in the slot `p mod (keep + 2)`: the present period, the next one, and `keep` before.
 *  2. The mark is in the counter of the generator itself: its bound is at or above the first value of every period of which an id has
 *     left a process. Nothing is reserved of it. Its number is 0, or, since an advance, how many numbers of its period are skipped.
 */
import type { Engine, Reservation, ReserveRequest } from '../engine/engine.ts'
import type { Periods, PeriodUnit } from '../ids/period.ts'

/** How a generator counts in periods. */
export type PeriodCounting = {
  readonly periods: Periods
  /** How many periods before the present one can still be numbered. */
  readonly keep: number
  /** The first number of a period. */
  readonly start: bigint
}

/** The calls of an engine that concern one counter, and the records of keys. */
export type CounterEngine = Pick<
  Engine,
  'reserve' | 'release' | 'counter' | 'commit' | 'read' | 'transfer' | 'acquire' | 'advances'
>

/** What the counters of periods begin with. */
export const periodPrefix = 'periods/'

/** How many bits of a value the number has. The ordinals up to the year 9999 have those above: 27 for hours, 14 for years. */
const numberBits: Readonly<Record<PeriodUnit, bigint>> = {
  hour: 36n,
  day: 41n,
  week: 43n,
  month: 46n,
  quarter: 47n,
  year: 49n,
}

/** The value of number 0 of a period. */
export function firstValue({ unit }: Periods, ordinal: number): bigint {
  return BigInt(ordinal) << numberBits[unit]
}

/** The period that a bound stands in, and the first number at or above it. An ordinal of 0: the counter was never used. */
export function positionOf({ unit }: Periods, bound: bigint): { ordinal: number; number: bigint } {
  const bits = numberBits[unit]
  return { ordinal: Number(bound >> bits), number: BigInt.asUintN(Number(bits), bound) }
}

/** The floor of the period in which a mark stands, as an id, since an advance; 0 without one. */
export function floorOfMark({ periods, start }: PeriodCounting, bound: bigint): bigint {
  const { ordinal, number: skipped } = positionOf(periods, bound)
  if (skipped === 0n) return 0n
  const number = start + skipped
  return periods.firstId(ordinal) + (number < periods.size ? number : periods.size)
}

/** The counter of a period. `counter`: of its generator. */
export function periodCounter(
  counter: string,
  { keep }: Pick<PeriodCounting, 'keep'>,
  ordinal: number,
): string {
  return `${periodPrefix}${ordinal % (keep + 2)}/${counter}`
}

/** The counters of all periods of a generator. */
export function periodCounters(counter: string, { keep }: Pick<PeriodCounting, 'keep'>): string[] {
  return Array.from({ length: keep + 2 }, (_, slot) => `${periodPrefix}${slot}/${counter}`)
}

/** An engine as the issuers of one period use it: values of the counter are its ids. */
export function inIdsOf(engine: CounterEngine, periods: Periods, ordinal: number): CounterEngine {
  const shift = periods.firstId(ordinal) - firstValue(periods, ordinal)
  const valueFrom = (id: bigint) => (id > shift ? id - shift : 0n)
  const requestOf = ({ floor, max, ...request }: ReserveRequest): ReserveRequest => ({
    ...request,
    floor: valueFrom(floor ?? 0n),
    ...(max !== undefined && { max: valueFrom(max) }),
  })
  const idsOf = ({ start, end, version }: Reservation) => ({
    start: start + shift,
    end: end + shift,
    version,
  })
  return {
    get advances() {
      return engine.advances
    },
    async reserve(counter, request) {
      return idsOf(await engine.reserve(counter, requestOf(request)))
    },
    async commit({ records, counter }) {
      const made = await engine.commit({
        records,
        counter: counter && { ...counter, request: requestOf(counter.request) },
      })
      return made && { ...made, reservation: made.reservation && idsOf(made.reservation) }
    },
    read: (key) => engine.read(key),
    release(counter, { start, end, version }, from, writer) {
      const reservation = { start: valueFrom(start), end: valueFrom(end), version }
      return engine.release(counter, reservation, valueFrom(from), writer)
    },
    async counter(name) {
      const found = await engine.counter(name)
      const bound = found.bound + shift
      return { ...found, bound: bound > 0n ? bound : 0n }
    },
    transfer: (counter, from) => engine.transfer(counter, valueFrom(from)),
    acquire: (counter, end) => engine.acquire(counter, valueFrom(end)),
  }
}
