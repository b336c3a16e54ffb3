/**
 * Who owns a store: a lock that the operating system takes back from a process that dies.
 *
 * The lock file is an empty SQLite database that nobody ever writes to; SQLite's own file locks on it are what
 * counts. The owner keeps a RESERVED lock for life, everybody else who has the store open a SHARED one, and a
 * restore needs EXCLUSIVE: it gets it only when nobody has the store open.
 *
 * Invariants
 *  1. At most one connection, over all processes and threads, is the owner.
 *  2. The lock is held by a connection of this process's main thread, and lasts as long as the process does,
 *     whatever becomes of the thread that writes.
 *  3. Neither this file nor the store is ever opened but by SQLite: closing any other descriptor of it would
 *     drop the locks of the whole process, as POSIX has it.
 */
import { FahaoError } from '../../base/errors.ts'
import { explain, isBusy } from './connection.ts'
import { DatabaseSync } from './driver.ts'

const shareWithinMs = 250

/** Where the owner lock of a store lies. */
export function ownerFile(file: string): string {
  return `${file}-owner`
}

/** See the invariants at the top of the file. */
export class OwnerLock {
  readonly #database: DatabaseSync
  #isOwner = false

  private constructor(database: DatabaseSync) {
    this.#database = database
  }

  /** For using a store: as its owner if nobody else is, next to the owner otherwise. Throws ENGINE. */
  static use(file: string): OwnerLock {
    const lock = OwnerLock.#open(file)
    lock.tryToOwn()
    return lock
  }

  /** For replacing a store that nobody uses. Throws ENGINE when somebody does. */
  static forRestore(file: string): OwnerLock {
    const lock = OwnerLock.#open(file)
    if (lock.#begin('EXCLUSIVE')) return lock
    lock.release()
    throw new FahaoError('ENGINE', `${file} is in use; stop every process that has it open, then restore`)
  }

  static #open(file: string): OwnerLock {
    const path = ownerFile(file)
    try {
      const database = new DatabaseSync(path)
      // Nothing is ever written, so nothing has to be undone.
      database.exec('PRAGMA journal_mode = OFF')
      return new OwnerLock(database)
    } catch (error) {
      throw new FahaoError('ENGINE', explain(error, path), { cause: error })
    }
  }

  /** Whether this is the owner; tries to become it. Throws ENGINE when the store is being restored, UNAVAILABLE after that. */
  tryToOwn(): boolean {
    if (this.#isOwner) return true
    if (!this.#database.isOpen)
      throw new FahaoError('UNAVAILABLE', 'the store was restored meanwhile; restart this process')
    if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
    this.#isOwner = this.#begin('IMMEDIATE')
    if (!this.#isOwner) this.#share()
    return this.#isOwner
  }

  /** Whether this was the owner when it last tried. */
  get isOwner(): boolean {
    return this.#isOwner
  }

  /** Lets go. */
  release(): void {
    this.#isOwner = false
    if (this.#database.isOpen) this.#database.close()
  }

  #share(): void {
    // Another process that just tries for its lock is in the way for a moment, a restore for longer.
    this.#database.exec(`PRAGMA busy_timeout = ${shareWithinMs}; BEGIN`)
    try {
      this.#database.prepare('SELECT count(*) FROM sqlite_schema').get()
    } catch (error) {
      this.release()
      throw new FahaoError('ENGINE', `the store is being restored; start again once that is done`, {
        cause: error,
      })
    }
  }

  #begin(mode: 'IMMEDIATE' | 'EXCLUSIVE'): boolean {
    try {
      this.#database.exec(`PRAGMA busy_timeout = 0; BEGIN ${mode}`)
      return true
    } catch (error) {
      if (isBusy(error)) return false
      this.release()
      throw new FahaoError('ENGINE', explain(error, this.#database.location() ?? 'the owner lock'), {
        cause: error,
      })
    }
  }
}
