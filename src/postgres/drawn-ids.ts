/**
 * The newest id that a session has drawn from each generator: currval and lastval.
 *
 * Invariants
 *  1. Ids of other sessions do not count.
 *  2. At most `namesMax` generators are remembered, those that were drawn from last.
 */
import { Run } from '../ids/run.ts'
import { SqlError } from './sql-error.ts'

const namesMax = 1000

/** What a session has drawn. */
export class DrawnIds {
  /** The one that was drawn from last comes last. */
  readonly #newest = new Map<string, Run>()
  #newestName: string | undefined
  #last: Run | undefined

  /** The newest id of a generator, for the caller to fill at once. The generator is that of lastval from now on. */
  of(name: string): Run {
    this.#last = this.#newestOf(name)
    return this.#last
  }

  /** Remembers an id that setval has set: lastval stays. */
  move(name: string, id: bigint): void {
    this.#newestOf(name).setOne(id)
  }

  #newestOf(name: string): Run {
    let newest = this.#newest.get(name)
    if (newest !== undefined && name === this.#newestName) return newest
    if (newest !== undefined) this.#newest.delete(name)
    else if (this.#newest.size >= namesMax) this.#newest.delete(this.#newest.keys().next().value!)
    newest ??= new Run()
    this.#newest.set(name, newest)
    this.#newestName = name
    return newest
  }

  /** Forgets a generator that is dropped. */
  forget(name: string): void {
    if (this.#newest.get(name) === this.#last) this.#last = undefined
    this.#newest.delete(name)
  }

  /** currval. 55000 if the session has drawn none. */
  current(name: string): string {
    const newest = this.#newest.get(name)
    if (newest !== undefined) return newest.toString()
    throw new SqlError('55000', `currval of sequence "${name}" is not yet defined in this session`)
  }

  /** lastval. 55000 if the session has drawn no id. */
  get last(): string {
    if (this.#last !== undefined) return this.#last.toString()
    throw new SqlError('55000', 'lastval is not yet defined in this session')
  }

  /** Forgets every drawn id: DISCARD SEQUENCES. */
  clear(): void {
    this.#newest.clear()
    this.#newestName = undefined
    this.#last = undefined
  }
}
