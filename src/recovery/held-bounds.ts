/**
 * What this process has reserved, for counters whose generator the store has forgotten: a generator that was created in lost
 * writes has no record, so an advance does not name its counter, which would begin at the start again.
 *
 * Invariants
 *  1. The end of each range that this process has reserved of a generator's counter is remembered, for as long as it runs.
 *  2. `raise` leaves no counter below that end, whether or not a record names it: another node may have created the generator
 *     again already. A row of another system's table that is gone has no counter, and none is made.
 */
import { BoundsByName } from '../base/bounds-by-name.ts'
import { hasCode } from '../base/errors.ts'
import { sectionPrefix } from '../catalogue/families/family-records.ts'
import { generatorPrefix } from '../catalogue/stored-generator.ts'
import { larger } from '../engine/advance-rules.ts'
import type { Engine } from '../engine/engine.ts'
import { nextTurn } from '../engine/next-turn.ts'
import type { Range } from '../ids/run.ts'
import { periodPrefix } from '../issuing/period-counters.ts'

/** The counters whose ranges are remembered. */
const heldPrefixes = [generatorPrefix, sectionPrefix, periodPrefix]
/** How many counters are read together. The engine joins calls of one moment into one request. */
const atOnce = 256
/** How often a raise is tried again. Each new leader of the counter can refuse one try. */
const raiseTries = 10

/** The ends of ranges that one process has reserved, by counter. */
export class HeldBounds {
  readonly #ends = new BoundsByName()

  /** `engine`, whose reserves, also those of look-ups and commits, are remembered; every other member is the engine's own. */
  watching(engine: Engine): Engine {
    const reserve: Engine['reserve'] = async (counter, request) => {
      const reservation = await engine.reserve(counter, request)
      this.#remember(counter, reservation)
      return reservation
    }
    const lookUp: Engine['lookUp'] = async (lookUps) => {
      const outcomes = await engine.lookUp(lookUps)
      for (const [at, each] of outcomes.entries())
        if ('reservation' in each && each.reservation) this.#remember(lookUps[at]!.key, each.reservation)
      return outcomes
    }
    const commit: Engine['commit'] = async (asked) => {
      const committed = await engine.commit(asked)
      if (committed?.reservation) this.#remember(asked.counter!.name, committed.reservation)
      return committed
    }
    return new Proxy(engine, {
      get(_engine, name) {
        if (name === 'reserve') return reserve
        if (name === 'commit') return commit
        if (name === 'lookUp') return lookUp
        const member: unknown = Reflect.get(engine, name)
        return typeof member === 'function' ? member.bind(engine) : member
      },
    })
  }

  #remember(counter: string, { start, end }: Range): void {
    // A reserve of size 0 opens no range.
    if (end > start && heldPrefixes.some((prefix) => counter.startsWith(prefix)))
      this.#ends.set(counter, larger(end, this.#ends.get(counter) ?? 0n))
  }

  /**
   * Raises the bounds of counters to what this process has reserved, in a store that was advanced. Rejects as the engine
   * does, and may then be repeated. Resolves to how many it has raised.
   */
  async raise(engine: Engine): Promise<number> {
    const ends = [...this.#ends]
    let raised = 0
    for (let from = 0; from < ends.length; from += atOnce) {
      const some = ends.slice(from, from + atOnce)
      const results = await Promise.all(some.map(([name, end]) => raiseTo(engine, name, end)))
      raised += results.filter((isRaised) => isRaised).length
      await nextTurn()
    }
    return raised
  }
}

/** Resolves to whether the counter stood below `end` and was raised. */
async function raiseTo(engine: Engine, name: string, end: bigint): Promise<boolean> {
  for (let tries = 1; ; tries++) {
    const { bound, fence, incarnation } = await engine.counter(name)
    if (bound >= end) return false
    const writer = { incarnation: larger(incarnation, 1n), ...(fence > 0n && { fence }) }
    try {
      await engine.reserve(name, { size: 0n, floor: end, ...writer })
      return true
    } catch (error) {
      if (hasCode(error, 'NOGENERATOR')) return false
      if (!hasCode(error, 'STALE') || tries === raiseTries) throw error
    }
  }
}
