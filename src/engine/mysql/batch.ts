/**
 * Several reserves or releases in one packet: one transaction, which locks the counters' rows in the order of their names,
 * so that processes which change the same counters do not deadlock. Versions before and after show which were changed.
 */
import { integerOf, type Row, type SqlCommand, textOf } from '../sql/driver.ts'
import { type Moves, releaseMoves, reserveMoves } from '../sql/moves.ts'
import type { BatchDialect, PutValue, Statements } from '../sql/statements.ts'

/** The positions of the statements that return the counters before the change, and after it. */
const before = 1
const after = 3

/** The batches of a dialect. */
export function mysqlBatch(s: Statements, put: PutValue): BatchDialect {
  const moving = ({ known, rows, set, where }: Moves): SqlCommand => {
    const changes = Object.entries(set).map(([column, value]) => `c.${column} = ${value}`)
    const names = rows.map(({ name }) => put(name)).join(', ')
    return {
      text: [
        'START TRANSACTION',
        `SELECT c.name, c.version FROM fahao_counters AS c FORCE INDEX (PRIMARY)
          WHERE c.name IN (${names}) ORDER BY c.name FOR UPDATE`,
        `UPDATE (${rowsOf(rows, put)}) AS a STRAIGHT_JOIN fahao_counters AS c ON c.name = a.name
          SET ${changes.join(', ')}, c.version = c.version + 1
          WHERE EXISTS (SELECT 1 FROM fahao_about AS s WHERE s.one = 1 AND ${s.sound(known)} AND ${where})`,
        `SELECT ${s.stateColumns}, c.name, c.last AS done_last, c.version AS done_version
          FROM fahao_about AS s JOIN fahao_counters AS c ON c.name IN (${names}) WHERE s.one = 1`,
        'COMMIT',
      ].join(';\n'),
      answer: (answers) => {
        const found = answers[before] as readonly Row[]
        const versions = new Map(found.map(({ name, version }) => [textOf(name), integerOf(version)]))
        return (answers[after] as readonly Row[]).filter(({ name, done_version }) => {
          // A row that was absent when the rows were locked may have been added since: this batch did not change it.
          const version = versions.get(textOf(name))
          return version !== undefined && version !== integerOf(done_version)
        })
      },
      writes: true,
    }
  }

  return {
    reserve: (requests) => moving(reserveMoves(requests)),
    release: (releases) => moving(releaseMoves(releases)),
  }
}

/** A query that returns these rows. */
export function rowsOf(rows: readonly Readonly<Record<string, bigint | string>>[], put: PutValue): string {
  const selects = rows.map((row, at) => {
    const values = Object.entries(row).map(
      ([column, value]) => put(value) + (at === 0 ? ` AS ${column}` : ''),
    )
    return `SELECT ${values.join(', ')}`
  })
  return selects.join(' UNION ALL ')
}
