/**
 * The dialect of PostgreSQL. Every operation is one statement in a transaction of its own, so that a paused client never
 * holds a lock. The state that a statement returns is that of its snapshot. A statement that changes the state also returns
 * the new one, since it may have waited for another session's change.
 */

import type { CounterUpdate } from '../sql/counter-updates.ts'
import { type Row, type SqlCommand, textOf } from '../sql/driver.ts'
import { historyJump } from '../sql/history.ts'
import {
  type AdvanceArguments,
  assignments,
  counterColumns,
  type Dialect,
  doneStateColumns,
  type FirstRow,
  type LookUpArguments,
  lastMaxBelow,
  type MakeStatements,
  type PutValue,
  type RecordArguments,
  Statements,
  schemaVersion,
  versionConverted,
} from '../sql/statements.ts'

import { committing } from './commit.ts'
import { adding, arrayOf, tableOf, typeOf } from './rows.ts'

const cluster = '(SELECT system_identifier FROM pg_control_system())::text'
const timeline = 'left(pg_walfile_name(pg_current_wal_lsn()), 8)'
const table = "'fahao_about'::regclass::oid"

/** The forms of a server's name, best first; all nodes of a store use the form in its state row. */
export type PostgresIdentity = {
  /** A query that must succeed before there are tables. */
  readonly probe: string
  /** The name, as an expression. */
  readonly expression: string
  /** Whether a stored name is of this form. */
  readonly form: RegExp
  readonly unnoticed?: string
}

/**
 * The name consists of the cluster, its timeline (which changes with a promotion or a point-in-time recovery), and the
 * table's object id (which changes when a dump is restored). Aurora refuses the second by default; CockroachDB and some
 * hardened servers have neither of the first two.
 */
export const postgresIdentities: readonly PostgresIdentity[] = [
  {
    probe: `${cluster} || ${timeline}`,
    expression: `(${cluster} || '/' || ${timeline} || '/' || ${table})`,
    form: /^\d+\/[0-9A-F]{8}\/\d+$/,
  },
  {
    probe: cluster,
    expression: `(${cluster} || '//' || ${table})`,
    form: /^\d+\/\/\d+$/,
    unnoticed:
      'this server does not tell its timeline: a promotion or a recovery to a point in time is noticed only by the writes that it lacks',
  },
  {
    probe: "'0'",
    expression: `('//' || (SELECT oid FROM pg_database WHERE datname = current_database()) || '.' || ${table})`,
    form: /^\/\/\d+\.\d+$/,
    unnoticed:
      'this server tells neither its system identifier nor its timeline: another server in its place is noticed only by the writes that it lacks',
  },
]

/** A number that other programs are unlikely to lock: "fahao" in ASCII. */
const createLock = 0x66_61_68_61_6f

/** The tables. docs/operating/databases.md repeats them for operators who create them by hand. */
const postgresTables = `
CREATE TABLE IF NOT EXISTS fahao_counters (
  name        text COLLATE "C" PRIMARY KEY,
  last        bigint NOT NULL,
  fence       bigint NOT NULL,
  incarnation bigint NOT NULL,
  version     bigint NOT NULL
);
CREATE TABLE IF NOT EXISTS fahao_records (
  name    text COLLATE "C" PRIMARY KEY,
  value   text,
  version bigint NOT NULL UNIQUE
);
CREATE TABLE IF NOT EXISTS fahao_about (
  one            smallint PRIMARY KEY CHECK (one = 1),
  schema_version integer NOT NULL,
  history        text NOT NULL,
  pulse          bigint NOT NULL,
  revision       bigint NOT NULL,
  last_write_us  bigint NOT NULL,
  server         text NOT NULL,
  suspect        text
);`

