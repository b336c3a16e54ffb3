/** Makes issuers from what a definition says, and holds what the issuers of equal definitions share. */
import { secretBytes } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'
import type { Timeline } from '../base/timeline.ts'
import { RowlessBuffer, ScrambledBuffer, ShuffledBuffer } from '../buffers/permuted-buffers.ts'
import { RangeBuffer } from '../buffers/range-buffer.ts'
import { clockBuffer } from '../buffers/scattered-clock-buffer.ts'
import { SteppedBuffer } from '../buffers/stepped-buffer.ts'
import type { Engine, Reservation, ReserveRequest, WriterIdentity } from '../engine/engine.ts'
import { parseLayout } from '../ids/layout-text.ts'
import { blockPermutation, permutation } from '../ids/permutation.ts'
import { longestStep, RandomSteps } from '../ids/random-steps.ts'
import { CallerRanges, type CallerRangesOptions } from './caller-ranges.ts'
import type { CounterAtRest } from './counter-rows.ts'
import { CounterSource, type CounterSourceOptions, firstReserve, refillAtRest } from './counter-source.ts'
import type { Gate } from './gate.ts'
import { GroupCommit, type GroupCommitOptions } from './group-commit.ts'
import type { IdSource } from './id-source.ts'
import type { Incarnation } from './incarnation.ts'
import type { Kind } from './issuer.ts'
import type { IssuingGates } from './issuing-gates.ts'
import { Ledger } from './ledger/ledger.ts'
import { PastMoments } from './past-moments.ts'
import { inIdsOf, type PeriodCounting } from './period-counters.ts'
import { type IssuersOfPeriod, PeriodIssuer, type PeriodIssuerOptions } from './period-issuer.ts'
import type { ReservedCounterOptions } from './reserved-counter.ts'
import { Reservoir } from './reservoir.ts'
import type { ReservoirOptions } from './reservoir-options.ts'
import { Section, type SectionPlace } from './section.ts'
import { SnowflakeSource } from './snowflake-source.ts'
import { TimestampSource } from './timestamp-source.ts'
import type { WorkerId } from './worker-id.ts'

/** How the ids of a generator are issued. Options that its kind does not take are undefined. */
export type IssuingOptions = {
  readonly kind: Kind
  /** Distance between ids; 1 with `incrementRange`, where every value can be an id. */
  readonly increment?: number
  /** The distance between ids is random: `1..9`. */
  readonly incrementRange?: string
  readonly offset?: bigint
  /** How many of the lowest bits its callers give; undefined: none. Its ids are then the last of their blocks. */
  readonly gene?: number
  /** Each batch of requests is a reserve of exactly its ids; undefined: ids may be buffered. */
  readonly gaps?: 'none'
  readonly max?: bigint
  /** 0: `adaptive`. */
  readonly step?: number
  readonly stepMax?: number
  /** For how long ids should last without the engine, in ms. */
  readonly horizon?: number
  /** How long a caller waits at most, in ms. */
  readonly issueTimeout: number
  readonly within?: 'ordered' | 'shuffled'
  readonly scramble?: boolean
  /** Canonical text. */
  readonly layout?: string
  readonly node?: number
  /** How many lanes past moments have. */
  readonly past?: number
  /** Numbers are reserved, and confirmed once they are used. */
  readonly ledger?: true
  /** For how long a number is held where the request does not say, in ms. */
  readonly hold?: number
  readonly sequenceStart?: 'zero' | 'random'
  /** In ms. */
  readonly borrowMax?: number
}

/** What issuers take from their process. */
export type IssuerFactoryDeps = Omit<ReservoirOptions, 'issueTimeoutMs' | 'onRefillOutcome'> & {
  readonly engine: Engine
  readonly timeline: Timeline
  readonly worker: WorkerId
  readonly gates: IssuingGates
  /** See `ReservedCounterOptions`. */
  readonly copies?: ReservedCounterOptions['copies']
  /** See `ReservedCounterOptions`. */
  readonly mayReserve: (name: string) => Promise<void> | undefined
  /** Rejects with STALE when another incarnation has replaced this one. */
  readonly confirm: (incarnation: Incarnation) => Promise<void>
  /** Receives what a log should say. */
  readonly onEvent: (event: { level: 'info' | 'warn'; message: string }) => void
}

