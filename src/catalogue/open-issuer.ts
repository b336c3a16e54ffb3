/** Opens issuers: under a leadership, as a standby, by group commit, or from a buffer. */

import { advising } from '../base/advice.ts'
import type { Clock } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'
import { slotNotServed } from '../base/moved.ts'
import type { Cluster } from '../cluster/cluster.ts'
import type { LeaderTerm } from '../cluster/events.ts'
import { slotOf } from '../cluster/slots.ts'
import type { Counter, Reservation } from '../engine/engine.ts'
import { needsGene } from '../ids/gene.ts'
import type { Run } from '../ids/run.ts'
import { CallerIds } from '../issuing/caller-ids.ts'
import type { CallerRanges } from '../issuing/caller-ranges.ts'
import type { CounterAtRest } from '../issuing/counter-rows.ts'
import type { Limiter } from '../issuing/engine-permits.ts'
import type { Gate } from '../issuing/gate.ts'
import { drawWithGenes } from '../issuing/gene-issuer.ts'
import type { GroupCommit } from '../issuing/group-commit.ts'
import type { Incarnation } from '../issuing/incarnation.ts'
import { type DrawOptions, type Issuer, isStrict } from '../issuing/issuer.ts'
import type { Ledger } from '../issuing/ledger/ledger.ts'
import type { PeriodIssuer } from '../issuing/period-issuer.ts'
import type { Reservoir } from '../issuing/reservoir.ts'
import type { IssuingMode } from './catalogue.ts'
import { isCounter } from './definition.ts'
import type { CatalogueDeps } from './deps.ts'
import type { IssuingPlan } from './issuing-plans.ts'
import { ledgerInFleet, modeOf, refuseUnlessOwner } from './issuing-right.ts'
import type { LedGenerators, LedIssuer } from './leadership/led-generators.ts'
import { Standby } from './leadership/standby.ts'

/** Leaders count from 1, and an advance of the store adds a million: no leader comes near this. */
const fenceMax = 2n ** 52n

/** The longest wait of an opening for its turn. */
export const openWaitMaxMs = 10_000

/**
 * Opens generators through a limiter. Ten thousand that are opened together would each take one step in the engine,
 * wait behind all others for the next, and miss every deadline. So as many as fit into one batch of the engine take all
 * their steps before others begin. Rejects with UNAVAILABLE when the turn does not come in time.
 */
export function openInTurn<Value>(
  limiter: Limiter,
  clock: Clock,
  open: () => Promise<Value>,
): Promise<Value> {
  return limiter.run(open, { clock, waitMaxMs: openWaitMaxMs, onTimeout: openedTooLate })
}

/** The error for an opening whose turn did not come in time. */
export function openedTooLate(): FahaoError {
  const why = 'too many generators are opened for the first time at once, and the engine is slow'
  return new FahaoError('UNAVAILABLE', `${why}; retry`)
}

/** A counter, and the leadership of this node under which it was read; undefined: under none. */
export type ReadCounter = {
  readonly name: string
  readonly term: LeaderTerm | undefined
  readonly counter: Counter
}

/** What is known of a generator's counter without a read. */
export type KnownCounter = {
  /** The counter, if it was read at the same time as the record. */
  readonly read?: ReadCounter | undefined
  /** The version of the record, and the generators under leaderships of this node: one of them may have a leftover range. */
  readonly version: bigint
  readonly led: LedGenerators | undefined
}

/** The open issuer of one generator, and how it issues. */
export type OpenedIssuer = {
  readonly issuer: Issuer
  readonly mode: IssuingMode
  /**
   * The leadership of this node under which it issues; undefined: it needs none. Without a reservoir: of a name of a family,
   * whose section issues for all of its names.
   */
  readonly under?: LeaderTerm
  /** The issuer, if it issues from memory. */
  readonly reservoir?: Reservoir
  /** The issuer, if each batch of requests is a reserve of its own. */
  readonly batches?: GroupCommit
  /** The issuer, if its numbers begin again in each period. */
  readonly inPeriods?: PeriodIssuer
  /** The issuer, if it keeps a ledger. */
  readonly ledger?: Ledger
  /** Undefined where callers issue nothing themselves: strict kinds. */
  readonly callers?: CallerIds
  /** Undefined where callers get no ranges: strict kinds and snowflakes. */
  readonly callerRanges?: CallerRanges
  /** The key of its permutation, in hexadecimal digits; undefined if ids are not scrambled. */
  readonly scrambleKey?: string | undefined
}

