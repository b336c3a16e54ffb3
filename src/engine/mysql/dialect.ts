/**
 * The dialect of MySQL and MariaDB. An UPDATE cannot return the changed row, so every write is one packet with a whole
 * transaction, in which a SELECT after the change reads the row that the change has locked. Since it is one packet, a
 * paused client never holds a lock. All values are numbers or hexadecimal bytes, so no value needs quotes.
 */
import { compareBytes } from '../../base/byte-order.ts'
import type { StoredRecord } from '../engine.ts'
import type { CounterUpdate } from '../sql/counter-updates.ts'
import { integerOf, optionalTextOf, type Row, type SqlCommand, textOf } from '../sql/driver.ts'
import { historyJump, type Known } from '../sql/history.ts'
import {
  type AdvanceArguments,
  assignments,
  counterColumns,
  type Dialect,
  type LookUpArguments,
  lastMaxBelow,
  type MakeStatements,
  type PutValue,
  type Raise,
  type RecordArguments,
  Statements,
  schemaVersion,
  versionConverted,
} from '../sql/statements.ts'
import { committing } from './commit.ts'
import { doneState, query, selected, transaction, withState } from './packets.ts'

/** A quarter of the smallest `max_allowed_packet` in use. */
const packetMax = 256 * 1024
/** The maximum number of rows of another system's table that one statement names. */
const rowsMax = 500

const single = (text: string): SqlCommand => ({ text })

/** The tables. docs/operating/databases.md repeats them for operators who create them by hand. Text is bytes of UTF-8. */
const mysqlTables = `
CREATE TABLE IF NOT EXISTS fahao_counters (
  name        VARBINARY(400) NOT NULL PRIMARY KEY,
  last        BIGINT NOT NULL,
  fence       BIGINT NOT NULL,
  incarnation BIGINT NOT NULL,
  version     BIGINT NOT NULL
) ENGINE=InnoDB;
CREATE TABLE IF NOT EXISTS fahao_records (
  name    VARBINARY(400) NOT NULL PRIMARY KEY,
  value   MEDIUMBLOB,
  version BIGINT NOT NULL UNIQUE
) ENGINE=InnoDB;
CREATE TABLE IF NOT EXISTS fahao_about (
  one            TINYINT NOT NULL PRIMARY KEY,
  schema_version INT NOT NULL,
  history        VARBINARY(36) NOT NULL,
  pulse          BIGINT NOT NULL,
  revision       BIGINT NOT NULL,
  last_write_us  BIGINT NOT NULL,
  server         VARBINARY(255) NOT NULL,
  suspect        BLOB
) ENGINE=InnoDB;`

/**
 * The identity of a server: an expression that evaluates to its name, and a sentence about changes that the name does not
 * show. TiDB commits in the majority of its stores: the settings that MySQL's durability depends on have no effect there.
 */
export type MysqlServer = {
  readonly identity: string
  readonly unnoticed?: string
  readonly isTidb?: boolean
}

