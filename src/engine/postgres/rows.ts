/** Parts of the statements of PostgreSQL: rows of values, and the rows of new counters. */
import { type CounterUpdate, unusedRow } from '../sql/counter-updates.ts'
import type { PutValue } from '../sql/statements.ts'

/** Adds the rows of the counters `asked` that lack one, as the update would change an unused row, if there is a row in `sound`. */
export function adding({ set, where }: CounterUpdate): string {
  const a = (column: string) => `a.${column}`
  const unused = Object.entries(unusedRow).map(([column, value]) => `${value}::bigint AS ${column}`)
  const values = set(a)
  return `INSERT INTO fahao_counters (name, version, ${Object.keys(values).join(', ')})
    SELECT a.name, 1, ${Object.values(values).join(', ')} FROM asked AS a, sound AS s, (SELECT ${unused.join(', ')}) AS c
    WHERE NOT EXISTS (SELECT 1 FROM fahao_counters AS o WHERE o.name = a.name) AND ${where(a)}
    ORDER BY a.name COLLATE "C" ON CONFLICT (name) DO NOTHING RETURNING name, last, version`
}

/** Rows as a table `a`: an array for each column, which is shorter than JSON and cheaper on both sides. */
export function tableOf(
  put: PutValue,
  columns: readonly (readonly [column: string, type: string])[],
  rows: readonly Readonly<Record<string, bigint | string | undefined>>[],
): string {
  const arrays = columns.map(([column, type]) =>
    arrayOf(
      put,
      type,
      rows.map((row) => row[column]),
    ),
  )
  return `(SELECT * FROM unnest(${arrays.join(', ')}) AS u (${columns.map(([column]) => column).join(', ')}))`
}

/** Values as an array. */
export function arrayOf(
  put: PutValue,
  type: string,
  values: readonly (bigint | string | undefined)[],
): string {
  return `${put(`{${values.map(elementOf).join(',')}}`)}::${type}[]`
}

/** An element of an array in PostgreSQL's text form. */
function elementOf(value: bigint | string | undefined): string {
  if (value === undefined) return 'NULL'
  return typeof value === 'bigint' ? String(value) : `"${value.replace(/["\\]/g, '\\$&')}"`
}

/** The type of a value. */
export function typeOf(value: bigint | string): string {
  return typeof value === 'bigint' ? 'bigint' : 'text'
}
