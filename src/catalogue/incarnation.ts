/** Where the next incarnation of a generator starts, so that none of its ids has been issued by an earlier one. */
import { FahaoError } from '../base/errors.ts'
import type { Engine } from '../engine/engine.ts'
import { timeEndUs } from '../ids/layout.ts'
import { type Definition, layoutOf } from './definition.ts'
import { generatorKey, type StoredGenerator } from './stored.ts'

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
  if (highest === undefined) return old.floor
  return next.layout === undefined ? aboveInCounter(highest, next) : aboveInTime(highest, next, nowUs)
}

/** The largest id that can have been issued; undefined when none was. */
async function highestId(
  engine: Engine,
  name: string,
  old: StoredGenerator,
  nowUs: number,
): Promise<bigint | undefined> {
  const { definition } = old
  const { bound } = await engine.counter(generatorKey(name))
  if (definition.layout === undefined) {
    if (bound === 0n) return undefined
    return definition.scramble ? definition.max : bound - 1n
  }
  const layout = layoutOf(definition)
  if (definition.kind === 'timestamp') {
    if (bound === 0n) return undefined
    const lastUnit = (bound - 1n) >> BigInt(layout.sequenceBits)
    return lastOfUnit(lastUnit, layout.timeShift)
  }
  const workers = await engine.list('workers/')
  const bounds = workers.map((record) => Number(JSON.parse(record.value).boundUs))
  const boundUs = Math.min(Math.max(nowUs, ...bounds), Number(timeEndUs(layout)))
  return lastOfUnit(BigInt(Math.floor((boundUs - layout.epochUs) / layout.unitUs)), layout.timeShift)
}

function lastOfUnit(unit: bigint, timeShift: number): bigint {
  return ((unit + 1n) << BigInt(timeShift)) - 1n
}

function aboveInCounter(highest: bigint, next: Definition): bigint {
  if (next.max !== undefined && highest >= next.max) {
    throw new FahaoError(
      'ERR',
      `ids up to ${highest} may have been issued under this name, which leaves none below max ${next.max}; use another name`,
    )
  }
  return highest + 1n
}

function aboveInTime(highest: bigint, next: Definition, nowUs: number): bigint {
  const layout = layoutOf(next)
  const unit = (highest >> BigInt(layout.timeShift)) + 1n
  const startUs = BigInt(layout.epochUs) + unit * BigInt(layout.unitUs)
  const timeIsTop = layout.timeShift + layout.timeBits === layout.totalBits
  if (!timeIsTop || startUs > BigInt(nowUs + farAheadUs)) {
    throw new FahaoError(
      'ERR',
      `ids up to ${highest} may have been issued under this name, which the new layout would reach only far in the future; use another name`,
    )
  }
  return unit
}
