/**
 * The change from one incarnation to the next under a name that stays in use, and the floor of the next one. A change
 * takes two writes, because the ids of the old incarnation are bounded only when no process can issue any more of them.
 * A drop is in generator-records.ts, which seals too (seal.ts).
 *
 * An old incarnation is refused by three parts. Its reserves: by the counter (engine/counter-rules.ts), in which `seal` (seal.ts) has stored
 * the number of the next one. Time of its snowflakes, which have no counter: by `refuseUnlessCurrent` (issuing-plans.ts).
 * Its buffered ids: each node closes its generator when the watch reports the record
 * (generators-in-use.ts).
 *
 * Invariants
 *  1. The first write sets the state `altering` and the number of the next incarnation. From then on sealed counters
 *     refuse the old incarnation, and snowflakes that read the record use no more time of it.
 *  2. The floor of the next incarnation is computed after that, and is part of the second write.
 *  3. If ids were in order per node and become strict, or if an operator has named the floor of the next incarnation, the two
 *     writes have a pause between them. In it every node that reaches the engine receives the first write and stops: no such
 *     node issues an id of the old incarnation after one of the next.
 *  4. Whether ids are left for the next incarnation is computed for the time of the first write or later. It depends
 *     neither on the node that completes the change nor on the clock of that node.
 *  5. The first id of the next incarnation of a counter lies above the block of the last id of the old one, and its own
 *     block does too, whether a caller takes a value V for the first of a block of `increment` ids (V, V+1, …) or for the
 *     last one (…, V−1, V).
 *  6. A process that reads an `altering` record completes the change first, so that a crash between the two writes delays
 *     no other process. Of several processes that complete it, exactly one succeeds.
 */
import { sleep, stayAlive } from '../base/clock.ts'
import { FahaoError, hasCode } from '../base/errors.ts'
import { larger } from '../engine/advance-rules.ts'
import type { Counter, Engine } from '../engine/engine.ts'
import { type Layout, ones, timeEndUs } from '../ids/layout.ts'
import { longestStep } from '../ids/random-steps.ts'
import { firstFrom } from '../ids/run.ts'
import { isWide } from '../ids/wide-format.ts'
import { floorLimitUs } from '../issuing/ahead-limit.ts'
import { isStrict } from '../issuing/issuer.ts'
import { longestNodeLead, othersKey, readWorker, workerRecords } from '../issuing/worker-records.ts'
import { type Definition, layoutOf } from './definition.ts'
import type { RecordDeps } from './deps.ts'
import { floorAbove, newestBound, refuseFarPeriod } from './period-bounds.ts'
import { seal } from './seal.ts'
import {
  counterAfter,
  counterOf,
  firstOf,
  generatorKey,
  lastBelow,
  newKey,
  type ReadGenerator,
  type StoredGenerator,
  writeDefinition,
  writeStored,
} from './stored-generator.ts'

/** How far in the future an incarnation of a clock kind may start. */
const farAheadUs = 24 * 3_600_000_000

/** What a change asks for. */
export type Change = {
  readonly next: Definition
  /** See `StoredGenerator`. */
  readonly nextOffsetGiven: boolean
  /** The least value that the next incarnation may issue. */
  readonly nextFloor?: bigint | undefined
}

/** The record that begins the change of `before`. */
export function beginChange(before: StoredGenerator, change: Change, begunUs: number): StoredGenerator {
  return { ...before, state: 'altering', incarnation: before.incarnation + 1n, ...change, begunUs }
}

/** Completes a change. Undefined: another process was faster. */
export async function completeChange(
  deps: RecordDeps,
  name: string,
  { record, stored, advances }: ReadGenerator,
): Promise<ReadGenerator | undefined> {
  const { engine, timeline } = deps
  await seal(engine, name, stored)
  await waitForOtherNodes(deps, stored.definition, stored.next!, stored.nextFloor !== undefined)
  const after = await successor(engine, name, stored, timeline.nowUs())
  const written = await engine.write(generatorKey(name), writeStored(after), record!.version)
  return written && { record: written, stored: after, advances }
}

/**
 * If the next incarnation is strict and the old one is not, or an operator has named its floor, waits until every node that reaches the engine has received
 * the end of the old one: until then nodes issue buffered ids, which lie below those of the next.
 */
export async function waitForOtherNodes(
  { engine, clock }: RecordDeps,
  old: Definition,
  next: Definition,
  namesFloor = false,
): Promise<void> {
  if (isStrict(old.kind) || (!isStrict(next.kind) && !namesFloor)) return
  await waitForWatches({ engine, clock })
}

/** Waits until every node that reaches the engine has received the changes of records so far. */
export async function waitForWatches({ engine, clock }: Pick<RecordDeps, 'engine' | 'clock'>): Promise<void> {
  if (engine.watchDelayMs === 0) return
  const alive = stayAlive()
  await sleep(clock, engine.watchDelayMs)
  alive.cancel()
}

