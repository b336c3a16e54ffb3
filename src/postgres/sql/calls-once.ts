/**
 * The calls of one statement that the server around carries out, also if the statement starts again.
 *
 * Invariants
 *  1. A call is carried out once: a statement that starts again is given the results of the calls that it has made, in their
 *     order.
 *  2. A statement that calls otherwise than before is refused.
 */
import type { Budget } from './budget.ts'
import { keyOfAll } from './costs.ts'
import type { SqlSession } from './plan.ts'
import { unsupported } from './sql-error.ts'

type Call = SqlSession['call']

/** The calls of one statement. */
export class CallsOnce {
  readonly #session: SqlSession
  readonly #budget: Budget
  readonly #beforeFirst: () => Promise<void>
  readonly #made: { readonly key: string; readonly results: Awaited<ReturnType<Call>> }[] = []

  /** @param beforeFirst what to do before the first call; if it rejects, nothing is called. */
  constructor(session: SqlSession, budget: Budget, beforeFirst: () => Promise<void>) {
    this.#session = session
    this.#budget = budget
    this.#beforeFirst = beforeFirst
  }

  /** The calls of a statement that starts, or starts again. Rejects with SqlError 0A000 if they differ from those before. */
  start(): Call {
    let count = 0
    return async (name, all) => {
      const key = `${name}${keyOfAll(all.flat(), this.#budget)}`
      const made = this.#made[count++]
      if (made && made.key !== key)
        throw unsupported('nextval or setval beside a name that is computed from what changes meanwhile')
      if (made) return made.results
      if (count === 1) await this.#beforeFirst()
      const results = await this.#session.call(name, all)
      this.#made.push({ key, results })
      return results
    }
  }
}
