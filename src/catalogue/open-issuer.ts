/** Opens issuers: under a leadership, as a standby, by group commit, or from memory. */
import type { Clock } from '../base/clock.ts'
import { FahaoError } from '../base/errors.ts'
import { slotNotServed } from '../base/moved.ts'
import type { LeaderTerm } from '../cluster/leadership.ts'
import { slotOf } from '../cluster/slots.ts'
import type { Counter, Reservation } from '../engine/engine.ts'
import type { Incarnation } from '../issuing/incarnation.ts'
import { type Issuer, isStrict } from '../issuing/issuer.ts'
import type { Limiter } from '../issuing/limiter.ts'
import type { Reservoir } from '../issuing/reservoir.ts'
import type { Mode } from './catalogue.ts'
import type { GeneratorLeaders } from './generator-leaders.ts'
import { modeOf, refuseUnlessOwner } from './ownership.ts'
import type { IssuerDeps, Plan } from './plans.ts'
import { Standby } from './standby.ts'
import { generatorKey } from './stored.ts'

/** How long the opening of a generator waits for others at most. */
const openWaitMaxMs = 10_000

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
  const why = 'too many generators are opened for the first time at once, and the engine is slow'
  const onTimeout = () => new FahaoError('UNAVAILABLE', `${why}; retry`)
  return limiter.run(open, { clock, waitMaxMs: openWaitMaxMs, onTimeout })
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
  if (kind === 'snowflake') return { issuer: plan.issuers.reservoir(life, 0n), mode }
  const { bound, fence } = seen?.counter ?? (await engine.counter(life.counter))
  if (mode === 'group commit') return { issuer: plan.issuers.groupCommit(life, bound), mode }
  // What was strict under leaders before has a fence, and every node that shares it now carries the last one.
  const shared = mode === 'node' && fence > 0n ? { ...life, fence } : life
  const reservoir = plan.issuers.reservoir(shared, bound, key)
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
  const reservoir = plan.issuers.reservoir({ ...life, fence: here.fence }, bound)
  return { issuer: reservoir, mode: 'leader', under: { slot, here, reservoir } }
}

/** Under this node's leadership, with what the one before has left of it. */
export function ledOn(plan: Plan, life: Incarnation, here: LeaderTerm, tail: Reservation): Opened {
  const reservoir = plan.issuers.continued({ ...life, fence: here.fence }, tail)
  return { issuer: reservoir, mode: 'leader', under: { slot: slotOf(life.name), here, reservoir } }
}

/** What stands for a strict generator where it is not led. */
export function standby(leads: GeneratorLeaders, plan: Plan, name: string): Opened {
  const issuer = new Standby({ leads, name, slot: slotOf(name), waitersMax: plan.waitersMax })
  return { issuer, mode: 'leader' }
}
