/**
 * Which statement the number −1 means: MariaDB's clients execute a statement by it before they know its own number
 * (`find_prepared_statement` in MariaDB's `sql/sql_prepare.cc`).
 *
 * Invariants
 *  1. −1 means the statement that the client has prepared last. If the proxy or the server has refused that one, −1 means none.
 *  2. −1 is replaced where the server would take it for another statement: after a PREPARE that the server has not
 *     received, and after one of the proxy.
 */

/** −1. */
export const newestStatement = 0xffff_ffff
/** No statement has this number: those of MariaDB have 31 bits. */
const noStatement = 0xffff_fffe

/** What −1 means on one connection. */
export class NewestStatement {
  #isReplaced = false
  /** Whether the client's newest statement, if it has one, was sent to the server. */
  #isSent = false
  #number = noStatement

  /** The client's newest statement is on its way to the server. */
  sent(): void {
    this.#isReplaced = false
    this.#isSent = true
    this.#number = noStatement
  }

  /** The server has numbered the statement of the client that it has received last, or has refused it. */
  answered(number: number | undefined): void {
    if (this.#isSent) this.#number = number ?? noStatement
  }

  /** The client's newest statement was refused by the proxy, or is forgotten. */
  none(): void {
    this.#isReplaced = true
    this.#isSent = false
    this.#number = noStatement
  }

  /**
   * The proxy prepares a statement. The client's next command is sent after the reply: then the client's newest
   * statement has been answered.
   */
  asked(): void {
    this.#isReplaced = true
  }

  /** The number by which the server knows the statement. */
  numberOf(statement: number): number {
    return statement === newestStatement && this.#isReplaced ? this.#number : statement
  }
}
