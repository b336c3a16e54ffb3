/** Opens the database file, and explains SQLite's errors. */
import { existsSync } from 'node:fs'
import { describe, FahaoError, hasCode } from '../../base/errors.ts'
import { DatabaseSync } from './driver.ts'
import { checkTables, convertTables, createTables } from './schema.ts'
import { StoreCheck } from './store-check.ts'
import { makePrivateFile } from './store-file.ts'

/** SQLite's primary result codes that have a case of their own; https://sqlite.org/rescode.html */
const busy = 5
const corrupt = 11
const full = 13
/** The index of the log could not grow: the error of opening a file on a full disk. */
const ioErrorSharedMemorySize = 4874
const sentences: Readonly<Record<number, string>> = {
  5: 'is locked by another process',
  8: 'is read-only: let this user write the file and its folder',
  10: 'met an I/O error: look at the disk',
  11: "is damaged: restore a backup with 'fahao restore'",
  13: 'is on a full disk: free some space',
  14: 'cannot be opened: let this user read and write the file and its folder',
  26: "is not a SQLite database: name another file, or restore a backup with 'fahao restore'",
}

/** The pages, of 4 KiB, in the log before they are moved into the file. */
const logPages = 4000
/** The maximum size of the page cache. It grows with the pages in use. */
const cacheKib = 65_536

/** The options of a connection. */
export type ConnectionOptions = {
  /** Creates the file and its tables if there are none. */
  readonly create: boolean
  /** The time to wait for another process's transaction. */
  readonly busyTimeoutMs: number
  /** Is told that the tables of an earlier version were converted. */
  readonly onConverted?: ((message: string) => void) | undefined
}

/** An open file, and what is known about damage of it. */
export type OpenDatabase = { readonly database: DatabaseSync; readonly check: StoreCheck }

/**
 * Opens a store's file for durable commits: with synchronous=FULL every COMMIT in WAL mode waits for an fsync.
 * Throws ENGINE with the remedy.
 */
export function openDatabase(
  file: string,
  { create, busyTimeoutMs, onConverted }: ConnectionOptions,
): OpenDatabase {
  if (!create && !existsSync(file)) {
    throw new FahaoError('ENGINE', `${file} is gone; put it back, or restore a backup with 'fahao restore'`)
  }
  if (create) tryToMake(file)
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(file)
    database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`)
    if (create) createTables(database)
    checkTables(database, file)
    const check = StoreCheck.open(database, file)
    const converted = convertTables(database)
    if (converted !== undefined) onConverted?.(converted)
    enterWal(database, file)
    // A file that cannot be written fails here rather than at the first id.
    database.exec('BEGIN IMMEDIATE; ROLLBACK')
    return { database, check }
  } catch (error) {
    if (database?.isOpen) database.close()
    throw engineError(error, file)
  }
}

/** A file that is there stays as it is. Where none can be made, SQLite fails next, and its error has a sentence. */
function tryToMake(file: string): void {
  try {
    makePrivateFile(file)
  } catch {}
}

function enterWal(database: DatabaseSync, file: string): void {
  const mode = Object.values(database.prepare('PRAGMA journal_mode = WAL').get()!)[0]
  if (mode !== 'wal') {
    throw new FahaoError(
      'ENGINE',
      `${file} cannot have a write-ahead log, as on network file systems; keep it on a local disk`,
    )
  }
  // On macOS a plain fsync does not flush the drive's cache; elsewhere the last two have no effect.
  database.exec('PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON')
  // Names arrive in any order, so most rows of a batch are on pages of their own. After 1000 pages, SQLite's default, the log
  // would be moved into the file with every other batch. A page of a transaction that leaves the cache is written twice.
  database.exec(`PRAGMA wal_autocheckpoint = ${logPages}; PRAGMA cache_size = -${cacheKib}`)
}

/** SQLite's error about the file in one line, with the remedy if one is known. */
export function explain(error: unknown, file: string): string {
  if (error instanceof FahaoError) return error.message
  const sentence = sentences[resultCode(error)]
  return sentence === undefined ? `${file}: ${describe(error)}` : `${file} ${sentence} (${describe(error)})`
}

/** ENGINE, with SQLite's error about the file; an error of Fahao stays as it is. */
export function engineError(error: unknown, file: string): FahaoError {
  return error instanceof FahaoError
    ? error
    : new FahaoError('ENGINE', explain(error, file), { cause: error })
}

/** Whether another connection holds the requested lock. */
export function isBusy(error: unknown): boolean {
  return resultCode(error) === busy
}

/** Whether the file is damaged, as SQLite or its check has found. */
export function isDamage(error: unknown): boolean {
  return resultCode(error) === corrupt || hasCode(error, 'ENGINE')
}

/** The primary result code; 0 when the error is not SQLite's. */
function resultCode(error: unknown): number {
  const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) : 0
  return code === ioErrorSharedMemorySize ? full : code & 0xff
}
