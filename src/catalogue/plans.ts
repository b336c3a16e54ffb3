/**
 * Plans in use, by what their definitions say: generators that are defined alike share one, and with it most of
 * what an issuer needs.
 *
 * Invariants
 *  1. Two definitions with the same text have the same plan, as long as it is remembered.
 *  2. Memory is bounded: a plan that is forgotten lives on in the generators that have it, and is made anew for
 *     the next.
 */
import { Limiter } from '../issuing/limiter.ts'
import type { Definition } from './definition.ts'
import { type Plan, type PlanDeps, planOf } from './issuers.ts'
import { writeDefinition } from './stored.ts'

const plansMax = 1000

/** See the invariants at the top of the file. */
export class Plans {
  readonly #deps: PlanDeps
  readonly #gate = new Limiter()
  readonly #plans = new Map<string, Plan>()

  constructor(deps: PlanDeps) {
    this.#deps = deps
  }

  /** The plan of a definition. CONFIG when this node cannot show what its format asks for. */
  of(definition: Definition): Plan {
    const text = writeDefinition(definition)
    const known = this.#plans.get(text)
    if (known !== undefined) return known
    const plan = planOf(this.#deps, definition, this.#gate)
    if (this.#plans.size >= plansMax) this.#plans.clear()
    this.#plans.set(text, plan)
    return plan
  }
}
