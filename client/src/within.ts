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

/** Settles as `work` does, or rejects with ABORTED at once when `signal` is aborted; what `work` does afterwards is ignored. */
export function unlessAborted<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
  if (signal.aborted) return Promise.reject(aborted())
  return new Promise((resolve, reject) => {
    const forget = onAbort(signal, () => reject(aborted()))
    work().then(resolve, reject).finally(forget)
  })
}

/** The error of a call whose signal was aborted. */
export function aborted(): FahaoError {
  return new FahaoError('ABORTED', 'the caller stopped waiting')
}
