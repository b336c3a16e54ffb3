/**
 * A store, through failures of its disk and replacements of its file. Synchronous: it runs in the thread of the store.
 *
 * Invariants
 *  1. An outcome is returned after its transaction is durable, and after a check that the open file still has the
 *     store's name, by which other processes open it.
 *  2. A file that was found damaged is neither read nor written again.
 *  3. After a failed commit nothing is written until the file has been opened again with an empty write-ahead
 *     log and every bound is at or above the end of every range that this process reserved.
 *  4. While a regression is suspected, only `advance` changes the store; see ../regression.ts.
 *  5. The position file contains positions of the accepted history only, and of durable commits.
 *  6. Histories of a store in a file have no order. A later history is one that the position file confirms: an advance
 *     and a restore write it there.
 */
import { BoundsByName } from '../../base/bounds-by-name.ts'
import type { Clock } from '../../base/clock.ts'
import { describe } from '../../base/errors.ts'
import {
  accept,
  describeRegression,
  observe,
  type RegressionCheck,
  regressionOf,
  suspect,
} from '../regression.ts'
import type { HeldEnds } from './counters.ts'
import { explain, isBusy, isDamage } from './open-database.ts'
import { PositionFile, type StorePosition } from './position-file.ts'
import { StoreConnection } from './store-connection.ts'
import {
  type BatchOutcome,
  type FailureCode,
  isWrite,
  type Operation,
  type OperationOutcome,
} from './thread-messages.ts'

/** The file of a store, and the options of its connections. */
export type StoreOptions = {
  readonly file: string
  /** The time to wait for other processes' transactions. */
  readonly busyTimeoutMs: number
  readonly clock: Clock
  /** Is told that the tables of an earlier version were converted. */
  readonly onConverted?: (message: string) => void
}

/** One store, which is opened again after failures. */
export class Store {
  readonly #options: StoreOptions
  readonly #positionFile: PositionFile
  /** Outlives connections. */
  readonly #held: HeldEnds = new BoundsByName()
  #connection: StoreConnection | undefined
  /** The previous connection, closed; kept until the next one works. */
  #former: StoreConnection | undefined
  #check: RegressionCheck<StorePosition>
  /** Why the last transaction failed. */
  #failure: string | undefined
  /** Whether the file of `#former` is damaged. */
  #isDamaged = false

  /** Throws ENGINE with the remedy. */
  constructor(options: StoreOptions) {
    this.#options = options
    this.#positionFile = new PositionFile(options.file, options.clock)
    const { file, busyTimeoutMs, onConverted } = options
    const connection = new StoreConnection(file, this.#held, { create: true, busyTimeoutMs, onConverted })
    this.#connection = connection
    connection.begin(true)
    this.#check = { accepted: connection.position, advances: 0 }
    this.#examine(connection)
    connection.commit()
    this.#progress(connection)
    this.#positionFile.flush()
  }

  /** How many later histories have been accepted since it was opened. */
  get advances(): number {
    return this.#check.advances
  }

  /** The time of the newest write known at opening; undefined for a new store. */
  get lastWriteUs(): number | undefined {
    return this.#connection?.lastWriteUs
  }

  /** The present trouble; undefined: none. */
  get trouble(): string | undefined {
    return this.#failure ?? this.#regression
  }

  /** Reads the next part of a large file for damage, and returns whether there is more to read. */
  check(): boolean {
    const connection = this.#connection
    if (connection === undefined || connection.check.isDone) return false
    try {
      connection.check.next()
    } catch (error) {
      this.#abandon(connection, explain(error, this.#options.file), isDamage(error))
    }
    return this.#connection?.check.isDone === false
  }

  /** Carries out operations in one transaction at this time. */
  run(operations: readonly Operation[], nowUs: number): BatchOutcome {
    const connection = this.#connection ?? this.#reopen(nowUs)
    if (connection === undefined) return this.#fail(operations, 'UNAVAILABLE')
    const writing = operations.some(isWrite)
    let outcomes: OperationOutcome[]
    try {
      connection.begin(writing)
      if (writing) this.#admit(connection)
      outcomes = operations.map((operation) => this.#apply(connection, operation))
      connection.stamp(nowUs)
    } catch (error) {
      return this.#undo(connection, operations, error)
    }
    const { changed, repaired } = connection
    try {
      connection.commit()
    } catch (error) {
      this.#abandon(connection, explain(error, this.#options.file))
      return this.#fail(operations, changed ? 'UNKNOWN' : 'UNAVAILABLE')
    }
    if (connection.replaced) {
      this.#abandon(
        connection,
        `${this.#options.file} or its log was moved, replaced or removed while it was open`,
      )
      return this.#fail(operations, changed ? 'UNKNOWN' : 'UNAVAILABLE')
    }
    this.#failure = undefined
    if (changed && operations.some(({ op }) => op === 'advance')) {
      this.#check = accept(this.#check, connection.position)
      this.#positionFile.begin(connection.position)
    } else if (writing) this.#progress(connection)
    return { outcomes, repaired }
  }

  /** Closes the file. */
  close(): void {
    this.#positionFile.flush()
    this.#connection?.close()
    this.#connection?.releaseLog()
    this.#former?.releaseLog()
  }

  #apply(connection: StoreConnection, operation: Operation): OperationOutcome {
    const regression = this.#regression
    if (operation.op === 'advance') {
      const ifRegressed = operation.args[3]
      return ifRegressed && regression === undefined ? { value: 0 } : connection.apply(operation)
    }
    if (regression !== undefined && isWrite(operation)) return { code: 'REGRESSED', message: regression }
    const outcome = connection.apply(operation)
    if (!('code' in outcome) || outcome.code !== 'REGRESSED') return outcome
    this.#check = suspect(this.#check, outcome.message)
    return { code: 'REGRESSED', message: this.#regression! }
  }

  get #regression(): string | undefined {
    const { suspected } = this.#check
    return suspected && describeRegression(this.#options.file, suspected.reason)
  }

  /** Checks the position that a transaction begins with; cheap when it is of the accepted history. */
  #admit(connection: StoreConnection): void {
    const { accepted, suspected } = this.#check
    if (suspected !== undefined || regressionOf(connection.position, accepted) !== undefined)
      this.#examine(connection)
  }

