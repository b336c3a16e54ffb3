/**
 * The only file that uses the machine's clocks, timers and randomness. All other code takes a `Clock` and a `Random`,
 * so that tests and the simulation control time.
 */

/** A pending timer. */
export interface Timer {
  /** Cancels the timer; does nothing once it has fired. */
  cancel(): void
}

/** Two clocks and a timer. Times are numbers of microseconds: exact in a double for 285 years. */
export interface Clock {
  /** Wall time since 1970-01-01T00:00:00Z, in µs. May jump either way at any moment. */
  wallUs(): number
  /** Time since an arbitrary start, in µs. Never decreases; does not advance while the machine is suspended. */
  monoUs(): number
  /**
   * Calls back once after `delayMs`, or after 24 days if that is sooner.
   * @param keepsAlive whether the process stays alive until then; default: it does not.
   */
  timer(delayMs: number, callback: () => void, keepsAlive?: boolean): Timer
}

/** A number in [0, 1). Not for secrets. */
export type Random = () => number

/** `setTimeout` fires at once when the delay is longer. */
const delayMaxMs = 2 ** 31 - 1

/** The machine's clocks and timers. */
export const systemClock: Clock = Object.freeze({
  wallUs: () => Date.now() * 1000,
  monoUs: () => performance.now() * 1000,
  timer(delayMs: number, callback: () => void, keepsAlive = false): Timer {
    const handle = setTimeout(callback, Math.min(delayMs, delayMaxMs))
    // In a browser the handle is a number and there is nothing to unref.
    if (!keepsAlive && typeof handle === 'object') handle.unref()
    return { cancel: () => clearTimeout(handle) }
  },
})

/** Keeps the process alive until it is cancelled. */
export function stayAlive(): Timer {
  const handle = setInterval(() => {}, delayMaxMs)
  return { cancel: () => clearInterval(handle) }
}

/** The machine's pseudo-random numbers. */
export const systemRandom: Random = Math.random

/** Random bytes for salts, keys and secrets. */
export function secretBytes(length: number): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(length))
}

/**
 * Runs `work` again and again, each time `pauseMs` after the last run has settled, until the timer is cancelled. A failure
 * does not end it.
 */
export function repeat(clock: Clock, pauseMs: number, work: () => Promise<unknown>): Timer {
  let isCancelled = false
  let pause: Timer
  const schedule = () => {
    pause = clock.timer(pauseMs, () => {
      work()
        .catch(() => {})
        .finally(() => isCancelled || schedule())
    })
  }
  schedule()
  return {
    cancel() {
      isCancelled = true
      pause.cancel()
    },
  }
}

/** A function that has `work` run at the end of this callback of the event loop: once, however often it is called. */
export function atEndOfCallback(work: () => void): () => void {
  let isAsked = false
  const run = () => {
    isAsked = false
    work()
  }
  return () => {
    if (isAsked) return
    isAsked = true
    queueMicrotask(run)
  }
}

/** Resolves after `delayMs` on this clock. */
export function sleep(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.timer(delayMs, resolve)
  })
}
