/**
 * Copies of a store, and stores from copies.
 *
 * Invariants
 *  1. A backup is one consistent snapshot of the store, appears under its name only when it is complete and durable,
 *     and never replaces a file.
 *  2. A store is replaced only while no process has it open, and by a file that is complete, durable and ahead.
 *  3. A restored store begins a new history, which differs from that of every store that was here before.
 */
import { randomUUID } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  lchownSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import { describe, FahaoError } from '../../base/errors.ts'
import { atOnce, repairNothing, versionJump } from '../advance-rules.ts'
import { boundMax, type Repair, type StoredRecord } from '../engine.ts'
import { Counters } from './counters.ts'
import { DatabaseSync } from './driver.ts'
import { engineError } from './open-database.ts'
import { OwnerLock, ownerFile } from './owner-lock.ts'
import { PositionFile, type StorePosition } from './position-file.ts'
import { Records } from './records.ts'
import { checkTables, convertTables, prepare } from './schema.ts'
import { checkWhole } from './store-check.ts'
import { makePrivateFile, realPlace, refuseSecondPath } from './store-file.ts'

/** The contents of a copy. */
export type CopySummary = {
  readonly file: string
  readonly bytes: number
  readonly counters: number
  readonly records: number
  /** The time of its newest write, in µs since 1970; 0 if there was none. */
  readonly lastWriteUs: number
}

/** The options of a restore. */
export type RestoreOptions = {
  /** The distance by which every bound is raised. */
  readonly skip: bigint
  readonly clock: Clock
  /** See `Engine.advance`. */
  readonly repair?: Repair
}

const busyTimeoutMs = 10_000

/** Where a copy grows before it has the name `target`. */
export function draftOf(target: string): string {
  return `${resolve(target)}.${process.pid}`
}

/**
 * Copies the store in `source` to the new file `target` while servers use it. Blocks this thread until it is done.
 * Throws ENGINE if there is no store, or if `target` exists.
 */
export function backupSqlite(source: string, target: string): CopySummary {
  if (!existsSync(source))
    throw new FahaoError(
      'ENGINE',
      `there is no store ${resolve(source)}, so there is nothing to copy; name the store of the server: --engine sqlite:FILE`,
    )
  const [from, to] = [placeOfStore(source), resolve(target)]
  if (existsSync(to)) throw new FahaoError('ENGINE', `${to} exists; name a file that does not`)
  const draft = draftOf(to)
  try {
    copy(from, draft)
    const summary = { ...summarize(draft), file: to }
    makeDurable(draft)
    // Unlike a rename, a link never replaces a file.
    linkSync(draft, to)
    makeDurable(dirname(to))
    return summary
  } catch (error) {
    throw asEngineError(error, `${to} could not be written`)
  } finally {
    rmSync(draft, { force: true })
  }
}

/**
 * Replaces the store `target` by the copy `backup`, with every bound raised by `skip`, which must be more than can have been
 * reserved from any counter since the copy was made. Throws ENGINE if a process has the store open, or if the copy is
 * damaged; the store stays as it was then.
 */
export function restoreSqlite(
  backup: string,
  target: string,
  { skip, clock, repair }: RestoreOptions,
): CopySummary {
  if (skip < 0n || skip >= boundMax)
    throw new FahaoError('ERR', `a skip of ${skip} cannot be; give one from 0 to ${boundMax - 1n}`)
  const [from, to] = [resolve(backup), placeOfStore(target)]
  const draft = draftOf(to)
  const lock = OwnerLock.forRestore(to)
  try {
    copy(from, draft)
    const position = renew(draft, skip, repair)
    const summary = { ...summarize(draft), file: to }
    for (const path of [draft, ownerFile(to)]) giveToUser(path)
    makeDurable(draft)
    // Before the new file exists: SQLite would apply a log of the old file to it.
    for (const suffix of ['-wal', '-shm']) rmSync(`${to}${suffix}`, { force: true })
    makeDurable(dirname(to))
    renameSync(draft, to)
    makeDurable(dirname(to))
    new PositionFile(to, clock).begin(position)
    return summary
  } catch (error) {
    throw asEngineError(error, `${to} could not be restored`)
  } finally {
    rmSync(draft, { force: true })
    lock.release()
  }
}

