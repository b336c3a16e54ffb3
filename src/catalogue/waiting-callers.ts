/**
 * The callers of names that are being opened. Each leaves what it does with the generator, mostly a draw, and all that wait for
 * one name share one opening.
 *
 * Invariants
 *  1. Callers of one name are served in the order in which they came.
 *  2. While callers of a name wait, its generator is not open: the opening serves them in the very step in which it makes the
 *     generator visible.
 *  3. Each caller is served once, or refused once.
 *
 * Why ids of one name are in the order of the requests, although those of many names are opened together: a caller either waits
 * here, or finds the generator open. By 1 those who wait draw in their order. By 2 nothing runs between the moment at which the
 * generator can be found and the last of these draws, so a caller that finds it came after them and draws after them. A connection
 * starts its requests in their order, so this holds for its pipeline; and a request that was sent after a reply was received
 * comes after the caller of that reply has drawn (P3).
 */
import { assert } from '../base/assert.ts'
import type { OpenGenerator } from './open-generator.ts'

type Caller = {
  readonly use: (generator: OpenGenerator) => unknown
  readonly resolve: (value: unknown) => void
  readonly reject: (reason: unknown) => void
}

/** The callers of one catalogue. */
export class WaitingCallers {
  readonly #byName = new Map<string, Caller[]>()

  /** Whether a caller waits for this name. */
  has(name: string): boolean {
    return this.#byName.has(name)
  }

  /** How many callers wait for this name. */
  count(name: string): number {
    return this.#byName.get(name)?.length ?? 0
  }

  /** Waits for the generator. Resolves as `use` does. */
  join<Result>(name: string, use: (generator: OpenGenerator) => Result | Promise<Result>): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      const caller = { use, resolve: resolve as Caller['resolve'], reject }
      const others = this.#byName.get(name)
      if (others === undefined) this.#byName.set(name, [caller])
      else others.push(caller)
    })
  }

  /** The generator can be found from now on: passes it to all that wait for it. */
  serve(generator: OpenGenerator): void {
    for (const { use, resolve, reject } of this.#take(generator.name)) {
      try {
        resolve(use(generator))
      } catch (error) {
        reject(error)
      }
    }
  }

  /** Rejects all that wait for this name. */
  refuse(name: string, reason: unknown): void {
    for (const { reject } of this.#take(name)) reject(reason)
  }

  /** Throws where an invariant is broken. For tests. */
  assertInvariants(isOpen: (name: string) => boolean): void {
    for (const [name, callers] of this.#byName) {
      assert(callers.length > 0, 'a name is kept only while a caller waits for it')
      assert(!isOpen(name), 'no caller waits for a generator that is open')
    }
  }

  #take(name: string): readonly Caller[] {
    const callers = this.#byName.get(name) ?? []
    this.#byName.delete(name)
    return callers
  }
}