async function successor(
  engine: Engine,
  name: string,
  stored: StoredGenerator,
  nowUs: number,
): Promise<StoredGenerator> {
  const { next, nextOffsetGiven, nextFloor, begunUs = nowUs, ...old } = stored
  const { incarnation } = old
  try {
    const least = await leastAfterChange(engine, name, stored, Math.max(nowUs, begunUs))
    const floor = floorAfterChange(name, stored, least)
    const definition = followsLast(stored) ? withFirst(next!, floor) : next!
    const counter = counterAfter(name, old, definition, incarnation)
    const keepsKey = keepsPermutation(stored) || (isWide(definition.format) && !definition.scramble)
    const key = (keepsKey ? old.key : undefined) ?? newKey(definition)
    const offsetGiven = nextOffsetGiven ?? false
    const { loweredFrom } = old
    return { state: 'live', incarnation, counter, floor, definition, key, offsetGiven, loweredFrom }
  } catch (error) {
    if (!hasCode(error, 'ERR') && !hasCode(error, 'CLOCK')) throw error
    // Ids issued since the first check have left the new definition no room. The new incarnation keeps the old
    // definition and its counter.
    return { ...old, state: 'live' }
  }
}

/** Throws ERR if the completed change `after` kept the definition that was there before `begun`. */
export function refuseUnchanged(name: string, begun: StoredGenerator, after: StoredGenerator): void {
  if (after.incarnation !== begun.incarnation) return
  if (writeDefinition(after.definition) !== writeDefinition(begun.definition)) return
  const { nextFloor } = begun
  if (nextFloor !== undefined && firstOf(after.floor, after.definition) >= nextFloor) return
  throw new FahaoError(
    'ERR',
    `ids issued under '${name}' in this very moment leave no room for the change; retry in a minute, or use another name`,
  )
}

/** Whether the next incarnation scrambles as the old one does, so that only its raw values have to lie above. */
function keepsPermutation({ definition, next }: StoredGenerator): boolean {
  return next?.scramble === true && definition.scramble === true && next.max === definition.max
}

/** Whether the next incarnation counts from the last id of the old one on, as a sequence of PostgreSQL does. */
function followsLast({ definition, next, nextOffsetGiven }: StoredGenerator): boolean {
  if (next!.increment === undefined || next!.gene !== undefined) return false
  return !nextOffsetGiven && next!.increment !== definition.increment
}

/** A definition whose first id is the first that an incarnation with this floor may issue. */
function withFirst(definition: Definition, floor: bigint): Definition {
  return { ...definition, offset: firstOf(floor, definition) % BigInt(definition.increment!) }
}

/** The floor that the ids of an `altering` generator demand of its next incarnation; see `floorAfter`. */
export function leastAfterChange(
  engine: Engine,
  name: string,
  stored: StoredGenerator,
  nowUs: number,
): Promise<bigint> {
  return floorAfter(engine, name, stored, stored.next!, nowUs, followsLast(stored))
}

/** The floor of the next incarnation of an `altering` generator: what its ids demand, or what the change names. Errors: ERR. */
export function floorAfterChange(name: string, stored: StoredGenerator, least: bigint): bigint {
  const { nextFloor } = stored
  const next = stored.next!
  const own = firstOf(least, next)
  if (isOneOfSites(stored) && (nextFloor === undefined || nextFloor < own)) throw siteMoves(name, own)
  if (nextFloor === undefined || nextFloor <= own) return least
  refuseFarPeriod(name, next, nextFloor, stored.begunUs!, least)
  return roomFrom({ highest: nextFloor - 1n, least: nextFloor }, next, followsLast(stored))
}

/** Whether a change moves the ids of one site among those of others, which have other offsets. */
function isOneOfSites({ definition, next, offsetGiven, nextOffsetGiven }: StoredGenerator): boolean {
  if ((definition.increment ?? 1) === 1 || next!.increment === undefined) return false
  if (!offsetGiven && !nextOffsetGiven) return false
  return next!.increment !== definition.increment || next!.offset !== definition.offset
}

function siteMoves(name: string, own: bigint): FahaoError {
  return new FahaoError(
    'ERR',
    `'${name}' has an OFFSET, as one of several sites, whose ids are apart only while all count alike; name a FLOOR above the ids of every site, here ${own} or above, and the same one at each site`,
  )
}

/**
 * The floor of an incarnation with `next` that follows `old`: a raw value for counters, a unit of time for
 * clock kinds. Throws ERR if the old ids leave no room, CLOCK if they leave some in a while. `nowUs`: Unix µs.
 * `keepsNoOffset`: the first id need not be ≡ offset.
 */
