/**
 * Commits in MySQL and MariaDB: one packet, which is one transaction. It locks the counter's row, as reserves do, and then the
 * state row, so that no other session writes records until the commit. All versions are compared before anything is changed.
 */
import { reserving } from '../sql/counter-updates.ts'
import type { SqlCommand } from '../sql/driver.ts'
import {
  assignments,
  type CommitArguments,
  counterColumns,
  type PutValue,
  type Statements,
} from '../sql/statements.ts'
import { doneState, selected, transaction } from './packets.ts'

/** See `Dialect.commit`. `adding`: adds the row of a counter that lacks one, and locks it otherwise. */
export function committing(
  s: Statements,
  put: PutValue,
  { records, counter, known, nowUs }: CommitArguments,
  adding: (name: string) => string,
): SqlCommand {
  const many = records.length
  const name = counter?.request.counter ?? ''
  const update = counter && reserving([counter.request])
  const a = (column: string) => put(update!.rows[0]![column]!)
  // The values are in the packet once: as hexadecimal digits they can take half of the smallest packet that servers accept.
  const compared = records.map(({ key, expected }) => [
    put(key),
    expected === undefined ? 'NULL' : put(expected),
  ])
  const written = records.map(({ key, value }, at) => [put(key), put(value), `${at + 1}`])
  const movable = counter
    ? `(SELECT COUNT(*) FROM fahao_about AS s STRAIGHT_JOIN fahao_counters AS c ON c.name = ${put(name)}
        WHERE s.one = 1 AND c.version = ${put(counter.version)} AND ${update!.where(a)})`
    : '1'
  return transaction(
    ...(counter === undefined ? [] : [counter.version === 0n ? adding(name) : 'DO 0']),
    ...(counter === undefined
      ? []
      : [`SELECT c.name FROM fahao_counters AS c WHERE c.name = ${put(name)} FOR UPDATE`]),
    'SELECT s.one FROM fahao_about AS s WHERE s.one = 1 FOR UPDATE',
    `SET @from = (SELECT s.revision FROM fahao_about AS s WHERE s.one = 1 AND ${s.sound(known)})`,
    many === 0
      ? 'SET @fitting = 0'
      : `SET @fitting = (SELECT COUNT(*) FROM (${selected(['name', 'expected'], compared)}) AS a
          LEFT JOIN fahao_records AS r
          ON r.name = a.name AND r.value IS NOT NULL WHERE a.expected <=> r.version)`,
    `SET @done = @from IS NOT NULL AND @fitting = ${many} AND ${movable} = 1`,
    ...(update === undefined
      ? []
      : [
          `UPDATE fahao_counters AS c SET ${assignments(update.set(a), 'c.')}, c.version = c.version + 1
            WHERE c.name = ${put(name)} AND @done = 1`,
        ]),
    ...(many === 0
      ? []
      : [
          `INSERT INTO fahao_records (name, value, version) SELECT a.name, a.value, @from + a.place
            FROM (${selected(['name', 'value', 'place'], written)}) AS a
            WHERE @done = 1 ON DUPLICATE KEY UPDATE value = VALUES(value), version = VALUES(version)`,
        ]),
    `UPDATE fahao_about SET revision = @from + ${many}, last_write_us = ${put(BigInt(nowUs))}
      WHERE one = 1 AND @done = 1`,
    `SELECT ${s.stateColumns}, ${doneState}, ${counterColumns}, @fitting AS fitting,
        IF(@done = 1, c.last, NULL) AS done_last
      FROM ${s.stateAndCounter(name)} WHERE s.one = 1`,
  )
}