/** The records of the store at this place; undefined: there is none, or it cannot be read. */
export function recordsOfStore(target: string): readonly StoredRecord[] | undefined {
  const file = placeOfStore(target)
  if (!existsSync(file)) return undefined
  try {
    return using(file, (database) => new Records(database).list(''))
  } catch {
    return undefined
  }
}

/** Makes one consistent copy, its log included, and checks it. */
function copy(from: string, draft: string): void {
  if (!existsSync(from))
    throw new FahaoError('ENGINE', `there is no file ${from}; name one that fahao backup has made`)
  using(from, (database) => {
    checkTables(database, from)
    checkWhole(database, from)
    makePrivateFile(draft)
    database.prepare('VACUUM INTO ?').run(draft)
  })
}

/** Raises every bound and begins a new history. */
function renew(file: string, skip: bigint, repair: Repair = repairNothing): StorePosition {
  return using(file, (database) => {
    const history = randomUUID()
    convertTables(database)
    database.exec('BEGIN IMMEDIATE')
    const records = new Records(database)
    const all = records.list('')
    const versions = new Map(all.map(({ key, version }) => [key, version]))
    const repaired = atOnce(repair(all))
    new Counters(database, new Map()).advance(skip, repaired.counters)
    const state = prepare(database, 'SELECT commits, revision FROM state').get() as Record<string, bigint>
    const commits = state.commits! + 1n
    let revision = state.revision! + versionJump
    for (const [key, value] of repaired.records)
      records.write({ key, value, version: ++revision }, versions.get(key))
    prepare(database, 'UPDATE state SET history = ?, commits = ?, revision = ?, owner = NULL').run(
      history,
      commits,
      revision,
    )
    database.exec('COMMIT')
    return { history, progress: { commits } }
  })
}

function summarize(file: string): Omit<CopySummary, 'file'> {
  return using(file, (database) => {
    const row = database
      .prepare(
        `SELECT (SELECT count(*) FROM counters) AS counters,
           (SELECT count(*) FROM records WHERE value IS NOT NULL) AS records,
           (SELECT last_write_us FROM state) AS lastWriteUs`,
      )
      .get() as Omit<CopySummary, 'file' | 'bytes'>
    return { ...row, bytes: statSync(file).size }
  })
}

function using<Result>(file: string, use: (database: DatabaseSync) => Result): Result {
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(file)
    database.exec(`PRAGMA busy_timeout = ${busyTimeoutMs}`)
    return use(database)
  } catch (error) {
    throw engineError(error, file)
  } finally {
    database?.close()
  }
}

/** The one path of a store that exists or will be created. Throws ENGINE if its folder is missing, or if it has a second path. */
function placeOfStore(file: string): string {
  const path = resolve(file)
  if (!existsSync(dirname(path)))
    throw new FahaoError('ENGINE', `there is no folder ${dirname(path)}; make it first`)
  const place = realPlace(path)
  refuseSecondPath(place)
  return place
}

/** Gives a file to the user of its folder, who serves the store that root restores. */
function giveToUser(path: string): void {
  const { uid, gid } = statSync(dirname(path))
  if (process.getuid?.() === 0 && uid !== 0) lchownSync(path, uid, gid)
}

/** Syncs a file, or the names in a folder. No process has it open in SQLite, so the close drops no lock. */
function makeDurable(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

function asEngineError(error: unknown, what: string): FahaoError {
  if (error instanceof FahaoError) return error
  return new FahaoError('ENGINE', `${what}: ${describe(error)}`, { cause: error })
}