/** The dialect of one server. */
export function postgresDialect(
  { expression: identity, unnoticed }: PostgresIdentity,
  make?: MakeStatements,
): Dialect {
  const command = (write: (s: Statements, put: PutValue) => string, writes = false): SqlCommand => {
    const values: string[] = []
    const put: PutValue = (value) => `$${values.push(String(value))}::${typeOf(value)}`
    return { text: write(make?.(put, identity) ?? new Statements(put, identity), put), values, writes }
  }
  const changing = (counter: string, write: (s: Statements) => string) =>
    command(
      (s) => `WITH done AS (${write(s)} RETURNING ${s.returned(counter)})
      SELECT ${s.stateColumns}, ${counterColumns}, done.last AS done_last, done.version AS done_version
      FROM ${s.stateAndCounter(counter)} LEFT JOIN done ON true WHERE s.one = 1`,
      true,
    )
  return {
    name: 'postgres',
    updateAll:
      make === undefined ? (update) => command((s, put) => updating(s, put, update), true) : undefined,
    lookUp:
      make === undefined ? (lookUps) => command((s, put) => lookingUp(s, put, lookUps), true) : undefined,

    conditions: {
      text: `SELECT current_setting('fsync') AS fsync, current_setting('full_page_writes') AS full_page_writes,
      current_setting('synchronous_commit') AS synchronous_commit,
      current_setting('server_encoding') AS server_encoding`,
    },
    ...(unnoticed !== undefined && { unnoticed }),
    unsafeSettings: unsafeSettingsIn,
    whyUnusable: ({ server_encoding: encoding }) =>
      encoding === 'UTF8'
        ? undefined
        : `the database's encoding is ${encoding}: use one that was made with ENCODING 'UTF8', where names keep their bytes`,

    create: (history) => ({ text: creation(history, identity) }),

    // The statements of one message are one transaction.
    conversion: [{ text: `ALTER TABLE fahao_about RENAME COLUMN lineage TO history; ${versionConverted}` }],

    command: (write) => command(write),

    pulse: (known, nowUs) =>
      command(
        (s) => `WITH done AS (${s.pulse(known, nowUs)} RETURNING s.history, s.pulse, s.revision)
        SELECT ${s.stateColumns}, ${doneStateColumns((column) => `done.${column}`)}
        FROM fahao_about AS s LEFT JOIN done ON true WHERE s.one = 1`,
      ),

    addCounters: (names, known) =>
      command((s, put) => {
        const rows = names.map((name) => ({ name }))
        const asked = `SELECT * FROM ${tableOf(put, [['name', 'text']], rows)} AS n`
        return `${s.addCounters(asked, known)} ON CONFLICT (name) DO NOTHING`
      }),

    reserve: (request) => changing(request.counter, (s) => s.reserve(request)),
    release: (release) => changing(release.counter, (s) => s.release(release)),
    revise: (records) => command((s, put) => revision(s, put, records), true),
    commit: (commit) => committing(commit, identity),
    advance: (advance) => [command((s, put) => advancing(s, put, advance), true)],
  }
}

/**
 * Several reserves or releases in one statement. It skips rows that another session has locked: it waits for no lock of a row
 * that is there, so no counter delays the others, and the order of locks does not matter. It waits for a session that adds one
 * of the same rows. Rows are added in the order of their names, and before any is locked, so that sessions do not wait for each
 * other.
 */
function updating(s: Statements, put: PutValue, update: CounterUpdate): string {
  const { known, rows, addsRows, set, where } = update
  const a = (column: string) => `a.${column}`
  const asked = tableOf(
    put,
    Object.entries(rows[0]!).map(([column, value]) => [column, typeOf(value)]),
    rows,
  )
  return `WITH about AS (SELECT ${s.stateColumns} FROM fahao_about AS s WHERE s.one = 1),
    sound AS (SELECT s.history FROM fahao_about AS s WHERE s.one = 1 AND ${s.sound(known)}),
    asked AS (SELECT * FROM ${asked} AS a),
    ${addsRows ? `added AS (${adding(update)}),` : ''}
    free AS (SELECT c.name FROM fahao_counters AS c WHERE c.name IN (SELECT a.name FROM asked AS a)
      ${addsRows ? 'AND (SELECT count(*) FROM added) >= 0' : ''} FOR NO KEY UPDATE SKIP LOCKED),
    done AS (UPDATE fahao_counters AS c SET ${assignments(set(a))}, version = c.version + 1
      FROM asked AS a, free AS f, sound AS s WHERE c.name = a.name AND f.name = a.name AND ${where(a)}
      RETURNING c.name, c.last, c.version)
    SELECT about.*, done.name, done.last AS done_last, done.version AS done_version
    FROM ${numbered(`SELECT * FROM done ${addsRows ? 'UNION ALL SELECT * FROM added' : ''}`)} AS done
      LEFT JOIN about ON done.nth = 1 ORDER BY done.nth`
}

/** The rows of a query with their numbers, from 1: the state is returned with the first of them alone. */
function numbered(query: string): string {
  return `(SELECT n.*, row_number() OVER () AS nth FROM (${query}) AS n)`
}

/**
 * Several writes of records in one statement. It locks the state row first and holds the lock until the commit, so records are
 * committed in the order of their revisions. The writes that fit by the statement's snapshot get the next revisions. A statement
 * that waited for the lock finds the records by its old snapshot, and PostgreSQL compares the versions again on the present
 * rows: a write that no longer fits leaves its revision unused.
 */
