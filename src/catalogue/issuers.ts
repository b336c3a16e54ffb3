/** Makes the issuer that a definition asks for. */
import type { Clock, Random } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'
import type { Timeline } from '../base/timeline.ts'
import type { Engine } from '../engine/engine.ts'
import type { Layout } from '../ids/layout.ts'
import { blockPermutation, permutation } from '../ids/permutation.ts'
import { ClockHand } from '../issuing/clock-hand.ts'
import { CounterStock } from '../issuing/counter-stock.ts'
import type { Hand } from '../issuing/hand.ts'
import { isStrict } from '../issuing/issuer.ts'
import { OrderedHand } from '../issuing/ordered-hand.ts'
import { Reservoir } from '../issuing/reservoir.ts'
import { ScrambledHand } from '../issuing/scrambled-hand.ts'
import { ShuffledHand } from '../issuing/shuffled-hand.ts'
import { SnowflakeStock } from '../issuing/snowflake-stock.ts'
import type { Stock } from '../issuing/stock.ts'
import { TimestampStock } from '../issuing/timestamp-stock.ts'
import type { Worker } from '../issuing/worker.ts'
import { type Definition, layoutOf } from './definition.ts'
import { generatorKey, readStored, type StoredGenerator } from './stored.ts'

/** What issuers take from their node. */
export type IssuerDeps = {
  readonly engine: Engine
  readonly clock: Clock
  readonly random: Random
  readonly timeline: Timeline
  readonly worker: Worker
  /** How many callers of one generator may wait. */
  readonly waitersMax: number
  /** Told what a log should say. */
  readonly onEvent: (event: { level: 'info' | 'warn'; message: string }) => void
}

/** An issuer, and the one thing more that strict kinds and counters can do. */
export type OpenIssuer = {
  readonly issuer: Reservoir
  /** Nothing at or below `newest` is issued any more. Durable when it resolves. */
  readonly moveTo: (newest: bigint) => Promise<void>
}

/** Shuffled ids are permuted in blocks of this size. */
export const shuffleBlock = 1024

/** Opens the issuer of a stored generator. Rejects with NOTOWNER, UNAVAILABLE, ENGINE. */
export async function openIssuer(
  deps: IssuerDeps,
  name: string,
  stored: StoredGenerator,
): Promise<OpenIssuer> {
  const { definition } = stored
  const mayReserve = () =>
    isStrict(definition.kind) ? refuseUnlessOwner(deps.engine, name) : Promise.resolve()
  await mayReserve()
  if (definition.kind === 'snowflake') return openSnowflake(deps, name, stored)
  const { bound } = await deps.engine.counter(generatorKey(name))
  return definition.kind === 'timestamp'
    ? openTimestamp(deps, name, stored, bound, mayReserve)
    : openCounter(deps, name, stored, bound, mayReserve)
}

function openCounter(
  deps: IssuerDeps,
  name: string,
  stored: StoredGenerator,
  bound: bigint,
  mayReserve: () => Promise<void>,
): OpenIssuer {
  const { definition } = stored
  const start = definition.start!
  const stock: CounterStock = new CounterStock(counterHand(stored), bound, {
    engine: deps.engine,
    counter: generatorKey(name),
    incarnation: stored.incarnation,
    floor: stored.floor > start ? stored.floor : start,
    max: definition.max!,
    increment: definition.increment!,
    step: definition.step!,
    stepMax: definition.stepMax!,
    horizonSeconds: definition.horizon! / 1000,
    stepMultiple: definition.within === 'shuffled' ? shuffleBlock : 1,
    name,
    rate: () => issuer.observeRate(),
    mayReserve,
    onStepMax: () =>
      deps.onEvent({
        level: 'warn',
        message: `generator '${name}' wants more than stepMax ${definition.stepMax} per refill; ids will not last the horizon`,
      }),
  })
  const issuer = reservoirOf(deps, name, definition, stock)
  return { issuer, moveTo: (newest) => issuer.alone(() => stock.moveTo(newest + 1n)) }
}

function counterHand({ definition, key }: StoredGenerator): Hand {
  const increment = definition.increment!
  const offset = definition.offset!
  if (definition.scramble) {
    return new ScrambledHand(
      permutation(keyBytes(key), definition.max! + 1n),
      definition.max!,
      increment,
      offset,
    )
  }
  if (definition.within === 'shuffled') {
    return new ShuffledHand(blockPermutation(keyBytes(key), shuffleBlock), shuffleBlock, increment, offset)
  }
  return new OrderedHand(increment, offset)
}

