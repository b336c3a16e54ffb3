/**
 * Several reserves or releases in one statement. It skips rows that another session has locked: it never waits for a lock,
 * so no counter delays the others, and the order of locks does not matter.
 */
import type { SqlCommand } from '../sql/driver.ts'
import { type Moves, releaseMoves, reserveMoves } from '../sql/moves.ts'
import type { BatchDialect, PutValue, Statements } from '../sql/statements.ts'

type MakeCommand = (write: (s: Statements, put: PutValue) => string, writes?: boolean) => SqlCommand

/** The batches of a dialect. @param command makes a command of a text. */
export function postgresBatch(command: MakeCommand): BatchDialect {
  return {
    reserve: (requests) => command((s, put) => moving(s, put, reserveMoves(requests)), true),
    release: (releases) => command((s, put) => moving(s, put, releaseMoves(releases)), true),
  }
}

function moving(s: Statements, put: PutValue, { known, rows, set, where }: Moves): string {
  const columns = Object.entries(rows[0]!).map(([column, value]) => `${column} ${typeOf(value)}`)
  const changes = Object.entries(set).map(([column, value]) => `${column} = ${value}`)
  const json = JSON.stringify(rows, (_, value) => (typeof value === 'bigint' ? String(value) : value))
  return `WITH about AS (SELECT ${s.stateColumns} FROM fahao_about AS s WHERE s.one = 1),
    sound AS (SELECT s.lineage FROM fahao_about AS s WHERE s.one = 1 AND ${s.sound(known)}),
    asked AS (SELECT * FROM json_to_recordset(${put(json)}::json) AS a (${columns.join(', ')})),
    free AS (SELECT c.name FROM fahao_counters AS c WHERE c.name IN (SELECT a.name FROM asked AS a)
      FOR NO KEY UPDATE SKIP LOCKED),
    done AS (UPDATE fahao_counters AS c SET ${changes.join(', ')}, version = c.version + 1
      FROM asked AS a, free AS f, sound AS s WHERE c.name = a.name AND f.name = a.name AND ${where}
      RETURNING c.name, c.last, c.version)
    SELECT about.*, done.name, done.last AS done_last, done.version AS done_version FROM about, done`
}

function typeOf(value: bigint | string): string {
  return typeof value === 'bigint' ? 'bigint' : 'text'
}