function revision(s: Statements, put: PutValue, { writes, known, nowUs }: RecordArguments): string {
  const columns = [
    ['key', 'text'],
    ['value', 'text'],
    ['expected', 'bigint'],
  ] as const
  const many = '(SELECT count(*) FROM fitting)'
  const version = `next.revision - ${many} + f.place`
  return `WITH fitting AS (
      SELECT a.key AS name, a.value, a.expected, row_number() OVER () AS place
      FROM ${tableOf(put, columns, writes)} AS a LEFT JOIN fahao_records AS r ON r.name = a.key
      WHERE a.expected IS NOT DISTINCT FROM CASE WHEN r.value IS NOT NULL THEN r.version END
    ), next AS (
      UPDATE fahao_about AS s SET revision = s.revision + ${many}, last_write_us = ${put(BigInt(nowUs))}
      WHERE s.one = 1 AND ${s.sound(known)} AND ${many} > 0 RETURNING s.history, s.pulse, s.revision
    ), added AS (
      INSERT INTO fahao_records AS r (name, value, version)
      SELECT f.name, f.value, ${version} FROM fitting AS f, next WHERE f.expected IS NULL
      ON CONFLICT (name) DO UPDATE SET value = excluded.value, version = excluded.version WHERE r.value IS NULL
      RETURNING r.name, r.version
    ), changed AS (
      UPDATE fahao_records AS r SET value = f.value, version = ${version} FROM fitting AS f, next
      WHERE r.name = f.name AND r.value IS NOT NULL AND r.version = f.expected RETURNING r.name, r.version
    )
    SELECT about.*, done.name, done.version AS done_version
    FROM ${numbered('SELECT * FROM added UNION ALL SELECT * FROM changed UNION ALL SELECT NULL, NULL')} AS done
      LEFT JOIN (SELECT ${s.stateColumns}, ${doneStateColumns((column) => `next.${column}`)}
        FROM fahao_about AS s LEFT JOIN next ON true WHERE s.one = 1) AS about ON done.nth = 1
    ORDER BY done.nth`
}

const nameColumns = [
  ['name', 'text'],
  ['place', 'bigint'],
] as const

/**
 * Look-ups of names in one statement, which creates those of which its snapshot shows nothing. It locks the state row if there
 * are any, and adds their records as `revision` does: one that another session has added meanwhile stays. Counters are added for
 * the records that were, in the order of their names, as `updating` adds them. `IS TRUE` has the records that were added kept in
 * a hash table; a join would compare each with each.
 */
function lookingUp(s: Statements, put: PutValue, { names, firsts, known, nowUs }: LookUpArguments): string {
  const first = (column: keyof FirstRow, type: string) =>
    `(${arrayOf(
      put,
      type,
      firsts.map((row) => row[column]),
    )})[f.first]`
  const many = '(SELECT count(*) FROM fitting)'
  return `WITH found AS (
      SELECT a.name, a.place AS first, r.value, r.version AS record_version, ${counterColumns}
      FROM ${tableOf(put, nameColumns, names)} AS a
        LEFT JOIN fahao_records AS r ON r.name = a.name AND r.value IS NOT NULL
        LEFT JOIN fahao_counters AS c ON c.name = a.name
    ), fitting AS (
      SELECT f.name, f.first, row_number() OVER () AS place FROM found AS f
      WHERE f.record_version IS NULL AND f.version IS NULL
    ), next AS (
      UPDATE fahao_about AS s SET revision = s.revision + ${many}, last_write_us = ${put(BigInt(nowUs))}
      WHERE s.one = 1 AND ${s.sound(known)} AND ${many} > 0 RETURNING s.history, s.pulse, s.revision
    ), added AS (
      INSERT INTO fahao_records AS r (name, value, version)
      SELECT f.name, ${first('value', 'text')}, next.revision - ${many} + f.place FROM fitting AS f, next
      ON CONFLICT (name) DO UPDATE SET value = excluded.value, version = excluded.version WHERE r.value IS NULL
      RETURNING r.name, r.version
    ), begun AS (
      INSERT INTO fahao_counters (name, last, fence, incarnation, version)
      SELECT f.name, ${first('last', 'bigint')}, ${first('fence', 'bigint')}, ${first('incarnation', 'bigint')}, 1
      FROM fitting AS f WHERE ${first('last', 'bigint')} IS NOT NULL AND (f.name IN (SELECT a.name FROM added AS a)) IS TRUE
      ORDER BY f.name COLLATE "C" ON CONFLICT (name) DO NOTHING RETURNING name
    )
    SELECT done.*, ${doneStateColumns((column) => `next.${column}`)}
    FROM ${numbered(`SELECT f.name, f.value, f.record_version, f.last, f.fence, f.incarnation, f.version,
        NULL::bigint AS done_version, NULL::integer AS begun
      FROM found AS f WHERE f.record_version IS NOT NULL OR f.version IS NOT NULL
      UNION ALL SELECT a.name, NULL, NULL, NULL, NULL, NULL, NULL, a.version,
        CASE WHEN a.name IN (SELECT b.name FROM begun AS b) THEN 1 END FROM added AS a`)} AS done
      LEFT JOIN next ON done.nth = 1 ORDER BY done.nth`
}

