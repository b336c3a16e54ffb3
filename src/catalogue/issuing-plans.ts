/**
 * Issuing plans: what follows from a definition alone. Generators with equal definitions share one, and with it most of
 * what an issuer needs.
 *
 * Invariants
 *  1. Two definitions with the same text have the same plan, as long as it is cached.
 *  2. Memory is bounded: a plan that leaves the cache remains with the generators that use it, and is made again for
 *     the next.
 */
import { FahaoError } from '../base/errors.ts'
import type { Engine } from '../engine/engine.ts'
import type { Format } from '../ids/format.ts'
import type { AvoidedIds } from '../ids/words.ts'
import { Limiter } from '../issuing/engine-permits.ts'
import type { Incarnation } from '../issuing/incarnation.ts'
import { isStrict } from '../issuing/issuer.ts'
import { IssuerFactory, type IssuerFactoryDeps } from '../issuing/issuer-factory.ts'
import { Observer } from '../issuing/observer.ts'
import type { ReservoirOptions } from '../issuing/reservoir-options.ts'
import { avoidedBy } from './avoided-ids.ts'
import { type Definition, geneBitsOf } from './definition.ts'
import { formatIn } from './definition-formats.ts'
import type { CatalogueDeps, NodeIndex } from './deps.ts'
import { issuingRight, refuseUnlessOwner } from './issuing-right.ts'
import { countingOf } from './period-bounds.ts'
import { generatorKey, readStored, writeDefinition } from './stored-generator.ts'

/** What plans need from their catalogue. */
type IssuingPlanDeps = CatalogueDeps &
  Pick<ReservoirOptions, 'onStale'> &
  Pick<IssuerFactoryDeps, 'gates'> & {
    /** See `ownsForSure`. */
    readonly ownsStore: () => boolean
  }

/** What generators with equal definitions share. */
export type IssuingPlan = {
  readonly definition: Definition
  /** Undefined: plain decimal. */
  readonly format: Format | undefined
  /** Ids that are skipped; undefined: none. */
  readonly avoided: AvoidedIds | undefined
  /** How many of the lowest bits of an id its caller gives. */
  readonly geneBits: number
  readonly issuers: IssuerFactory
}

const plansMax = 1000
/** How far ahead a leader reserves at most, in ms, unless leases are longer. */
const ledSequenceMs = 60_000
const ledTimestampMs = 10_000

/** A cache of plans. */
export class IssuingPlans {
  readonly #deps: IssuingPlanDeps
  readonly #limiter = new Limiter()
  readonly #observer: Observer
  readonly #plans = new Map<string, IssuingPlan>()

  constructor(deps: IssuingPlanDeps) {
    this.#deps = deps
    this.#observer = new Observer(deps.clock)
  }

  /** The plan of a definition. CONFIG if this node has no index for the `{node}` of its format. */
  of(definition: Definition): IssuingPlan {
    const text = writeDefinition(definition)
    const known = this.#plans.get(text)
    if (known !== undefined) return known
    const format = formatOf(definition, this.#deps.nodeIndex)
    const issuers = issuersOf(this.#deps, definition, { limiter: this.#limiter, observer: this.#observer })
    const geneBits = geneBitsOf(definition)
    const avoided = avoidedBy(definition)
    const plan = Object.freeze({ definition: Object.freeze(definition), format, avoided, geneBits, issuers })
    if (this.#plans.size >= plansMax) this.#plans.clear()
    this.#plans.set(text, plan)
    return plan
  }
}

/**
 * The id of a generator in a text, also one that is skipped now: it may be from before the list of words was altered. Throws ERR for any
 * other text.
 */
export function readId(name: string, text: string, format: Format | undefined): bigint {
  if (format === undefined && !/^\d{1,19}$/.test(text))
    throw new FahaoError('ERR', `'${text.slice(0, 40)}' is no id of generator '${name}'`)
  return format === undefined ? BigInt(text) : format.parse(text)
}

function issuersOf(
  deps: IssuingPlanDeps,
  definition: Definition,
  shared: Pick<ReservoirOptions, 'limiter' | 'observer'>,
): IssuerFactory {
  const { kind } = definition
  const mayIssueStrict = issuingRight(deps)
  const own = {
    ...deps,
    ...shared,
    mayIssue() {
      deps.copies?.check()
      return !isStrict(kind) || mayIssueStrict()
    },
    mayReserve(name: string): Promise<void> | undefined {
      if (!isStrict(kind) || deps.cluster !== undefined || deps.ownsStore()) return undefined
      return refuseUnlessOwner(deps.engine, kind, name)
    },
    confirm: (incarnation: Incarnation) => refuseUnlessCurrent(deps.engine, incarnation),
  }
  const horizon = horizonMs(deps, definition)
  const issued = horizon === undefined ? definition : { ...definition, horizon }
  return new IssuerFactory(own, issued, countingOf(definition))
}

/** The format of a definition, without its key. CONFIG if this node has no index for its `{node}`. */
export function formatOf(definition: Definition, index: NodeIndex | undefined): Format | undefined {
  if (definition.format === undefined) return undefined
  const format = formatIn(definition, index?.width)!
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
export function horizonMs(
  { cluster }: Pick<CatalogueDeps, 'cluster'>,
  { kind, horizon }: Definition,
): number | undefined {
  if (cluster === undefined || horizon === undefined || !isStrict(kind)) return horizon
  const mostMs = kind === 'timestamp' ? ledTimestampMs : ledSequenceMs
  return Math.min(horizon, Math.max(mostMs, 2 * cluster.leaseTtlMs))
}

/** Refuses an earlier incarnation, as counters do for the other kinds. */
async function refuseUnlessCurrent(engine: Engine, { name, incarnation }: Incarnation): Promise<void> {
  const record = await engine.read(generatorKey(name))
  if (record !== undefined && readStored(record).incarnation === incarnation) return
  throw new FahaoError('STALE', `generator '${name}' has been changed or dropped; retry`)
}
