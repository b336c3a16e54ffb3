/**
 * The state of a transaction block, as drivers expect it. Ids and definitions take part in none: what rolls back is the
 * settings of the session.
 *
 * Invariants
 *  1. `status` is what ReadyForQuery says: I outside of a block, T in one, E in one that has failed.
 *  2. A block that has failed goes on only by its end, or by ROLLBACK TO a savepoint of before the error.
 *  3. The number of savepoints is bounded.
 */
import type { Cursors } from './cursors.ts'
import type { SessionSettings } from './settings.ts'
import { SqlError } from './sql/sql-error.ts'

const savepointsMax = 1000

/** What a statement tells the client beside its result. */
export type Warn = (sqlState: string, message: string) => void

type Savepoint = { readonly name: string; readonly restore: () => void }

/** The transaction block of one session. */
export class Transaction {
  status: 'I' | 'T' | 'E' = 'I'
  readonly #settings: SessionSettings
  readonly #cursors: Cursors
  readonly #warn: Warn
  readonly #onEnd: () => void
  #restore = () => {}
  #savepoints: Savepoint[] = []

  /** @param onEnd called when a block has ended. */
  constructor(settings: SessionSettings, cursors: Cursors, warn: Warn, onEnd: () => void) {
    this.#settings = settings
    this.#cursors = cursors
    this.#warn = warn
    this.#onEnd = onEnd
  }

  /** BEGIN. */
  begin(): void {
    if (this.status !== 'I') return this.#warn('25001', 'there is already a transaction in progress')
    this.#restore = this.#mark()
    this.status = 'T'
  }

  /** COMMIT. Returns the words of CommandComplete: a block that has failed is rolled back. */
  commit(chain: boolean): string {
    if (this.status === 'E') return this.rollback(chain)
    if (this.status === 'I') this.#outside(chain)
    else this.#cursors.endTransaction()
    this.#settings.endTransaction()
    this.#end(chain)
    return 'COMMIT'
  }

  /** ROLLBACK. */
  rollback(chain: boolean): string {
    if (this.status === 'I') this.#outside(chain)
    else this.#restore()
    this.#end(chain)
    return 'ROLLBACK'
  }

  /** A statement has failed. */
  fail(): void {
    if (this.status === 'T') this.status = 'E'
  }

  /** SAVEPOINT. */
  save(name: string): void {
    this.#demandBlock('SAVEPOINT')
    if (this.#savepoints.length >= savepointsMax)
      throw new SqlError('54000', `a transaction has at most ${savepointsMax} savepoints; release some`)
    this.#savepoints.push({ name, restore: this.#mark() })
  }

  /** RELEASE SAVEPOINT. */
  release(name: string): void {
    this.#demandBlock('RELEASE SAVEPOINT')
    this.#savepoints.length = this.#find(name)
  }

  /** ROLLBACK TO SAVEPOINT. The savepoint stays. */
  rollbackTo(name: string): void {
    this.#demandBlock('ROLLBACK TO SAVEPOINT')
    const index = this.#find(name)
    this.#savepoints[index]!.restore()
    this.#savepoints.length = index + 1
    this.status = 'T'
  }

  #outside(chain: boolean): void {
    if (chain) throw new SqlError('25P01', 'AND CHAIN can only be used in transaction blocks')
    this.#warn('25P01', 'there is no transaction in progress')
  }

  #demandBlock(statement: string): void {
    if (this.status === 'I')
      throw new SqlError('25P01', `${statement} can only be used in transaction blocks`)
  }

  #find(name: string): number {
    const index = this.#savepoints.findLastIndex((each) => each.name === name)
    if (index < 0) throw new SqlError('3B001', `savepoint "${name}" does not exist`)
    return index
  }

  #mark(): () => void {
    const [settings, cursors] = [this.#settings.mark(), this.#cursors.mark()]
    return () => {
      settings()
      cursors()
    }
  }

  #end(chain: boolean): void {
    this.#onEnd()
    this.status = 'I'
    this.#savepoints = []
    this.#restore = () => {}
    if (chain) this.begin()
  }
}