/** The dialect of a server. `table`: another system's table, which contains some counters. */
export function mysqlDialect(
  { identity, unnoticed, isTidb = false }: MysqlServer,
  make?: MakeStatements,
  table = 'fahao_counters',
): Dialect {
  const put: PutValue = (value) =>
    typeof value === 'bigint' ? String(value) : `x'${Buffer.from(value).toString('hex')}'`
  const s = make?.(put, identity) ?? new Statements(put, identity)
  const changing = (counter: string, change: string) =>
    transaction(
      change,
      'SET @done = ROW_COUNT()',
      `SELECT ${s.stateColumns}, ${counterColumns},
        IF(@done = 1, c.last, NULL) AS done_last, IF(@done = 1, c.version, NULL) AS done_version
      FROM ${s.stateAndCounter(counter)} WHERE s.one = 1`,
    )

  return {
    name: 'mysql',
    updateAll: make === undefined ? (update) => updating(s, put, update) : undefined,
    lookUp: make === undefined ? (lookUps) => lookingUp(s, put, lookUps) : undefined,
    conditions: single(`SELECT @@innodb_flush_log_at_trx_commit AS flush_log, @@log_bin AS log_bin,
      @@sync_binlog AS sync_binlog, @@binlog_format AS binlog_format,
      (SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()
        AND table_name IN ('fahao_counters', 'fahao_records', 'fahao_about') AND engine <> 'InnoDB') AS foreign_tables,
      (SELECT engine FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = '${table}'
        AND engine <> 'InnoDB') AS table_engine`),
    ...(unnoticed !== undefined && { unnoticed }),
    unsafeSettings: (row) => (isTidb ? [] : unsafeSettingsIn(row, table)),
    whyUnusable: ({ log_bin, binlog_format, foreign_tables }) => {
      if (textOf(foreign_tables) !== '0')
        return 'the tables do not use InnoDB, the storage engine with transactions: ALTER TABLE … ENGINE=InnoDB'
      return textOf(log_bin) === '1' && textOf(binlog_format) === 'STATEMENT'
        ? 'binlog_format is STATEMENT, with which the server rejects writes at READ COMMITTED: set it to ROW'
        : undefined
    },

    create: (history) =>
      single(`${mysqlTables}
        INSERT IGNORE INTO fahao_about (one, schema_version, history, pulse, revision, last_write_us, server)
        SELECT 1, ${schemaVersion}, ${put(history)}, 0, 0, 0, ${identity} FROM DUAL
        WHERE NOT EXISTS (SELECT 1 FROM fahao_counters) AND NOT EXISTS (SELECT 1 FROM fahao_records)`),

    conversion: [
      single('ALTER TABLE fahao_about CHANGE COLUMN lineage history VARBINARY(36) NOT NULL'),
      single(versionConverted),
    ],

    command: (write) => single(write(s)),

    pulse: (known, nowUs) =>
      transaction(
        s.pulse(known, nowUs),
        'SET @done = ROW_COUNT()',
        `SELECT ${s.stateColumns}, ${doneState} FROM fahao_about AS s WHERE s.one = 1`,
      ),

    addCounters: (names, known) => single(adding(s, put, names, known)),

    reserve: (request) => changing(request.counter, s.reserve(request)),
    release: (release) => changing(release.counter, s.release(release)),
    revise: (records) => {
      const statements = revision(s, put, records)
      const answer = (answers: readonly unknown[]) => {
        const [state, written] = answers.slice(statements.length - 1)
        return withState(state, written as readonly Row[])
      }
      return { ...transaction(...statements), answer }
    },
    commit: (commit) => committing(s, put, commit, (counter) => adding(s, put, [counter], commit.known)),
    advance: (advance) => advancing(s, put, advance),
  }
}

/**
 * Several reserves or releases in one packet: one transaction, which locks the counters' rows in the order of their names,
 * so that processes which change the same counters do not deadlock. Versions before and after show which were changed.
 *
 * The state row is read after these locks, and not locked: an UPDATE that read it would wait for those that write records. An
 * advance that is committed before the locks shows in the state; a later one waits for them, and raises what was reserved.
 */