/** Makes one generator's source. `bound`: of its counter; `key`: of its permutation, in hexadecimal digits. */
type MakeSource = (incarnation: Incarnation, bound: bigint, gate: Gate, key: string | undefined) => IdSource

/** What a section of a family reserves at least where the step is `adaptive`. */
const sectionStep = 8
/** Shuffled ids are permuted in blocks of this size. */
const shuffleBlock = 1024
/** Of how many periods issuers are remembered. */
const periodsMax = 8

/** The factory of all generators with one definition. */
export class IssuerFactory {
  readonly #options: GroupCommitOptions &
    CallerRangesOptions &
    Pick<IssuerFactoryDeps, 'engine' | 'timeline' | 'mayReserve' | 'copies'>
  readonly #definition: IssuingOptions
  readonly #gates: IssuingGates
  readonly #source: MakeSource
  /** Draws ids of past moments; undefined: the generator has none. */
  readonly past: PastMoments | undefined
  /** Undefined: ids are made of the clock. */
  readonly #counter: CounterSourceOptions | undefined
  /** How it counts in periods; undefined: it does not. */
  readonly #counting: PeriodCounting | undefined
  /** By whether other processes issue strictly too. */
  readonly #ofPeriods = new Map<boolean, PeriodIssuerOptions>()

  constructor(deps: IssuerFactoryDeps, definition: IssuingOptions, counting?: PeriodCounting) {
    this.#counting = counting
    const { kind, issueTimeout, max, increment, offset } = definition
    const onRefillOutcome = (name: string, error: Error | undefined) =>
      deps.onEvent({
        level: error === undefined ? 'info' : 'warn',
        message: `refill of '${name}' ${error === undefined ? 'works again' : `failed: ${error.message}`}`,
      })
    const counter = { max: max!, increment: increment!, offset: offset! }
    this.#options = { ...deps, ...counter, issueTimeoutMs: issueTimeout, onRefillOutcome }
    this.#definition = definition
    this.#gates = deps.gates
    const fromClock = kind === 'snowflake' || kind === 'timestamp'
    const { past: lanes } = definition
    this.past =
      lanes === undefined
        ? undefined
        : new PastMoments({ ...deps, layout: parseLayout(definition.layout), lanes })
    this.#counter = fromClock ? undefined : counterOptions(deps, definition)
    this.#source = fromClock ? clockSource(deps, definition) : counterSource(definition, this.#counter!)
  }

  /** The gate of what is opened now under no leadership. */
  get gate(): Gate {
    return this.#gates.of(this.#definition.kind)
  }

