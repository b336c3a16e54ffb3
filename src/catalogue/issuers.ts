/** Makes issuers: first what follows from a definition alone, then what one generator needs of its own. */
import type { Clock, Random } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'
import { slotNotServed } from '../base/moved.ts'
import type { Timeline } from '../base/timeline.ts'
import type { LeaderTerm } from '../cluster/leadership.ts'
import { slotOf } from '../cluster/slots.ts'
import type { Counter, Engine, Reservation } from '../engine/engine.ts'
import { compileFormat, type Format } from '../ids/format.ts'
import { blockPermutation, permutation } from '../ids/permutation.ts'
import { ClockBuffer } from '../issuing/clock-buffer.ts'
import { CounterSource, type CounterSourceOptions } from '../issuing/counter-source.ts'
import { GroupCommit, type GroupCommitOptions } from '../issuing/group-commit.ts'
import type { IdSource } from '../issuing/id-source.ts'
import type { Incarnation } from '../issuing/incarnation.ts'
import { type Issuer, isStrict } from '../issuing/issuer.ts'
import type { Limiter } from '../issuing/limiter.ts'
import { OrderedBuffer } from '../issuing/ordered-buffer.ts'
import type { RangeBuffer } from '../issuing/range-buffer.ts'
import { Reservoir, type ReservoirOptions } from '../issuing/reservoir.ts'
import { ScrambledBuffer } from '../issuing/scrambled-buffer.ts'
import { ShuffledBuffer } from '../issuing/shuffled-buffer.ts'
import { SnowflakeSource, type SnowflakeSourceOptions } from '../issuing/snowflake-source.ts'
import { TimestampSource, type TimestampSourceOptions } from '../issuing/timestamp-source.ts'
import type { Worker } from '../issuing/worker.ts'
import type { Mode } from './catalogue.ts'
import { type Definition, layoutOf } from './definition.ts'
import type { GeneratorLeaders } from './generator-leaders.ts'
import { mayIssueStrict, mayReserve, modeOf, refuseUnlessOwner } from './ownership.ts'
import { Standby } from './standby.ts'
import { generatorKey, readStored } from './stored.ts'

/** The index that `{node}` shows: its value and its width. */
export type NodeIndex = { readonly value: number; readonly width: number }

/** What issuers take from their node. */
export type IssuerDeps = {
  readonly engine: Engine
  readonly clock: Clock
  readonly random: Random
  readonly timeline: Timeline
  readonly worker: Worker
  readonly nodeIndex: NodeIndex | undefined
  /** How many callers of one generator may wait. */
  readonly waitersMax: number
  /** Who leads strict kinds; undefined: the node is in no cluster. */
  readonly leads?: GeneratorLeaders | undefined
  /** Told what a log should say. */
  readonly onEvent: (event: { level: 'info' | 'warn'; message: string }) => void
}

/** What plans take from their node and its catalogue. */
export type PlanDeps = IssuerDeps & Pick<ReservoirOptions, 'onStale'>

/** What generators that are defined alike share. */
export type Plan = {
  readonly definition: Definition
  /** Undefined: plain decimal. */
  readonly format: Format | undefined
  readonly reservoir: ReservoirOptions
  readonly stock: MakeStock
  /** Of a sequence, for where its engine is shared. */
  readonly groupCommit: GroupCommitOptions | undefined
}

/** Makes one generator's stock. `bound`: of its counter; `key`: see `StoredGenerator`. */
type MakeStock = (life: Incarnation, bound: bigint, key: string | undefined) => IdSource

/** What a leader reserves ahead at most, in ms, unless leases are longer. */
const ledSequenceMs = 60_000
const ledTimestampMs = 10_000
/** Shuffled ids are permuted in blocks of this size. */
const shuffleBlock = 1024

/**
 * What follows from a definition. CONFIG when this node cannot show what its format asks for.
 * @param gate through which the refills of all generators go.
 */
export function planOf(deps: PlanDeps, definition: Definition, gate: Limiter): Plan {
  const reservoir: ReservoirOptions = {
    clock: deps.clock,
    random: deps.random,
    issueTimeoutMs: definition.issueTimeout,
    waitersMax: deps.waitersMax,
    gate,
    onRefillOutcome: (name: string, error: Error | undefined) =>
      deps.onEvent({
        level: error === undefined ? 'info' : 'warn',
        message: `refill of '${name}' ${error === undefined ? 'works again' : `failed: ${error.message}`}`,
      }),
    onStale: deps.onStale,
    mayIssue: isStrict(definition.kind) ? () => mayIssueStrict(deps) : undefined,
  }
  return Object.freeze({
    definition: Object.freeze(definition),
    format: formatOf(definition, deps.nodeIndex),
    reservoir,
    stock: stockMaker(deps, definition),
    groupCommit: definition.kind === 'sequence' ? groupCommit(deps, definition, reservoir) : undefined,
  })
}