function openTimestamp(
  deps: IssuerDeps,
  name: string,
  stored: StoredGenerator,
  bound: bigint,
  mayReserve: () => Promise<void>,
): OpenIssuer {
  const { definition } = stored
  const layout = layoutOf(definition)
  const stock: TimestampStock = new TimestampStock(clockHand(deps, definition), bound, {
    engine: deps.engine,
    counter: generatorKey(name),
    incarnation: stored.incarnation,
    floorUnit: Number(stored.floor),
    layout,
    node: definition.node!,
    horizonUs: definition.horizon! * 1000,
    name,
    rate: () => issuer.observeRate(),
    mayReserve,
  })
  const issuer = reservoirOf(deps, name, definition, stock)
  const move = (newest: bigint) =>
    issuer.alone(() => stock.moveTo(unitAfter(newest, layout, definition.node!)))
  return { issuer, moveTo: async (newest) => move(newest) }
}

function openSnowflake(deps: IssuerDeps, name: string, stored: StoredGenerator): OpenIssuer {
  const { definition } = stored
  const stock: SnowflakeStock = new SnowflakeStock(clockHand(deps, definition), {
    worker: deps.worker,
    layout: layoutOf(definition),
    floorUnit: Number(stored.floor),
    name,
    rate: () => issuer.observeRate(),
    confirm: () => refuseUnlessCurrent(deps.engine, name, stored),
  })
  const issuer = reservoirOf(deps, name, definition, stock)
  return {
    issuer,
    moveTo: () =>
      Promise.reject(
        new FahaoError('WRONGTYPE', `'${name}' is a snowflake: it follows the clock and cannot be set`),
      ),
  }
}

/** The first unit of time whose ids are all above `newest`; ERR when the time field ends before. */
function unitAfter(newest: bigint, layout: Layout, node: number): number {
  const least = layout.fixed | (BigInt(node) << BigInt(layout.nodeShift))
  const unit = newest < least ? 0n : ((newest - least) >> BigInt(layout.timeShift)) + 1n
  if (unit < 2n ** BigInt(layout.timeBits)) return Number(unit)
  throw new FahaoError('ERR', `the time field ends before ids could be above ${newest}`)
}

function clockHand(deps: IssuerDeps, definition: Definition): ClockHand {
  return new ClockHand({
    layout: layoutOf(definition),
    timeline: deps.timeline,
    random: deps.random,
    borrowMaxUs: definition.borrowMax! * 1000,
    sequenceStart: definition.sequenceStart!,
  })
}

function reservoirOf(deps: IssuerDeps, name: string, definition: Definition, stock: Stock): Reservoir {
  let failing = false
  return new Reservoir(stock, {
    clock: deps.clock,
    random: deps.random,
    issueTimeoutMs: definition.issueTimeout,
    waitersMax: deps.waitersMax,
    onRefillOutcome: (error) => {
      if (failing === (error !== undefined)) return
      failing = error !== undefined
      const why = error instanceof Error ? error.message : String(error)
      deps.onEvent({
        level: failing ? 'warn' : 'info',
        message: `refill of '${name}' ${failing ? `failed: ${why}` : 'works again'}`,
      })
    },
  })
}

async function refuseUnlessOwner(engine: Engine, name: string): Promise<void> {
  const ownership = await engine.ownership()
  if (ownership.state === 'owner') return
  const why =
    ownership.state === 'other' ? `the store is owned by ${ownership.holder}` : 'the store has no owner'
  throw new FahaoError(
    'NOTOWNER',
    `generator '${name}' is strict and ${why}; ask that process, or use segment or snowflake here`,
  )
}

/** What a counter does for the other kinds: refuses an incarnation that has had its day. */
async function refuseUnlessCurrent(
  engine: Engine,
  name: string,
  { incarnation }: StoredGenerator,
): Promise<void> {
  const record = await engine.read(generatorKey(name))
  if (record !== undefined && readStored(record).incarnation === incarnation) return
  throw new FahaoError('STALE', `generator '${name}' has been changed or dropped; retry`)
}

function keyBytes(key: string | undefined): Uint8Array {
  if (key === undefined)
    throw new FahaoError('ENGINE', 'a permuted generator is stored without its key; restore it from a backup')
  return Uint8Array.from(key.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
}
