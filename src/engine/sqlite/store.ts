/**
 * The store itself: counters and records in one SQLite file, synchronous. Lives in the worker thread.
 *
 * Invariants
 *  1. A batch is one transaction: every operation of it is durable when `run` returns, or none is.
 *  2. A transaction that failed before its COMMIT changed nothing; one that failed in its COMMIT may have been
 *     carried out, now or by a recovery after a crash: every write of it is UNKNOWN.
 *  3. After a failed COMMIT nothing is written until the file has been opened anew, with a fresh write-ahead
 *     log, and every bound has been raised above the highest end that this process was given.
 *  4. Nothing is reserved while the store is known to have forgotten acknowledged writes (REGRESSED).
 */
import { randomUUID } from 'node:crypto'
import { statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { describe, FahaoError } from '../../base/errors.ts'
import type { Reservation } from '../engine.ts'
import { Counters } from './counters.ts'
import { type FailureCode, isWrite, type Operation, type Outcome, type Value } from './protocol.ts'
import { Records } from './records.ts'
import { prepareSchema } from './schema.ts'
import { type Progress, Witness } from './witness.ts'

/** What concerns the file itself. */
type StoreOperation = Exclude<Operation, { op: 'own' }>

/** An open file, and which file it is. */
type Opened = {
  readonly database: DatabaseSync
  readonly counters: Counters
  readonly records: Records
  readonly inode: bigint
}

/** A stored state row. */
type State = Progress & { readonly last_write_us: bigint }

const lookEveryUs = 1_000_000n

/** See the invariants at the top of the file. */
export class SqliteStore {
  readonly #file: string
  readonly #busyTimeoutMs: number
  readonly #nowUs: () => bigint
  readonly #witness: Witness
  /** Highest end that this process was given of each counter. */
  readonly #held = new Map<string, bigint>()
  /** Commits that this process has seen. */
  #seenCommits = 0n
  #opened: Opened | undefined
  #regressed: string | undefined
  #trouble: string | undefined
  #lookedUs = 0n

  /** Opens or creates the file. Throws ENGINE. `nowUs`: the wall clock. */
  constructor(file: string, busyTimeoutMs: number, nowUs: () => bigint) {
    this.#file = file
    this.#busyTimeoutMs = busyTimeoutMs
    this.#nowUs = nowUs
    this.#witness = new Witness(file)
    this.#opened = this.#open()
    const state = this.#state(this.#opened)
    this.#regressed = this.#witness.objection(state)
    this.#seenCommits = state.commits
    this.#remember(state)
  }

  /** When the newest write was made, by its writer's clock; undefined in a new store. */
  get lastWriteUs(): number | undefined {
    const lastUs = Number(this.#state(this.#opened!).last_write_us)
    return lastUs === 0 ? undefined : lastUs
  }

  /** Why the store does not work as it should, if it does not. */
  get trouble(): string | undefined {
    return this.#trouble ?? this.#regressed
  }

  /** Carries out a batch in one transaction. */
  run(operations: readonly StoreOperation[]): Outcome[] {
    const writes = operations.some(isWrite)
    let committing = false
    try {
      this.#opened ??= this.#reopen()
      const { database } = this.#opened
      database.exec(writes ? 'BEGIN IMMEDIATE' : 'BEGIN')
      const state = this.#state(this.#opened)
      this.#notice(state)
      const outcomes = operations.map((operation) => this.#outcome(this.#opened!, operation))
      if (writes) this.#stamp(database)
      committing = writes
      database.exec('COMMIT')
      this.#trouble = undefined
      if (writes) this.#committed(operations, outcomes)
      return outcomes
    } catch (error) {
      return this.#failed(operations, error, committing)
    }
  }

  /** Lets go of the file. */
  close(): void {
    if (this.#opened === undefined) return
    try {
      this.#remember(this.#state(this.#opened))
      this.#opened.database.close()
    } catch {
      // What is durable is durable; a store that cannot be closed cleanly recovers when it is opened.
    }
    this.#opened = undefined
  }

  #open(): Opened {
    const database = new DatabaseSync(this.#file, { readBigInts: true, timeout: this.#busyTimeoutMs })
    try {
      // FULL: the log is synced at every commit, so that an acknowledged bound survives a power cut.
      database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
      prepareSchema(database, this.#file, randomUUID())
      const { ino: inode } = statSync(this.#file, { bigint: true })
      return { database, counters: new Counters(database), records: new Records(database), inode }
    } catch (error) {
      database.close()
      throw error
    }
  }

  /** Opens anew after a failed commit. See invariant 3. */
  #reopen(): Opened {
    const opened = this.#open()
    const { database, counters } = opened
    try {
      database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
      database.exec('BEGIN IMMEDIATE')
      for (const [name, end] of this.#held) counters.raise(name, end)
      this.#stamp(database)
      database.exec('COMMIT')
      this.#seenCommits = this.#state(opened).commits
      return opened
    } catch (error) {
      closeQuietly(database)
      throw error
    }
  }

  #state({ database }: Opened): State {
    return database
      .prepare('SELECT installation, commits, last_write_us FROM state')
      .get() as unknown as State
  }

  /** Notices what has been forgotten since the last look. */
  #notice(state: State): void {
    if (state.commits >= this.#seenCommits) {
      if (
        this.#regressed !== undefined &&
        this.#witness.objection(state) === undefined &&
        !this.#replaced()
      ) {
        this.#regressed = undefined
      }
      this.#seenCommits = state.commits
    } else {
      this.#regressed ??= `it has forgotten ${this.#seenCommits - state.commits} writes while this process ran: run fahao advance`
    }
    const nowUs = this.#nowUs()
    if (nowUs - this.#lookedUs < lookEveryUs && nowUs >= this.#lookedUs) return
    this.#lookedUs = nowUs
    if (this.#replaced())
      this.#regressed = `another file was put in the place of ${this.#file}: restart this process`
    this.#remember(state)
  }

  /** Whether the path leads to another file than the open one. */
  #replaced(): boolean {
    try {
      return statSync(this.#file, { bigint: true }).ino !== this.#opened?.inode
    } catch {
      return true
    }
  }

  #remember(state: State): void {
    if (this.#regressed === undefined) this.#witness.remember(state)
  }

  #stamp(database: DatabaseSync): void {
    database
      .prepare('UPDATE state SET commits = commits + 1, last_write_us = max(last_write_us, ?)')
      .run(this.#nowUs())
  }

  #outcome(opened: Opened, operation: StoreOperation): Outcome {
    try {
      return { value: this.#carryOut(opened, operation) }
    } catch (error) {
      // A refusal concerns one operation, and changed nothing; anything else ends the whole transaction.
      if (!(error instanceof FahaoError)) throw error
      return { code: error.code as FailureCode, message: error.message }
    }
  }

  #carryOut({ counters, records }: Opened, operation: StoreOperation): Value {
    switch (operation.op) {
      case 'reserve':
        this.#refuseRegressed(operation.counter, counters)
        return counters.reserve(operation.counter, operation.request)
      case 'release': {
        const { counter, version, from, fence, incarnation } = operation
        return counters.release(counter, version, from, fence, incarnation)
      }
      case 'counter':
        return counters.read(operation.counter)
      case 'advance':
        return this.#advance(counters, operation.gap)
      case 'read':
        return records.read(operation.key)
      case 'list':
        return records.list(operation.prefix, operation.after, operation.limit)
      case 'write':
        return records.write(operation.key, operation.value, operation.expected)
      case 'remove':
        return records.remove(operation.key, operation.expected)
      case 'changes':
        return records.changes(operation.since)
    }
  }

  #refuseRegressed(name: string, counters: Counters): void {
    const held = this.#held.get(name)
    if (held !== undefined && counters.read(name).bound < held) {
      this.#regressed ??= `the bound of '${name}' has gone back: run fahao advance`
    }
    if (this.#regressed === undefined) return
    throw new FahaoError('REGRESSED', `the store ${this.#file} cannot be trusted: ${this.#regressed}`)
  }

  #advance(counters: Counters, gap: bigint): number {
    if (this.#replaced())
      throw new FahaoError(
        'UNAVAILABLE',
        `another file was put in the place of ${this.#file}: restart this process first`,
      )
    const raised = counters.advance(gap)
    // What this process holds is a floor too, and the count of commits must not fall behind what was seen.
    for (const [name, end] of this.#held) counters.raise(name, end)
    const seen = this.#seenCommits > this.#witness.commits ? this.#seenCommits : this.#witness.commits
    this.#opened!.database.prepare('UPDATE state SET commits = max(commits, ?)').run(seen)
    return raised
  }

  /** Takes note of what the transaction that is durable now has opened and given back. */
  #committed(operations: readonly Operation[], outcomes: readonly Outcome[]): void {
    this.#seenCommits = this.#state(this.#opened!).commits
    operations.forEach((operation, index) => {
      const outcome = outcomes[index]!
      if (!('value' in outcome)) return
      if (operation.op === 'reserve') this.#held.set(operation.counter, (outcome.value as Reservation).end)
      if (operation.op === 'release' && outcome.value === true)
        this.#held.set(operation.counter, operation.from)
      if (operation.op === 'advance') {
        this.#regressed = undefined
        this.#witness.remember(this.#state(this.#opened!))
      }
    })
  }

  #failed(operations: readonly Operation[], error: unknown, committing: boolean): Outcome[] {
    const message = `the store ${this.#file} failed: ${describe(error)}`
    this.#trouble = message
    if (committing || !this.#rolledBack()) {
      closeQuietly(this.#opened?.database)
      this.#opened = undefined
    }
    return operations.map((operation) => ({
      code: committing && isWrite(operation) ? 'UNKNOWN' : 'UNAVAILABLE',
      message,
    }))
  }

  #rolledBack(): boolean {
    try {
      if (this.#opened?.database.isTransaction) this.#opened.database.exec('ROLLBACK')
      return true
    } catch {
      return false
    }
  }
}

function closeQuietly(database: DatabaseSync | undefined): void {
  try {
    database?.close()
  } catch {
    // The file is opened anew, whatever became of this handle.
  }
}
