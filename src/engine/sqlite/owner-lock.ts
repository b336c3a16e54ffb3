/**
 * The owner lock of a store: a lock that the operating system releases when its process ends.
 *
 * The lock file is an empty SQLite database that is never written; only SQLite's file locks on it are used. The owner keeps
 * a RESERVED lock as long as it runs, every other process that has the store open a SHARED one. A restore needs an
 * EXCLUSIVE one, which it gets only if no process has the store open.
 *
 * Invariants
 *  1. At most one connection, over all processes and threads, holds the RESERVED lock of one lock file.
 *  2. A connection of this process's main thread holds the lock as long as the process runs, also after the end of the
 *     thread of the store.
 *  3. Only SQLite opens this file and the store: by POSIX, closing any other descriptor of a file drops all locks of the
 *     process on it.
 *  4. `identity` is the identity of the file that is locked. While it is locked, no other file has the same.
 */
import { statSync } from 'node:fs'
import { FahaoError } from '../../base/errors.ts'
import { DatabaseSync } from './driver.ts'
import { engineError, isBusy } from './open-database.ts'

const shareWithinMs = 250
const opensMax = 10

/** The path of a store's owner lock. */
export function ownerFile(file: string): string {
  return `${file}-owner`
}

type LockFile = { readonly database: DatabaseSync; readonly identity: string }

/** The owner lock of one store. */
export class OwnerLock {
  readonly #path: string
  #file: LockFile
  #isOwner = false

  private constructor(path: string) {
    this.#path = path
    this.#file = openLockFile(path)
  }

  /** Takes the lock for using a store: as its owner if no other process is, beside the owner otherwise. Throws ENGINE. */
  static use(file: string): OwnerLock {
    const lock = new OwnerLock(ownerFile(file))
    lock.tryToOwn()
    return lock
  }

  /** Takes the lock for replacing a store. Throws ENGINE if a process has it open. */
  static forRestore(file: string): OwnerLock {
    const lock = new OwnerLock(ownerFile(file))
    if (lock.#begin('EXCLUSIVE')) return lock
    lock.release()
    throw new FahaoError('ENGINE', `${file} is in use; stop every process that has it open, then restore`)
  }

  get #database(): DatabaseSync {
    return this.#file.database
  }

  /** The identity of the locked file: no other file that gets its name meanwhile has the same. */
  get identity(): string {
    return this.#file.identity
  }

  /** Whether the locked file still has its name, so that every process finds the lock. */
  get stands(): boolean {
    return identityOf(this.#path) === this.identity
  }

  /** Whether the name still leads to the locked file, although it was linked, moved or given another mode meanwhile. */
  get touched(): boolean {
    const found = identityOf(this.#path)
    return found !== undefined && found !== this.identity && inodeOf(found) === inodeOf(this.identity)
  }

  /** Tries to become the owner; returns whether this process is. Throws ENGINE during a restore of the store, UNAVAILABLE after that. */
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

  /** Whether this process was the owner after the last try. */
  get isOwner(): boolean {
    return this.#isOwner
  }

  /** Ends the ownership, and uses the store beside another owner. Throws as `tryToOwn` does. */
  disown(): void {
    this.#isOwner = false
    if (!this.#database.isOpen) return
    if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
    if (!this.stands) this.#reopen()
    this.#share()
  }

  /** Releases the lock. */
  release(): void {
    this.#isOwner = false
    if (this.#database.isOpen) this.#database.close()
  }

  #reopen(): void {
    const file = openLockFile(this.#path)
    this.#database.close()
    this.#file = file
  }

  #share(): void {
    // Another process that tries for its lock holds this one up for a moment, a restore for longer.
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
      throw engineError(error, this.#path)
    }
  }
}

/** The open file is certain only if the same file had the name before and after the opening. */
function openLockFile(path: string): LockFile {
  for (let opens = 0; opens < opensMax; opens++) {
    const before = identityOf(path)
    let database: DatabaseSync | undefined
    try {
      database = new DatabaseSync(path)
      // The file is never written, so there is nothing to roll back.
      database.exec('PRAGMA journal_mode = OFF')
    } catch (error) {
      if (database?.isOpen) database.close()
      throw engineError(error, path)
    }
    const identity = identityOf(path)
    if (identity !== undefined && identity === before) return { database, identity }
    database.close()
  }
  throw new FahaoError('ENGINE', `${path} is replaced again and again; find out which program does that`)
}

/**
 * The identity of a file: device, inode, and the inode's change time (ctime). Moving the file away and back changes the
 * ctime. Undefined if there is no file, or none that this process can see.
 */
function identityOf(path: string): string | undefined {
  try {
    const { dev, ino, ctimeNs } = statSync(path, { bigint: true })
    return `${dev}:${ino}:${ctimeNs}`
  } catch {
    return undefined
  }
}

/** The part of an identity that never changes while the file exists. */
function inodeOf(identity: string): string {
  return identity.slice(0, identity.lastIndexOf(':'))
}
