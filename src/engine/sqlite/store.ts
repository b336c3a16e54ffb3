/**
 * A store, through failures of its disk and replacements of its file. Synchronous: it runs in the thread of the store.
 *
 * Invariants
 *  1. An outcome is returned after its transaction is durable, and after a check that the open file still has the
 *     store's name, by which other processes open it.
 *  2. After a failed commit nothing is written until the file has been opened again with an empty write-ahead
 *     log and every bound is at or above the end of every range that this process reserved.
 *  3. While a regression is suspected, only `advance` changes the store; see ../regression.ts.
 *  4. The position file contains positions of the accepted history only, and of durable commits.
 *  5. Histories of a store in a file have no order. A later history is one that the position file confirms: an advance
 *     and a restore write it there.
 */
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
import { explain, isBusy } from './connection.ts'
import type { HeldEnds } from './counters.ts'
import { PositionFile, type StorePosition } from './position-file.ts'
import {
  type BatchOutcome,
  type FailureCode,
  isWrite,
  type Operation,
  type OperationOutcome,
} from './protocol.ts'
import { Session } from './session.ts'

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
  readonly #held: HeldEnds = new Map()
  #session: Session | undefined
  /** The previous session, closed; kept until the next one works. */
  #former: Session | undefined
  #check: RegressionCheck<StorePosition>
  /** Why the last transaction failed. */
  #failure: string | undefined

  /** Throws ENGINE with the remedy. */
  constructor(options: StoreOptions) {
    this.#options = options
    this.#positionFile = new PositionFile(options.file, options.clock)
    const { file, busyTimeoutMs, onConverted } = options
    const session = new Session(file, this.#held, { create: true, busyTimeoutMs, onConverted })
    this.#session = session
    session.begin(true)
    this.#check = { accepted: session.position, advances: 0 }
    this.#examine(session)
    session.commit()
    this.#progress(session)
    this.#positionFile.flush()
  }

  /** How many later histories have been accepted since it was opened. */
  get advances(): number {
    return this.#check.advances
  }

  /** The time of the newest write known at opening; undefined for a new store. */
  get lastWriteUs(): number | undefined {
    return this.#session?.lastWriteUs
  }

  /** The present trouble; undefined: none. */
  get trouble(): string | undefined {
    return this.#failure ?? this.#regression
  }

  /** Carries out operations in one transaction at this time. */
  run(operations: readonly Operation[], nowUs: number): BatchOutcome {
    const session = this.#session ?? this.#reopen(nowUs)
    if (session === undefined) return this.#fail(operations, 'UNAVAILABLE')
    const writing = operations.some(isWrite)
    let outcomes: OperationOutcome[]
    try {
      session.begin(writing)
      if (writing) this.#admit(session)
      outcomes = operations.map((operation) => this.#apply(session, operation))
      session.stamp(nowUs)
    } catch (error) {
      return this.#undo(session, operations, error)
    }
    const { changed, written } = session
    try {
      session.commit()
    } catch (error) {
      this.#abandon(session, explain(error, this.#options.file))
      return this.#fail(operations, changed ? 'UNKNOWN' : 'UNAVAILABLE')
    }
    if (session.replaced) {
      this.#abandon(
        session,
        `${this.#options.file} or its log was moved, replaced or removed while it was open`,
      )
      return this.#fail(operations, changed ? 'UNKNOWN' : 'UNAVAILABLE')
    }
    this.#failure = undefined
    if (changed && operations.some(({ op }) => op === 'advance')) {
      this.#check = accept(this.#check, session.position)
      this.#positionFile.begin(session.position)
    } else if (writing) this.#progress(session)
    return { outcomes, written }
  }

  /** Closes the file. */
  close(): void {
    this.#positionFile.flush()
    this.#session?.close()
    this.#session?.releaseLog()
    this.#former?.releaseLog()
  }

  #apply(session: Session, operation: Operation): OperationOutcome {
    if (operation.op === 'reserve') {
      const lost = session.counters.regression(operation.args[0])
      if (lost !== undefined) this.#check = suspect(this.#check, lost)
    }
    const regression = this.#regression
    if (operation.op === 'advance') {
      const ifRegressed = operation.args[3]
      return ifRegressed && regression === undefined ? { value: 0 } : session.apply(operation)
    }
    if (regression === undefined || !isWrite(operation)) return session.apply(operation)
    return { code: 'REGRESSED', message: regression }
  }

  get #regression(): string | undefined {
    const { suspected } = this.#check
    return suspected && describeRegression(this.#options.file, suspected.reason)
  }

  /** Checks the position that a transaction begins with; cheap when it is of the accepted history. */
  #admit(session: Session): void {
    const { accepted, suspected } = this.#check
    if (suspected !== undefined || regressionOf(session.position, accepted) !== undefined)
      this.#examine(session)
  }

  /** Compares the position also with the position file. */
  #examine(session: Session): void {
    const { position } = session
    const { accepted, suspected } = this.#check
    const confirmed = this.#positionFile.read()
    const isLater =
      confirmed?.history === position.history &&
      [accepted, suspected?.position].every((known) => known?.history !== position.history)
    const wrong =
      (confirmed && regressionOf(position, confirmed)) ??
      (isLater ? undefined : regressionOf(position, accepted))
    this.#check = observe(this.#check, { position, isLater, wrong }, this.#check)
    if (this.#check.suspected === undefined) session.raiseToHeld()
    else this.#positionFile.drop()
  }

  /** A transaction is durable. */
  #progress({ position }: Session): void {
    this.#check = observe(this.#check, { position, isLater: false, wrong: undefined }, this.#check)
    if (this.#check.suspected === undefined) this.#positionFile.note(position)
  }

  /** Opens the file again after a failure; undefined while that does not help. */
  #reopen(nowUs: number): Session | undefined {
    const { file, busyTimeoutMs } = this.#options
    let session: Session | undefined
    try {
      this.#former?.discardLog()
      session = new Session(file, this.#held, { create: false, busyTimeoutMs })
      // A file with a sound position may still lack reserves of other processes.
      if (this.#former !== undefined && !session.isSameFileAs(this.#former))
        this.#check = suspect(this.#check, 'it was replaced while it was open')
      session.renewLog()
      session.begin(true)
      this.#examine(session)
      session.stamp(nowUs)
      session.commit()
      this.#progress(session)
      this.#former?.releaseLog()
      this.#former = undefined
      this.#session = session
      return session
    } catch (error) {
      this.#abandon(session, explain(error, file))
      return undefined
    }
  }

  /** Handles a failure before COMMIT, which has changed nothing. */
  #undo(session: Session, operations: readonly Operation[], error: unknown): BatchOutcome {
    const reason = explain(error, this.#options.file)
    if (isBusy(error)) {
      this.#failure = reason
      session.rollback()
    } else {
      this.#abandon(session, reason)
    }
    return this.#fail(operations, 'UNAVAILABLE')
  }

  #abandon(session: Session | undefined, reason: string): void {
    this.#failure = reason
    if (session !== undefined) {
      this.#former?.releaseLog()
      this.#former = session
    }
    this.#session = undefined
    try {
      session?.rollback()
    } catch {
      // Closing rolls it back as well.
    }
    try {
      session?.close()
    } catch (error) {
      this.#failure = `${reason}; ${describe(error)}`
    }
  }

  #fail(operations: readonly Operation[], code: FailureCode): BatchOutcome {
    const message = this.#failure ?? 'the store has failed'
    const outcomes = operations.map(() => ({ code, message }))
    return { outcomes, written: [] }
  }
}