/** A counter, and the leadership of this node under which it was read. */
export type SeenCounter = { readonly name: string; readonly here: LeaderTerm; readonly counter: Counter }

/**
 * Read beside the record and not after it, for what may be led here: people may wait for it. Undefined: look yourself.
 * The record may name another counter, which is rare; then this one was read in vain.
 */
export function counterOfLed(
  { engine, leads }: IssuerDeps,
  name: string,
): Promise<SeenCounter | undefined> | undefined {
  const here = leads?.cluster.here(slotOf(name))
  if (here === undefined) return undefined
  const key = generatorKey(name)
  return engine.counter(key).then(
    (counter) => ({ name: key, here, counter }),
    () => undefined,
  )
}

/** What is known of a generator's counter without asking the engine now. */
export type Known = {
  /** The counter, if it was read a moment ago. */
  readonly seen?: SeenCounter | undefined
  /** What the leader before this leadership has left of it; gone from there then. */
  readonly takeTail: (here: LeaderTerm) => Reservation | undefined
}

/** One generator's issuer, and how it issues. */
export type Opened = {
  readonly issuer: Issuer
  readonly mode: Mode
  /** The leadership of this node under which it issues, and what does; undefined: under none. */
  readonly under?: { readonly slot: number; readonly here: LeaderTerm; readonly reservoir: Reservoir }
  /** See `Stock.resize`. */
  readonly resize?: Reservoir['resize']
}

/**
 * Opens one generator's issuer, in one mode for as long as it is open. Rejects with NOTOWNER, UNAVAILABLE, ENGINE, and
 * with CLUSTERDOWN where the engine has seen a newer leader than this node knows.
 */
export async function openIssuer(
  deps: IssuerDeps,
  plan: Plan,
  life: Incarnation,
  key: string | undefined,
  { seen: read, takeTail }: Known,
): Promise<Opened> {
  const { engine } = deps
  const seen = read?.name === life.counter ? read : undefined
  const { kind } = plan.definition
  if (deps.leads !== undefined && isStrict(kind))
    return openLed(deps, deps.leads, plan, life, { seen, takeTail })
  const mode = await modeOf(deps, kind)
  if (mode === 'local') await refuseUnlessOwner(engine, kind, life.name)
  if (kind === 'snowflake') return { issuer: new Reservoir(plan.stock(life, 0n, key), plan.reservoir), mode }
  const { bound, fence } = seen?.counter ?? (await engine.counter(life.counter))
  if (mode === 'group commit') return { issuer: new GroupCommit(bound, life, plan.groupCommit!), mode }
  // What was strict under leaders before has a fence, and every node that shares it now carries the last one.
  const shared = mode === 'node' && fence > 0n ? { ...life, fence } : life
  const reservoir = new Reservoir(plan.stock(shared, bound, key), plan.reservoir)
  return { issuer: reservoir, mode, resize: (sizes) => reservoir.resize(sizes) }
}

/** Under this node's leadership, or as a standby. The first reserve seals out those who led before. */
async function openLed(
  { engine }: IssuerDeps,
  leads: GeneratorLeaders,
  plan: Plan,
  life: Incarnation,
  { seen, takeTail }: Known,
): Promise<Opened> {
  const slot = slotOf(life.name)
  const here = leads.cluster.here(slot)
  if (here === undefined) return standby(leads, plan, life.name)
  const tail = takeTail(here)
  if (tail !== undefined) return ledOn(plan, life, here, tail)
  const { bound, fence } = seen?.here === here ? seen.counter : await engine.counter(life.counter)
  // If it is over by now, whoever opened it finds out and looks again.
  if (fence > here.fence && leads.cluster.held(slot) === here) {
    leads.cluster.sealedOut(here)
    throw slotNotServed()
  }
  const stock = plan.stock({ ...life, fence: here.fence }, bound, undefined)
  const reservoir = new Reservoir(stock, plan.reservoir)
  return { issuer: reservoir, mode: 'leader', under: { slot, here, reservoir } }
}

/** Under this node's leadership, with what the one before has left of it. */
export function ledOn(plan: Plan, life: Incarnation, here: LeaderTerm, tail: Reservation): Opened {
  const stock = plan.stock({ ...life, fence: here.fence }, tail.start, undefined)
  stock.adopt(tail)
  const reservoir = new Reservoir(stock, plan.reservoir)
  return { issuer: reservoir, mode: 'leader', under: { slot: slotOf(life.name), here, reservoir } }
}

/** What stands for a strict generator where it is not led. */
export function standby(leads: GeneratorLeaders, plan: Plan, name: string): Opened {
  const issuer = new Standby({ leads, name, slot: slotOf(name), waitersMax: plan.reservoir.waitersMax })
  return { issuer, mode: 'leader' }
}

