/**
 * One connection to a store: one transaction at a time, and the operations in it.
 *
 * Invariants
 *  1. Every transaction that changed something counts one more commit and carries the time of its write.
 *  2. A failure before COMMIT has changed nothing; a failed COMMIT may have taken effect.
 *  3. An advance accepts only a file that was checked as a whole.
 *  4. The connection keeps its log open until `releaseLog`, so that no other file can get the log's inode number.
 */
import { randomUUID } from 'node:crypto'
import { closeSync, fstatSync, openSync, rmSync, statSync } from 'node:fs'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { describe, FahaoError } from '../../base/errors.ts'
import { versionJump } from '../advance-rules.ts'
import { admit, completed } from '../counter-rules.ts'
import type { Commit, First } from '../engine.ts'
import type { ChangePage, RecordState } from '../polled-watch.ts'
import { Counters, type HeldEnds } from './counters.ts'
import { type ConnectionOptions, isDamage, openDatabase } from './open-database.ts'
import { type LookedUpInThread, packLookedUp } from './packed-look-ups.ts'
import type { StorePosition } from './position-file.ts'
import { Records } from './records.ts'
import { prepare } from './schema.ts'
import type { StoreCheck } from './store-check.ts'
import type {
  CommittedInThread,
  FailureCode,
  Operation,
  OperationOutcome,
  Operations,
} from './thread-messages.ts'

type State = {
  readonly history: string
  readonly commits: bigint
  readonly revision: bigint
  readonly last_write_us: bigint
  /** The claim of the process that owns the store. */
  readonly owner: string | null
}

const none = 'none'
const unreadable = 'unreadable: '

/** One connection. */
export class StoreConnection {
  readonly counters: Counters
  /** Whether the file is undamaged. */
  readonly check: StoreCheck
  readonly #records: Records
  readonly #database: DatabaseSync
  readonly #file: string
  readonly #inode: string
  readonly #logInode: string
  #log: number | undefined
  readonly #select: StatementSync
  readonly #stamp: StatementSync
  readonly #own: StatementSync
  readonly #dataVersion: StatementSync
  #seenDataVersion: unknown
  /** The state within the present transaction. */
  #state: State
  #history = ''
  #owner: string | null = null
  #revision = 0n
  #changed = false
  #repaired: RecordState[] = []

