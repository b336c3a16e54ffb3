/**
 * Repairs generators in a store that has lost writes.
 *
 * Invariants
 *  1. The counter of every generator on record is raised from the least bound that it may have had, also where the store
 *     has no such counter because its first reserve was lost.
 *  2. A gap is counted in ids. With an increment of 10, a counter moves by ten for each id of the gap. A timestamp reserves
 *     time, however few ids it issues. So its counter moves, in addition to the gap, by more time than one reserve can take,
 *     counted from the counter's bound, which is ahead of the clock after a crash or after an advance.
 *  3. With periods, every counter is raised from the first number of the newest period that it can have been used for. Earlier
 *     periods than those are closed for good.
 *  4. Every incarnation, of the record and of its counter, lies above all lost ones. So a process that uses a lost
 *     incarnation is rejected, and causes the rejection of no other.
 */

import { type Definition, layoutOf } from '../catalogue/definition.ts'
import { familiesKey, repairedFamilies } from '../catalogue/families/family-index.ts'
import { countingOf } from '../catalogue/period-bounds.ts'
import {
  counterOf,
  firstOf,
  generatorPrefix,
  readStored,
  type StoredGenerator,
  writeStored,
} from '../catalogue/stored-generator.ts'
import { eachInParts, epochJump, larger } from '../engine/advance-rules.ts'
import type { Repair, RepairedCounter, StoredRecord } from '../engine/engine.ts'
import { max53 } from '../ids/limits.ts'
import { longestStep } from '../ids/random-steps.ts'
import { firstValue, type PeriodCounting, periodCounter } from '../issuing/period-counters.ts'
import { lostUsMin } from './repair-workers.ts'

/** Clocks that are this far ahead are covered, as in the repair of worker ids. */
const clocksApartUs = 20 * 60_000_000
/** No calendar is further ahead of UTC. */
const calendarsApartUs = 14 * 3_600_000_000
/** How many earlier periods an advance leaves open at most: their counters are written, however few of them are in use. */
const keptMax = 12
/** More than the 1.25 horizons that a timestamp reserves ahead of the clock at once. */
const lostHorizons = 1.5

/**
 * The repair of all generators. `nowUs`: Unix µs. `gap`: more ids than any generator can have reserved in the lost writes:
 * the ids issued, and one largest refill for each node that may still run and each crash. Where a lost change of the
 * increment, floor or value moved the counter, the gap has to cover that distance in raw values.
 */
export function repairGenerators(nowUs: number, gap: bigint): Repair {
  return function* (all) {
    const records = new Map<string, string>()
    const counters = new Map<string, RepairedCounter>()
    const prefixes: string[] = []
    let families: string | undefined
    yield* eachInParts(all, (record) => {
      if (record.key === familiesKey) families = record.value
      const stored = readable(record)
      if (stored === undefined) return
      const incarnation = stored.incarnation + BigInt(epochJump)
      records.set(record.key, writeStored({ ...stored, incarnation }))
      const { definition, next } = stored
      if (definition.kind === 'snowflake') return
      if (definition.family) {
        // Its sections have counters, of which the store may lack any: the floor is of all of them.
        const floor = floorOfFamily(stored, gap)
        records.set(record.key, writeStored({ ...stored, incarnation, floor }))
        if (stored.state !== 'dropped') prefixes.push(record.key.slice(generatorPrefix.length, -1))
        return
      }
      const counter = counterOf(record.key.slice(generatorPrefix.length), stored)
      const raised = { gap: gapOf(definition, next, gap), incarnation }
      if (definition.period === undefined) {
        counters.set(counter, { from: leastBound(stored, nowUs), ...raised })
        return
      }
      const { floor, bounds } = leastInPeriods(counter, stored, nowUs)
      records.set(record.key, writeStored({ ...stored, incarnation, floor }))
      for (const [each, from] of bounds) counters.set(each, { from, ...raised })
    })
    const repaired = repairedFamilies(families, prefixes)
    if (repaired !== undefined) records.set(familiesKey, repaired)
    return { records, counters }
  }
}