/** The issuer, if a leadership can have it: a standby is none. */
export function ledIssuerOf({ reservoir, batches, inPeriods, ledger }: OpenedIssuer): LedIssuer | undefined {
  return reservoir ?? batches ?? inPeriods ?? ledger
}

/** What generators at rest share with others, mostly with many. */
export type SharedAtRest = Pick<Incarnation, 'incarnation' | 'floor' | 'advances'> & {
  readonly plan: IssuingPlan
  readonly mode: IssuingMode
  readonly gate: Gate
}

/** What opening an issuer takes beside its node: whether this process is known to own the store. */
export type OpenIssuerDeps = CatalogueDeps & { readonly ownsStore: () => boolean }

/**
 * Opens the issuer of one generator, in one mode for as long as it is open. Rejects with NOTOWNER, UNAVAILABLE, ENGINE,
 * and with CLUSTERDOWN if the engine has seen a newer leader than this node.
 */
export async function openIssuer(
  deps: OpenIssuerDeps,
  plan: IssuingPlan,
  incarnation: Incarnation,
  key: string | undefined,
  known: KnownCounter,
): Promise<OpenedIssuer> {
  const { engine, cluster } = deps
  const { name, counter } = incarnation
  const { kind } = plan.definition
  // Before anything is asked: what is opened under a leadership that ends meanwhile has its gate, which ends then.
  const right = cluster !== undefined && isStrict(kind) ? ledBy(cluster, name, known) : undefined
  const opened = openAtOnce(deps, plan, incarnation, key, known)
  if (opened !== undefined) return opened
  if (cluster !== undefined && isStrict(kind))
    return underLeadership(deps, plan, incarnation, right!, await engine.counter(counter))
  const mode = await modeOf(deps, kind)
  if (mode === 'local') await refuseUnlessOwner(engine, kind, name)
  if (plan.definition.ledger && mode === 'group commit') throw ledgerInFleet(name)
  const read = readOf(known, incarnation)?.counter ?? (await engine.counter(counter))
  if (mode === 'group commit' && plan.definition.period !== undefined)
    return inPeriods(plan.issuers.inPeriods(incarnation, read.bound, undefined, true), mode)
  if (mode === 'group commit') return batched(plan.issuers.groupCommit(incarnation, read.bound), mode)
  return fromBuffer(plan, incarnation, key, mode, read)
}

/** As `openIssuer`, where nothing has to be asked first; undefined: something has. */
export function openAtOnce(
  deps: OpenIssuerDeps,
  plan: IssuingPlan,
  incarnation: Incarnation,
  key: string | undefined,
  known: KnownCounter,
): OpenedIssuer | undefined {
  const { cluster, clock, waitersMax, ownsStore } = deps
  const { name } = incarnation
  const { kind } = plan.definition
  const read = readOf(known, incarnation)
  if (cluster !== undefined && isStrict(kind)) {
    const right = ledBy(cluster, name, known)
    if (right === undefined) return standby(cluster, name, waitersMax)
    const { term, gate } = right
    const leftover = gate && known.led!.takeLeftover(name, known.version, term)
    if (leftover !== undefined) return openWithLeftover(plan, incarnation, { term, gate: gate! }, leftover)
    return read?.term === term ? underLeadership(deps, plan, incarnation, right, read.counter) : undefined
  }
  if (isStrict(kind) && !ownsStore()) return undefined
  const mode = isStrict(kind) ? 'local' : 'node'
  if (kind === 'snowflake') {
    const reservoir = plan.issuers.reservoir(incarnation, 0n)
    return { issuer: reservoir, mode, reservoir, callers: new CallerIds(clock) }
  }
  return read && fromBuffer(plan, incarnation, key, mode, read.counter)
}

/** A right under which the first range of a new name may be reserved: its gate, and the leadership if it is one. */
export type RightToBegin = { readonly term: LeaderTerm | undefined; readonly gate: Gate }

