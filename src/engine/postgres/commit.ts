/**
 * Commits in PostgreSQL: one message of two statements, which is one transaction. The first locks the state row, so that no
 * other session writes records until the commit, and the second sees all that were written before. It moves the counter if all
 * records fit, and writes them if it has: what it finds moved by another session leaves everything as it was.
 *
 * The state row is locked before the counter's, as in an advance. No session that holds a counter's row waits for the state row.
 */
import { reserving } from '../sql/counter-updates.ts'
import type { Row, SqlCommand } from '../sql/driver.ts'
import {
  assignments,
  type CommitArguments,
  counterColumns,
  doneStateColumns,
  type PutValue,
  Statements,
} from '../sql/statements.ts'
import { adding, tableOf, typeOf } from './rows.ts'

/** A message of several statements has no parameters. The form E'…' means the same whatever the session's settings. */
const put: PutValue = (value) =>
  typeof value === 'bigint'
    ? `'${value}'::bigint`
    : `E'${value.replaceAll('\\', '\\\\').replaceAll("'", "''")}'::text`

const recordColumns = [
  ['key', 'text'],
  ['value', 'text'],
  ['expected', 'bigint'],
  ['place', 'bigint'],
] as const

/** See `Dialect.commit`. */
export function committing(
  { records, counter, known, nowUs }: CommitArguments,
  identity: string,
): SqlCommand {
  const s = new Statements(put, identity)
  const many = `${records.length}`
  const asked = records.map((record, at) => ({ ...record, place: BigInt(at + 1) }))
  const moving = counter === undefined ? '' : moved(counter)
  const statement = `WITH fitting AS (
      SELECT a.key, a.value, a.place FROM ${tableOf(put, recordColumns, asked)} AS a
        LEFT JOIN fahao_records AS r ON r.name = a.key
      WHERE a.expected IS NOT DISTINCT FROM CASE WHEN r.value IS NOT NULL THEN r.version END
    ), sound AS (
      SELECT s.history FROM fahao_about AS s
      WHERE s.one = 1 AND ${s.sound(known)} AND (SELECT count(*) FROM fitting) = ${many}
    ), ${moving} next AS (
      UPDATE fahao_about AS s SET revision = s.revision + ${many}, last_write_us = ${put(BigInt(nowUs))}
      WHERE s.one = 1 AND EXISTS (SELECT 1 FROM ${moving === '' ? 'sound' : 'moved'})
      RETURNING s.history, s.pulse, s.revision
    ), written AS (
      INSERT INTO fahao_records (name, value, version)
      SELECT f.key, f.value, next.revision - ${many} + f.place FROM fitting AS f, next
      ON CONFLICT (name) DO UPDATE SET value = excluded.value, version = excluded.version
    )
    SELECT ${s.stateColumns}, ${doneStateColumns((column) => `next.${column}`)}, ${counterColumns},
      (SELECT count(*) FROM fitting) AS fitting,
      ${moving === '' ? 'NULL' : '(SELECT m.last FROM moved AS m)'} AS done_last
    FROM ${s.stateAndCounter(counter?.request.counter ?? '')} LEFT JOIN next ON true WHERE s.one = 1`
  return {
    text: `SELECT s.one FROM fahao_about AS s WHERE s.one = 1 FOR UPDATE; ${statement}`,
    answer: (answers) => answers[1] as readonly Row[],
    writes: true,
  }
}

/** Moves the counter if its version is the expected one, or adds its row if it has none. */
function moved({ request, version }: NonNullable<CommitArguments['counter']>): string {
  const update = reserving([request], true)
  const a = (column: string) => put(update.rows[0]![column]!)
  const columns = Object.entries(update.rows[0]!).map(([column, value]) => [column, typeOf(value)] as const)
  const added =
    version === 0n ? `asked AS ${tableOf(put, columns, update.rows)}, added AS (${adding(update)}),` : ''
  return `${added} changed AS (
      UPDATE fahao_counters AS c SET ${assignments(update.set(a))}, version = c.version + 1 FROM sound AS s
      WHERE c.name = ${a('name')} AND c.version = ${put(version)} AND ${update.where(a)} RETURNING c.last
    ), moved AS (SELECT last FROM changed ${version === 0n ? 'UNION ALL SELECT last FROM added' : ''}),`
}
