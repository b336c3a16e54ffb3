/** Runs the steps of a plan: with pauses, so that others run between them, or without. */
import type { Budget } from './budget.ts'
import { Missing, type Steps } from './plan.ts'

/** Lets others run. */
export type Pause = () => Promise<void>

/** Runs steps to their end, and lets others run whenever they pause. */
export async function runSteps<T>(steps: Steps<T>, budget: Budget, pause: Pause): Promise<T> {
  let sent: unknown
  for (;;) {
    const { done, value } = steps.next(sent)
    if (done) return value
    sent = await (value ?? pause())
    budget.resume()
  }
}

/** Runs steps to their end without a pause. Throws `Missing` when they have to wait. */
export function drainSteps<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
    if (value) throw new Missing(value)
  }
}
