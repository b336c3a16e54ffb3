/** A limit of time for what is awaited. */
import type { Clock } from '../../src/base/clock.ts'
import { FahaoError } from '../../src/base/errors.ts'
import { onAbort } from '../../src/base/on-abort.ts'

/** Settles as `work` does, or rejects with UNAVAILABLE after `limitMs`; what `work` does afterwards is ignored. */
export function within<Result>(
  clock: Clock,
  limitMs: number,
  work: Promise<Result>,
  node: string,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = clock.timer(limitMs, () =>
      reject(
        new FahaoError(
          'UNAVAILABLE',
          `${node} has not answered within ${Math.round(limitMs)} ms; is it running?`,
        ),
      ),
    )
    work.then(resolve, reject).finally(() => timer.cancel())
  })
}

/**
 * Settles as `work` does, or rejects with the reason of `signal` at once when that is aborted. What `work` does afterwards is
 * ignored.
 */
export function unlessAborted<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
  if (signal.aborted) return Promise.reject(signal.reason)
  return new Promise((resolve, reject) => {
    const forget = onAbort(signal, reject)
    work().then(resolve, reject).finally(forget)
  })
}