/**
 * The least bounds that the counters of periods may have had, and a floor that closes the periods of all other counters. The lost
 * writes can be of any period that is open, and of one that had begun by a clock that is ahead of this one; the mark alone stands at
 * the present one, because periods do not begin early. Where the stored mark is in a period ahead of both, its number skips the gap there.
 */
function leastInPeriods(own: string, { definition, floor }: StoredGenerator, nowUs: number) {
  const { counting, aheadUs } = countingHere(definition)
  const { periods, keep, start } = counting
  const present = Math.max(
    periods.ordinalOfMoment(nowUs + aheadUs),
    // An incarnation begins there, although its counters may be unused.
    periods.split(floor - 1n)?.ordinal ?? 0,
  )
  const newest = Math.max(present, periods.ordinalOfMoment(nowUs + aheadUs + clocksApartUs))
  const least = (ordinal: number) => {
    const number = larger(start, floor - periods.firstId(ordinal))
    return firstValue(periods, ordinal) + (number < periods.size ? number : periods.size)
  }
  const bounds: [counter: string, from: bigint][] = [[own, least(present) - start]]
  const oldest = present - Math.min(keep, keptMax)
  for (let ordinal = oldest; ordinal <= newest; ordinal++)
    bounds.push([periodCounter(own, counting, ordinal), least(ordinal)])
  return { floor: larger(floor, periods.firstId(oldest)), bounds }
}

/**
 * How a definition counts in periods. Where this process does not know its zone, by the calendar that is ahead of all others: what
 * one node does not know must not keep all generators from being raised.
 */
function countingHere(definition: Definition): { counting: PeriodCounting; aheadUs: number } {
  try {
    return { counting: countingOf(definition)!, aheadUs: 0 }
  } catch {
    return { counting: countingOf({ ...definition, zone: 'UTC' })!, aheadUs: calendarsApartUs }
  }
}

/** No family issues past 2^53−1, and a floor beyond leaves it without ids, as a counter that is raised to its end. */
function floorOfFamily({ definition, floor }: StoredGenerator, gap: bigint): bigint {
  const raised = firstOf(floor, definition) + gap
  return raised > max53 + 1n ? max53 + 1n : raised
}

/** Undefined for a record that cannot be read: opening that generator reports why. */
function readable(record: StoredRecord): StoredGenerator | undefined {
  if (!record.key.startsWith(generatorPrefix)) return undefined
  try {
    return readStored(record)
  } catch {
    return undefined
  }
}

/**
 * The least bound that the counter may have had when writes were lost: the first value of its incarnation, or, of a
 * timestamp, the present time if that is later. The advance adds the gap to this, or to the stored bound if that is higher.
 */
function leastBound({ definition, floor }: StoredGenerator, nowUs: number): bigint {
  return definition.kind === 'timestamp' ? leastTime(definition, floor, nowUs) : firstOf(floor, definition)
}

/** A timestamp moves with the clock, also while it issues no ids. */
function leastTime(definition: Definition, floor: bigint, nowUs: number): bigint {
  const { epochUs, unitUs, sequenceBits, timeBits } = layoutOf(definition)
  const now = BigInt(Math.max(0, Math.ceil((nowUs - epochUs) / unitUs)))
  const unit = floor > now ? floor : now
  const end = 2n ** BigInt(timeBits)
  return (unit > end ? end : unit) << BigInt(sequenceBits)
}

/** By how many raw values a counter has to move to pass `gap` ids. */
function gapOf(definition: Definition, next: Definition | undefined, gap: bigint): bigint {
  if (definition.kind !== 'timestamp')
    return gap * BigInt(Math.max(longestStep(definition), longestStep(next ?? {})))
  const { unitUs, sequenceBits } = layoutOf(definition)
  const reservedUs = Math.max(lostUsMin, definition.horizon! * 1000 * lostHorizons)
  return gap + (BigInt(Math.ceil(reservedUs / unitUs)) << BigInt(sequenceBits))
}