  /** Compares the position also with the position file. */
  #examine(connection: StoreConnection): void {
    const { position } = connection
    const { accepted, suspected } = this.#check
    const confirmed = this.#positionFile.read()
    const isLater =
      confirmed?.history === position.history &&
      [accepted, suspected?.position].every((known) => known?.history !== position.history)
    const wrong =
      (confirmed && regressionOf(position, confirmed)) ??
      (isLater ? undefined : regressionOf(position, accepted))
    this.#check = observe(this.#check, { position, isLater, wrong }, this.#check)
    if (this.#check.suspected === undefined) connection.raiseToHeld()
    else this.#positionFile.drop()
  }

  /** A transaction is durable. */
  #progress({ position }: StoreConnection): void {
    this.#check = observe(this.#check, { position, isLater: false, wrong: undefined }, this.#check)
    if (this.#check.suspected === undefined) this.#positionFile.note(position)
  }

  /** Opens the file again after a failure; undefined while that does not help. */
  #reopen(nowUs: number): StoreConnection | undefined {
    const { file, busyTimeoutMs } = this.#options
    if (this.#isDamaged && !this.#former!.fileReplaced) return undefined
    this.#isDamaged = false
    let connection: StoreConnection | undefined
    try {
      this.#former?.discardLog()
      connection = new StoreConnection(file, this.#held, { create: false, busyTimeoutMs })
      // A file with a sound position may still lack reserves of other processes.
      if (this.#former !== undefined && !connection.isSameFileAs(this.#former))
        this.#check = suspect(this.#check, 'it was replaced while it was open')
      connection.renewLog()
      connection.begin(true)
      this.#examine(connection)
      connection.stamp(nowUs)
      connection.commit()
      this.#progress(connection)
      this.#former?.releaseLog()
      this.#former = undefined
      this.#connection = connection
      return connection
    } catch (error) {
      this.#abandon(connection, explain(error, file), connection !== undefined && isDamage(error))
      return undefined
    }
  }

  /** Handles a failure before COMMIT, which has changed nothing. */
  #undo(connection: StoreConnection, operations: readonly Operation[], error: unknown): BatchOutcome {
    const reason = explain(error, this.#options.file)
    if (isBusy(error)) {
      this.#failure = reason
      connection.rollback()
    } else {
      this.#abandon(connection, reason, isDamage(error))
    }
    return this.#fail(operations, 'UNAVAILABLE')
  }

  #abandon(connection: StoreConnection | undefined, reason: string, isDamaged = false): void {
    this.#failure = reason
    this.#isDamaged = isDamaged
    if (connection !== undefined) {
      this.#former?.releaseLog()
      this.#former = connection
    }
    this.#connection = undefined
    try {
      connection?.rollback()
    } catch {
      // Closing rolls it back as well.
    }
    try {
      connection?.close()
    } catch (error) {
      this.#failure = `${reason}; ${describe(error)}`
    }
  }

  #fail(operations: readonly Operation[], code: FailureCode): BatchOutcome {
    const message = this.#failure ?? 'the store has failed'
    const outcomes = operations.map(() => ({ code, message }))
    return { outcomes, repaired: [] }
  }
}
