/**
 * The owner lock of a store: a lock that the operating system takes back from a process that dies.
 *
 * The lock file is an empty SQLite database that is never written; SQLite's own file locks on it are what
 * counts. The owner keeps a RESERVED lock for life, every other process that has the store open a SHARED one, and a
 * restore needs EXCLUSIVE: it gets it only when no process has the store open.
 *
 * Invariants
 *  1. At most one connection, over all processes and threads, holds the RESERVED lock of one lock file.
 *  2. The lock is held by a connection of this process's main thread, and lasts as long as the process does,
 *     whatever becomes of the thread that writes.
 *  3. Neither this file nor the store is ever opened but by SQLite: closing any other descriptor of it would
 *     drop the locks of the whole process, as POSIX has it.
 *  4. `identity` is the identity of the file that is locked. While it is locked, no other file has the same.
 */
import { statSync } from 'node:fs'
import { FahaoError } from '../../base/errors.ts'
import { explain, isBusy } from './connection.ts'
import { DatabaseSync } from './driver.ts'

const shareWithinMs = 250
const opensMax = 10

/** Where the owner lock of a store lies. */
export function ownerFile(file: string): string {
  return `${file}-owner`
}

type LockFile = { readonly database: DatabaseSync; readonly identity: string }

/** See the invariants at the top of the file. */
export class OwnerLock {
  readonly #path: string
  #database: DatabaseSync
  #identity: string
  #isOwner = false

  private constructor(path: string, { database, identity }: LockFile) {
    this.#path = path
    this.#database = database
    this.#identity = identity
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
    return new OwnerLock(path, openLockFile(path))
  }

  /** Which file is locked: differs from that of every file that takes its name while it is locked. */
  get identity(): string {
    return this.#identity
  }

  /** Whether the file that is locked still has its name, so that every process meets the lock. */
  get stands(): boolean {
    return identityOf(this.#path) === this.#identity
  }

  /** Whether the name leads to the very file that is locked, which was linked, moved or given another mode meanwhile. */
  get touched(): boolean {
    const found = identityOf(this.#path)
    return found !== undefined && found !== this.#identity && inodeOf(found) === inodeOf(this.#identity)
  }

  /** Whether this is the owner; tries to become it. Throws ENGINE when the store is being restored, UNAVAILABLE after that. */
  tryToOwn(): boolean {
    if (this.#isOwner) return true
    if (!this.#database.isOpen)
      throw new FahaoError('UNAVAILABLE', 'the store was restored meanwhile; restart this process')
    if (!this.stands) this.#reopen()
    if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
    this.#isOwner = this.#begin('IMMEDIATE')
    if (!this.#isOwner) this.#share()
    return this.#isOwner
  }

  /** Whether this was the owner when it last tried. */
  get isOwner(): boolean {
    return this.#isOwner
  }

  /** Is the owner no longer, and uses the store beside another one. Throws as `tryToOwn` does. */
  disown(): void {
    this.#isOwner = false
    if (!this.#database.isOpen) return
    if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
    if (!this.stands) this.#reopen()
    this.#share()
  }

  /** Lets go. */
  release(): void {
    this.#isOwner = false
    if (this.#database.isOpen) this.#database.close()
  }

  #reopen(): void {
    const { database, identity } = openLockFile(this.#path)
    this.#database.close()
    this.#database = database
    this.#identity = identity
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

/** The file that is open is known for certain only when the same one had the name before and after it was opened. */
function openLockFile(path: string): LockFile {
  for (let opens = 0; opens < opensMax; opens++) {
    const before = identityOf(path)
    let database: DatabaseSync | undefined
    try {
      database = new DatabaseSync(path)
      // Nothing is ever written, so nothing has to be undone.
      database.exec('PRAGMA journal_mode = OFF')
    } catch (error) {
      if (database?.isOpen) database.close()
      throw new FahaoError('ENGINE', explain(error, path), { cause: error })
    }
    const identity = identityOf(path)
    if (identity !== undefined && identity === before) return { database, identity }
    database.close()
  }
  throw new FahaoError('ENGINE', `${path} is replaced again and again; find out which program does that`)
}

/**
 * Device, inode and time of the last change of the inode: a file that is moved away and back has another one. Undefined
 * when there is no file, or none that this process can see.
 */
function identityOf(path: string): string | undefined {
  try {
    const { dev, ino, ctimeNs } = statSync(path, { bigint: true })
    return `${dev}:${ino}:${ctimeNs}`
  } catch {
    return undefined
  }
}

/** The part of an identity that lasts as long as the file does. */
function inodeOf(identity: string): string {
  return identity.slice(0, identity.lastIndexOf(':'))
}