function stockMaker(deps: IssuerDeps, definition: Definition): MakeStock {
  if (definition.kind === 'snowflake') return snowflakeStock(deps, definition)
  return definition.kind === 'timestamp' ? timestampStock(deps, definition) : counterStock(deps, definition)
}

function counterStock(deps: IssuerDeps, definition: Definition): MakeStock {
  const options: CounterSourceOptions = {
    engine: deps.engine,
    max: definition.max!,
    increment: definition.increment!,
    step: definition.step!,
    stepMax: definition.stepMax!,
    horizonSeconds: horizonMs(deps, definition) / 1000,
    stepMultiple: definition.within === 'shuffled' ? shuffleBlock : 1,
    mayReserve: mayReserve(deps, definition.kind),
    onStepMax: (name) =>
      deps.onEvent({
        level: 'warn',
        message: `generator '${name}' wants more than stepMax ${definition.stepMax} per refill; ids will not last the horizon`,
      }),
  }
  return (life, bound, key) => new CounterSource(counterHand(definition, key), bound, life, options)
}

function counterHand(definition: Definition, key: string | undefined): RangeBuffer {
  const increment = definition.increment!
  const offset = definition.offset!
  if (definition.scramble) {
    return new ScrambledBuffer(
      permutation(keyBytes(key), definition.max! + 1n),
      definition.max!,
      increment,
      offset,
    )
  }
  if (definition.within === 'shuffled') {
    return new ShuffledBuffer(blockPermutation(keyBytes(key), shuffleBlock), shuffleBlock, increment, offset)
  }
  return new OrderedBuffer(increment, offset)
}

function groupCommit(
  deps: IssuerDeps,
  definition: Definition,
  reservoir: ReservoirOptions,
): GroupCommitOptions {
  return {
    ...reservoir,
    engine: deps.engine,
    max: definition.max!,
    increment: definition.increment!,
    offset: definition.offset!,
  }
}

function timestampStock(deps: IssuerDeps, definition: Definition): MakeStock {
  const hand = clockHand(deps, definition)
  const options: TimestampSourceOptions = {
    engine: deps.engine,
    layout: layoutOf(definition),
    node: definition.node!,
    horizonUs: horizonMs(deps, definition) * 1000,
    mayReserve: mayReserve(deps, definition.kind),
  }
  return (life, bound) => new TimestampSource(hand(), bound, life, options)
}

function snowflakeStock(deps: IssuerDeps, definition: Definition): MakeStock {
  const hand = clockHand(deps, definition)
  const options: SnowflakeSourceOptions = {
    worker: deps.worker,
    layout: layoutOf(definition),
    confirm: (life) => refuseUnlessCurrent(deps.engine, life),
  }
  return (life) => new SnowflakeSource(hand(), life, options)
}

function clockHand(deps: IssuerDeps, definition: Definition): () => ClockBuffer {
  const options = {
    layout: layoutOf(definition),
    timeline: deps.timeline,
    random: deps.random,
    borrowMaxUs: definition.borrowMax! * 1000,
    sequenceStart: definition.sequenceStart!,
  }
  return () => new ClockBuffer(options)
}

function formatOf(definition: Definition, index: NodeIndex | undefined): Format | undefined {
  if (definition.format === undefined) return undefined
  const format = compileFormat(definition.format, { nodeWidth: index?.width ?? 1 })
  if (!format.needsNode || index !== undefined) return format
  throw new FahaoError(
    'CONFIG',
    `the format '${definition.format}' shows {node}; start this node with --node-index N`,
  )
}

/**
 * For how long ids should last without the engine, in ms. A leader issues as long as its lease at most: more would only
 * be a larger gap after a crash, and for a `timestamp` ids further ahead of the clock.
 */
function horizonMs({ leads }: IssuerDeps, { kind, horizon }: Definition): number {
  if (leads === undefined || !isStrict(kind)) return horizon!
  const mostMs = kind === 'timestamp' ? ledTimestampMs : ledSequenceMs
  return Math.min(horizon!, Math.max(mostMs, 2 * leads.leaseTtlMs))
}

/** What a counter does for the other kinds: refuses an incarnation that has had its day. */
async function refuseUnlessCurrent(engine: Engine, { name, incarnation }: Incarnation): Promise<void> {
  const record = await engine.read(generatorKey(name))
  if (record !== undefined && readStored(record).incarnation === incarnation) return
  throw new FahaoError('STALE', `generator '${name}' has been changed or dropped; retry`)
}

function keyBytes(key: string | undefined): Uint8Array {
  if (key === undefined)
    throw new FahaoError('ENGINE', 'a permuted generator is stored without its key; restore it from a backup')
  return Uint8Array.from(key.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
}
