/**
 * The prepared statements of one session: those of Parse and of PREPARE, by one set of names, as in PostgreSQL.
 *
 * Invariants
 *  1. `bytes` and `heldBytes` are the sums over the statements that are here, whichever way one was removed.
 */

/** What a prepared statement takes. */
type Sized = {
  /** The bytes of its message. */
  readonly bytes: number
  /** About how much memory it takes, in bytes: little if its text is cached, and so shared. */
  readonly heldBytes: number
}

/** The prepared statements of one session. Names are kept as Latin-1: each character is a byte. */
export class PreparedStatements<Prepared extends Sized> {
  /** The bytes of their messages together. */
  bytes = 0
  /** About how much memory they take together, in bytes. */
  heldBytes = 0
  readonly #byName = new Map<string, Prepared>()

  /** How many there are. */
  get size(): number {
    return this.#byName.size
  }

  /** The statement of this name. */
  get(name: string): Prepared | undefined {
    return this.#byName.get(name)
  }

  /** Adds a statement, in the place of one with the same name. */
  set(name: string, statement: Prepared): void {
    this.delete(name)
    this.#byName.set(name, statement)
    this.bytes += statement.bytes
    this.heldBytes += statement.heldBytes
  }

  /** Removes a statement. Whether there was one. */
  delete(name: string): boolean {
    const statement = this.#byName.get(name)
    if (statement === undefined) return false
    this.#byName.delete(name)
    this.bytes -= statement.bytes
    this.heldBytes -= statement.heldBytes
    return true
  }

  /** Removes all statements. */
  clear(): void {
    this.#byName.clear()
    this.bytes = 0
    this.heldBytes = 0
  }
}