  constructor(file: string, held: HeldEnds, options: ConnectionOptions) {
    const { database, check } = openDatabase(file, options)
    this.#database = database
    this.check = check
    this.#file = file
    this.#inode = inodeOf(file)
    this.counters = new Counters(database, held, check.confirm('counters').row)
    this.#records = new Records(database, check.confirm('records'))
    this.#select = prepare(database, 'SELECT history, commits, revision, last_write_us, owner FROM state')
    this.#stamp = prepare(
      database,
      'UPDATE state SET history = ?, commits = commits + 1, revision = ?, last_write_us = ?',
    )
    this.#own = prepare(database, 'UPDATE state SET owner = ?')
    this.#dataVersion = prepare(database, 'PRAGMA data_version')
    this.#state = this.#readState()
    this.#log = this.#openLog()
    this.#logInode = identity(fstatSync(this.#log, { bigint: true }))
  }

  /** The position that the last transaction for writing read, or left. */
  get position(): StorePosition {
    const { history, commits } = this.#state
    return { history, progress: { commits } }
  }

  /** The time of its newest write, in µs since 1970; undefined before the first. */
  get lastWriteUs(): number | undefined {
    return this.#state.last_write_us === 0n ? undefined : Number(this.#state.last_write_us)
  }

  /** Whether the open file, or its log, no longer has its name. */
  get replaced(): boolean {
    return this.fileReplaced || inodeOf(`${this.#file}-wal`) !== this.#logInode
  }

  /** Whether the open file no longer has its name. */
  get fileReplaced(): boolean {
    return inodeOf(this.#file) !== this.#inode
  }

  /** Whether both sessions opened the same file. */
  isSameFileAs(other: StoreConnection): boolean {
    return this.#inode === other.#inode
  }

  /** Begins a transaction; one for writing waits for those of other processes. */
  begin(writing: boolean): void {
    this.#database.exec(writing ? 'BEGIN IMMEDIATE' : 'BEGIN')
    this.#changed = false
    this.#repaired = []
    if (!writing) return
    this.#state = this.#readState()
    this.#history = this.#state.history
    this.#owner = this.#state.owner
    this.#revision = this.#state.revision
  }

  /** Whether the present transaction has changed anything. */
  get changed(): boolean {
    return this.#changed
  }

  /** The records that an advance in the present transaction has written. */
  get repaired(): readonly RecordState[] {
    return this.#repaired
  }

  /** Counts the commit, if the transaction has changed anything; the last step before `commit`. */
  stamp(nowUs: number): void {
    if (!this.#changed) return
    this.#stamp.run(this.#history, this.#revision, nowUs)
    this.#state = this.#readState()
  }

  /** Ends the transaction; durable when it returns. */
  commit(): void {
    this.#database.exec('COMMIT')
    this.counters.settle(true)
  }

  /** Rolls the transaction back, if SQLite has not done so by itself. */
  rollback(): void {
    this.counters.settle(false)
    if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
  }

  /** Raises bounds to the ends of what this process holds, within the transaction. */
  raiseToHeld(): void {
    if (this.counters.raiseToHeld() > 0) this.#changed = true
  }

  /** Moves the whole write-ahead log into the database and begins a new one. Throws if it cannot. */
  renewLog(): void {
    const { busy } = this.#database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()!
    if (busy !== 0) throw new FahaoError('UNAVAILABLE', 'another process keeps the write-ahead log in use')
  }

  /**
   * For a closed connection: if another file has got the name, removes the log that belongs to the file that was open, since
   * SQLite would apply it to the new file. A log that another process has begun for the new file stays.
   */
  discardLog(): void {
    if (this.#log === undefined) return
    const log = `${this.#file}-wal`
    const [fileNow, logNow] = [inodeOf(this.#file), inodeOf(log)]
    if (fileNow.startsWith(unreadable) || logNow.startsWith(unreadable)) return
    if (logNow === this.#logInode) {
      if (fileNow === this.#inode || fileNow === none) return
      rmSync(log, { force: true })
      rmSync(`${this.#file}-shm`, { force: true })
    }
    this.releaseLog()
  }

  /** Closes the connection, whatever state it is in. */
  close(): void {
    if (this.#database.isOpen) this.#database.close()
  }

  /** For a closed connection: closes its log, which frees the log's space, and discards nothing afterwards. */
  releaseLog(): void {
    if (this.#log !== undefined) closeSync(this.#log)
    this.#log = undefined
  }

  /** Carries out one operation. Throws what SQLite throws. */
  apply({ op, args }: Operation): OperationOutcome {
    try {
      return { value: Reflect.apply(this.#operations[op], undefined, args) }
    } catch (error) {
      if (!(error instanceof FahaoError) || isDamage(error)) throw error
      return { code: error.code as FailureCode, message: error.message }
    }
  }

  readonly #operations: Operations = {
    reserve: (counter, claim, size, floor, max, fence, incarnation) => {
      this.#refuseLater(claim)
      const reservation = this.counters.reserve(counter, { size, floor, max, fence, incarnation })
      this.#changed = true
      return reservation
    },
    release: (counter, version, from, fence, incarnation) => {
      const released = this.counters.release(counter, { version, from, fence, incarnation })
      this.#changed ||= released
      return released
    },
    transfer: (counter, from) => this.counters.transfer(counter, from),
    acquire: (counter, end) => this.counters.acquire(counter, end),
    counter: (name) => this.counters.read(name),
    advance: (gap, repaired, counters) => {
      if (repaired.some(({ key, expected }) => this.#records.read(key)?.version !== expected))
        return undefined
      this.check.finish()
      const raised = this.counters.advance(gap, counters)
      this.#history = randomUUID()
      this.#revision += versionJump
      this.#changed = true
      for (const { key, value, expected } of repaired)
        this.#repaired.push({ key, value, version: this.#write(key, value, expected)! })
      return raised
    },
    read: (key) => this.#records.read(key),
    list: (prefix, after, limit) => this.#records.list(prefix, after, limit),
    write: (key, value, expected) => this.#write(key, value, expected),
    lookUp: ({ firsts, keys, places }, claim) => {
      // Before anything is changed: what is thrown is the outcome of all names.
      if (firsts.some(({ reserve }) => reserve !== undefined)) this.#refuseLater(claim)
      for (const key of keys)
        if (this.counters.holds(key)) this.counters.refuseLost(key, this.counters.read(key).bound)
      return packLookedUp(keys.map((key, index) => this.#lookUp(key, firsts[places[index]!])))
    },
    commit: (commit, claim) => {
      if (commit.counter !== undefined) this.#refuseLater(claim)
      return this.#commit(commit)
    },
    revision: () => this.#currentRevision(),
    changes: (since) => this.#changes(since),
    own: (claim, over) => {
      if ((over ?? null) !== this.#owner) return false
      this.#own.run(claim)
      this.#owner = claim
      this.#changed = true
      return true
    },
    claim: () => this.#readState().owner ?? undefined,
  }

  /** Throws STALE unless this is still the claim of the store's owner, if there is one. */
  #refuseLater(claim: string | undefined): void {
    if (claim !== undefined && claim !== this.#owner)
      throw new FahaoError('STALE', 'another process has become the owner of the store; retry')
  }

  #lookUp(key: string, first: First | undefined): LookedUpInThread {
    const record = this.#records.read(key)
    if (record !== undefined || first === undefined) return { record, counter: this.counters.read(key) }
    const { value, reserve: request } = first
    if (request === undefined || this.counters.reserveFirst(key, request) === undefined) {
      const counter = this.counters.read(key)
      if (counter.version > 0n) return { record, counter }
      if (request !== undefined) {
        const range = admit(key, counter, completed(request))
        if (range instanceof FahaoError) return range
        this.counters.reserve(key, request)
      }
    }
    return this.#write(key, value, undefined)!
  }

  /** Compares all versions before it changes anything: the transaction may have other operations. */
  #commit({ records, counter }: Commit): CommittedInThread | undefined {
    if (records.some(({ key, expected }) => this.#records.read(key)?.version !== expected)) return undefined
    if (counter !== undefined && this.counters.read(counter.name).version !== counter.version)
      return undefined
    const reservation = counter && this.counters.reserve(counter.name, counter.request)
    this.#changed ||= counter !== undefined
    const versions = records.map(({ key, value, expected }) => this.#write(key, value, expected)!)
    return { versions, reservation }
  }

  #write(key: string, value: string | null, expected: bigint | undefined): bigint | undefined {
    const version = this.#revision + 1n
    if (!this.#records.write({ key, value, version }, expected)) return undefined
    this.#revision = version
    this.#changed = true
    return version
  }

  #changes(since: bigint): ChangePage {
    const { data_version } = this.#dataVersion.get()!
    // No other connection has committed since the last page; the engine has reported the writes of this one.
    if (data_version === this.#seenDataVersion && since > 0n)
      return { revision: this.#currentRevision(), records: [], more: false }
    const { records, more } = this.#records.since(since)
    if (!more) this.#seenDataVersion = data_version
    return { revision: more ? records.at(-1)!.version : this.#currentRevision(), records, more }
  }

  #currentRevision(): bigint {
    const { revision } = this.#readState()
    return revision > this.#revision ? revision : this.#revision
  }

  #openLog(): number {
    try {
      return openSync(`${this.#file}-wal`, 'r')
    } catch (error) {
      this.close()
      const reason = `the log of ${this.#file} cannot be read: ${describe(error)}; try again`
      throw new FahaoError('ENGINE', reason, { cause: error })
    }
  }

  #readState(): State {
    return this.#select.get() as State
  }
}

function identity({ dev, ino }: { dev: bigint; ino: bigint }): string {
  return `${dev}:${ino}`
}

function inodeOf(file: string): string {
  try {
    const found = statSync(file, { bigint: true, throwIfNoEntry: false })
    return found === undefined ? none : identity(found)
  } catch (error) {
    // Differs from every identity: the file is opened again once it can be read.
    return `${unreadable}${(error as NodeJS.ErrnoException).code}`
  }
}
