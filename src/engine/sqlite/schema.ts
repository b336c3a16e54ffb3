/** The tables of a store, and the checks that a file is a store. */
import { randomUUID } from 'node:crypto'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { FahaoError } from '../../base/errors.ts'

/** "Faha" in ASCII: distinguishes a store from other SQLite files. */
const applicationId = 0x46_61_68_61
const schemaVersion = 2

/*
 * `last` is bound − 1, the largest value that can have been issued: a bound of 2^63 does not fit a signed 64-bit
 * integer. A removed record stays as a row without a value, so that other processes find the removal. `revision`
 * is the newest version given to a record; `history` is the history id.
 */
const tables = `
CREATE TABLE counters (
  name TEXT PRIMARY KEY,
  last INTEGER NOT NULL,
  fence INTEGER NOT NULL,
  incarnation INTEGER NOT NULL,
  version INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE records (
  key TEXT PRIMARY KEY,
  value TEXT,
  version INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX records_by_version ON records (version);
CREATE TABLE state (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  history TEXT NOT NULL,
  commits INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  last_write_us INTEGER NOT NULL,
  owner TEXT
) STRICT;
`

/** Prepares a statement that reads integers as bigints, since numbers would round them. */
export function prepare(database: DatabaseSync, sql: string): StatementSync {
  const statement = database.prepare(sql)
  statement.setReadBigInts(true)
  return statement
}

/** The value of a pragma that is a number. */
export function pragma(database: DatabaseSync, name: string): bigint {
  return Object.values(prepare(database, `PRAGMA ${name}`).get()!)[0] as bigint
}

/** Creates the tables in an empty file. Another process may do so at the same moment. */
export function createTables(database: DatabaseSync): void {
  if (!isEmpty(database)) return
  database.exec('BEGIN IMMEDIATE')
  try {
    if (isEmpty(database)) {
      database.exec(tables)
      database
        .prepare('INSERT INTO state (one, history, commits, revision, last_write_us) VALUES (1, ?, 0, 0, 0)')
        .run(randomUUID())
      database.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${schemaVersion}`)
    }
    database.exec('COMMIT')
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}

/**
 * Converts the tables of an earlier version, once, in a file that `checkTables` has accepted. A process of that version
 * fails at its next statement and changes nothing. Returns what the log should say; undefined: nothing was to be converted.
 */
export function convertTables(database: DatabaseSync): string | undefined {
  if (!isEarlier(database)) return undefined
  database.exec('BEGIN IMMEDIATE')
  try {
    if (isEarlier(database))
      database.exec(
        `ALTER TABLE state RENAME COLUMN lineage TO history; PRAGMA user_version = ${schemaVersion}`,
      )
    database.exec('COMMIT')
    return `converted the tables of this store to schema ${schemaVersion}`
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw error
  }
}

function isEarlier(database: DatabaseSync): boolean {
  return pragma(database, 'user_version') < BigInt(schemaVersion)
}

/** Throws ENGINE, with the remedy, unless the file is a store of this version or an earlier one. */
export function checkTables(database: DatabaseSync, file: string): void {
  if (pragma(database, 'application_id') !== BigInt(applicationId)) {
    throw new FahaoError(
      'ENGINE',
      `${file} is a database of another program; name another file with --engine sqlite:FILE`,
    )
  }
  const version = pragma(database, 'user_version')
  if (version < 1n || version > BigInt(schemaVersion)) {
    throw new FahaoError(
      'ENGINE',
      `${file} was written by a newer Fahao (its schema is ${version}, this one knows 1 to ${schemaVersion}); upgrade this one`,
    )
  }
}

function isEmpty(database: DatabaseSync): boolean {
  return database.prepare('SELECT count(*) AS n FROM sqlite_schema').get()!.n === 0
}