const recordColumns = [
  ['key', 'text'],
  ['value', 'text'],
  ['version', 'bigint'],
] as const
const raiseColumns = [
  ['name', 'text'],
  ['extra', 'bigint'],
  ['last', 'bigint'],
  ['lastmax', 'bigint'],
  ['incarnation', 'bigint'],
] as const

function advancing(s: Statements, put: PutValue, advance: AdvanceArguments): string {
  const { gap, repaired } = advance
  const raises = s.ownRaises(advance).map(({ counter, extra, last, incarnation }) => {
    // The highest value of a counter from which the extra raise does not overflow.
    return { name: counter, extra, last, lastmax: lastMaxBelow(extra), incarnation }
  })
  const [rows] = s.raiseRows(advance, 'EXISTS (SELECT 1 FROM next)', Number.POSITIVE_INFINITY)
  const further =
    'GREATEST(LEAST(c.last, COALESCE(x.lastmax, c.last)) + COALESCE(x.extra, 0), COALESCE(x.last, -1))'
  const byGap = (last: string) => `LEAST(${last}, ${put(lastMaxBelow(gap))}) + ${put(gap)}`
  return `WITH next AS (${s.advance(advance)} RETURNING s.history, s.revision, s.pulse),
    named AS (SELECT * FROM ${tableOf(put, raiseColumns, raises)} AS n),
    raised AS (
      UPDATE fahao_counters AS c SET version = c.version + ${historyJump}, last = ${byGap(further)},
        incarnation = GREATEST(c.incarnation, COALESCE(x.incarnation, 0))
      FROM next, (SELECT o.name, n.extra, n.last, n.lastmax, n.incarnation
        FROM fahao_counters AS o LEFT JOIN named AS n ON n.name = o.name) AS x
      WHERE c.name = x.name AND c.version > 0 RETURNING 1
    ), added AS (
      INSERT INTO fahao_counters (name, last, fence, incarnation, version)
      SELECT n.name, ${byGap('n.last')}, 0, n.incarnation, ${historyJump} FROM named AS n, next
      WHERE NOT EXISTS (SELECT 1 FROM fahao_counters AS c WHERE c.name = n.name AND c.version > 0)
      ON CONFLICT (name) DO UPDATE SET last = GREATEST(fahao_counters.last, excluded.last),
        incarnation = GREATEST(fahao_counters.incarnation, excluded.incarnation),
        version = fahao_counters.version + excluded.version
      RETURNING 1
    ), repaired AS (
      INSERT INTO fahao_records (name, value, version)
      SELECT m.key, m.value, m.version FROM next, ${tableOf(put, recordColumns, repaired)} AS m
      ON CONFLICT (name) DO UPDATE SET value = excluded.value, version = excluded.version
    )${rows === undefined ? '' : `, foreign_rows AS (${rows} RETURNING 1)`}
    SELECT ${s.stateColumns}, ${doneStateColumns((column) => `next.${column}`)}, CASE WHEN next.pulse IS NULL THEN NULL ELSE
      (SELECT count(*) FROM raised) + (SELECT count(*) FROM added)
        ${rows === undefined ? '' : '+ (SELECT count(*) FROM foreign_rows)'} END AS raised
    FROM fahao_about AS s LEFT JOIN next ON true WHERE s.one = 1`
}

/** One message of several statements, which takes no parameters; a history id is a UUID. */
function creation(history: string, identity: string): string {
  return `BEGIN;
    SELECT pg_advisory_xact_lock(${createLock});
    ${postgresTables}
    INSERT INTO fahao_about (one, schema_version, history, pulse, revision, last_write_us, server)
      SELECT 1, ${schemaVersion}, '${history}', 0, 0, 0, ${identity}
      WHERE NOT EXISTS (SELECT 1 FROM fahao_counters) AND NOT EXISTS (SELECT 1 FROM fahao_records)
      ON CONFLICT (one) DO NOTHING;
    COMMIT`
}

function unsafeSettingsIn(row: Row): string[] {
  const settings = ['fsync', 'full_page_writes'].flatMap((name) =>
    row[name] === 'on' ? [] : [`${name} is ${textOf(row[name])}: set it to on`],
  )
  if (row.synchronous_commit === 'off') settings.push('synchronous_commit is off: set it to on for this user')
  return settings
}