/** The right to reserve a first range, as it is now. Undefined: there is none, or something has to be asked first. */
export function rightToBegin(
  { cluster, led, ownsStore }: OpenIssuerDeps & Pick<KnownCounter, 'led'>,
  { definition: { kind, gaps, period }, issuers }: IssuingPlan,
  name: string,
): RightToBegin | undefined {
  if (!isCounter(kind) || gaps !== undefined || period !== undefined) return undefined
  if (cluster !== undefined && isStrict(kind)) {
    const right = ledBy(cluster, name, { led })
    return right?.gate && { term: right.term, gate: right.gate }
  }
  return isStrict(kind) && !ownsStore() ? undefined : { term: undefined, gate: issuers.gate }
}

/** Opens the issuer of a new name from the range that was reserved for it under this right. */
export function openBegun(
  plan: IssuingPlan,
  incarnation: Incarnation,
  { term, gate }: RightToBegin,
  range: Reservation,
): OpenedIssuer {
  if (term !== undefined)
    return led(term, plan.issuers.begun({ ...incarnation, fence: term.fence }, range, gate))
  const mode = isStrict(plan.definition.kind) ? 'local' : 'node'
  const reservoir = plan.issuers.begun(incarnation, range, gate)
  return withCallers(plan, incarnation, undefined, mode, range.end, reservoir)
}

/** A leadership of this node, and its gate; without one, it has just ended. */
type Right = { readonly term: LeaderTerm; readonly gate: Gate | undefined }

/** The leadership of this node for a name, if there is one. */
function ledBy(cluster: Cluster, name: string, { led }: Pick<KnownCounter, 'led'>): Right | undefined {
  const slot = slotOf(name)
  const term = cluster.here(slot)
  return term && { term, gate: led!.gateOf(slot, term) }
}

/** What was read of the counter of this incarnation. */
function readOf({ read }: KnownCounter, { counter }: Incarnation): ReadCounter | undefined {
  return read?.name === counter ? read : undefined
}

function underLeadership(
  { cluster, waitersMax }: CatalogueDeps,
  plan: IssuingPlan,
  incarnation: Incarnation,
  { term, gate }: Right,
  { bound, fence }: Pick<Counter, 'bound' | 'fence'>,
): OpenedIssuer {
  const { name } = incarnation
  // If this leadership has ended meanwhile, the catalogue notices that, and opens the generator again.
  if (fence > term.fence && cluster!.held(slotOf(name)) === term) {
    if (fence > fenceMax) throw impossibleFence(name, fence)
    cluster!.sealedOut(term, fence)
    throw slotNotServed()
  }
  // Without a gate, or with one that has ended, the catalogue notices that this leadership has ended.
  if (gate === undefined) return standby(cluster!, name, waitersMax)
  // The first reserve seals out earlier leaders.
  const fenced = { ...incarnation, fence: term.fence }
  if (plan.definition.period !== undefined)
    return { ...inPeriods(plan.issuers.inPeriods(fenced, bound, gate), 'leader'), under: term }
  if (plan.definition.gaps === undefined) return led(term, plan.issuers.led(fenced, bound, gate))
  return { ...inBatches(plan, fenced, bound, 'leader', gate), under: term }
}

function fromBuffer(
  plan: IssuingPlan,
  incarnation: Incarnation,
  key: string | undefined,
  mode: IssuingMode,
  { bound, fence }: Pick<Counter, 'bound' | 'fence'>,
): OpenedIssuer {
  // A counter that was strict under leaders has a fence, and every node that shares it now sends that fence.
  const shared = mode === 'node' && fence > 0n ? { ...incarnation, fence } : incarnation
  if (plan.definition.period !== undefined)
    return inPeriods(plan.issuers.inPeriods(shared, bound, undefined), mode)
  if (plan.definition.gaps !== undefined) return inBatches(plan, incarnation, bound, mode)
  return withCallers(plan, shared, key, mode, bound, plan.issuers.reservoir(shared, bound, key))
}

/** The issuer that goes on in a row which one before it has left at rest. */
export function openWoken(
  plan: IssuingPlan,
  incarnation: Incarnation,
  mode: IssuingMode,
  from: CounterAtRest,
  gate: Gate,
  row: number,
): OpenedIssuer {
  const reservoir = plan.issuers.woken(incarnation, from, gate, row)
  return withCallers(plan, incarnation, undefined, mode, BigInt(from.bound), reservoir)
}

