/**
 * A store, through the failures of its disk and the mistakes of people. Synchronous: it lives in the worker thread.
 *
 * Invariants
 *  1. An outcome is told after its transaction is durable, and after the file that took it was seen to be the
 *     one that everybody else would open.
 *  2. After a failed commit nothing is written until the file has been opened anew with an empty write-ahead
 *     log and every bound stands at or above what this process was given.
 *  3. A store that is found to have forgotten changes nothing, whoever asks, until `advance`.
 *  4. The witness remembers durable commits of the accepted history only.
 */
import type { Clock } from '../../base/clock.ts'
import { describe } from '../../base/errors.ts'
import { explain, isBusy } from './connection.ts'
import type { Held } from './counters.ts'
import { type FailureCode, isWrite, type Operation, type Outcome } from './protocol.ts'
import { Session } from './session.ts'
import { type Position, regressionOf, Witness } from './witness.ts'

const remedy = "run 'fahao advance --by N' with more than what can have been reserved since"

/** Where the store is, and how it is opened. */
export type StoreOptions = {
  readonly file: string
  /** How long to wait for other processes' transactions. */
  readonly busyTimeoutMs: number
  readonly clock: Clock
}

/** See the invariants at the top of the file. */
export class Store {
  /** How many histories have been accepted since it was opened. */
  advances = 0
  readonly #options: StoreOptions
  readonly #witness: Witness
  /** Outlives connections. */
  readonly #held: Held = new Map()
  #session: Session | undefined
  /** The one before, closed; until the next one works. */
  #former: Session | undefined
  #seen: Position | undefined
  /** Why the last transaction failed. */
  #failure: string | undefined
  /** Why the store is not what it was. */
  #regressed: string | undefined
  /** A bound was seen below what this process holds, in a history that looks whole. */
  #forgotten: string | undefined

  /** Throws ENGINE with what to do. */
  constructor(options: StoreOptions) {
    this.#options = options
    this.#witness = new Witness(options.file, options.clock)
    const { file, busyTimeoutMs } = options
    this.#session = new Session(file, this.#held, { create: true, busyTimeoutMs })
    this.#session.begin(true)
    this.#examine(this.#session)
    this.#session.commit()
    this.#accept(this.#session)
    // The history that it was opened with is none that was accepted later.
    this.advances = 0
    this.#witness.flush()
  }

  /** When the newest write known at opening was made; undefined for a new store. */
  get lastWriteUs(): number | undefined {
    return this.#session?.lastWriteUs
  }

  /** Why it does not serve as it should now, if it does not. */
  get trouble(): string | undefined {
    return this.#failure ?? this.#regressed ?? this.#forgotten
  }

  /** Carries out operations in one transaction, stamped with the time; the outcomes are in the same order. */
  run(operations: readonly Operation[], nowUs: number): Outcome[] {
    const session = this.#session ?? this.#reopen(nowUs)
    if (session === undefined) return this.#fail(operations, 'UNAVAILABLE')
    const writing = operations.some(isWrite)
    let outcomes: Outcome[]
    try {
      session.begin(writing)
      if (writing) this.#admit(session)
      outcomes = operations.map((operation) => this.#apply(session, operation))
      session.stamp(nowUs)
    } catch (error) {
      return this.#undo(session, operations, error)
    }
    const { changed } = session
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
    if (changed && operations.some(({ op }) => op === 'advance')) this.#trust(session)
    if (writing) this.#accept(session)
    return outcomes
  }

  /** Lets go of the file. */
  close(): void {
    this.#witness.flush()
    this.#session?.close()
    this.#session?.forget()
    this.#former?.forget()
  }

  #apply(session: Session, operation: Operation): Outcome {
    if (operation.op === 'reserve') this.#forgotten ??= this.#regression(session, operation.counter)
    const regressed = this.#regressed ?? this.#forgotten
    if (operation.op === 'advance' && operation.ifRegressed && regressed === undefined)
      return { value: { raised: 0, records: [] } }
    if (regressed === undefined || operation.op === 'advance' || !isWrite(operation))
      return session.apply(operation)
    return { code: 'REGRESSED', message: regressed }
  }

  #regression(session: Session, counter: string): string | undefined {
    const reason = session.counters.regression(counter)
    return reason && `${this.#options.file} is not what it was: ${reason}; ${remedy}`
  }

  /** Looks whether this is the history that this process knows; cheap when it is. */
  #admit(session: Session): void {
    const { lineage, commits } = session.position
    const seen = this.#seen
    const doubted = this.#regressed !== undefined || this.#forgotten !== undefined
    if (doubted || seen?.lineage !== lineage || seen.commits > commits) this.#examine(session)
  }

  #examine(session: Session): void {
    const { file } = this.#options
    const reason = regressionOf(session.position, this.#seen, this.#witness.read())
    if (reason !== undefined) {
      this.#regressed = `${file} is not what it was: ${reason}; ${remedy}`
      this.#witness.drop()
      return
    }
    this.#regressed = undefined
    // A history that its witness vouches for, and that this process has not seen: somebody has advanced it.
    if (this.#seen !== undefined && this.#seen.lineage !== session.position.lineage)
      this.#forgotten = undefined
    if (this.#forgotten === undefined) session.raiseToHeld()
  }

  /** An advance has begun a new history. */
  #trust(session: Session): void {
    this.#regressed = undefined
    this.#forgotten = undefined
    this.#accept(session)
    this.#witness.begin(session.position)
  }

  #accept(session: Session): void {
    const { lineage, commits } = session.position
    if (this.#regressed !== undefined || this.#forgotten !== undefined) return
    const fresh = this.#seen?.lineage !== lineage || this.#seen.commits !== commits
    if (this.#seen?.lineage !== lineage) this.advances++
    this.#seen = { lineage, commits }
    if (fresh) this.#witness.offer(this.#seen)
  }

  /** Opens the file again after a failure; undefined while that does not help. */
  #reopen(nowUs: number): Session | undefined {
    const { file, busyTimeoutMs } = this.#options
    let session: Session | undefined
    try {
      this.#former?.discardLog()
      session = new Session(file, this.#held, { create: false, busyTimeoutMs })
      // Its history may look whole, and lack what other processes were given.
      if (this.#former !== undefined && !session.isSameFileAs(this.#former))
        this.#forgotten ??= `${file} is not what it was: it was replaced while it was open; ${remedy}`
      session.renewLog()
      session.begin(true)
      this.#examine(session)
      session.stamp(nowUs)
      session.commit()
      this.#accept(session)
      this.#former?.forget()
      this.#former = undefined
      this.#session = session
      return session
    } catch (error) {
      this.#abandon(session, explain(error, file))
      return undefined
    }
  }

  /** What failed before COMMIT has changed nothing. */
  #undo(session: Session, operations: readonly Operation[], error: unknown): Outcome[] {
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
      this.#former?.forget()
      this.#former = session
    }
    this.#session = undefined
    try {
      session?.rollback()
    } catch {
      // Closing undoes it as well.
    }
    try {
      session?.close()
    } catch (error) {
      this.#failure = `${reason}; ${describe(error)}`
    }
  }

  #fail(operations: readonly Operation[], code: FailureCode): Outcome[] {
    const message = this.#failure ?? 'the store has failed'
    return operations.map((operation) => ({ code: isWrite(operation) ? code : 'UNAVAILABLE', message }))
  }
}
