/** Where the next incarnation of a generator starts, so that none of its ids has been issued by an earlier one. */
import { FahaoError } from '../base/errors.ts'
import type { Engine } from '../engine/engine.ts'
import { type Layout, ones, timeEndUs } from '../ids/layout.ts'
import { firstFrom } from '../ids/run.ts'
import { readWorker, workerRecords } from '../issuing/worker-records.ts'
import { type Definition, layoutOf } from './definition.ts'
import { counterOf, type StoredGenerator } from './stored.ts'

const farAheadUs = 24 * 3_600_000_000

/**
 * The floor of an incarnation with `next` that follows `old`: a raw value for counters, a unit of time for
 * clock kinds. Throws ERR when the old ids leave no sensible room. `nowUs`: Unix µs.
 */
export async function floorAfter(
  engine: Engine,
  name: string,
  old: StoredGenerator,
  next: Definition,
  nowUs: number,
): Promise<bigint> {
  // Worker ids keep the ids of one layout apart, whichever incarnation issues them.
  if (
    next.kind === 'snowflake' &&
    old.definition.kind === 'snowflake' &&
    next.layout === old.definition.layout
  ) {
    return old.floor
  }
  const highest = await highestId(engine, name, old, nowUs)
  if (highest < 0n) return 0n
  return next.layout === undefined ? aboveInCounter(highest, next) : aboveInTime(highest, next, nowUs)
}

/** The largest id that can have been issued, by this incarnation or an earlier one; −1 when none was. */
async function highestId(engine: Engine, name: string, old: StoredGenerator, nowUs: number): Promise<bigint> {
  const { definition, floor } = old
  if (definition.kind === 'snowflake') return highestSnowflake(engine, definition, floor, nowUs)
  const { bound } = await engine.counter(counterOf(name, old))
  if (definition.kind === 'timestamp') {
    const layout = layoutOf(definition)
    const unit = ((bound - 1n) >> BigInt(layout.sequenceBits)) + 1n
    return lastOfUnit(larger(unit, floor) - 1n, layout)
  }
  const above = larger(bound, floor)
  return definition.scramble && above > 0n ? definition.max! : above - 1n
}

async function highestSnowflake(
  engine: Engine,
  definition: Definition,
  floor: bigint,
  nowUs: number,
): Promise<bigint> {
  const layout = layoutOf(definition)
  const bounds = (await workerRecords(engine)).map((record) => readWorker(record).boundUs)
  const boundUs = Math.min(
    bounds.reduce((a, b) => Math.max(a, b), nowUs),
    Number(timeEndUs(layout)),
  )
  const unit = BigInt(Math.floor((boundUs - layout.epochUs) / layout.unitUs))
  return lastOfUnit(larger(unit, floor - 1n), layout)
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}

/** The largest id of a unit of time and all before it. */
function lastOfUnit(unit: bigint, layout: Layout): bigint {
  if (unit < 0n) return -1n
  return timeIsTop(layout) ? ((unit + 1n) << BigInt(layout.timeShift)) - 1n : ones(layout.totalBits)
}

/** Whether a later time is a larger id, whatever the other fields hold. */
function timeIsTop({ timeShift, timeBits, totalBits }: Layout): boolean {
  return timeShift + timeBits === totalBits
}

function aboveInCounter(highest: bigint, next: Definition): bigint {
  if (next.scramble) {
    throw new FahaoError(
      'ERR',
      'ids have been issued under this name, and scrambled ones could repeat them; use another name',
    )
  }
  const first = firstFrom(highest + 1n, next.increment!, next.offset!)
  if (first > next.max!) {
    throw new FahaoError(
      'ERR',
      `ids up to ${highest} may have been issued under this name, which leaves none below max ${next.max}; use another name`,
    )
  }
  return first
}

function aboveInTime(highest: bigint, next: Definition, nowUs: number): bigint {
  const layout = layoutOf(next)
  const unit = (highest >> BigInt(layout.timeShift)) + 1n
  const startUs = BigInt(layout.epochUs) + unit * BigInt(layout.unitUs)
  const isFull = unit >> BigInt(layout.timeBits) > 0n
  if (!timeIsTop(layout) || isFull || startUs > BigInt(nowUs + farAheadUs)) {
    throw new FahaoError(
      'ERR',
      `ids up to ${highest} may have been issued under this name, which the new layout would reach only far in the future; use another name`,
    )
  }
  return unit
}
