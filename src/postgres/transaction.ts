/**
 * The state of a transaction block, as drivers expect it. Ids and definitions take part in none: what rolls back is the
 * settings of the session.
 *
 * Invariants
 *  1. `status` is what ReadyForQuery says: I outside of a block, T in one, E in one that has failed.
 *  2. A block that has failed carries out only its end, or ROLLBACK TO a savepoint that is older than the error.
 *  3. The number of savepoints is bounded. What they take beyond that is known: `heldBytes`.
 */
import type { Cursors } from './cursors.ts'
import type { SessionSettings, SettingsMark } from './session-settings.ts'
import { SqlError } from './sql-error.ts'

const savepointsMax = 1000
/** About what a savepoint takes, and each character of its name, in bytes. */
const heldPer = Object.freeze({ savepoint: 320, character: 2 })

/** What takes part in transactions. */
export interface Transacted {
  readonly settings: SessionSettings
  readonly cursors: Cursors
  readonly portals: { clear(): void }
  notice(severity: 'WARNING', sqlState: string, message: string): void
}

/** What a transaction goes back to. */
type Mark = { readonly settings: SettingsMark; readonly closeOthers: () => void }
type Savepoint = Mark & { readonly name: string }

/** The transaction block of one session. */
export class Transaction {
  status: 'I' | 'T' | 'E' = 'I'
  readonly #session: Transacted
  /** Where the block began. */
  #start: Mark | undefined
  #savepoints: Savepoint[] = []

  constructor(session: Transacted) {
    this.#session = session
  }

  /** About how much memory the values take that it goes back to, and its savepoints, in bytes. */
  get heldBytes(): number {
    if (this.#start === undefined) return 0
    let { settings } = this.#start
    let bytes = settings.heldBytes
    for (const savepoint of this.#savepoints) {
      bytes += heldPer.savepoint + savepoint.name.length * heldPer.character
      // Savepoints between which nothing was set share their values.
      if (savepoint.settings.current !== settings.current) bytes += savepoint.settings.heldBytes
      settings = savepoint.settings
    }
    return bytes
  }

  /** BEGIN. */
  begin(): void {
    if (this.status !== 'I') return this.#warn('25001', 'there is already a transaction in progress')
    this.#start = this.#mark()
    this.status = 'T'
  }

  /** COMMIT. Returns the words of CommandComplete: a block that has failed is rolled back. */
  commit(chain: boolean): string {
    if (this.status === 'E') return this.rollback(chain)
    if (this.status === 'I') this.#outside(chain)
    else this.#session.cursors.endTransaction()
    this.#session.settings.endTransaction()
    this.#end(chain)
    return 'COMMIT'
  }

  /** ROLLBACK. */
  rollback(chain: boolean): string {
    if (this.status === 'I') this.#outside(chain)
    else this.#goBack(this.#start!)
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
    this.#savepoints.push({ name, ...this.#mark() })
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
    this.#goBack(this.#savepoints[index]!)
    this.#savepoints.length = index + 1
    this.status = 'T'
  }

  #outside(chain: boolean): void {
    if (chain) throw new SqlError('25P01', 'AND CHAIN can only be used in transaction blocks')
    this.#warn('25P01', 'there is no transaction in progress')
  }

  #warn(sqlState: string, message: string): void {
    this.#session.notice('WARNING', sqlState, message)
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

  #mark(): Mark {
    return { settings: this.#session.settings.mark(), closeOthers: this.#session.cursors.mark() }
  }

  #goBack({ settings, closeOthers }: Mark): void {
    this.#session.settings.restore(settings)
    closeOthers()
  }

  #end(chain: boolean): void {
    this.#session.portals.clear()
    this.status = 'I'
    this.#savepoints = []
    this.#start = undefined
    if (chain) this.begin()
  }
}
