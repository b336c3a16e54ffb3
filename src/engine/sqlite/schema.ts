/** The tables of a store, and what a file must be to be one. */
import type { DatabaseSync } from 'node:sqlite'
import { FahaoError } from '../../base/errors.ts'

/** "Faha" in ASCII: tells a store from any other SQLite file. */
const applicationId = 0x46_61_68_61
const schemaVersion = 1

/*
 * `last` is bound − 1: the largest value that can have been issued. The bound itself, up to 2^63, would not fit
 * a signed 64-bit integer. A removed record stays as a row without a value, so that its key's versions go on
 * growing and other processes can see that it went.
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
  installation TEXT NOT NULL,
  commits INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  last_write_us INTEGER NOT NULL
) STRICT;
`

/** Makes the tables in an empty file, or checks that they are there. Throws ENGINE with what to do. */
export function prepareSchema(database: DatabaseSync, file: string, installation: string): void {
  const found = pragma(database, 'application_id')
  if (found === 0 && isEmpty(database)) {
    database.exec('BEGIN IMMEDIATE')
    try {
      // Another process may have been faster between the look and the lock.
      if (isEmpty(database)) create(database, installation)
      database.exec('COMMIT')
    } catch (error) {
      database.exec('ROLLBACK')
      throw error
    }
    return
  }
  if (pragma(database, 'application_id') !== applicationId) {
    throw new FahaoError(
      'ENGINE',
      `${file} is a SQLite database of another program; name another file with --engine sqlite:FILE`,
    )
  }
  const version = pragma(database, 'user_version')
  if (version > schemaVersion) {
    throw new FahaoError(
      'ENGINE',
      `${file} was written by a newer Fahao (schema ${version}, this one knows ${schemaVersion}); upgrade this one`,
    )
  }
}

function create(database: DatabaseSync, installation: string): void {
  database.exec(tables)
  database
    .prepare('INSERT INTO state (one, installation, commits, revision, last_write_us) VALUES (1, ?, 0, 0, 0)')
    .run(installation)
  database.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${schemaVersion}`)
}

function isEmpty(database: DatabaseSync): boolean {
  return database.prepare('SELECT count(*) AS n FROM sqlite_schema').get()!.n === 0n
}

function pragma(database: DatabaseSync, name: string): number {
  return Number(database.prepare(`PRAGMA ${name}`).get()![name])
}