  /** What a generator that was never used reserves for callers that wait for `ids` ids. Not for kinds of the clock. */
  firstReserve(
    ids: number,
    writer: Pick<Incarnation, 'floor' | 'incarnation'> & WriterIdentity,
  ): ReserveRequest {
    return firstReserve(ids, writer, this.#counter!)
  }

  /** Issues from memory, under this gate, what was reserved as `firstReserve` says. */
  begun(incarnation: Incarnation, range: Reservation, gate: Gate): Reservoir {
    const buffer = rangeBuffer(gate, this.#definition, undefined)
    const source = new CounterSource(buffer, range.start, incarnation, this.#counter!)
    source.begin(range)
    return new Reservoir(source, this.#options, gate)
  }

  /** Issues from memory. `bound`: of its counter; `key`: of its permutation, if it has one. */
  reservoir(incarnation: Incarnation, bound: bigint, key?: string): Reservoir {
    return this.#reservoir(incarnation, bound, this.#gates.of(this.#definition.kind), key)
  }

  /** Issues from memory under a leadership, whose gate this is. */
  led(incarnation: Incarnation, bound: bigint, gate: Gate): Reservoir {
    return this.#reservoir(incarnation, bound, gate)
  }

  /** Issues from memory under a leadership, first from what another process has reserved and left. */
  continued(incarnation: Incarnation, leftover: Reservation, gate: Gate): Reservoir {
    const source = this.#source(incarnation, leftover.start, gate, undefined)
    source.acquire?.(leftover)
    return new Reservoir(source, this.#options, gate)
  }

  /** Goes on in a row of its gate that another issuer has left. Only where `Reservoir.rest` has left it. */
  woken(incarnation: Incarnation, from: CounterAtRest, gate: Gate, row: number): Reservoir {
    const { increment, offset } = this.#definition
    const buffer = new RangeBuffer(increment!, offset!, gate.take(row))
    const source = new CounterSource(buffer, 0n, incarnation, this.#counter!)
    source.wake(from)
    return new Reservoir(source, this.#options, gate, from)
  }

  /** See `refillAtRest`. */
  refillAtRest(state: CounterAtRest, incarnation: Pick<Incarnation, 'floor' | 'incarnation'>) {
    return refillAtRest(state, incarnation, this.#counter!)
  }

  /** Reserves for a counter at rest. */
  reserveAtRest(name: string, counter: string, request: ReserveRequest): Promise<Reservation> {
    const { engine, mayReserve } = this.#options
    const asked = mayReserve(name)
    return asked === undefined
      ? engine.reserve(counter, request)
      : asked.then(() => engine.reserve(counter, request))
  }

  /** Reserves ranges for callers, beside the reservoir of the same incarnation. Only for a `segment`. */
  callerRanges(incarnation: Incarnation, bound: bigint): CallerRanges {
    return new CallerRanges(bound, incarnation, this.#options, this.#gates.of(this.#definition.kind))
  }

  /** Issues for all names of one slot of a family. `bound`: of the section's counter. */
  section(incarnation: Incarnation, bound: bigint, place: SectionPlace): Section {
    const { max, step, stepMax, horizon } = this.#definition
    // Adaptive: few enough that a crash costs little, and enough for names that are used once.
    const sizes = {
      max: Number(max),
      step: step! || sectionStep,
      stepMax: stepMax!,
      horizonSeconds: horizon! / 1000,
    }
    return new Section(incarnation, bound, { ...this.#options, ...sizes }, place)
  }

  /** Issues from a reserve for each batch of requests, as other processes do beside it. Only for a `sequence`. */
  groupCommit(incarnation: Incarnation, bound: bigint): GroupCommit {
    return new GroupCommit(bound, incarnation, this.#optionsOfBatches(true), this.#gates.ofBatches)
  }

  /** Issues from a reserve for each batch of requests, under this gate: that of a leadership, or of the owner of the store. */
  batches(incarnation: Incarnation, bound: bigint, gate = this.gate): GroupCommit {
    return new GroupCommit(bound, incarnation, this.#optionsOfBatches(false), gate)
  }

  /** Issues in periods, under this gate. `bound`: of the generator's own counter. `isShared`: other processes issue strictly too. */
  inPeriods(incarnation: Incarnation, bound: bigint, gate: Gate | undefined, isShared = false): PeriodIssuer {
    const options = this.#ofPeriods.get(isShared) ?? this.#optionsInPeriods(isShared)
    const right = gate ?? (isShared ? this.#gates.ofBatches : this.gate)
    const isBatched = isShared || this.#definition.gaps !== undefined
    return new PeriodIssuer(incarnation, bound, options, right, isBatched)
  }

  #optionsOfBatches(isShared: boolean): GroupCommitOptions & Pick<IssuerFactoryDeps, 'engine'> {
    const { mayIssue, mayReserve, ...options } = this.#options
    // Where all issue there is no right that could end; a copy of this memory is looked for.
    const right = isShared ? { mayIssue: mayIssue && (() => mayIssue() || true) } : { mayIssue, mayReserve }
    const gapless = this.#definition.gaps !== undefined
    return { ...options, ...right, gapless, steps: randomSteps(this.#definition) }
  }

  /** One for all generators of this definition, with the periods that are in use. */
  #optionsInPeriods(isShared: boolean): PeriodIssuerOptions {
    const { timeline } = this.#options
    const known = new Map<number, IssuersOfPeriod>()
    const issuersOf = (ordinal: number) => {
      const found = known.get(ordinal) ?? this.#issuersOf(ordinal, isShared)
      if (known.size >= periodsMax) known.clear()
      known.set(ordinal, found)
      return found
    }
    const options = { ...this.#optionsOfBatches(isShared), timeline, counting: this.#counting!, issuersOf }
    this.#ofPeriods.set(isShared, options)
    return options
  }

  #issuersOf(ordinal: number, isShared: boolean): IssuersOfPeriod {
    const { periods, start } = this.#counting!
    const engine = inIdsOf(this.#options.engine, periods, ordinal)
    const max = periods.endId(ordinal) - 1n
    const ofSource = { ...this.#counter!, engine, max }
    const ofBatches = { ...this.#optionsOfBatches(isShared), engine, max }
    return {
      ordinal,
      label: periods.label(ordinal),
      first: periods.firstId(ordinal) + start,
      max,
      endUs: periods.endUs(ordinal),
      buffered: (incarnation, gate, isAhead) => {
        const buffer = new RangeBuffer(1, 0n, gate.add())
        buffer.low = isAhead
        return new Reservoir(new CounterSource(buffer, 0n, incarnation, ofSource), this.#options, gate)
      },
      batched: (incarnation, gate) => new GroupCommit(0n, incarnation, ofBatches, gate),
      lastOf: async (counter) => (await engine.counter(counter)).bound - 1n,
    }
  }

  /** Keeps the ledger of a generator under this gate. Only with `ledger`. */
  ledger(incarnation: Incarnation, gate: Gate): Ledger {
    return new Ledger(incarnation, { ...this.#options, holdMs: this.#definition.hold! }, gate)
  }

  #reservoir(incarnation: Incarnation, bound: bigint, gate: Gate, key?: string): Reservoir {
    return new Reservoir(this.#source(incarnation, bound, gate, key), this.#options, gate)
  }
}

function counterSource(definition: IssuingOptions, options: CounterSourceOptions): MakeSource {
  return (incarnation, bound, gate, key) =>
    new CounterSource(rangeBuffer(gate, definition, key), bound, incarnation, options)
}

function counterOptions(deps: IssuerFactoryDeps, definition: IssuingOptions): CounterSourceOptions {
  return {
    engine: deps.engine,
    clock: deps.clock,
    max: definition.max!,
    increment: longestStep(definition),
    step: definition.step!,
    stepMax: definition.stepMax!,
    horizonSeconds: definition.horizon! / 1000,
    stepMultiple: definition.within === 'shuffled' ? shuffleBlock : 1,
    mayReserve: deps.mayReserve,
    copies: deps.copies,
    onStepMax: (name) =>
      deps.onEvent({
        level: 'warn',
        message: `generator '${name}' wants more than stepMax ${definition.stepMax} per refill; ids will not last the horizon`,
      }),
  }
}

function rangeBuffer(gate: Gate, definition: IssuingOptions, key: string | undefined): RangeBuffer {
  const increment = definition.increment!
  const offset = definition.offset!
  const max = definition.max!
  if (definition.scramble)
    return new ScrambledBuffer(permutation(keyBytes(key), max + 1n), max, increment, offset)
  if (definition.within === 'shuffled')
    return new ShuffledBuffer(blockPermutation(keyBytes(key), shuffleBlock), increment, offset)
  if (definition.gene !== undefined) return new RowlessBuffer(increment, offset)
  const steps = randomSteps(definition)
  if (steps !== undefined) return new SteppedBuffer(steps)
  return new RangeBuffer(increment, offset, gate.add())
}

/**
 * The distances between ids that are random. Each issuer draws a key of its own, and none is stored: ids are unique without it,
 * and a reader of the store cannot count by it either.
 */
function randomSteps({ incrementRange }: IssuingOptions): RandomSteps | undefined {
  return incrementRange === undefined ? undefined : new RandomSteps(incrementRange, secretBytes(16))
}

function clockSource(deps: IssuerFactoryDeps, definition: IssuingOptions): MakeSource {
  const { engine, worker, timeline, random, mayReserve, copies, confirm } = deps
  const layout = parseLayout(definition.layout)
  const borrowMaxUs = definition.borrowMax! * 1000
  const clock = { layout, timeline, random, borrowMaxUs, sequenceStart: definition.sequenceStart! }
  const buffer = (gate: Gate) => clockBuffer(clock, () => gate.add())
  if (definition.kind === 'snowflake') {
    const options = { worker, layout, confirm }
    return (incarnation, _bound, gate) => new SnowflakeSource(buffer(gate), incarnation, options)
  }
  const horizonUs = definition.horizon! * 1000
  const options = { engine, layout, node: definition.node!, horizonUs, mayReserve, copies }
  return (incarnation, bound, gate) => new TimestampSource(buffer(gate), bound, incarnation, options)
}

function keyBytes(key: string | undefined): Uint8Array {
  if (key === undefined)
    throw new FahaoError('ENGINE', 'a permuted generator is stored without its key; restore it from a backup')
  return Buffer.from(key, 'hex')
}