function updating(s: Statements, put: PutValue, update: CounterUpdate): SqlCommand {
  const { known, rows, addsRows, set, where } = update
  const a = (column: string) => `a.${column}`
  const names = rows.map(({ name }) => put(name)).join(', ')
  // The names that have a row are among them, so that all rows are locked in one order.
  const inOrder = rows.map(({ name }) => name).toSorted(compareBytes)
  return {
    text: [
      'START TRANSACTION',
      addsRows ? adding(s, put, inOrder, known) : 'DO 0',
      `SELECT c.name, c.version FROM fahao_counters AS c FORCE INDEX (PRIMARY)
        WHERE c.name IN (${names}) ORDER BY c.name FOR UPDATE`,
      `SELECT @history := MAX(s.history) FROM fahao_about AS s WHERE s.one = 1 AND ${s.sound(known)}`,
      `UPDATE (SELECT @history AS history) AS s STRAIGHT_JOIN (${query(rows, put)}) AS a
          STRAIGHT_JOIN fahao_counters AS c ON c.name = a.name
        SET ${assignments(set(a), 'c.')}, c.version = c.version + 1
        WHERE s.history IS NOT NULL AND ${where(a)}`,
      s.state(),
      `SELECT c.name, c.last AS done_last, c.version AS done_version FROM fahao_counters AS c WHERE c.name IN (${names})`,
      'COMMIT',
    ].join(';\n'),
    answer: ([, , before, , , state, after]) => {
      const versions = new Map(
        (before as readonly Row[]).map(({ name, version }) => [textOf(name), integerOf(version)]),
      )
      const done = (after as readonly Row[]).filter(({ name, done_version }) => {
        // A row that was absent when the rows were locked may have been added since: this batch did not change it.
        const version = versions.get(textOf(name))
        return version !== undefined && version !== integerOf(done_version)
      })
      return done.length === 0 ? [] : withState(state, done)
    },
    writes: true,
  }
}

/** Adds the rows of counters that lack one, and locks the others. */
function adding(s: Statements, put: PutValue, names: readonly string[], known: Known): string {
  const asked = query(
    names.map((name) => ({ name })),
    put,
  )
  return `${s.addCounters(asked, known)} ON DUPLICATE KEY UPDATE name = fahao_counters.name`
}

const replaces = 'fahao_records.name = VALUES(name) AND fahao_records.value IS NULL'
/** A record that is added takes the place of one that was removed. The version first: the second assignment changes the value that both look at. */
const replacing = `ON DUPLICATE KEY UPDATE version = IF(${replaces}, VALUES(version), fahao_records.version),
  value = IF(${replaces}, VALUES(value), fahao_records.value)`

/**
 * The lock on the state row comes first: records are committed in the order of their revisions. Each write has a revision of
 * its own, which stays unused if its condition does not hold.
 */
function revision(s: Statements, put: PutValue, { writes, known, nowUs }: RecordArguments): string[] {
  const rows = writes.map(({ key, value, expected }, at) => {
    const place = `${at + 1}`
    return { row: [put(key), value === undefined ? 'NULL' : put(value), place], expected }
  })
  const added = rows.flatMap(({ row, expected }) => (expected === undefined ? [row] : []))
  const changed = rows.flatMap(({ row, expected }) =>
    expected === undefined ? [] : [[...row, put(expected)]],
  )
  const own = `r.version > @from AND r.version <= @from + ${writes.length}`
  return [
    // Two statements, since TiDB has no SELECT … INTO @variable. At READ COMMITTED the second reads the row that the first locked.
    'SELECT s.one FROM fahao_about AS s WHERE s.one = 1 FOR UPDATE',
    `SET @from = (SELECT s.revision FROM fahao_about AS s WHERE s.one = 1 AND ${s.sound(known)})`,
    ...(changed.length === 0
      ? []
      : [
          `UPDATE (${selected(['name', 'value', 'place', 'expected'], changed)}) AS a
            STRAIGHT_JOIN fahao_records AS r ON r.name = a.name SET r.value = a.value, r.version = @from + a.place
            WHERE @from IS NOT NULL AND r.value IS NOT NULL AND r.version = a.expected`,
        ]),
    ...(added.length === 0
      ? []
      : [
          `INSERT INTO fahao_records (name, value, version) SELECT a.name, a.value, @from + a.place
            FROM (${selected(['name', 'value', 'place'], added)}) AS a WHERE @from IS NOT NULL
            ${replacing}`,
        ]),
    // No other process can have written these versions: the state row is locked.
    `SET @done = EXISTS (SELECT 1 FROM fahao_records AS r WHERE ${own})`,
    `UPDATE fahao_about SET revision = @from + ${writes.length}, last_write_us = ${put(BigInt(nowUs))}
      WHERE one = 1 AND @done = 1`,
    `SELECT ${s.stateColumns}, ${doneState} FROM fahao_about AS s WHERE s.one = 1`,
    `SELECT r.name, r.version AS done_version FROM fahao_records AS r WHERE ${own}`,
  ]
}