export async function floorAfter(
  engine: Engine,
  name: string,
  old: StoredGenerator,
  next: Definition,
  nowUs: number,
  keepsNoOffset = false,
): Promise<bigint> {
  // Worker ids keep the ids of one layout apart, whichever incarnation issues them.
  if (
    next.kind === 'snowflake' &&
    old.definition.kind === 'snowflake' &&
    next.layout === old.definition.layout
  ) {
    return old.floor
  }
  if (next.layout === undefined) {
    const above = await leastAbove(engine, name, old, next, nowUs)
    if (above === undefined) return 0n
    if (next.scramble && !keepsPermutation(old)) throw scrambledAnew()
    const floor = roomFrom(above, next, keepsNoOffset)
    refuseFarPeriod(name, next, floor, nowUs)
    return floor
  }
  const highest = await highestId(engine, name, old, nowUs)
  if (highest < 0n) return 0n
  const floor = aboveInTime(highest, next, nowUs)
  if (next.kind === 'snowflake') await refuseFarAhead(engine, name, layoutOf(next), floor, nowUs)
  return floor
}

/** Throws CLOCK if a snowflake would begin so far ahead that an advance could begin below its ids (ahead-limit.ts). */
async function refuseFarAhead(
  engine: Engine,
  name: string,
  { epochUs, unitUs }: Layout,
  floor: bigint,
  nowUs: number,
): Promise<void> {
  const stored = await workerRecords(engine)
  const others = stored.find(({ key }) => key === othersKey)
  const limitUs = floorLimitUs({
    nowUs,
    othersUs: others === undefined ? 0 : readWorker(others).boundUs,
    leadUs: longestNodeLead(stored.map(readWorker)),
  })
  const aboveUs = epochUs + Number(floor) * unitUs - limitUs
  if (aboveUs <= 0) return
  const waitSeconds = Math.ceil(aboveUs / 1_000_000)
  throw new FahaoError(
    'CLOCK',
    `time is reserved so far ahead that ids of '${name}' would be dated more than ${Math.floor((limitUs - nowUs) / 1_000_000)} s ahead of the clock; retry in ${waitSeconds} s, or use another name`,
    { retryAfterMs: waitSeconds * 1000 },
  )
}

/** The largest id that this incarnation or an earlier one can have issued; −1 if none. */
export async function highestId(
  engine: Engine,
  name: string,
  old: StoredGenerator,
  nowUs: number,
): Promise<bigint> {
  const { definition, floor } = old
  if (definition.kind === 'snowflake') return highestSnowflake(engine, definition, floor, nowUs)
  if (definition.period !== undefined)
    return larger((await newestBound(engine, name, old))?.bound ?? 0n, floor) - 1n
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

/** The largest id of a unit of time and all before it. */
function lastOfUnit(unit: bigint, layout: Layout): bigint {
  if (unit < 0n) return -1n
  return timeIsTop(layout) && layout.scatterBits === 0
    ? ((unit + 1n) << BigInt(layout.timeShift)) - 1n
    : ones(layout.totalBits)
}

/** Whether a later time makes a larger id for all values of the other fields, scatter left out. */
function timeIsTop({ timeShift, timeBits, scatterBits, totalBits }: Layout): boolean {
  return timeShift + timeBits + scatterBits === totalBits
}

/** The counter of a name without a record, which a store may have lost. Throws ERR if `next` could repeat ids of it. */
export function keptCounter(counter: Counter, next: Definition): Counter {
  if (next.scramble && counter.bound > 0n) throw scrambledAnew()
  return counter
}

/** What the ids of an old incarnation demand of the next one, of a counter. */
type Above = {
  /** The largest id that the old one or one before it can have issued. */
  readonly highest: bigint
  /** See invariant 5. */
  readonly least: bigint
}

/** Undefined: no id was issued under the name. */
async function leastAbove(
  engine: Engine,
  name: string,
  old: StoredGenerator,
  next: Definition,
  nowUs: number,
): Promise<Above | undefined> {
  const { definition, floor } = old
  const before = BigInt(longestStep(definition))
  const after = BigInt(longestStep(next))
  const block = larger(before, after)
  if (definition.layout !== undefined) {
    const highest = await highestId(engine, name, old, nowUs)
    return highest < 0n ? undefined : { highest, least: highest + block }
  }
  if (definition.period !== undefined) {
    const newest = await newestBound(engine, name, old)
    if (newest === undefined) return floor === 0n ? undefined : { highest: floor - 1n, least: floor }
    return { highest: newest.bound - 1n, least: floorAbove(newest, definition, next) }
  }
  const { bound } = await engine.counter(counterOf(name, old))
  const highest = lastBelow(bound, old)
  if (highest === undefined) {
    // The floor lies above the blocks of `before` ids of the incarnations before.
    return floor === 0n ? undefined : { highest: floor - 1n, least: floor + block - before }
  }
  return definition.scramble && !keepsPermutation(old)
    ? { highest: definition.max!, least: definition.max! + block }
    : { highest, least: highest + block }
}

function scrambledAnew(): FahaoError {
  return new FahaoError(
    'ERR',
    'ids have been issued under this name, and scrambled ones could repeat them; use another name',
  )
}

/** The first value from `least` on that an incarnation with `next` can issue. ERR if there is none. */
function roomFrom({ highest, least }: Above, next: Definition, keepsNoOffset: boolean): bigint {
  const first = keepsNoOffset ? least : firstFrom(least, next.increment!, next.offset!)
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
