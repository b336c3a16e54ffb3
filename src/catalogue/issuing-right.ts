/** Which process may issue a strict kind: the leader of its shard in a cluster, the owner of the store elsewhere. */
import { FahaoError, hasCode } from '../base/errors.ts'
import type { Engine, StoreOwnership } from '../engine/engine.ts'
import { isStrict, type Kind } from '../issuing/issuer.ts'
import type { Ledger } from '../issuing/ledger/ledger.ts'
import type { IssuingMode } from './catalogue.ts'
import type { Definition } from './definition.ts'
import type { CatalogueDeps } from './deps.ts'

/** How a generator of this kind issues here. */
export async function modeOf({ engine, cluster }: CatalogueDeps, kind: Kind): Promise<IssuingMode> {
  if (!isStrict(kind)) return 'node'
  if (cluster !== undefined) return 'leader'
  const { state } = await engine.ownership()
  return kind === 'sequence' && state === 'shared' ? 'group commit' : 'local'
}

/** Whether each batch of requests is a reserve of its own, so that nothing is buffered. */
export function isBatched(mode: IssuingMode, { gaps }: Pick<Definition, 'gaps'>): boolean {
  return mode === 'group commit' || gaps !== undefined
}

/** Whether an issuer writes the record of a key in the step that reserves its ids: one that is `batches`, or `inPeriods`. */
export function commitsOnce(
  { definition, geneBits, avoided }: { definition: Definition; geneBits: number; avoided: unknown },
  { batches, inPeriods, mode }: { batches?: unknown; inPeriods?: unknown; mode: IssuingMode },
): boolean {
  const isPlain = geneBits === 0 && avoided === undefined && definition.incrementRange === undefined
  return isPlain && (batches ?? inPeriods) !== undefined && isBatched(mode, definition)
}

/**
 * Tells at each call whether this node may issue strict kinds now. If not, the generators that it must not issue have been
 * stopped. Made once, because the engine of a node is a proxy, which makes a new function at each look-up.
 */
export function issuingRight({ engine, cluster }: Pick<CatalogueDeps, 'engine' | 'cluster'>): () => boolean {
  if (cluster !== undefined) return () => cluster.check()
  return engine.owns?.bind(engine) ?? (() => true)
}

/** The most alterations in a row that a waiting call follows. */
const reopensMax = 10

/**
 * Asks a generator; after an alteration or a change of leadership, which used up no id, goes on with the generator that is open
 * then. `reopen`: opens the one that has replaced another one.
 */
export async function following<Generator, Result>(
  first: Generator,
  reopen: (stale: Generator, use: (next: Generator) => Promise<Result>) => Promise<Result>,
  ask: (generator: Generator) => Promise<Result>,
): Promise<Result> {
  let generator = first
  const askNext = (next: Generator) => {
    generator = next
    return ask(next)
  }
  for (let reopens = 0; ; reopens++) {
    try {
      return await (reopens === 0 ? ask(first) : reopen(generator, askNext))
    } catch (error) {
      if (!hasCode(error, 'STALE') || reopens === reopensMax) throw error
    }
  }
}

/** The error for calls under a right that has ended: they go on with the generator that is opened under the present one. */
export function rightEnded(): FahaoError {
  return new FahaoError('STALE', 'this process must not issue what it had reserved any more; retry')
}

/**
 * Tells at each call whether this process is known to own the store, without asking. False: it may be, and `Engine.ownership`
 * finds out. `state`: of the ownership when the process started.
 */
export function ownsForSure(engine: Engine, state: StoreOwnership['state']): () => boolean {
  return engine.owns?.bind(engine) ?? (() => state === 'owner')
}

/** Rejects with NOTOWNER unless this process owns the store. */
export async function refuseUnlessOwner(engine: Engine, kind: Kind, name: string): Promise<void> {
  const ownership = await engine.ownership()
  if (ownership.state === 'owner') return
  throw new FahaoError(
    'NOTOWNER',
    ownership.state === 'other'
      ? `generator '${name}' is strict and the store is owned by ${ownership.holder}; ask that process, or use segment or snowflake here`
      : `generator '${name}' is a ${kind}, which needs a store that one process owns, and many processes may share this one; use sequence for strict order, or snowflake for ids that tell when`,
  )
}

/** The error for a ledger on a store that many processes share without leaders. */
export function ledgerInFleet(name: string): FahaoError {
  return new FahaoError(
    'NOTOWNER',
    `generator '${name}' keeps a ledger, which one node has to keep at a time; start every node with --cluster, or let one process own the store`,
  )
}

/** The ledger of what is open. Throws WRONGTYPE where there is none. */
export function ledgerOf({ ledger }: { readonly ledger?: Ledger }, name: string): Ledger {
  if (ledger !== undefined) return ledger
  throw new FahaoError(
    'WRONGTYPE',
    `'${name}' keeps no ledger; draw its ids with ID.NEXT, or create a sequence with LEDGER on`,
  )
}