/**
 * Look-ups of names in one packet. It locks the state row if a look without a lock finds nothing of some name. From then on the
 * records are certain; a counter's row that is added elsewhere meanwhile fails the packet. The look is a SELECT: InnoDB locks each
 * row that a SET reads, at READ COMMITTED too.
 */
function lookingUp(
  s: Statements,
  put: PutValue,
  { names, firsts, known, nowUs }: LookUpArguments,
): SqlCommand {
  const list = names.map(({ name }) => put(name)).join(', ')
  const asked = selected(
    ['name', 'nth', 'place'],
    names.map(({ name, place }, at) => [put(name), `${at + 1}`, put(place)]),
  )
  const first = selected(
    ['place', 'value', 'last', 'fence', 'incarnation'],
    firsts.map(({ value, last, fence, incarnation }, at) => {
      return [`${at + 1}`, put(value), last === undefined ? 'NULL' : put(last), put(fence), put(incarnation)]
    }),
  )
  const each = `(${asked}) AS a STRAIGHT_JOIN (${first}) AS f ON f.place = a.place`
  const own = `r.version > @from AND r.version <= @from + ${names.length}`
  const statements = [
    `SELECT @lock := ${names.length} > (SELECT COUNT(*) FROM (
        SELECT r.name FROM fahao_records AS r WHERE r.name IN (${list}) AND r.value IS NOT NULL
        UNION SELECT c.name FROM fahao_counters AS c WHERE c.name IN (${list})) AS k)`,
    'SELECT s.one FROM fahao_about AS s WHERE s.one = @lock FOR UPDATE',
    `SET @from = (SELECT s.revision FROM fahao_about AS s WHERE s.one = @lock AND ${s.sound(known)})`,
    `INSERT INTO fahao_records (name, value, version) SELECT a.name, f.value, @from + a.nth FROM ${each}
      WHERE @from IS NOT NULL AND NOT EXISTS (SELECT 1 FROM fahao_counters AS c WHERE c.name = a.name)
      ${replacing}`,
    `INSERT INTO fahao_counters (name, last, fence, incarnation, version)
      SELECT a.name, f.last, f.fence, f.incarnation, 1
      FROM ${each} STRAIGHT_JOIN fahao_records AS r ON r.name = a.name AND r.version = @from + a.nth
      WHERE f.last IS NOT NULL ORDER BY a.name`,
    `SET @done = EXISTS (SELECT 1 FROM fahao_records AS r WHERE ${own})`,
    `UPDATE fahao_about SET revision = @from + ${names.length}, last_write_us = ${put(BigInt(nowUs))}
      WHERE one = @done`,
    `SELECT ${doneState} FROM fahao_about AS s WHERE s.one = 1`,
    s.counters(names.map(({ name }) => name)),
    `SELECT r.name, IF(${own}, NULL, r.value) AS value, r.version AS record_version,
        IF(${own}, r.version, NULL) AS done_version, 1 AS begun
      FROM fahao_records AS r WHERE r.name IN (${list}) AND r.value IS NOT NULL`,
  ]
  return {
    ...transaction(...statements),
    answer: (answers) => {
      const [state, counters, records] = answers.slice(statements.length - 2) as (readonly Row[])[]
      const byName = new Map(counters!.map((row) => [textOf(row.name), row]))
      for (const row of records!) byName.set(textOf(row.name), { ...byName.get(textOf(row.name)), ...row })
      return withState(state, [...byName.values()])
    },
  }
}

/**
 * A transaction of one packet, however many rows it changes: each statement that names many rows is first sent in a packet
 * of its own, which stores it in a session variable. A packet may not be longer than `max_allowed_packet`.
 */
