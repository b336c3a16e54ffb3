/** What ends with a test. */

/** Anything that calls back when it is over: a `TestContext`, `{ after }` of node:test for a whole file, a `Scope`. */
export interface Lifetime {
  after(callback: () => Promise<void>): void
}

const endings = new WeakMap<Lifetime, (() => unknown)[]>()

/** Calls back when `lifetime` is over, the latest first: a process ends before its folder goes. */
export function atEnd(lifetime: Lifetime, callback: () => unknown): void {
  const known = endings.get(lifetime)
  if (known) {
    known.push(callback)
    return
  }
  const callbacks = [callback]
  endings.set(lifetime, callbacks)
  lifetime.after(async () => {
    endings.delete(lifetime)
    for (const each of callbacks.reverse()) await each()
  })
}

/** A lifetime outside of node:test, for whole files and campaigns; `end()` it in the end, or use `inScope`. */
export class Scope implements Lifetime {
  readonly #callbacks: (() => Promise<void>)[] = []

  after(callback: () => Promise<void>): void {
    this.#callbacks.push(callback)
  }

  /** Ends what was started with it. */
  async end(): Promise<void> {
    for (const each of this.#callbacks.reverse()) await each()
  }
}

/** Runs `use`, and ends what it has started, after success, failure and interruption. */
export async function inScope<Result>(use: (scope: Scope) => Promise<Result>): Promise<Result> {
  const scope = new Scope()
  const interrupted = () => {
    void scope.end().finally(() => process.exit(130))
  }
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted)
  try {
    return await use(scope)
  } finally {
    process.off('SIGINT', interrupted).off('SIGTERM', interrupted)
    await scope.end()
  }
}
