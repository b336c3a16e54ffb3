/** Which process may issue a strict kind: the leader of its shard in a cluster, the owner of the store elsewhere. */
import { FahaoError } from '../base/errors.ts'
import type { Engine } from '../engine/engine.ts'
import { isStrict, type Kind } from '../issuing/issuer.ts'
import type { Mode } from './catalogue.ts'
import type { GeneratorLeaders } from './generator-leaders.ts'

/** What decides that. */
type Deciders = {
  readonly engine: Engine
  /** Undefined: the node is in no cluster. */
  readonly leads?: GeneratorLeaders | undefined
}

/** How a generator of this kind issues here, if it does. */
export async function modeOf({ engine, leads }: Deciders, kind: Kind): Promise<Mode> {
  if (!isStrict(kind)) return 'node'
  if (leads !== undefined) return 'leader'
  const { state } = await engine.ownership()
  return kind === 'sequence' && state === 'shared' ? 'group commit' : 'local'
}

/** Whether this node may issue strict kinds now. If not, those that it must not issue have been stopped. */
export function mayIssueStrict({ engine, leads }: Deciders): boolean {
  return leads === undefined ? (engine.owns?.() ?? true) : leads.cluster.check()
}

/** What a stock asks before it reserves; rejects with NOTOWNER. */
export function mayReserve({ engine, leads }: Deciders, kind: Kind): (name: string) => Promise<void> {
  if (!isStrict(kind) || leads !== undefined) return () => Promise.resolve()
  return (name) => refuseUnlessOwner(engine, kind, name)
}

/** Rejects with NOTOWNER unless this process owns the store. */
export async function refuseUnlessOwner(engine: Engine, kind: Kind, name: string): Promise<void> {
  const ownership = await engine.ownership()
  if (ownership.state === 'owner') return
  throw new FahaoError(
    'NOTOWNER',
    ownership.state === 'other'
      ? `generator '${name}' is strict and the store is owned by ${ownership.holder}; ask that process, or use segment or snowflake here`
      : `generator '${name}' is a ${kind}, which needs a store that one process owns: many may share ${engine.location}; use sequence for strict order, or snowflake for ids that tell when`,
  )
}
