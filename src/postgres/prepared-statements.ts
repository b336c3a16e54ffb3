/**
 * The prepared statements of one session: those of Parse and of PREPARE, by one set of names, as in PostgreSQL.
 *
 * Invariants
 *  1. `bytes` and `heldBytes` are the sums over the statements that are here, whichever way one was removed.
 *  2. They stay below the limits.
 */
import { SqlError } from './sql-error.ts'

/** What a prepared statement takes. */
type Sized = {
  /** The bytes of its message. */
  readonly bytes: number
  /** About how much memory it takes, in bytes. */
  readonly heldBytes: number
}

/** How many statements a session keeps, and the bytes of their messages together. */
export type PreparedLimits = { readonly statementsMax: number; readonly statementBytesMax: number }

/** The prepared statements of one session. */
export class PreparedStatements<Prepared extends Sized> {
  /** The bytes of the messages of all statements. */
  bytes = 0
  /** About how much memory all statements take, in bytes. */
  heldBytes = 0
  readonly #limits: PreparedLimits
  readonly #byName = new Map<string, Prepared>()
  readonly #all = new Set<Prepared>()

  constructor(limits: PreparedLimits) {
    this.#limits = limits
  }

  /** How many statements there are. */
  get size(): number {
    return this.#byName.size
  }

  /** The statement of this name. */
  get(name: string): Prepared | undefined {
    return this.#byName.get(name)
  }

  /** Whether this statement is one of them. */
  holds(statement: Prepared): boolean {
    return this.#all.has(statement)
  }

  /** Adds a statement. Throws 42P05 if the name is taken, 54000 above the limits. */
  add(name: string, statement: Prepared): void {
    if (this.#byName.has(name))
      throw new SqlError('42P05', `prepared statement "${name.slice(0, 64)}" already exists`)
    const { statementsMax, statementBytesMax } = this.#limits
    if (this.size >= statementsMax)
      throw new SqlError(
        '54000',
        `a connection keeps at most ${statementsMax} prepared statements; close some`,
      )
    if (this.bytes + statement.bytes > statementBytesMax)
      throw new SqlError(
        '54000',
        `the prepared statements of a connection have at most ${statementBytesMax} bytes together; close some`,
      )
    this.#byName.set(name, statement)
    this.#all.add(statement)
    this.bytes += statement.bytes
    this.heldBytes += statement.heldBytes
  }

  /** Removes a statement. Whether there was one. */
  delete(name: string): boolean {
    const statement = this.#byName.get(name)
    if (statement === undefined) return false
    this.#byName.delete(name)
    this.#all.delete(statement)
    this.bytes -= statement.bytes
    this.heldBytes -= statement.heldBytes
    return true
  }

  /** Removes all statements. */
  clear(): void {
    this.#byName.clear()
    this.#all.clear()
    this.bytes = 0
    this.heldBytes = 0
  }
}