/** With what callers get that issue ids themselves, where the kind lets them. */
function withCallers(
  plan: IssuingPlan,
  incarnation: Incarnation,
  key: string | undefined,
  mode: IssuingMode,
  bound: bigint,
  reservoir: Reservoir,
): OpenedIssuer {
  const opened = { issuer: reservoir, mode, reservoir }
  if (plan.definition.kind !== 'segment' || plan.geneBits > 0 || plan.avoided !== undefined) return opened
  const callerRanges = plan.issuers.callerRanges(incarnation, bound)
  const scrambleKey = plan.definition.scramble ? key : undefined
  return { ...opened, callers: callerRanges.ids, callerRanges, scrambleKey }
}

/** The error for the lease of a range where callers get none. */
export function noRanges(
  name: string,
  { definition: { kind, period }, avoided, geneBits }: IssuingPlan,
): FahaoError {
  if (geneBits > 0) return needsGene(name, geneBits)
  const ofKind =
    period === undefined
      ? `'${name}' is a ${kind}, and ranges are leased of kind segment only`
      : `the numbers of '${name}' begin again each ${period}, and a range would be of one`
  const why =
    avoided === undefined
      ? ofKind
      : `'${name}' skips ids whose texts contain a word, and a range would hold them`
  return new FahaoError('WRONGTYPE', `${why}; ask for its ids with ID.NEXT`)
}

/** The issuer under a leadership of this node that continues the range which the leader before left. */
export function openWithLeftover(
  plan: IssuingPlan,
  incarnation: Incarnation,
  { term, gate }: { readonly term: LeaderTerm; readonly gate: Gate },
  leftover: Reservation,
): OpenedIssuer {
  return led(term, plan.issuers.continued({ ...incarnation, fence: term.fence }, leftover, gate))
}

/** The issuer of a strict generator on a node that does not lead it. */
export function standby(cluster: Cluster, name: string, waitersMax: number): OpenedIssuer {
  const issuer = new Standby(cluster, name, waitersMax)
  return { issuer, mode: 'leader' }
}

/** Of a generator without gaps: each batch of requests is a reserve, or a commit of its ledger. */
function inBatches(
  { definition, issuers }: IssuingPlan,
  incarnation: Incarnation,
  bound: bigint,
  mode: IssuingMode,
  gate = issuers.gate,
): OpenedIssuer {
  if (!definition.ledger) return batched(issuers.batches(incarnation, bound, gate), mode)
  const ledger = issuers.ledger(incarnation, gate)
  return { issuer: ledger, mode, ledger }
}

function batched(batches: GroupCommit, mode: IssuingMode): OpenedIssuer {
  return { issuer: batches, mode, batches }
}

function inPeriods(issuer: PeriodIssuer, mode: IssuingMode): OpenedIssuer {
  return { issuer, mode, inPeriods: issuer }
}

function led(term: LeaderTerm, reservoir: Reservoir): OpenedIssuer {
  return { issuer: reservoir, mode: 'leader', under: term, reservoir }
}

function impossibleFence(name: string, fence: bigint): FahaoError {
  return new FahaoError(
    'ENGINE',
    `the counter of generator '${name}' has fence ${fence}, which no leader can have had: something else has written to the store; restore it, or set the fence of that counter to the epoch of its shard`,
  )
}

/** Draws ids of the past moment that the options name. Rejects with ERR where the generator has none, and as `PastMoments.draw`. */
export async function drawPast(
  { definition, geneBits, issuers: { past } }: IssuingPlan,
  incarnation: Incarnation,
  count: number,
  options: DrawOptions,
): Promise<Run[]> {
  const { name } = incarnation
  if (options.signal?.aborted) throw options.signal.reason
  if (past !== undefined)
    return drawWithGenes(name, geneBits, count, options, () => past.draw(incarnation, count, options))
  if (definition.kind !== 'snowflake')
    throw new FahaoError(
      'WRONGTYPE',
      `'${name}' is a ${definition.kind} without periods, and AT is for kind snowflake and for PERIOD; leave it out`,
    )
  throw advising(
    'ERR',
    (say) =>
      `'${name}' has no lanes for past moments; give it some with ${say({ operation: 'id.alter', name, options: { past: 4 } })}, for moments from then on, or create a generator with PAST`,
  )
}