function advancing(s: Statements, put: PutValue, advance: AdvanceArguments): SqlCommand[] {
  const { gap, history, repaired } = advance
  const rows = s.raiseRows(advance, '@done = 1', rowsMax)
  // The last of them raises all rows, and counts them.
  const texts = [...repairing(repaired, put), ...raising(s.ownRaises(advance), put), ...rows]
  const prepared = texts.map((text, place) => ({ text, variable: `@advance${place}` }))
  const carryOut = ({ variable }: { readonly variable: string }) => [
    `SET @advance = IF(@done = 1, ${variable}, 'DO 0'), ${variable} = NULL`,
    'PREPARE advance FROM @advance',
    'EXECUTE advance',
    'SET @rows = ROW_COUNT()',
    'DEALLOCATE PREPARE advance',
  ]
  return [
    ...prepared.map(({ text, variable }) => single(`SET ${variable} = '${text.replaceAll("'", "''")}'`)),
    transaction(
      s.advance(advance),
      `SET @done = (SELECT COUNT(*) FROM fahao_about AS s WHERE s.one = 1 AND s.history = ${put(history)})`,
      ...prepared.flatMap(carryOut),
      `UPDATE fahao_counters SET last = LEAST(last, ${put(lastMaxBelow(gap))}) + ${put(gap)},
        version = version + ${historyJump} WHERE @done = 1 AND version > 0`,
      `SET @raised = ROW_COUNT()${rows.length === 0 ? '' : ' + @rows'}`,
      `SELECT ${s.stateColumns}, ${doneState}, IF(@done = 1, @raised, NULL) AS raised
        FROM fahao_about AS s WHERE s.one = 1`,
    ),
  ]
}

/** Statements that set counters to the values from which the gap raises them. */
function raising(raises: readonly Raise[], put: PutValue): string[] {
  const byExtra = Map.groupBy(raises, ({ extra }) => extra)
  return [...byExtra].flatMap(([extra, group]) => {
    const rows = group.map(
      ({ counter, last, incarnation }) => `(${put(counter)}, ${put(last)}, 0, ${put(incarnation)}, 1)`,
    )
    const further = `LEAST(last, ${put(lastMaxBelow(extra))}) + ${put(extra)}`
    return packed(rows).map(
      (values) => `INSERT INTO fahao_counters (name, last, fence, incarnation, version) VALUES ${values}
        ON DUPLICATE KEY UPDATE last = GREATEST(${further}, VALUES(last)),
          incarnation = GREATEST(incarnation, VALUES(incarnation)), version = GREATEST(version, 1)`,
    )
  })
}

/** Statements that write records, whatever their present versions. */
function repairing(repaired: readonly StoredRecord[], put: PutValue): string[] {
  const rows = repaired.map(({ key, value, version }) => `(${put(key)}, ${put(value)}, ${put(version)})`)
  return packed(rows).map(
    (values) => `INSERT INTO fahao_records (name, value, version) VALUES ${values}
      ON DUPLICATE KEY UPDATE value = VALUES(value), version = VALUES(version)`,
  )
}

/** Rows of VALUES, in groups that fit into a packet. */
function packed(rows: readonly string[]): string[] {
  const packets: string[] = []
  for (const row of rows) {
    const packet = packets.at(-1)
    if (packet === undefined || packet.length + row.length > packetMax) packets.push(row)
    else packets[packets.length - 1] = `${packet}, ${row}`
  }
  return packets
}

function unsafeSettingsIn(row: Row, table: string): string[] {
  const settings: string[] = []
  if (textOf(row.flush_log) !== '1')
    settings.push(`innodb_flush_log_at_trx_commit is ${textOf(row.flush_log)}: set it to 1`)
  if (textOf(row.log_bin) === '1' && textOf(row.sync_binlog) !== '1')
    settings.push(`sync_binlog is ${textOf(row.sync_binlog)}: set it to 1`)
  const engine = optionalTextOf(row.table_engine)
  if (engine !== undefined)
    settings.push(`${table} uses ${engine} instead of InnoDB: ALTER TABLE ${table} ENGINE=InnoDB`)
  return settings
}
