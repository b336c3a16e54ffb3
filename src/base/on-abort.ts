/**
 * Observers of an AbortSignal, any number behind one listener: to add or remove a listener takes a signal as long as it has
 * listeners, and a client may wait with one signal in tens of thousands of calls.
 *
 * Invariants
 *  1. A signal has one listener of this module while it has observers, and none otherwise: a listener keeps some signals in memory.
 *  2. An observer is called at most once, and not after it was removed.
 */

type Observer = (reason: unknown) => void
type Observed = { readonly observers: Set<Observer>; readonly listener: () => void }

const observed = new WeakMap<AbortSignal, Observed>()

/**
 * Calls `act` with the signal's reason when it is aborted, in the order of these calls; never at once, so look at `aborted` first.
 * Returns what ends that.
 */
export function onAbort(signal: AbortSignal | undefined, act: Observer): () => void {
  if (signal === undefined) return () => {}
  const { observers, listener } = observed.get(signal) ?? observe(signal)
  const observer: Observer = (reason) => act(reason)
  observers.add(observer)
  return () => {
    if (!observers.delete(observer) || observers.size > 0) return
    observed.delete(signal)
    signal.removeEventListener('abort', listener)
  }
}

function observe(signal: AbortSignal): Observed {
  const observers = new Set<Observer>()
  const listener = () => {
    observed.delete(signal)
    for (const observer of observers) {
      observers.delete(observer)
      observer(signal.reason)
    }
  }
  const all = { observers, listener }
  observed.set(signal, all)
  signal.addEventListener('abort', listener, { once: true })
  return all
}
